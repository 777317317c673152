"""Which connection listens in a channel, so that several of ours that hear the same lines hand each in once.

Owns, per channel, the listener and what the others heard meanwhile. A server sends the same lines in the same order
to everybody, so when the listener drops, what its successor has heard shows what is still to be handed in, and
what was handed in already and is yet to come. Pure; echoes of our own words, which no two of us hear alike, stay out.
"""

from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

M = TypeVar("M", bound=Hashable)


@dataclass(slots=True)
class Hearing(Generic[M]):
    """One channel's lines. `M`: a line as it would be handed in; the same line heard twice is equal."""

    keep: int = 500
    listener: str = ""
    _handed: deque[M] = field(init=False)
    _ahead: deque[M] = field(init=False)
    _spare: dict[str, deque[M]] = field(init=False)

    def __post_init__(self) -> None:
        """Nobody is in the channel."""
        self._handed, self._ahead, self._spare = deque(maxlen=self.keep), deque(), {}

    def enter(self, who: str) -> None:
        """A connection is in the channel; the first one listens."""
        self._spare[who] = deque(maxlen=self.keep)
        self.listener = self.listener or who

    def heard(self, who: str, line: M) -> bool:
        """Whether a line that a connection heard is to be handed in."""
        self.listener = self.listener or who
        if who != self.listener:
            self._spare.setdefault(who, deque(maxlen=self.keep)).append(line)
            return False
        if line in self._ahead:
            while self._ahead.popleft() != line:
                pass
            return False
        self._ahead.clear()
        self._handed.append(line)
        return True

    def leave(self, who: str) -> list[M]:
        """A connection is out of the channel. The lines to be handed in that only its successor has heard."""
        self._spare.pop(who, None)
        if who != self.listener:
            return []
        self.listener = next(iter(self._spare), "")
        self._ahead.clear()
        if not self.listener:
            return []
        spare = list(self._spare[self.listener])
        self._spare[self.listener].clear()
        missed, ahead = compare(list(self._handed), spare)
        self._ahead.extend(ahead)
        self._handed.extend(missed)
        return missed


def compare(handed: Sequence[M], spare: Sequence[M]) -> tuple[list[M], list[M]]:
    """(lines of `spare` after the last that was handed in, lines handed in after the last of `spare`).

    Both are windows of one sequence, each with its newest line last; one of the two answers is empty. Where they have
    nothing in common, nothing is said of either.
    """
    if not handed:
        return list(spare), []
    for end in range(len(spare), 0, -1):
        both = min(end, len(handed))
        if spare[end - both:end] == handed[len(handed) - both:]:
            return list(spare[end:]), []
    for end in range(len(handed) - 1, 0, -1):
        both = min(end, len(spare))
        if both and handed[end - both:end] == spare[len(spare) - both:]:
            return [], list(handed[end:])
    return [], []
