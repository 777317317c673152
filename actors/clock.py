"""Clocks: the one source of time for everything that acts.

`WallClock` reads the machine's clock and never goes back; `VirtualClock` stands still until it is told to
move. Nobody else calls `time.time()` or `time.monotonic()` for a decision (design, "How actors run").
"""

import threading
import time


class WallClock:
    """Unix seconds that never go back: a clock that was set back goes on at the rate of the monotonic one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._offset = time.time() - time.monotonic()

    def now(self) -> float:
        """The time in Unix seconds."""
        steady = time.monotonic()
        offset = time.time() - steady
        with self._lock:
            # A suspended machine or a clock set forward moves us on; one set back does not move us at all.
            self._offset = max(self._offset, offset)
            return steady + self._offset


class VirtualClock:
    """A clock that a simulation moves."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start

    def now(self) -> float:
        """The time in Unix seconds."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move on by `seconds`; ValueError if negative."""
        if seconds < 0:
            raise ValueError(f"a clock does not go back (asked for {seconds} s)")
        self._now += seconds

    def move_to(self, at: float) -> None:
        """Move on to `at`; an earlier time changes nothing."""
        self._now = max(self._now, at)
