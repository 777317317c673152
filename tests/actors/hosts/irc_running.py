"""An IRC host that runs against a surface which records what it is handed: for tests of the host alone."""

import asyncio
import contextlib
import gc
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from tenacity import wait_fixed

from manyminds.actors.hosts.irc import IrcEvent, IrcHost, IrcSettings, Publish
from manyminds.messages.errors import QueueFull
from manyminds.messages.incoming import Accepted, Incoming, check_incoming
from manyminds.messages.posts import LengthUnit, Outcome, Post


class Recorder:
    """Stands for a runtime: keeps what came in and what was registered."""

    def __init__(self) -> None:
        self.messages: list[Incoming] = []
        self.full: list[float] = []
        self.connects = 0
        self.open: Callable[[str, str], Awaitable[None]]
        self.close: Callable[[str, str], Awaitable[None]]
        self.publish: Publish | None = None
        self._came = asyncio.Event()

    async def receive(self, message: Incoming) -> Accepted:
        """Accept, or refuse as often as `full` says."""
        if self.full:
            raise QueueFull("room", 1, 1, self.full.pop())
        self.messages.append(check_incoming(message))
        self._came.set()
        return Accepted(False, True, message.mentions)

    def publisher(
        self, server: str, *, limit: int | None, unit: LengthUnit, open: Callable[[str, str], Awaitable[None]],  # noqa: A002
        close: Callable[[str, str], Awaitable[None]],
    ) -> Callable[[Publish], Any]:
        """Keep the publisher."""
        assert limit is not None
        assert unit == "bytes"
        self.open, self.close = open, close

        def keep(function: Publish) -> Publish:
            self.publish = function
            return function

        return keep

    async def connected(self, server: str) -> None:
        """Count."""
        self.connects += 1

    def texts(self) -> list[str]:
        """The texts that came in, in order."""
        return [message.text for message in self.messages]

    async def until(self, true: Callable[[], object], seconds: float = 30.0) -> None:
        """Wait for a message after which `true()` holds."""
        async with asyncio.timeout(seconds):
            while not true():
                self._came.clear()
                await self._came.wait()


class Running:
    """A host that runs, its recorder, and its events."""

    def __init__(self, host: IrcHost, recorder: Recorder, events: list[IrcEvent], changed: asyncio.Event) -> None:
        self.host, self.recorder, self.events, self.changed = host, recorder, events, changed

    async def post(self, author: str, channel: str, text: str, key: str = "k1") -> Outcome:
        """Publish as the runtime would."""
        assert self.recorder.publish is not None
        return await self.recorder.publish(Post("irc", channel, None, text, author, key, 0.0, 1))

    async def event(self, true: Callable[[IrcEvent], object], seconds: float = 30.0) -> IrcEvent:
        """Wait for an event, from the first one on."""
        async with asyncio.timeout(seconds):
            while True:
                for event in self.events:
                    if true(event):
                        return event
                self.changed.clear()
                await self.changed.wait()


Start = Callable[..., contextlib.AbstractAsyncContextManager[Running]]


def settings(port: int, *channels: str, **more: Any) -> IrcSettings:
    """Settings for a test server: no flood limit, quick retries."""
    given: dict[str, Any] = {
        "port": port, "interval": 0.0, "backoff": wait_fixed(0.01), "settled": 0.0, "confirm": 20.0, **more,
    }
    return IrcSettings("127.0.0.1", channels, **given)


@contextlib.asynccontextmanager
async def hosting(given: IrcSettings, *residents: str, ready: bool = True) -> AsyncGenerator[Running]:
    """A host for the length of a `with`; nothing may go wrong in a task that nobody waits for."""
    wrong: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: wrong.append(context))
    recorder, events, changed = Recorder(), list[IrcEvent](), asyncio.Event()

    def told(event: IrcEvent) -> None:
        events.append(event)
        changed.set()

    host = IrcHost(recorder, residents, given, told)
    task = asyncio.get_running_loop().create_task(host.run())
    try:
        if ready:
            async with asyncio.timeout(30):
                await host.until_ready()
        yield Running(host, recorder, events, changed)
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    gc.collect()  # a task that raised is told of when it goes
    assert wrong == []
