"""The bridge: every crossing between threads and event loops.

Coroutines started for an actor, answers awaited by a host's coroutine, and the deltas of a stream. Traps it
owns: a future that asyncio cancelled, a loop that was closed, an await that blocks the loop. Knows
addresses, not actors; never blocks.
"""

import asyncio
import concurrent.futures
import logging
import threading
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, Protocol, TypeVar

from ..messages.address import Address, MailFailed, ReplyTo, Undelivered
from ..messages.errors import Failed
from .system import JobGivenUp, JobNotStarted, Mail, System

_log = logging.getLogger(__name__)
T = TypeVar("T")
Finish = Callable[[Any, BaseException | None], None]


def call_in(loop: asyncio.AbstractEventLoop, action: Callable[[], object]) -> bool:
    """Run `action` in the loop, from any thread; False if the loop is closed."""
    try:
        loop.call_soon_threadsafe(action)
    except RuntimeError:
        return False
    return True


class LoopFuture(Generic[T]):
    """An answer that any thread gives once and a thread or a coroutine waits for.

    `result(timeout)` blocks a thread; `await` waits in a running loop without blocking it.
    """

    def __init__(self) -> None:
        self._future: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._lock = threading.Lock()
        self._settled = False

    def set(self, value: T) -> bool:
        """Give the answer; False if nobody waits any more or there is one."""
        if not self._claim():
            return False
        self._future.set_result(value)
        return True

    def fail(self, error: BaseException) -> bool:
        """Give an error as the answer; False if nobody waits any more or there is one."""
        if not self._claim():
            return False
        self._future.set_exception(error)
        return True

    def done(self) -> bool:
        """Whether it is answered or cancelled."""
        return self._future.done()

    def result(self, timeout: float | None = None) -> T:
        """Block this thread for the answer; TimeoutError past `timeout` seconds."""
        return self._future.result(timeout)

    def __await__(self) -> Generator[Any, None, T]:
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()

        def release() -> None:
            if not waiter.done():
                waiter.set_result(None)

        self._future.add_done_callback(lambda _: call_in(loop, release))
        try:
            yield from waiter
        except asyncio.CancelledError:
            self._future.cancel()
            raise
        return self._future.result()

    def _claim(self) -> bool:
        with self._lock:
            if self._settled:
                return False
            self._settled = True
        # False when asyncio or the host has cancelled it; setting it then would raise in the actor.
        return self._future.set_running_or_notify_cancel()


async def wait(system: System, to: Address, make: Callable[[ReplyTo], Mail], timeout: float) -> Any:
    """`System.ask` for coroutines: the loop goes on meanwhile. Raises TimeoutError and Failed."""
    future: LoopFuture[object] = LoopFuture()
    reply = system.open_reply(future.set)
    try:
        system.tell(to, make(ReplyTo(reply)))
        async with asyncio.timeout(timeout):
            answer = await future
    except TimeoutError:
        raise TimeoutError(f"{to} did not answer within {timeout:g} s") from None
    finally:
        system.close_reply(reply)
    return unwrapped(to, answer)


def unwrapped(to: Address, answer: Any) -> Any:
    """The answer to an ask, or the `Failed` that the runtime's own answer stands for."""
    if isinstance(answer, MailFailed):
        raise Failed(f"{to} raised on {type(answer.mail).__name__}: {answer.error}; its log line has the traceback")
    if isinstance(answer, Undelivered):
        raise Failed(f"{to} has ended or was never there; {type(answer.mail).__name__} was not handled")
    return answer


class LoopTask:
    """A coroutine in a loop whose end is reported once: its result, its error, or its deadline."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        make: Callable[[], Coroutine[Any, Any, Any]],
        finish: Finish,
        *,
        name: str,
        deadline: float | None = None,
        left: Callable[["LoopTask"], None] | None = None,
    ) -> None:
        self.name = name
        self.over = False
        self._loop = loop
        self._make = make
        self._finish = finish
        self._deadline = deadline
        self._left = left
        self._lock = threading.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self.task: asyncio.Task[Any] | None = None

    def start(self) -> None:
        """Start it, from any thread."""
        if not call_in(self._loop, self._begin):
            self._end(None, JobNotStarted(self.name, "the event loop that it runs on is closed"))

    def cancel(self) -> None:
        """Cancel the coroutine; nothing is reported. Idempotent, from any thread."""
        if self._claim():
            call_in(self._loop, self._drop)

    def abandon(self) -> None:
        """Its loop is gone: close the coroutine where it stands and report nothing."""
        self._claim()
        task, self.task = self.task, None
        if task is None or task.done():
            return
        # asyncio would warn of a pending task that is destroyed, which is what a crash does.
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        coroutine: Any = task.get_coro()
        try:
            coroutine.close()
        except Exception:
            _log.debug("%r did not go quietly", self.name, exc_info=True)

    def _begin(self) -> None:
        if self.over:
            self._leave()
            return
        try:
            self.task = self._loop.create_task(self._make(), name=self.name)
        except Exception as error:
            self._end(None, error)
            return
        self.task.add_done_callback(self._ended)
        if self._deadline is not None:
            self._timer = self._loop.call_later(self._deadline, self._expire)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if task.cancelled():
            self._end(None, asyncio.CancelledError(f"{self.name!r} was cancelled"))
            return
        # Asking for the error also keeps asyncio from logging it as never retrieved.
        error = task.exception()
        self._end(None if error is not None else task.result(), error)

    def _expire(self) -> None:
        self._end(None, JobGivenUp(self.name, self._deadline or 0.0), leave=False)
        self._drop()

    def _drop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self.task is not None:
            self.task.cancel()

    def _claim(self) -> bool:
        with self._lock:
            claimed, self.over = not self.over, True
        return claimed

    def _end(self, value: Any, error: BaseException | None, *, leave: bool = True) -> None:
        if self._claim():
            try:
                self._finish(value, error)
            except Exception:
                _log.exception("the end of %r could not be reported", self.name)
        if leave:
            self._leave()

    def _leave(self) -> None:
        if self._left is not None:
            self._left(self)


class _Loop(Protocol):
    def tell(self, to: Address, mail: Mail) -> None: ...


class DeltaBuffer(Generic[T]):
    """Deltas of one stream that wait in a mailbox, merged: one mail however many there are.

    `put` is called in the loop and `take` in the handler of that mail.
    """

    def __init__(self, system: _Loop, to: Address, make_mail: Callable[[], Mail]) -> None:
        self._system = system
        self._to = to
        self._make_mail = make_mail
        self._lock = threading.Lock()
        self._events: list[T] = []

    def put(self, event: T) -> None:
        """Add an event; tells a mail unless one is on its way."""
        with self._lock:
            self._events.append(event)
            first = len(self._events) == 1
        if first:
            self._system.tell(self._to, self._make_mail())

    def take(self) -> list[T]:
        """The events since the last take, in order."""
        with self._lock:
            events, self._events = self._events, []
        return events
