"""AsyncRuntime: the runtime for asyncio hosts. The names of `Runtime`, awaited; the host's loop is never blocked.

Opening and closing, which touch the disk and join threads, run beside the loop. A coroutine given as a publisher,
callback or tool runs on the host's own loop. Holds nothing that decides.
"""

import asyncio
import logging
from collections.abc import Callable, Generator, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from ..messages.errors import QueueFull, RuntimeClosed
from ..messages.incoming import Accepted, Incoming, check_incoming
from ..messages.mail import DIRECTORY, STOPPER, AskState, Cancel, Receive
from ..messages.posts import LengthUnit
from ..messages.routing import WakeOn
from .bridge import wait
from .house import check_residents
from .providers.provider import Provider
from .runtime import (
    Callbacks,
    Folder,
    Health,
    OnFull,
    Opened,
    accepted_or_raise,
    check_server,
    check_settings,
    full_wait,
)
from .spec import Resident
from .traces import Subscription

_log = logging.getLogger(__name__)
F = TypeVar("F", bound=Callable[..., Any])


class AsyncRuntime:
    """An open runtime. `async with AsyncRuntime.open(...) as runtime`, or `await AsyncRuntime.open(...)`."""

    def __init__(self, make: Callable[[], Opened]) -> None:
        self._make = make
        self._opened_now: Opened | None = None

    @classmethod
    def open(
        cls, folder: Folder, residents: Sequence[Resident], provider: Provider | None = None, *,
        wake_on: WakeOn = "addressed", inbox_messages: int = 10_000, inbox_bytes: int = 64 * 1024 * 1024,
        on_full: OnFull = "refuse", switch_interval: float | None = None,
    ) -> "AsyncRuntime":
        """As `Runtime.open`; it opens when it is awaited or entered. Wrong settings raise InvalidSetting here."""
        options = check_settings(wake_on, on_full, inbox_messages, inbox_bytes, folder, switch_interval)
        check_residents(residents, provider)
        return cls(lambda: Opened(folder, residents, provider, options, switch_interval))

    def __await__(self) -> Generator[Any, None, Self]:
        return self._start().__await__()

    async def __aenter__(self) -> Self:
        return await self._start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        await self.stop()

    async def _start(self) -> Self:
        if self._opened_now is not None and self._opened_now.closed:
            raise RuntimeClosed("a second start")
        if self._opened_now is None:
            loop = asyncio.get_running_loop()
            starting = loop.run_in_executor(None, self._started, loop)
            try:
                self._opened_now = await asyncio.shield(starting)
            except asyncio.CancelledError:
                # The thread cannot be stopped: what it opens would stay open, and its folder locked.
                await asyncio.wait((starting,))
                if starting.exception() is None:
                    await asyncio.to_thread(starting.result().close)
                raise
        return self

    def _started(self, loop: asyncio.AbstractEventLoop) -> Opened:
        """Open and move in, in a thread; what cannot move in is closed again."""
        opened = self._make()
        opened.surfaces.loop = loop
        try:
            opened.house.move_in()
        except BaseException:
            opened.close()
            raise
        return opened

    def _open(self, what: str) -> Opened:
        if self._opened_now is None:
            raise RuntimeClosed(what, opened=False)
        if self._opened_now.closed:
            raise RuntimeClosed(what)
        return self._opened_now

    async def receive(self, message: Incoming, timeout: float = 30.0) -> Accepted:
        """Hand in a message; returns once it is on disk. Errors as `Runtime.receive`."""
        checked = check_incoming(message)
        system = self._open("receive()").system
        waits, loop = self._open("receive()").waits_when_full, asyncio.get_running_loop()
        ends, tries = loop.time() + timeout, 0
        while True:
            try:
                return accepted_or_raise(await wait(system, DIRECTORY, lambda reply: Receive(checked, reply), timeout))
            except QueueFull:
                tries += 1
                if not waits or loop.time() + full_wait(tries) > ends:
                    raise
                await asyncio.sleep(full_wait(tries))

    async def last_seen(self, server: str, channel: str) -> str | None:
        """The platform id of the newest message accepted in a channel."""
        return await asyncio.to_thread(self._open("last_seen()").last_seen, server, channel)

    def publisher(
        self, server: str, *, keeps_keys: bool = False, limit: int | None = None, unit: LengthUnit = "chars",
        typing: Callable[..., Any] | None = None, open: Callable[..., Any] | None = None,  # noqa: A002
        close: Callable[..., Any] | None = None, chunk: Callable[..., Any] | None = None,
        complete: Callable[..., Any] | None = None, strict: bool = False, retry: bool = True,
    ) -> Callable[[F], F]:
        """Decorator: this function posts to `server`; a coroutine function runs on this loop. See `Runtime`."""
        opened = self._open("publisher()")
        check_server(server)
        loop = asyncio.get_running_loop()

        def register(function: F) -> F:
            callbacks = Callbacks(typing, open, close, chunk, complete, strict)
            opened.surface(server, function, keeps_keys, limit, unit, callbacks, loop, retry)
            return function

        return register

    async def connected(self, server: str) -> None:
        """The server can be reached again: posts that wait for it are tried now, in their order."""
        await asyncio.to_thread(self._open("connected()").house.surface_is_up, server)

    async def cancel(self, agent: str, by: str = "", reason: str = "", timeout: float = 5.0) -> bool:
        """Cancel an agent's running turn; False if none ran."""
        opened = self._open("cancel()")
        answer = await wait(opened.system, opened.check_agent(agent), lambda reply: Cancel(by, reason, reply), timeout)
        return bool(answer.value)

    def subscribe(self, size: int = 1000) -> Subscription:
        """An iterator over traces; read it in a thread, or take() what is there."""
        return self._open("subscribe()").subscribe(size)

    async def health(self, timeout: float = 5.0) -> Health:
        """What each agent is doing, and the counts of the system."""
        opened = self._open("health()")
        asked = opened.states_to_ask()
        answers = await asyncio.gather(*(wait(opened.system, to, AskState, timeout) for to in asked.values()))
        return opened.health(dict(zip(asked, (answer.value for answer in answers), strict=True)))

    async def stop(self, deadline: float = 10.0) -> None:
        """Stop in order: intake, turns, posts, store. See `Runtime.stop`."""
        opened = self._opened_now
        if opened is None or opened.closed:
            return
        try:
            await wait(opened.system, STOPPER, opened.stop_mail(deadline), deadline + 1.0)
        except TimeoutError:
            _log.warning("the runtime did not come to rest within %g s; it is closed as it is", deadline + 1.0)
        finally:
            await asyncio.to_thread(opened.close)
