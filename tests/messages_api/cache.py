"""The prompt cache: prefixes written at breakpoints, found again by a look back of 20 blocks, kept on a clock.

Owns: what a request reads, writes and pays in full (providers.md 1.8). A prefix is written only where a breakpoint
stands and only beyond what was read; it is usable from the first byte of the reply on, so a request that fails
before that writes nothing; reading one refreshes it and every shorter one inside it. The clock is injected. Not
locked: `service.py` calls it under its own lock.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from .markers import ONE_HOUR
from .prompt import Piece
from .wire import JsonObject

LOOK_BACK = 20
SECONDS = {"5m": 300.0, ONE_HOUR: 3600.0}


@dataclass(frozen=True, slots=True)
class Plan:
    """What one request does with the cache. Tokens; the three parts add up to the whole input."""

    read: int = 0
    written_5m: int = 0
    written_1h: int = 0
    fresh: int = 0
    refreshed: tuple[str, ...] = ()
    writes: tuple[tuple[str, str], ...] = ()

    def usage(self) -> JsonObject:
        """The input side of `usage`."""
        return {
            "input_tokens": self.fresh,
            "cache_creation_input_tokens": self.written_5m + self.written_1h,
            "cache_read_input_tokens": self.read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.written_5m,
                "ephemeral_1h_input_tokens": self.written_1h,
            },
        }


@dataclass(slots=True)
class Entry:
    """A written prefix: how long it lives after a use, and until when (seconds of the clock)."""

    life: float
    until: float


class PromptCache:
    """The prefixes written so far."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock`: seconds that only grow."""
        self._clock = clock
        self._entries: dict[str, Entry] = {}

    def look_up(self, pieces: Sequence[Piece], keys: Sequence[str], minimum: int) -> Plan:
        """What a request with this prompt reads and would write. Changes nothing.

        `minimum`: tokens below which a breakpoint is silently off.
        """
        ends = list(accumulate(piece.tokens for piece in pieces))
        points = [index for index, piece in enumerate(pieces) if piece.ttl and ends[index] >= minimum]
        hit = self._hit(points, keys)
        read = ends[hit] if hit >= 0 else 0
        beyond = [index for index in points if index > hit]
        long = max((ends[index] for index in beyond if pieces[index].ttl == ONE_HOUR), default=read)
        last = ends[beyond[-1]] if beyond else read
        return Plan(
            read=read,
            written_1h=long - read,
            written_5m=last - long,
            fresh=(ends[-1] if ends else 0) - last,
            refreshed=tuple(key for key in keys[: hit + 1] if self._alive(key)),
            writes=tuple((keys[index], pieces[index].ttl or "") for index in beyond),
        )

    def commit(self, plan: Plan) -> None:
        """Does what a plan says; called when the reply begins."""
        now = self._clock()
        for key in plan.refreshed:
            if key in self._entries:
                self._entries[key].until = now + self._entries[key].life
        for key, ttl in plan.writes:
            self._entries[key] = Entry(SECONDS[ttl], now + SECONDS[ttl])

    def _hit(self, points: Sequence[int], keys: Sequence[str]) -> int:
        """Index of the longest prefix found from any breakpoint, itself the first of the 20 looked at; -1 if none."""
        looked = {back for point in points for back in range(point, max(-1, point - LOOK_BACK), -1)}
        return max((index for index in looked if self._alive(keys[index])), default=-1)

    def _alive(self, key: str) -> bool:
        entry = self._entries.get(key)
        return entry is not None and entry.until > self._clock()
