"""A token bucket: so many a minute, filled as time goes by, fed by what the provider says of itself.

Pure; the time is given. It may go below zero, where more was used than was estimated, and then fills up again. A cost
larger than the whole bucket waits for a full one, since it could never be covered.
"""

from ..messages.request import Limit


class Bucket:
    """One limit. Levels and costs in the limit's unit, times in seconds."""

    def __init__(self, limit: Limit, now: float) -> None:
        self.per_minute = limit.per_minute
        self._per_second = limit.per_second
        self._level = float(limit.left)
        self._at = now

    def level(self, now: float) -> float:
        """What may be used now."""
        if now > self._at:
            self._level = min(self.per_minute, self._level + (now - self._at) * self._per_second)
            self._at = now
        return self._level

    def full(self, now: float) -> bool:
        """Whether nothing is missing."""
        return self.level(now) >= self.per_minute

    def wait(self, cost: int, now: float) -> float:
        """Seconds until `cost` may be used; 0.0 for now."""
        missing = min(max(cost, 1), self.per_minute) - self.level(now)
        return max(0.0, missing / self._per_second)

    def use(self, cost: int, now: float) -> None:
        """Take it; a negative cost gives back."""
        self._level = min(self.per_minute, self.level(now) - cost)

    def feed(self, limit: Limit, now: float) -> None:
        """The provider's word: its limit, and no more than what it says is left."""
        level = self.level(now)
        self.per_minute, self._per_second = limit.per_minute, limit.per_second
        self._level = float(min(level, limit.left))
