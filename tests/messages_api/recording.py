"""What was received: every request as raw bytes and parsed, with what it was answered.

Owns: `Recorded`, the log of them that any thread may read, and the cutting of raw JSON into the exact text of a
member or of a list's items, so that tests compare prefixes on the bytes that were sent and not on a second
serialisation.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Condition

from .errors import ApiError
from .wire import JsonObject

WHITESPACE = " \t\n\r"


@dataclass(slots=True)
class Recorded:
    """One request. `error` or `message` is set once it is answered; `disconnected` if the client left meanwhile."""

    number: int
    path: str
    headers: Mapping[str, str]
    raw: bytes
    request: JsonObject = field(default_factory=JsonObject)
    betas: frozenset[str] = frozenset()
    request_id: str = ""
    error: ApiError | None = None
    message: JsonObject | None = None
    disconnected: bool = False

    @property
    def counting(self) -> bool:
        """Whether it asked for a count of tokens alone."""
        return self.path.endswith(("/count_tokens", "/input_tokens"))

    def member(self, name: str) -> str:
        """The exact JSON text of a member of the body, empty if it has none."""
        return members(self.raw.decode()).get(name, "")

    def items(self, name: str) -> tuple[str, ...]:
        """The exact JSON text of each item of a list in the body."""
        return list_items(self.member(name))


def members(text: str) -> dict[str, str]:
    """The exact text of each member of a JSON object."""
    decoder = json.JSONDecoder()
    found: dict[str, str] = {}
    at = _skip(text, _skip(text, 0) + 1)
    while at < len(text) and text[at] != "}":
        name, at = decoder.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        _, end = decoder.raw_decode(text, start)
        found[str(name)] = text[start:end]
        at = _after_comma(text, end)
    return found


def list_items(text: str) -> tuple[str, ...]:
    """The exact text of each item of a JSON array; none for an empty text."""
    decoder = json.JSONDecoder()
    found: list[str] = []
    at = _skip(text, _skip(text, 0) + 1)
    while at < len(text) and text[at] != "]":
        _, end = decoder.raw_decode(text, at)
        found.append(text[at:end])
        at = _after_comma(text, end)
    return tuple(found)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in WHITESPACE:
        at += 1
    return at


def _after_comma(text: str, at: int) -> int:
    at = _skip(text, at)
    return _skip(text, at + 1) if text[at : at + 1] == "," else at


def extends(earlier: Recorded, later: Recorded) -> bool:
    """Whether the later body has the earlier one's `tools` and `system` and begins with its `messages`, in bytes."""
    same = all(earlier.member(name) == later.member(name) for name in ("tools", "system"))
    before, now = earlier.items("messages"), later.items("messages")
    return same and now[: len(before)] == before


class Log:
    """The requests received so far, in order of arrival."""

    def __init__(self) -> None:
        self._all: list[Recorded] = []
        self._news = Condition()

    def open(self, path: str, headers: Mapping[str, str], raw: bytes) -> Recorded:
        """Records a request; numbers count from 1."""
        with self._news:
            made = Recorded(len(self._all) + 1, path, headers, raw)
            self._all.append(made)
            self._news.notify_all()
            return made

    def all(self) -> tuple[Recorded, ...]:
        """Every request."""
        with self._news:
            return tuple(self._all)

    def rounds(self) -> tuple[Recorded, ...]:
        """The requests for an answer, without those that counted."""
        return tuple(one for one in self.all() if not one.counting)

    def wait_for(self, count: int, seconds: float = 10.0) -> tuple[Recorded, ...]:
        """Waits until so many have arrived and returns them; raises TimeoutError after `seconds`."""
        with self._news:
            if not self._news.wait_for(lambda: len(self._all) >= count, seconds):
                raise TimeoutError(f"{len(self._all)} of {count} requests arrived in {seconds} s")
            return tuple(self._all)
