"""Runs vector files: `python -m tests.conformance FILE...`, from the repository's root.

Prints each mismatch, then a line per kind and a last line, each `[KIND: ]N passed, N failed, N skipped`. Kinds
that nothing here knows are skipped. The exit status is 1 where a case failed, 2 where a file cannot be read.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from tests import conformance_context, conformance_prose, conformance_turns

Case = Mapping[str, Any]
MODULES: tuple[ModuleType, ...] = (conformance_context, conformance_prose, conformance_turns)


def runner(kind: str) -> Callable[[Case], list[str]] | None:
    """The function that runs cases of this kind: `run_<kind>` of the first module that has one."""
    name = "run_" + kind.replace("-", "_")
    return next((getattr(module, name) for module in MODULES if hasattr(module, name)), None)


def run_case(case: Case) -> list[str] | None:
    """What differs in one case, None where its kind is unknown. A case that raises differs."""
    run = runner(case["kind"])
    if run is None:
        return None
    try:
        return run(case)
    except Exception as exc:
        return [f"raised {type(exc).__name__}: {exc}"]


def counted(counts: Counter[str]) -> str:
    """`N passed, N failed, N skipped`."""
    return ", ".join(f"{counts[word]} {word}" for word in ("passed", "failed", "skipped"))


def run_cases(cases: Sequence[Case], name: str) -> dict[str, Counter[str]]:
    """Run the cases of a file, print each mismatch, and count by kind."""
    counts: dict[str, Counter[str]] = {}
    for number, case in enumerate(cases):
        wrong = run_case(case)
        word = "skipped" if wrong is None else "failed" if wrong else "passed"
        counts.setdefault(case["kind"], Counter())[word] += 1
        for line in wrong or ():
            print(f"{name}[{number}] {case['kind']} {case.get('name', '')}: {line}")
    return counts


def main(paths: Sequence[str]) -> int:
    """Run the files; the exit status."""
    if not paths:
        print("usage: python -m tests.conformance FILE...", file=sys.stderr)
        return 2
    counts: dict[str, Counter[str]] = {}
    for path in paths:
        try:
            cases = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as exc:
            print(f"{path} cannot be read: {exc}", file=sys.stderr)
            return 2
        for kind, counter in run_cases(cases, Path(path).name).items():
            counts.setdefault(kind, Counter()).update(counter)
    for kind, counter in sorted(counts.items()):
        print(f"{kind}: {counted(counter)}")
    total: Counter[str] = Counter()
    for counter in counts.values():
        total.update(counter)
    print(counted(total))
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
