"""The system on threads: workers, a timer thread, one event loop, pools for blocking calls.

Everything it starts is a daemon thread, so a program that never stops it still ends. `switch_interval` is
set only if the host asked for it and put back at `close`. Decides nothing about mail: see `delivery`.
"""

import asyncio
import random
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from ..messages.address import Address
from .bridge import LoopTask
from .clock import WallClock
from .delivery import Delivery
from .faults import Faults, FaultSource
from .inbox import Inbox, Waiting
from .jobs import Jobs
from .loop_thread import LoopThread
from .system import Done, Statistics, Store, Task
from .timers import Alarm, TimerThread
from .workers import Workers

T = TypeVar("T")


class Pool(Delivery):
    """`System` on threads.

    `workers`: how many threads run handlers (default 2 to 4). `switch_interval`: seconds for
    `sys.setswitchinterval` while the pool runs; 0.0005 keeps asks quick beside busy handlers.
    `faults`: for tests of whole systems on threads.
    """

    clock: WallClock

    def __init__(
        self,
        store: Store,
        *,
        workers: int | None = None,
        switch_interval: float | None = None,
        seed: int | str | None = None,
        faults: Faults | None = None,
        name: str = "manyminds",
    ) -> None:
        super().__init__(store, WallClock(), random.Random(seed))
        self._workers = Workers(workers, name)
        self._timers = TimerThread(self.clock, name)
        self._loop = LoopThread(name)
        self._jobs = Jobs(self.call_later, name)
        self._tasks: set[LoopTask] = set()
        self._tasks_lock = threading.Lock()
        self._faults = FaultSource(faults or Faults(), random.Random(seed))
        self._switch_interval = switch_interval
        self._switch_before: float | None = None

    def start(self) -> None:
        """Start the workers; other threads start when they are first needed."""
        if self._switch_interval is not None:
            self._switch_before = sys.getswitchinterval()
            sys.setswitchinterval(self._switch_interval)
        self._workers.start()

    def close(self, deadline: float = 5.0) -> bool:
        """Stop timers, coroutines, calls and workers; False if something still ran past `deadline` seconds."""
        ends = self.clock.now() + deadline
        self._timers.close(deadline)
        self._jobs.close()
        with self._tasks_lock:
            tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        quiet = self._loop.close(max(0.0, ends - self.clock.now()))
        quiet = self._workers.close(max(0.1, ends - self.clock.now())) and quiet
        self.traces.close()
        if self._switch_before is not None:
            sys.setswitchinterval(self._switch_before)
            self._switch_before = None
        return quiet

    def ready(self, inbox: Inbox, /) -> None:
        """Run a slice of this inbox soon."""
        self._workers.ready(inbox)

    def wait(self, wait: Waiting) -> bool:
        """Block for an answer; a worker that waits is replaced meanwhile."""
        return self._workers.wait(wait)

    def call_later(self, seconds: float, action: Callable[[], None], name: str) -> Alarm:
        """Call `action` in `seconds`, in the timer thread."""
        return self._timers.call_later(seconds, action, name)

    def job(
        self, kind: str, call: Callable[[], T], to: Address, done: Done[T], *, name: str, deadline: float | None = None
    ) -> Task:
        """Run a blocking function on the pool `kind`; see `System.job`."""
        return self._jobs.submit(
            kind, call, lambda value, error: self.tell(to, done(value, error)), name=name, deadline=deadline
        )

    def task(
        self,
        make: Callable[[], Coroutine[Any, Any, T]],
        to: Address,
        done: Done[T],
        *,
        name: str,
        deadline: float | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> Task:
        """Run a coroutine on the runtime's loop or the host's; see `System.task`."""
        task = LoopTask(
            loop or self._loop.loop(), make, lambda value, error: self.tell(to, done(value, error)),
            name=name, deadline=deadline, left=self._task_left,
        )
        with self._tasks_lock:
            self._tasks.add(task)
        task.start()
        return task

    def fault(self, name: str) -> bool:
        """Whether to fail here on purpose."""
        return self._faults.draw(name)

    def statistics(self) -> Statistics:
        """Counts of what lives and waits."""
        return Statistics(
            actors=len(self._cells), parked=self.parked, ready=self._workers.waiting, workers=self._workers.alive,
            blocked=self._workers.blocked, timers=len(self._timers), jobs=len(self._jobs), tasks=len(self._tasks),
            given_up=self._jobs.given_up, rebuilt=self.rebuilt, ended=self.buried,
        )

    def _task_left(self, task: LoopTask) -> None:
        with self._tasks_lock:
            self._tasks.discard(task)
