"""The future behind an ask of a pooled actor.

Sets and reads without a lock unless the reader came first, and waits through the scheduler of the actor that
was asked, so that a blocked worker is replaced and a cycle of asks raises (design, "How actors run").
"""

import queue
import sys
import threading
import time
from typing import Any, TypeVar

import pykka

from .inbox import Inbox, Scheduler, here

Timeout = pykka.Timeout

T = TypeVar("T")
_reader_lock = threading.Lock()


class PooledFuture(pykka.Future[T]):
    """pykka's future, light; `whom` is the inbox that was asked."""

    timeout: float | None = None
    whom: Inbox | None = None
    scheduler: Scheduler | None = None
    _readers: tuple[threading.Lock, ...] = ()

    def over(self) -> bool:
        """Whether the answer is there."""
        return "_outcome" in self.__dict__

    def get(self, *, timeout: float | None = None) -> Any:
        """The answer; raises what the actor raised, pykka.Timeout, or AskCycle."""
        if self._get_hook is not None:
            return super().get(timeout=timeout)
        if "_outcome" not in self.__dict__ and not self._wait(timeout):
            raise pykka.Timeout(f"{timeout} seconds")
        value, error = self.__dict__["_outcome"]
        if error is None:
            return value
        kind, exc, trace = error
        exc = kind() if exc is None else exc
        raise exc if exc.__traceback__ is trace else exc.with_traceback(trace)

    def set(self, value: Any | None = None) -> None:
        """Give the answer; queue.Full if there is one or a get hook."""
        self._settle((value, None))

    def set_exception(self, exc_info: Any = None) -> None:
        """Give an exception as the answer; queue.Full if there is one or a get hook."""
        self._settle((None, exc_info or sys.exc_info()))

    def set_get_hook(self, func: Any) -> None:
        """Compute the answer at `get`; queue.Full if there is an answer."""
        if self.over():
            raise queue.Full
        super().set_get_hook(func)

    def block(self, timeout: float | None) -> bool:
        """Block this thread until the answer is there; False on timeout."""
        ends = None if timeout is None else time.monotonic() + timeout
        latch = threading.Lock()
        latch.acquire()
        with _reader_lock:
            self._readers = (*self._readers, latch)
        # The hook or the answer may have come before the latch was seen.
        while not self.over():
            left = -1.0 if ends is None else ends - time.monotonic()
            if ends is not None and left <= 0:
                return False
            latch.acquire(timeout=left)
        return True

    def _wait(self, timeout: float | None) -> bool:
        # An asking handler waits where it runs; anybody else where the asked actor runs.
        scheduler = self.scheduler or (self.whom.scheduler if self.whom is not None else None)
        if here.inbox is not None:
            scheduler = here.inbox.scheduler
        if scheduler is None:
            return self.block(timeout)
        self.timeout = timeout
        return scheduler.wait(self)

    def _settle(self, outcome: tuple[Any, Any]) -> None:
        # setdefault is atomic: of two setters exactly one wins.
        if self._get_hook is not None or self.__dict__.setdefault("_outcome", outcome) is not outcome:
            raise queue.Full
        for latch in self._readers:
            if latch.locked():
                latch.release()


def asked(whom: Inbox | None, scheduler: Scheduler) -> PooledFuture[Any]:
    """A future for the answer of `whom`, waited for through `scheduler`."""
    future: PooledFuture[Any] = PooledFuture()
    future.whom = whom
    future.scheduler = scheduler
    return future
