"""`python -m tests.mutations SUBJECT [--only WORD] [--workers N]`, from the repository's root.

Prints a line for each mutation and last `N caught, N missed`. The exit status is 1 on any miss, 2 for a wrong name.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.mutations.mutation import mutations, subjects
from tests.mutations.runner import run

ROOT = Path(__file__).parents[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subject's mutations; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("subject", choices=subjects())
    parser.add_argument("--only", default="", metavar="WORD", help="those whose name or file holds this word")
    parser.add_argument("--workers", type=int, default=2, help="how many at a time (2)")
    options = parser.parse_args(arguments)
    chosen = [m for m in mutations(options.subject) if options.only in m.name or options.only in m.file]
    with tempfile.TemporaryDirectory() as scratch:
        outcomes = run(ROOT, Path(scratch), chosen, lambda line: print(line, flush=True), options.workers)
    missed = sum(bool(found.why) for found in outcomes)
    print(f"{len(outcomes) - missed} caught, {missed} missed")
    return 1 if missed or not outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
