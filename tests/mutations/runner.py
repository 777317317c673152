"""Runs mutations in copies of the tree: first the named tests as they are, then one change at a time.

Never touches the tree itself. Each worker has a copy, and runs the one named test of a mutation in a process of its own
on that copy's code. Caught is only a test that fails: a change that cannot be imported, a test that does not end, that
is not there, or that was red before, is a miss.
"""

import importlib.util
import os
import queue
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.mutations.mutation import Mutation, Stale

SECONDS = 180
LEFT_OUT = (".*", "__pycache__", "*.egg-info", "build", "dist", "node_modules")
# What pytest's exit codes mean here; 1, some test failed, is what is wanted.
NOT_CAUGHT = {
    0: "the test stays green",
    2: "the test was stopped",
    4: "the test is not there, or the change cannot be imported",
    5: "the test is not there",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a mutation; `why` it was missed, or nothing."""

    mutation: Mutation
    why: str = ""

    @property
    def line(self) -> str:
        """As it is printed."""
        head = f"MISSED  {self.mutation.name} ({self.why})" if self.why else f"caught  {self.mutation.name}"
        return f"{head}: {self.mutation.file} by {self.mutation.test}"


def copied(root: Path, to: Path) -> Path:
    """A copy of the tree, without what is not part of it."""
    return Path(shutil.copytree(root, to, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT)))


def write(file: Path, text: bytes) -> None:
    """Write a module, and drop its compiled form, which is taken for valid by its second and its length alone."""
    file.write_bytes(text)
    Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)


def pytest(tree: Path, *arguments: str, seconds: int = SECONDS) -> tuple[int | None, str]:
    """Pytest on a copy's code: its exit code, none where it did not end, and what it printed."""
    paths = os.pathsep.join((str(tree / "src"), str(tree)))
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", *arguments]
    try:
        done = subprocess.run(
            command,
            cwd=tree,
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return None, f"did not end in {seconds} s"
    return done.returncode, done.stdout + done.stderr


def red_before(tree: Path, tests: Iterable[str]) -> dict[str, str]:
    """The named tests that are not green as they are, each with its reason."""
    wanted = list(dict.fromkeys(tests))
    if pytest(tree, *wanted, seconds=SECONDS * 4)[0] == 0:
        return {}
    codes = {test: pytest(tree, test)[0] for test in wanted}
    return {
        test: "the test is red before the change" if code == 1 else NOT_CAUGHT.get(code or 3, "the test does not end")
        for test, code in codes.items()
        if code != 0
    }


def outcome(tree: Path, mutation: Mutation) -> Outcome:
    """Apply, run the one test, put the file back."""
    file = tree / mutation.file
    before = file.read_bytes()
    try:
        write(file, mutation.applied(before.decode()).encode())
        code, _ = pytest(tree, mutation.test)
    except Stale as stale:
        return Outcome(mutation, str(stale))
    finally:
        write(file, before)
    return Outcome(mutation, "" if code == 1 else NOT_CAUGHT.get(3 if code is None else code, "the test does not end"))


def run(
    root: Path, scratch: Path, chosen: Sequence[Mutation], tell: Callable[[str], None], workers: int = 2
) -> list[Outcome]:
    """Run the mutations of a tree in copies under `scratch`, told line by line as they come."""
    trees: queue.SimpleQueue[Path] = queue.SimpleQueue()
    copies = [copied(root, scratch / f"copy{number}") for number in range(min(workers, len(chosen)))]
    for tree in copies:
        trees.put(tree)
    red = red_before(copies[0], (mutation.test for mutation in chosen)) if copies else {}

    def one(mutation: Mutation) -> Outcome:
        if mutation.test in red:
            return Outcome(mutation, red[mutation.test])
        tree = trees.get()
        try:
            return outcome(tree, mutation)
        finally:
            trees.put(tree)

    outcomes: list[Outcome] = []
    with ThreadPoolExecutor(max_workers=workers) as pool:
        for found in pool.map(one, chosen):
            tell(found.line)
            outcomes.append(found)
    return outcomes
