"""Long text into parts that a platform takes (S31).

Parts stand in order and none is over the limit in the platform's unit. A cut prefers a paragraph's end, then a
line's, then a word's; it never falls inside a code point, and not inside what is read as one sign where a part
can hold it. A code block that a cut falls into is closed and opened again with its info string (`fences`).
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from .errors import InvalidSetting
from .fences import Fence, Line, lines, plain_closings
from .posts import LengthUnit

_LEAST: dict[LengthUnit, int] = {"chars": 1, "utf16": 2, "bytes": 4}
_BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")


def length(text: str, unit: LengthUnit) -> int:
    """Length of the text in the unit: code points, bytes of UTF-8, or UTF-16 units."""
    if unit == "chars":
        return len(text)
    if text.isascii():
        return len(text)
    if unit == "bytes":
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def check_limit(limit: int | None, unit: LengthUnit) -> None:
    """Raises InvalidSetting for an unknown unit, or a limit that not every single character fits."""
    least = _LEAST.get(unit)
    if least is None:
        raise InvalidSetting(f"the unit of a length limit must be one of {', '.join(_LEAST)}, not {unit!r}")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < least):
        raise InvalidSetting(f"a limit of {limit!r} {unit} cannot hold every character; the least is {least}")


def clusters(text: str) -> Iterator[str]:
    """The text in pieces that are read as one sign: a base with its marks, joined emoji, a flag's two letters."""
    start = 0
    for index in range(1, len(text)):
        if not _joined(text, start, index):
            yield text[start:index]
            start = index
    if text:
        yield text[start:]


def _joined(text: str, start: int, index: int) -> bool:
    """Whether the code point at `index` continues the sign that begins at `start`."""
    here, before = text[index], text[index - 1]
    if before == "\r" and here == "\n":
        return True
    if here.isascii():
        return False
    code = ord(here)
    if here == "\u200d" or unicodedata.category(here) in ("Mn", "Mc", "Me"):
        return not before.isspace()
    if 0x1F3FB <= code <= 0x1F3FF or 0xE0020 <= code <= 0xE007F:
        return not before.isspace()
    if before == "\u200d":
        return index - 1 > start
    return _is_flag(here) and _is_flag(before) and (index - start) % 2 == 1


def _is_flag(sign: str) -> bool:
    return 0x1F1E6 <= ord(sign) <= 0x1F1FF


@dataclass(frozen=True, slots=True)
class _Cut:
    """A part's end in the rest, where the next part begins, the block the cut falls into, the room it used."""

    end: int
    next: int
    inside: Fence | None
    used: int


def split(text: str, limit: int | None, unit: LengthUnit = "chars") -> tuple[str, ...]:
    """The text in parts of at most `limit` units each; whole where it fits or there is no limit.

    Nothing but white space at cuts is lost. Blank text gives no part. Raises InvalidSetting as `check_limit` does.
    """
    check_limit(limit, unit)
    if not text.strip():
        return ()
    if limit is None or length(text, unit) <= limit:
        return (text,)
    return tuple(_Splitter(limit, unit).parts(text))


class _Splitter:
    """Cuts texts; knows the limit and its unit."""

    def __init__(self, limit: int, unit: LengthUnit) -> None:
        self._limit = limit
        self._unit: LengthUnit = unit

    def _length(self, text: str) -> int:
        return length(text, self._unit)

    def _counts(self, fence: Fence) -> bool:
        # Marks that would take most of every part are left as plain text.
        return self._length(fence.opening) + self._length(fence.closing) + 2 <= self._limit // 2

    def _mark(self, fence: Fence | None) -> int:
        """Units that closing the block takes."""
        return self._length(fence.closing) + 1 if fence else 0

    def parts(self, text: str) -> Iterator[str]:
        """The parts of the text, in order."""
        fence: Fence | None = None
        rest = _BLANK_LINES.sub("", plain_closings(text, self._counts))
        while rest and not rest.isspace():
            head = f"{fence.opening}\n" if fence else ""
            cut = self._cut(rest, fence, self._limit - self._length(head))
            body = head + rest[: cut.end]
            part = f"{body}\n{cut.inside.closing}" if cut.inside else body.rstrip()
            if part:
                yield part
            fence, rest = cut.inside, rest[cut.next :]
            if fence is None:
                rest = _BLANK_LINES.sub("", rest)

    def _cut(self, rest: str, fence: Fence | None, room: int) -> _Cut:
        """Where the next part ends: at the rest's end if that fits, else at the best place before."""
        paragraph: _Cut | None = None
        line_end: _Cut | None = None
        used = 0
        every = lines(rest, fence, self._counts)
        line = next(every)
        while True:
            size = self._length(rest[line.start : line.end])
            if used + size + self._mark(line.inside) > room:
                return self._before(rest, line, room, used, paragraph, line_end)
            follower = next(every, None)
            used += size
            if follower is None:
                return _Cut(line.end, len(rest), line.inside, used)
            if not line.opens:
                line_end = _Cut(line.end, follower.start, line.inside, used)
                if line.inside is None and not rest[follower.start : follower.end].strip():
                    paragraph = line_end
            used += 1
            line = follower

    def _before(
        self, rest: str, line: Line, room: int, used: int, paragraph: _Cut | None, line_end: _Cut | None
    ) -> _Cut:
        """The best place before the end of this line, which does not fit."""
        for candidate in (paragraph, line_end):
            if candidate is not None and candidate.used >= room // 2:
                return candidate
        text = rest[line.start : line.end]
        fits = self._fitting(text, room - used - self._mark(line.inside))
        word = 0 if line.opens else _word_end(text, fits)
        if word == 0 and line_end is not None:
            return line_end
        end = line.start + (word or fits or self._points(text, room - used - self._mark(line.inside)))
        following = end
        while line.inside is None and following < line.end and rest[following].isspace():
            following += 1
        return _Cut(end, following, line.inside, used)

    def _fitting(self, text: str, room: int) -> int:
        """How many code points of the text fit the room, no sign cut."""
        fits = 0
        for cluster in clusters(text):
            room -= self._length(cluster)
            if room < 0:
                break
            fits += len(cluster)
        return fits

    def _points(self, text: str, room: int) -> int:
        """How many code points of the text fit the room, at least one: the sign itself is over the limit."""
        fits = 0
        for point in text:
            room -= self._length(point)
            if room < 0:
                break
            fits += 1
        return max(fits, 1)


def _word_end(text: str, fits: int) -> int:
    """The last place at or before `fits` beside white space, with words before it; 0 for none."""
    for place in range(min(fits, len(text) - 1), 0, -1):
        if text[place].isspace() or text[place - 1].isspace():
            return place if text[:place].strip() else 0
    return 0
