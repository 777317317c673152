"""Timers: what is to happen at a time of the clock.

`Timers` is an ordered heap without a thread (a simulation moves it); `TimerThread` fires them on the
machine's time. What a timer does is short and never blocks: it tells mail or hands an inbox on.
"""

import heapq
import itertools
import logging
import threading
from collections.abc import Callable

from .system import Clock

_log = logging.getLogger(__name__)


class Alarm:
    """One timer; `cancel()` at any time, from any thread."""

    __slots__ = ("at", "fire", "name")

    def __init__(self, at: float, fire: Callable[[], None], name: str) -> None:
        self.at = at
        self.fire: Callable[[], None] | None = fire
        self.name = name

    def cancel(self) -> None:
        """Do not fire; nothing happens if it has fired."""
        self.fire = None


class Timers:
    """A heap of alarms, ordered by time and then by when they were set."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Alarm]] = []
        self._numbers = itertools.count()

    def __len__(self) -> int:
        return sum(1 for _, _, alarm in self._heap if alarm.fire is not None)

    def add(self, alarm: Alarm) -> None:
        """Set an alarm."""
        heapq.heappush(self._heap, (alarm.at, next(self._numbers), alarm))

    def next_at(self) -> float | None:
        """When the next alarm is due."""
        while self._heap and self._heap[0][2].fire is None:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now: float) -> Alarm | None:
        """Take the next alarm that is due at `now`."""
        at = self.next_at()
        if at is None or at > now:
            return None
        return heapq.heappop(self._heap)[2]

    def clear(self) -> None:
        """Forget every alarm."""
        self._heap.clear()


def fire(alarm: Alarm) -> None:
    """Do what the alarm is for, at most once; a raising one is logged."""
    action, alarm.fire = alarm.fire, None
    if action is None:
        return
    try:
        action()
    except Exception:
        _log.exception("the timer %s raised", alarm.name)


class TimerThread:
    """Fires alarms on a daemon thread of its own, started at the first alarm."""

    def __init__(self, clock: Clock, name: str) -> None:
        self._clock = clock
        self._name = name
        self._timers = Timers()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def __len__(self) -> int:
        with self._changed:
            return len(self._timers)

    def call_later(self, seconds: float, action: Callable[[], None], name: str) -> Alarm:
        """Call `action` in `seconds` (at once if negative), in the timer thread."""
        alarm = Alarm(self._clock.now() + max(0.0, seconds), action, name)
        with self._changed:
            if self._closed:
                alarm.cancel()
                return alarm
            self._timers.add(alarm)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=f"{self._name}-timers", daemon=True)
                self._thread.start()
            elif self._timers.next_at() == alarm.at:
                self._changed.notify()
        return alarm

    def close(self, timeout: float) -> None:
        """Fire nothing more."""
        with self._changed:
            self._closed = True
            self._timers.clear()
            self._changed.notify()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)

    def _run(self) -> None:
        while (alarm := self._next()) is not None:
            fire(alarm)

    def _next(self) -> Alarm | None:
        with self._changed:
            while not self._closed:
                now = self._clock.now()
                due = self._timers.pop_due(now)
                if due is not None:
                    return due
                at = self._timers.next_at()
                # Never over a minute: the wall clock may be set forward meanwhile.
                self._changed.wait(None if at is None else min(60.0, max(0.0, at - now)))
        return None
