"""The flood limit of one IRC connection: a token bucket that makes a sender wait, never drop.

Servers cut a client that sends too fast. Owned by one connection, used on its event loop only; senders
leave in the order in which they came.
"""

import asyncio


class FloodLimit:
    """`burst` lines at once, then one in `interval` seconds of the loop's time (0: no limit)."""

    def __init__(self, burst: int, interval: float) -> None:
        self.burst = max(1, burst)
        self.interval = interval
        self._earliest = 0.0  # when a full bucket would have been empty for the line that comes next
        self._turn = asyncio.Lock()

    def delay(self, now: float) -> float:
        """Seconds until a line may be sent, at the loop's time `now`."""
        return max(0.0, self._earliest - now - (self.burst - 1) * self.interval)

    async def take(self) -> None:
        """Wait until one line may be sent, and count it."""
        loop = asyncio.get_running_loop()
        async with self._turn:
            wait = self.delay(loop.time())
            if wait > 0:
                await asyncio.sleep(wait)
            self._earliest = max(self._earliest, loop.time()) + self.interval
