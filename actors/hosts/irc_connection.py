"""A resident's connection to an IRC server, made anew whenever it ends: the nick, the backoff, the one live presence.

Runs on the host's event loop; `run` is its only task and ends when it is cancelled. It knows no runtime and
no other connection: what it hears goes to its `Ear`.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable
from typing import Protocol

from tenacity import AsyncRetrying, retry_if_exception_type

from ...messages.posts import NotSent, Outcome
from . import irc_text
from .irc_presence import Presence
from .irc_pydle import Line, Session
from .irc_settings import EventKind, IrcEvent, IrcSettings

_log = logging.getLogger(__name__)


class Ear(Protocol):
    """Who is told what a connection hears. Called on the event loop; must not block."""

    def said(self, connection: "Connection", nick: str, target: str, text: str) -> None:
        """`nick` said `text` to `target`, as the server sent it."""
        ...

    def told(self, connection: "Connection", event: IrcEvent) -> None:
        """Something happened to the connection."""
        ...


class _Lost(Exception):
    """A connection could not be made, or did not last."""


class Connection:
    """One resident on the server, under its own nick or the nearest that is free."""

    def __init__(self, resident: str, settings: IrcSettings, ear: Ear) -> None:
        self.resident = resident
        self.wanted = irc_text.nick_for(resident)
        self.channels: list[str] = list(settings.channels)
        self._settings = settings
        self._ear = ear
        self._presence: Presence | None = None

    def __repr__(self) -> str:
        state = f"up as {self._presence.nick}" if self._presence else "down"
        return f"<Connection {self.resident!r} {state}>"

    @property
    def up(self) -> bool:
        """Whether it is registered on the server."""
        return self._presence is not None

    @property
    def nick(self) -> str:
        """The nick it has, or the one it wants."""
        return self._presence.nick if self._presence else self.wanted

    def fold(self, name: str) -> str:
        """A name as the server compares it."""
        return irc_text.fold(name, self.mapping)

    @property
    def mapping(self) -> str:
        """The server's case mapping, as far as it is known."""
        return self._presence.mapping if self._presence else "rfc1459"

    def inside(self, channel: str) -> bool:
        """Whether it is in the channel."""
        return self._presence is not None and self._presence.membership.inside(channel)

    async def post(self, target: str, text: str) -> Outcome:
        """Post to a channel or a nick; see Presence.post."""
        if self._presence is None:
            return NotSent(f"{self.resident} is not connected to {self._settings.host}")
        return await self._presence.post(target, text)

    async def join(self, channel: str) -> None:
        """Be in the channel, now and after every reconnect. Raises NotSent where the server does not let it in."""
        if self.fold(channel) not in map(self.fold, self.channels):
            self.channels.append(channel)
        if self._presence is None:
            raise NotSent(f"{self.resident} is not connected to {self._settings.host}")
        await self._presence.membership.join(channel)

    async def part(self, channel: str) -> None:
        """Leave the channel and stay out of it."""
        self.channels = [other for other in self.channels if self.fold(other) != self.fold(channel)]
        if self._presence is not None:
            await self._presence.membership.part(channel)

    # --- the one task

    async def run(self) -> None:
        """Be connected until cancelled."""
        again = AsyncRetrying(
            wait=self._settings.backoff, retry=retry_if_exception_type(_Lost), sleep=asyncio.sleep, reraise=True
        )
        while True:
            await again.copy()(self._once)

    async def _once(self) -> None:
        """One session from connect to end. Raises _Lost unless it lasted long enough to count as a good one."""
        attempt = _Registration(self.wanted, self._enter)
        attempt.session = session = Session(self.wanted, attempt.heard, self._settings.quiet)
        started, reason = asyncio.get_running_loop().time(), "the server closed the connection"
        try:
            await self._register(session, attempt)
            await self._last(session)
        except (OSError, TimeoutError) as exc:
            reason = str(exc) or type(exc).__name__
        except asyncio.CancelledError:
            reason = "it leaves"
            raise
        finally:
            await self._leave(session, attempt.last_words or reason)
        if asyncio.get_running_loop().time() - started < self._settings.settled:
            raise _Lost(reason)

    async def _register(self, session: Session, attempt: "_Registration") -> None:
        settings = self._settings
        async with asyncio.timeout(settings.connect):
            await session.open(
                settings.host, settings.port, tls=settings.tls, verify=settings.tls_verify, password=settings.password
            )
            await attempt.over(session)

    async def _last(self, session: Session) -> None:
        """Until the session ends; now and then ask for the wanted nick, while somebody else has it."""
        while not session.gone.is_set():
            try:
                async with asyncio.timeout(self._settings.regain):
                    await session.gone.wait()
            except TimeoutError:
                if self.fold(self.nick) != self.fold(self.wanted):
                    await session.send("NICK", self.wanted)

    def _enter(self, session: Session, nick: str) -> Presence:
        """The server has taken us in as `nick`."""
        mark = f"{nick}-{secrets.token_hex(4)}"
        presence = Presence(self.resident, nick, mark, session, self._settings, self._told, self._said)
        self._presence = presence
        self._told("up", "", nick)
        if presence.fold(nick) != presence.fold(self.wanted):
            _log.warning("the nick %s is taken; %s is on the server as %s", self.wanted, self.resident, nick)
            self._told("nick", "", nick)
        for channel in self.channels:
            presence.membership.want(channel)
        return presence

    async def _leave(self, session: Session, reason: str) -> None:
        """The end of a session: nothing new is posted, and what is out has a moment to be confirmed."""
        presence, self._presence = self._presence, None
        if presence is not None and not session.gone.is_set():
            await presence.receipts.rest(self._settings.farewell)
        if presence is not None:
            presence.close()
        self._told("down", "", reason)
        await session.close("bye")

    def _told(self, kind: EventKind, channel: str, text: str) -> None:
        self._ear.told(self, IrcEvent(kind, self.resident, channel, text))

    def _said(self, nick: str, target: str, text: str) -> None:
        self._ear.said(self, nick, target, text)


