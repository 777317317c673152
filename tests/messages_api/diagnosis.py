"""Why a cached prefix was not reused: `diagnostics.cache_miss_reason` (providers.md 1.8).

Owns: what is remembered of each answered request and the comparison with the one a client names. The levels are
compared in the order model, tools, system, messages; other settings that differ give `unavailable`. Not locked:
`service.py` calls it under its own lock.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from .prompt import Level, Piece, count, settings
from .wire import JsonObject, canonical, section


@dataclass(frozen=True, slots=True)
class Print:
    """One answered request, as far as a comparison needs it."""

    model: str
    other: str
    pieces: tuple[Piece, ...]

    def texts(self, level: Level) -> list[str]:
        """The canonical texts of one level."""
        return [piece.text for piece in self.pieces if piece.level == level]

    def cached(self) -> int:
        """Tokens up to its last breakpoint."""
        last = max((index for index, piece in enumerate(self.pieces) if piece.ttl), default=-1)
        return count(self.pieces[: last + 1])


class Diagnosis:
    """The prints of the requests answered so far, by the id of their reply."""

    def __init__(self) -> None:
        self._prints: dict[str, Print] = {}

    def remember(self, message_id: str, request: JsonObject, pieces: Sequence[Piece]) -> None:
        """Keeps the print of a request under its reply's id."""
        self._prints[message_id] = _print(request, pieces)

    def explain(self, request: JsonObject, pieces: Sequence[Piece], read: int) -> JsonObject | None:
        """The reply's `diagnostics`: null unless the request asks and its prefix left the named one's."""
        previous_id = section(request, "diagnostics").get("previous_message_id")
        if previous_id is None:
            return None
        previous = self._prints.get(previous_id)
        if previous is None:
            return {"cache_miss_reason": {"type": "previous_message_not_found"}}
        kind = _difference(previous, _print(request, pieces))
        if kind is None:
            return None
        reason: JsonObject = {"type": kind}
        if kind != "unavailable":
            reason["cache_missed_input_tokens"] = max(0, previous.cached() - read)
        return {"cache_miss_reason": reason}


def _print(request: JsonObject, pieces: Sequence[Piece]) -> Print:
    return Print(canonical([request["model"], request.get("speed")]), canonical(settings(request)), tuple(pieces))


def _difference(old: Print, new: Print) -> str | None:
    if old.model != new.model:
        return "model_changed"
    if old.texts("tools") != new.texts("tools"):
        return "tools_changed"
    if old.texts("system") != new.texts("system"):
        return "system_changed"
    before, now = old.texts("messages"), new.texts("messages")
    if now[: len(before)] != before:
        return "messages_changed"
    return "unavailable" if old.other != new.other else None
