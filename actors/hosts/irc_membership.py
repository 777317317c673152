"""Being in channels, for one IRC session: joining, coming back after a kick, trying again after a refusal.

One task per wanted channel; it ends with the session. Runs on the host's event loop. What the server
says comes in as plain calls (`entered`, `left`, `refused`); nothing here reads a socket.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from tenacity import AsyncRetrying, retry_if_exception_type

from ...messages.posts import NotSent
from .irc_settings import EventKind, IrcSettings

# Numerics that refuse a JOIN, and whether trying again is of no use before somebody changes something there.
REFUSALS = {
    "403": True, "405": False, "437": False, "471": False, "473": True, "474": True, "475": True, "476": True,
    "477": True, "479": True, "489": True, "520": True,
}


class _Outside(Exception):
    """The session is not in the channel: worth another try."""


@dataclass(slots=True, eq=False)
class _Stay:
    channel: str
    inside: bool = False
    refusal: NotSent | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: list[asyncio.Future[None]] = field(default_factory=list[asyncio.Future[None]])
    task: asyncio.Task[None] | None = None

    def answer(self) -> None:
        """Tell the loop of this stay and all who wait for its next answer."""
        self.changed.set()
        for future in self.waiting:
            if not future.done():
                future.set_result(None)
        self.waiting.clear()


class Membership:
    """The channels that one session wants to be in; names are compared as `fold` says."""

    def __init__(
        self, settings: IrcSettings, fold: Callable[[str], str],
        send: Callable[..., Awaitable[None]], told: Callable[[EventKind, str, str], None],
    ) -> None:
        self._settings = settings
        self._fold = fold
        self._send = send
        self._told = told
        self._stays: dict[str, _Stay] = {}

    def inside(self, channel: str) -> bool:
        """Whether the session is in the channel."""
        stay = self._stays.get(self._fold(channel))
        return stay is not None and stay.inside

    def want(self, channel: str) -> None:
        """Be in the channel from now on."""
        key = self._fold(channel)
        if key not in self._stays:
            stay = self._stays[key] = _Stay(channel)
            stay.task = asyncio.get_running_loop().create_task(self._keep(stay), name=f"irc stay {channel}")

    async def join(self, channel: str) -> None:
        """Be in the channel, and return when that is so. Raises NotSent with the server's refusal."""
        self.want(channel)
        stay = self._stays[self._fold(channel)]
        if not stay.inside and stay.refusal is None:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            stay.waiting.append(future)
            await future
        if not stay.inside:
            reason = stay.refusal or NotSent(f"not in {channel}")
            raise NotSent(reason.reason, reason.permanent)

    async def part(self, channel: str) -> None:
        """Leave the channel and stay out."""
        stay = self._stays.pop(self._fold(channel), None)
        if stay is not None:
            self._drop(stay)
            await self._send("PART", channel)

    def entered(self, channel: str) -> None:
        """The server says that the session is in."""
        stay = self._stays.get(self._fold(channel))
        if stay is not None and not stay.inside:
            stay.inside, stay.refusal = True, None
            stay.answer()
            self._told("joined", stay.channel, "")

    def left(self, channel: str, reason: str) -> None:
        """The server says that the session is out: kicked, or parted by force."""
        stay = self._stays.get(self._fold(channel))
        if stay is not None and stay.inside:
            stay.inside = False
            stay.answer()
            self._told("left", stay.channel, reason)

    def refused(self, channel: str, numeric: str, reason: str) -> None:
        """The server refused a JOIN."""
        stay = self._stays.get(self._fold(channel))
        if stay is not None and not stay.inside:
            stay.refusal = NotSent(f"{channel}: {reason}", permanent=REFUSALS.get(numeric, False))
            stay.answer()
            self._told("refused", stay.channel, reason)

    def close(self) -> None:
        """The session is gone."""
        for stay in self._stays.values():
            stay.inside = False
            stay.refusal = NotSent("the connection to the IRC server is gone")
            self._drop(stay)
        self._stays.clear()

    def _drop(self, stay: _Stay) -> None:
        stay.answer()
        if stay.task is not None:
            stay.task.cancel()

    async def _keep(self, stay: _Stay) -> None:
        again = AsyncRetrying(
            wait=self._settings.backoff, retry=retry_if_exception_type(_Outside), sleep=asyncio.sleep, reraise=True
        )
        try:
            while True:
                await again.copy()(self._once, stay)
        except ConnectionError:
            pass  # the session ends, and this with it

    async def _once(self, stay: _Stay) -> None:
        """Join and be in. Raises _Outside unless that lasted long enough to count as a good stay."""
        loop = asyncio.get_running_loop()
        stay.changed.clear()
        await self._send("JOIN", stay.channel)
        try:
            async with asyncio.timeout(self._settings.connect):
                await stay.changed.wait()
        except TimeoutError:
            raise _Outside from None
        since = loop.time()
        while stay.inside:
            stay.changed.clear()
            await stay.changed.wait()
        if loop.time() - since < self._settings.settled:
            raise _Outside