class _Registration:
    """The lines of one session: its own until the server has said welcome, then its presence's."""

    def __init__(self, wanted: str, enter: Callable[[Session, str], Presence]) -> None:
        self.session: Session | None = None
        self.nick = wanted
        self.last_words = ""
        self._enter = enter
        self._presence: Presence | None = None
        self._welcome = False
        self._over = asyncio.Event()
        self._others = irc_text.other_nicks(wanted)
        self._tasks: set[asyncio.Task[None]] = set()

    async def over(self, session: Session) -> None:
        """Wait until the server's greeting has ended. Raises ConnectionResetError where it did not come to that."""
        ended = asyncio.ensure_future(self._over.wait())
        gone = asyncio.ensure_future(session.gone.wait())
        try:
            await asyncio.wait((ended, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
            gone.cancel()
        if self._presence is None:
            raise ConnectionResetError(self.last_words or "the server closed the connection during registration")

    def heard(self, line: Line) -> None:
        """Take one line of the server, in order."""
        if line.command == "ERROR":
            self.last_words = " ".join(line.params)
        if self._presence is not None:
            self._presence.heard(line.source, line.command, line.params)
        elif line.command == "001" and line.params:
            self._welcome, self.nick = True, line.params[0]
        elif line.command in ("376", "422") and self.session is not None:
            self._presence = self._enter(self.session, self.nick)
            self._over.set()
        elif line.command == "NICK" and line.params and self._welcome:
            self.nick = line.params[0]
        elif line.command in ("432", "433", "436", "437") and not self._welcome:
            self._next_nick()

    def _next_nick(self) -> None:
        if not self._others:
            self.last_words = f"the nick {self.nick} and all that are like it are taken"
            self._over.set()
        elif self.session is not None:
            task = asyncio.get_running_loop().create_task(self._try(self.session, self._others.pop(0)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _try(self, session: Session, nick: str) -> None:
        try:
            await session.send("NICK", nick)
        except ConnectionError as exc:
            self.last_words = str(exc)
