"""The future behind an ask of a pooled actor.

Sets and reads without a lock unless the reader came first, and waits through the scheduler of the actor that
was asked, so that a blocked worker is replaced and a cycle of asks raises (design, "How actors run").
"""

import queue
import sys
import threading
from typing import Any, ClassVar, TypeVar

import pykka
from pykka._future import _Unset

from .inbox import Inbox, Scheduler, here

Timeout = pykka.Timeout
T = TypeVar("T")


class PooledFuture(pykka.Future[T]):
    """pykka's future, light; `whom` is the inbox that was asked."""

    # Defaults of the class, so that an ask pays for what it uses only.
    _get_hook: Any = None
    _get_hook_result: Any = _Unset()
    _outcome: tuple[Any, Any] | None = None
    _readers: ClassVar[Any] = ()
    timeout: float | None = None
    whom: Inbox | None = None
    scheduler: Scheduler | None = None

    def __init__(self) -> None:  # pyright: ignore[reportMissingSuperCall]
        pass

    def over(self) -> bool:
        """Whether the answer is there."""
        return self._outcome is not None

    def get(self, *, timeout: float | None = None) -> Any:
        """The answer; raises what the actor raised, pykka.Timeout, or AskCycle."""
        if self._get_hook is not None:
            return super().get(timeout=timeout)
        if self._outcome is None:
            self._wait(timeout)
        if self._outcome is None:
            raise pykka.Timeout(f"{timeout} seconds")
        value, error = self._outcome
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
        if self._outcome is not None:
            raise queue.Full
        super().set_get_hook(func)

    def block(self, timeout: float | None) -> bool:
        """Block this thread until the answer is there; False on timeout."""
        latch = threading.Lock()
        latch.acquire()
        # setdefault and append are atomic, so that no reader is lost.
        self.__dict__.setdefault("_readers", []).append(latch)
        # The answer may have come before the latch was seen.
        if self._outcome is None:
            latch.acquire(timeout=-1 if timeout is None else max(0.0, timeout))
        return self._outcome is not None

    def _wait(self, timeout: float | None) -> None:
        # An asking handler waits where it runs; anybody else where the asked actor runs.
        asker, scheduler = here.inbox, self.scheduler
        if asker is not None:
            scheduler = asker.scheduler
        elif scheduler is None and self.whom is not None:
            scheduler = self.whom.scheduler
        if scheduler is None:
            self.block(timeout)
            return
        self.timeout = timeout
        scheduler.wait(self)

    def _settle(self, outcome: tuple[Any, Any]) -> None:
        # setdefault is atomic: of two setters exactly one wins.
        if self._get_hook is not None or self.__dict__.setdefault("_outcome", outcome) is not outcome:
            raise queue.Full
        for latch in self._readers:
            latch.release()


def asked(whom: Inbox | None, scheduler: Scheduler) -> PooledFuture[Any]:
    """A future for the answer of `whom`, waited for through `scheduler`."""
    future: PooledFuture[Any] = PooledFuture()
    future.whom = whom
    future.scheduler = scheduler
    return future
