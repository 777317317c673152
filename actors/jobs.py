"""Jobs: blocking functions of tools and publishers, on threads of their own.

One pool of daemon threads per kind, grown when nobody is free. A job past its deadline is given up: its end
is reported, its thread is counted and replaced; when too many hang, jobs of the same name are refused
(design, "Nothing blocks in a handler"). No handler runs here.
"""

import logging
import threading
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from .bridge import Finish
from .system import JobGivenUp, JobNotStarted, JobRefused
from .timers import Alarm

_log = logging.getLogger(__name__)
MOST_THREADS = 64
MOST_GIVEN_UP = 64
IDLE_SECONDS = 10.0
CallLater = Callable[[float, Callable[[], None], str], Alarm]


class Job:
    """One call; `cancel()` from any thread."""

    __slots__ = ("alarm", "call", "finish", "jobs", "kind", "name", "over", "running")

    def __init__(self, jobs: "Jobs", kind: str, call: Callable[[], Any], finish: Finish, name: str) -> None:
        self.jobs = jobs
        self.kind = kind
        self.call = call
        self.finish = finish
        self.name = name
        self.alarm: Alarm | None = None
        self.running = False
        self.over = False

    def cancel(self) -> None:
        """Report nothing; a call that has not begun never begins. Idempotent."""
        self.jobs.give_up(self)


class _Pool:
    """The threads of one kind."""

    def __init__(self) -> None:
        self.waiting: deque[Job] = deque()
        self.threads = 0
        self.idle = 0


class Jobs:
    """Every pool of blocking calls of one runtime."""

    def __init__(self, call_later: CallLater, name: str) -> None:
        self._call_later = call_later
        self._name = name
        self._changed = threading.Condition()
        self._pools: dict[str, _Pool] = {}
        self._given_up: Counter[str] = Counter()
        self._closed = False

    @property
    def given_up(self) -> int:
        """How many threads hang in calls that were given up."""
        return sum(self._given_up.values())

    def __len__(self) -> int:
        """How many calls wait or run."""
        with self._changed:
            return sum(len(pool.waiting) + pool.threads - pool.idle for pool in self._pools.values())

    def submit(
        self, kind: str, call: Callable[[], Any], finish: Finish, *, name: str, deadline: float | None = None
    ) -> Job:
        """Run `call` on the pool `kind`; see `System.job`."""
        job = Job(self, kind, call, finish, name)
        with self._changed:
            refused = self.given_up >= MOST_GIVEN_UP and self._given_up[name] > 0
            if refused or self._closed:
                job.over = True
            else:
                self._enter(job)
        if refused:
            _report(job, None, JobRefused(name))
        elif deadline is not None and not job.over:
            job.alarm = self._call_later(deadline, lambda: self._expire(job, deadline), f"deadline of {name!r}")
            if job.over:
                job.alarm.cancel()
        return job

    def close(self) -> None:
        """Begin no more calls; those that run are left to end by themselves."""
        with self._changed:
            self._closed = True
            for pool in self._pools.values():
                pool.waiting.clear()
            self._changed.notify_all()

    def give_up(self, job: Job) -> bool:
        """Take a job's end out of its hands; False if it has ended already."""
        with self._changed:
            if job.over:
                return False
            job.over = True
            pool = self._pools[job.kind]
            if job.running:
                self._given_up[job.name] += 1
                pool.threads -= 1
                if pool.waiting and not pool.idle:
                    self._start(job.kind, pool)
            elif job in pool.waiting:
                pool.waiting.remove(job)
        if job.alarm is not None:
            job.alarm.cancel()
        return True

    def _enter(self, job: Job) -> None:
        pool = self._pools.setdefault(job.kind, _Pool())
        pool.waiting.append(job)
        if len(pool.waiting) <= pool.idle:
            self._changed.notify_all()
        elif pool.threads < MOST_THREADS:
            self._start(job.kind, pool)

    def _start(self, kind: str, pool: _Pool) -> None:
        pool.threads += 1
        threading.Thread(target=self._work, args=(pool,), name=f"{self._name}-{kind}", daemon=True).start()

    def _expire(self, job: Job, deadline: float) -> None:
        began = job.running
        if self.give_up(job):
            _report(job, None, JobGivenUp(job.name, deadline) if began else JobNotStarted(job.name))

    def _work(self, pool: _Pool) -> None:
        while (job := self._next(pool)) is not None:
            value, error = _run(job)
            with self._changed:
                if job.over:
                    # It was given up and this thread replaced.
                    self._given_up[job.name] -= 1
                    return
                job.over = True
            if job.alarm is not None:
                job.alarm.cancel()
            _report(job, value, error)

    def _next(self, pool: _Pool) -> Job | None:
        with self._changed:
            while not pool.waiting:
                pool.idle += 1
                told = not self._closed and self._changed.wait(IDLE_SECONDS)
                pool.idle -= 1
                if not told and not pool.waiting:
                    pool.threads -= 1
                    return None
            job = pool.waiting.popleft()
            job.running = True
            return job


def _run(job: Job) -> tuple[Any, BaseException | None]:
    try:
        return job.call(), None
    except BaseException as error:
        return None, error


def _report(job: Job, value: Any, error: BaseException | None) -> None:
    try:
        job.finish(value, error)
    except Exception:
        _log.exception("the end of %r could not be reported", job.name)
