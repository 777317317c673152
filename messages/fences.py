"""Fenced code blocks in text: where they open, and where they close (for S31).

A fence is a line of three or more backticks or tildes, with an info string where it opens. Read leniently, at any
indentation, as chat platforms do. Only lines are read here; `split` decides what a cut does to a block.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"([^\S\n]*)(`{3,}|~{3,})(.*)\Z")


@dataclass(frozen=True, slots=True)
class Fence:
    """An open block: the line that opens it again, its info string included, and the line that closes it."""

    opening: str
    closing: str


@dataclass(frozen=True, slots=True)
class Line:
    """One line from `start` to `end`, its newline left out. `inside`: the block that is open after it."""

    start: int
    end: int
    inside: Fence | None
    opens: bool = False
    closes: bool = False


def _opened_by(line: str) -> Fence | None:
    match = _FENCE.match(line)
    if match is None:
        return None
    indent, marks, info = match.groups()
    if marks[0] == "`" and "`" in info:
        return None
    return Fence(line.rstrip(), indent + marks)


def _closes(line: str, fence: Fence) -> bool:
    marks, wanted = line.strip(), fence.closing.strip()
    return len(marks) >= len(wanted) and set(marks) == {wanted[0]}


def lines(text: str, fence: Fence | None, counts: Callable[[Fence], bool]) -> Iterator[Line]:
    """The lines of the text, `fence` being open before it. A block for which `counts` is False is plain text."""
    start = 0
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start:end]
        if fence is not None:
            closes = _closes(line, fence)
            fence = None if closes else fence
            yield Line(start, end, fence, closes=closes)
        else:
            opened = _opened_by(line)
            fence = opened if opened is not None and counts(opened) else None
            yield Line(start, end, fence, opens=fence is not None)
        start = end + 1


def plain_closings(text: str, counts: Callable[[Fence], bool]) -> str:
    """The text with each closing line as short as it can be, so that what it takes is known beforehand."""
    result: list[str] = []
    open_fence: Fence | None = None
    for line in lines(text, None, counts):
        if line.closes and open_fence is not None:
            result.append(open_fence.closing)
        else:
            result.append(text[line.start : line.end])
        open_fence = line.inside
    return "\n".join(result)
