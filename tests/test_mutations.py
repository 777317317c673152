"""The mutations: each still fits the code and names a test that is there; and a run of them that can fail."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.mutations.mutation import Mutation, Stale, mutations, subjects
from tests.mutations.runner import Outcome, run

ROOT = Path(__file__).parent.parent
LEAST = {"prose": 40}
EVERY = [(subject, found) for subject in subjects() for found in mutations(subject)]


@pytest.mark.parametrize("subject", subjects())
def test_there_are_enough(subject: str) -> None:
    """[prose 14] Rules are broken one at a time, at least forty for the prose gateway, each under a name of its own."""
    names = [found.name for found in mutations(subject)]
    assert len(names) >= LEAST.get(subject, 1)
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("subject", "mutation"), EVERY, ids=[f"{subject}: {found.name}" for subject, found in EVERY])
def test_a_mutation_fits_the_code(subject: str, mutation: Mutation) -> None:
    """[prose 14] Its text is there exactly once, and what comes of it is still a program; else bring it up to date."""
    changed = mutation.applied((ROOT / mutation.file).read_text(encoding="utf-8"))
    compile(changed, mutation.file, "exec")


@pytest.mark.process
def test_every_named_test_is_there() -> None:
    """[prose 14] A test that was renamed is renamed in its mutations too."""
    names = list(dict.fromkeys(found.test for _, found in EVERY))
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.process
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("subject", subjects())
def test_every_mutation_is_caught(subject: str, tmp_path: Path, amount: Callable[[int, int], int]) -> None:
    """[prose 14] Undo a rule, and the test that states it fails: two of them, all under --whole."""
    chosen = mutations(subject)
    outcomes = run(ROOT, tmp_path, chosen[: amount(2, len(chosen))], lambda line: None)
    assert [found.line for found in outcomes if found.why] == []
    assert outcomes


# -- the run itself, on a tree of one rule


def tree(folder: Path) -> Path:
    """A tree with one function, and two tests of it."""
    for name, text in {
        "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\n',
        "messages/rule.py": "def rule(number: int) -> bool:\n    return number > 2\n",
        "tests/test_rule.py": (
            "from messages.rule import rule\n\n"
            "def test_holds() -> None:\n    assert rule(3) and not rule(2)\n\n"
            "def test_looks_away() -> None:\n    rule(3)\n\n"
            "def test_red() -> None:\n    assert rule(1)\n"
        ),
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def mutation(test: str, old: str = "> 2", new: str = "> 1") -> Mutation:
    """A change of the rule."""
    return Mutation(f"{test} {new}", "messages/rule.py", f"tests/test_rule.py::{test}", old, new)


@pytest.mark.process
def test_what_is_caught_and_what_is_missed(tmp_path: Path) -> None:
    """[prose 14] A failing test alone is a catch; the tree is left as it was; of two changes of one length each runs.

    Missed: green, red before, not importable, no longer fitting.
    """
    root = tree(tmp_path / "tree")
    before = {file: file.read_bytes() for file in root.rglob("*.*")}
    chosen = [
        mutation("test_holds"),
        mutation("test_holds", new="> 3"),
        mutation("test_holds", new="> 2"),
        mutation("test_looks_away"),
        mutation("test_holds", new="> ("),
        mutation("test_holds", old="< 2"),
        mutation("test_red", new="> 0"),
    ]
    lines: list[str] = []
    outcomes: list[Outcome] = run(root, tmp_path / "scratch", chosen, lines.append)
    whys = ["", "", "changes nothing", "stays green", "cannot be imported", "0 times", "red before"]
    assert [why in found.why for why, found in zip(whys, outcomes, strict=True)] == [True] * len(chosen)
    assert [bool(found.why) for found in outcomes] == [bool(why) for why in whys]
    assert [line.split()[0] for line in lines] == ["MISSED" if why else "caught" for why in whys]
    assert {file: file.read_bytes() for file in root.rglob("*.*")} == before


def test_a_text_that_is_there_twice_does_not_fit() -> None:
    """[prose 14] A change in two places is two changes."""
    with pytest.raises(Stale, match=r"2 times in messages/rule\.py.*bring 'test_holds > 1' up to date"):
        mutation("test_holds").applied("a > 2, b > 2")
    assert mutation("test_holds").applied("a > 2") == "a > 1"


@pytest.mark.process
def test_the_command_names_its_subjects() -> None:
    """[prose 14] A wrong subject is refused, with those that there are."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.mutations", "poetry"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "prose" in done.stderr
