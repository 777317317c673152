"""The event loop of a simulation: asyncio's own, with a clock that jumps and no selector.

Coroutines, timeouts, async generators and tenacity's waits run unchanged; `one_pass` runs what is ready and
returns. There is nothing to select on: opening a socket, a pipe or a process raises. One thread.
"""

import asyncio
import heapq
import sys
import threading
from asyncio import events
from collections.abc import Callable
from typing import Any

from ..messages.errors import Error
from .system import Clock


class NoSockets(Error):
    """A socket, pipe or process was asked for under simulation."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is not possible in a simulated event loop; use a scripted double, or run on Pool")


class _NothingToSelect:
    def select(self, timeout: float | None = None) -> list[Any]:
        return []


class VirtualLoop(asyncio.BaseEventLoop):
    """A loop that a simulation drives pass by pass."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._virtual_clock = clock
        self._selector = _NothingToSelect()
        self._clock_resolution = 1e-6

    def time(self) -> float:
        """The simulation's clock."""
        return self._virtual_clock.now()

    def has_work(self) -> bool:
        """Whether a pass would run something now."""
        at = self.next_at()
        return bool(self._ready) or (at is not None and at <= self.time())  # type: ignore[attr-defined]

    def next_at(self) -> float | None:
        """When the loop's next timer is due."""
        inside: Any = self
        scheduled = inside._scheduled
        while scheduled and scheduled[0].cancelled():
            # As the loop itself does at the head of a pass.
            inside._timer_cancelled_count -= 1
            heapq.heappop(scheduled)._scheduled = False
        return float(scheduled[0].when()) if scheduled else None

    def one_pass(self) -> None:
        """Run everything that is ready, once, with this loop as the running one."""
        before = events._get_running_loop()
        hooks = sys.get_asyncgen_hooks()
        self._thread_id = threading.get_ident()
        sys.set_asyncgen_hooks(
            firstiter=self._asyncgen_firstiter_hook,  # type: ignore[attr-defined]
            finalizer=self._asyncgen_finalizer_hook,  # type: ignore[attr-defined]
        )
        events._set_running_loop(self)
        try:
            self._run_once()  # type: ignore[attr-defined]
        finally:
            events._set_running_loop(before)
            sys.set_asyncgen_hooks(*hooks)
            self._thread_id = None  # type: ignore[assignment]

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Any, *args: Any, context: Any = None
    ) -> asyncio.Handle:
        """As call_soon: everything is in one thread."""
        return self.call_soon(callback, *args, context=context)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """Run the function whole, in a later pass."""
        future = self.create_future()

        def call() -> None:
            if future.cancelled():
                return
            try:
                future.set_result(func(*args))
            except Exception as error:
                future.set_exception(error)

        self.call_soon(call)
        return future

    def _process_events(self, event_list: list[Any]) -> None:
        """Nothing comes from a selector."""

    def _write_to_self(self) -> None:
        """Nobody sleeps in a selector."""


def _refuse(what: str) -> Callable[..., Any]:
    def refused(self: VirtualLoop, *args: Any, **kwargs: Any) -> Any:
        raise NoSockets(what)

    return refused


for _name in (
    "create_connection", "create_server", "create_datagram_endpoint", "create_unix_connection", "create_unix_server",
    "getaddrinfo", "getnameinfo", "sock_accept", "sock_connect", "sock_recv", "sock_recv_into", "sock_sendall",
    "sock_sendfile", "sendfile", "connect_accepted_socket", "connect_read_pipe", "connect_write_pipe",
    "subprocess_exec", "subprocess_shell", "add_reader", "add_writer", "start_tls",
):
    setattr(VirtualLoop, _name, _refuse(_name))
