"""IRC as a chat surface: one connection per resident under its name, all of them one host of an AsyncRuntime.

The first connection that is up in a channel listens there, and goes on until it drops; then the next one
takes over. Lines of any of our nicks are echoes. A resident's words leave by its own connection. Runs on the host's
event loop; needs the extra `irc`. What is being written is not shown: a line that was said cannot be taken back.
Channels are named as on IRC; a talk with one person is `resident/nick`.
"""

import asyncio
import importlib.util
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ...messages.errors import Error, InvalidSetting, QueueFull, RuntimeClosed
from ...messages.incoming import Accepted, Author, Incoming
from ...messages.posts import LengthUnit, NotSent, Outcome, Post
from . import irc_text
from .irc_hearing import Hearing
from .irc_settings import IrcEvent, IrcSettings

if TYPE_CHECKING:
    from .irc_connection import Connection

__all__ = ["IrcEvent", "IrcHost", "IrcSettings", "Surface"]

Publish: TypeAlias = Callable[[Post], Awaitable[Outcome]]

_log = logging.getLogger(__name__)


class Surface(Protocol):
    """What the host needs of a runtime: AsyncRuntime has it."""

    async def receive(self, message: Incoming) -> Accepted:
        """Take a message."""
        ...

    def publisher(
        self, server: str, *, limit: int | None, unit: LengthUnit, open: Callable[[str, str], Awaitable[None]],  # noqa: A002
        close: Callable[[str, str], Awaitable[None]],
    ) -> Callable[[Publish], Any]:
        """Register a publisher for a server."""
        ...

    async def connected(self, server: str) -> None:
        """The server is back."""
        ...


