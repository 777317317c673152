"""One small change, and where the changes of a subject are read from."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent


class Stale(Exception):
    """The text that a mutation changes is not where it says, or is there more than once."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """A rule, broken: `old` stands exactly once in `file` and is replaced with `new`; then `test` must fail.

    `name`: the rule in a few words, unique in its subject. `file`: from the repository's root, with slashes. `test`: a
    pytest node id, of one parametrised case where that is faster.
    """

    name: str
    file: str
    test: str
    old: str
    new: str

    def applied(self, text: str) -> str:
        """The file's text with the change in it. Raises `Stale`, saying what to mend."""
        if self.old == self.new:
            raise Stale(f"{self.name!r} changes nothing; say what is to be changed")
        found = text.count(self.old)
        if found != 1:
            raise Stale(
                f"its text is {found} times in {self.file} and must be there once; "
                f"bring {self.name!r} up to date: {self.old!r}"
            )
        return text.replace(self.old, self.new)


def subjects(folder: Path = FOLDER) -> list[str]:
    """The subjects that there are."""
    return sorted({file.parent.name for file in folder.glob("*/*.toml")})


def mutations(subject: str, folder: Path = FOLDER) -> list[Mutation]:
    """All changes of a subject, by its files' names and in their order."""
    files = sorted((folder / subject).glob("*.toml"))
    tables = [table for file in files for table in tomllib.loads(file.read_text(encoding="utf-8"))["mutation"]]
    return [Mutation(**table) for table in tables]