class IrcHost:
    """The residents named in `residents` on one IRC network.

    `on_event` is told of connections, channels and words, on the event loop. Raises InvalidSetting without a
    resident, with two residents whose nicks would be one, or where the extra is not installed.
    """

    def __init__(
        self, runtime: Surface, residents: Sequence[str], settings: IrcSettings,
        on_event: Callable[[IrcEvent], None] | None = None,
    ) -> None:
        if importlib.util.find_spec("pydle") is None:
            raise InvalidSetting("the IRC host needs pydle: pip install 'manyminds[irc]'")
        from .irc_connection import Connection

        self._runtime = runtime
        self._settings = settings
        self._on_event = on_event
        self._connections = {name: Connection(name, settings, self) for name in residents}
        if len({irc_text.fold(c.wanted) for c in self._connections.values()}) != len(residents) or not residents:
            raise InvalidSetting("the IRC host needs residents, each with a name that makes a nick of its own")
        self._hearings: dict[str, Hearing[Incoming]] = {}
        self._heard: asyncio.Queue[Incoming] = asyncio.Queue(settings.buffered)
        self._overrun = 0
        self._changed, self._back = asyncio.Event(), asyncio.Event()

    def __repr__(self) -> str:
        return f"<IrcHost {self._settings.server!r} {list(self._connections.values())}>"

    @property
    def ready(self) -> bool:
        """Whether every resident is on the server and in every channel that was set."""
        return all(c.up and all(map(c.inside, self._settings.channels)) for c in self._connections.values())

    async def until_ready(self) -> None:
        """Wait until `ready`."""
        while not self.ready:
            self._changed.clear()
            await self._changed.wait()

    async def run(self) -> None:
        """Be on the server until cancelled; then say goodbye and leave."""
        settings = self._settings
        self._runtime.publisher(
            settings.server, limit=settings.text_bytes, unit="bytes", open=self.open, close=self.close
        )(self.post)
        async with asyncio.TaskGroup() as group:
            for connection in self._connections.values():
                group.create_task(connection.run(), name=f"irc {connection.resident}")
            group.create_task(self._hand_in(), name="irc intake")
            group.create_task(self._say_back(), name="irc back")

    # --- the way out

    async def post(self, post: Post) -> Outcome:
        """Publish a post by its author's connection (design, "The host's API")."""
        connection = self._connections.get(post.author) or self._anyone()
        outcome = await connection.post(self._target(post.channel), post.text)
        if not isinstance(outcome, NotSent):
            self._tell(IrcEvent("posted", connection.resident, post.channel, post.text))
        return outcome

    async def open(self, server: str, channel: str) -> None:
        """Be in a channel with every resident that is connected. Raises NotSent where none gets in."""
        target = self._target(channel)
        if not irc_text.is_channel(target):
            return
        refusals: list[NotSent] = []
        for connection in self._connections.values():
            try:
                await connection.join(target)
            except NotSent as refusal:
                refusals.append(refusal)
        if len(refusals) == len(self._connections):
            raise NotSent(refusals[0].reason, all(r.permanent for r in refusals))

    async def close(self, server: str, channel: str) -> None:
        """Leave a channel with every resident."""
        if irc_text.is_channel(channel):
            for connection in self._connections.values():
                await connection.part(channel)

    def _anyone(self) -> "Connection":
        connections = list(self._connections.values())
        return next((c for c in connections if c.up), connections[0])

    def _target(self, channel: str) -> str:
        return channel if irc_text.is_channel(channel) else channel.rpartition("/")[2]

    # --- the way in

    def said(self, connection: "Connection", nick: str, target: str, text: str) -> None:
        """A connection heard a PRIVMSG."""
        plain = irc_text.readable(text, nick)
        if plain is None or not nick:
            return
        if irc_text.is_channel(target):
            message = self._in_channel(connection, nick, target, plain)
            hearing = self._hearing(connection, target)
            if message.from_self and hearing.listener != connection.resident:
                return
            if message.from_self or hearing.heard(connection.resident, message):
                self._take(message)
        elif connection.fold(target) == connection.fold(connection.nick):
            self._take(self._direct(connection, nick, plain))

    def told(self, connection: "Connection", event: IrcEvent) -> None:
        """Something happened to a connection."""
        if event.kind == "joined":
            self._hearing(connection, event.channel).enter(connection.resident)
            self._back.set()
        elif event.kind == "left":
            self._leave(connection, self._hearing(connection, event.channel))
        elif event.kind == "down":
            for hearing in self._hearings.values():
                self._leave(connection, hearing)
        if event.kind in ("up", "joined"):
            self._changed.set()
        self._tell(event)

    def _hearing(self, connection: "Connection", channel: str) -> Hearing[Incoming]:
        return self._hearings.setdefault(connection.fold(channel), Hearing())

    def _leave(self, connection: "Connection", hearing: Hearing[Incoming]) -> None:
        for message in hearing.leave(connection.resident):
            self._take(message)

    def _in_channel(self, connection: "Connection", nick: str, channel: str, text: str) -> Incoming:
        return Incoming(
            self._settings.server, self._spelling(connection, channel), self._author(connection, nick), text,
            kind="channel", mentions=irc_text.mentioned(text, self._nicks(), connection.mapping),
            label=self._spelling(connection, channel), from_self=self._ours(connection, nick),
        )

    def _direct(self, connection: "Connection", nick: str, text: str) -> Incoming:
        channel = f"{connection.resident}/{connection.fold(nick)}"
        return Incoming(
            self._settings.server, channel, self._author(connection, nick), text, kind="dm",
            mentions=(connection.resident,), label=nick, from_self=self._ours(connection, nick),
        )

    def _author(self, connection: "Connection", nick: str) -> Author:
        return Author(connection.fold(nick), nick)

    def _ours(self, connection: "Connection", nick: str) -> bool:
        return connection.fold(nick) in {connection.fold(c.nick) for c in self._connections.values() if c.up}

    def _nicks(self) -> dict[str, str]:
        """Every name that addresses a resident: its own, and the nick it has."""
        names = {name: name for name in self._connections}
        return {c.nick: c.resident for c in self._connections.values()} | names

    def _spelling(self, connection: "Connection", channel: str) -> str:
        """A channel's one spelling: that of the settings, else in lower case."""
        key = connection.fold(channel)
        return next((c for c in self._settings.channels if connection.fold(c) == key), key)

    def _take(self, message: Incoming) -> None:
        try:
            self._heard.put_nowait(message)
        except asyncio.QueueFull:
            self._overrun += 1
            if self._overrun == 1:
                _log.warning("%d lines wait for the runtime; further ones are lost until it has caught up",
                             self._settings.buffered)
            return
        if not message.from_self:
            self._tell(IrcEvent("heard", message.author.name, message.channel, message.text))

    async def _hand_in(self) -> None:
        """Hand what was heard to the runtime, in order, waiting where its inbox is full."""
        while True:
            message = await self._heard.get()
            while True:
                try:
                    await self._runtime.receive(message)
                except QueueFull as full:
                    await asyncio.sleep(full.retry_after)
                    continue
                except RuntimeClosed:
                    _log.warning("the runtime is closed: nothing more is handed in")
                    return
                except (Error, TimeoutError):
                    _log.exception("a line in %s was not taken", message.channel)
                break
            if self._overrun and self._heard.empty():
                _log.warning("%d lines were lost while the runtime could not keep up", self._overrun)
                self._overrun = 0

    async def _say_back(self) -> None:
        """Tell the runtime that posts can leave again, whenever a channel was entered."""
        while True:
            await self._back.wait()
            self._back.clear()
            try:
                await self._runtime.connected(self._settings.server)
            except RuntimeClosed:
                return

    def _tell(self, event: IrcEvent) -> None:
        if self._on_event is not None:
            self._on_event(event)
