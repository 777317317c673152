"""A resident on an IRC server for as long as one registered session lasts: what it hears and how it posts.

Reads every line of its session in order, on the host's event loop, and never blocks there. A post waits for the
flood limit, for its channel, and for the PONG to the PING behind it; when the session ends, nothing here is used again.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from ...messages.posts import NotSent, Outcome
from . import irc_text
from .irc_flood import FloodLimit
from .irc_membership import REFUSALS, Membership
from .irc_receipts import Receipt, Receipts
from .irc_settings import EventKind, IrcSettings

# Numerics that send a PRIVMSG back; params[1] is its target.
_SENT_BACK = frozenset({"401", "403", "404", "407", "408", "412", "442", "477", "486", "531", "716"})
_UNKNOWN_HOST = "x" * 63  # the longest that a server gives, until a JOIN shows ours


class Lines(Protocol):
    """What a presence needs of its physical connection."""

    @property
    def case_mapping(self) -> str:
        """How the server compares names."""
        ...

    async def send(self, command: str, *params: str) -> None:
        """Send one line, or raise ConnectionError."""
        ...


class Presence:
    """One resident, registered as `nick`."""

    def __init__(
        self, resident: str, nick: str, mark: str, session: Lines, settings: IrcSettings,
        told: Callable[[EventKind, str, str], None], said: Callable[[str, str, str], None],
    ) -> None:
        self.nick = nick
        self._session = session
        self._settings = settings
        self._told = told
        self._said = said
        self._host = _UNKNOWN_HOST
        self._user = resident[:9] + "~"
        self._flood = FloodLimit(settings.burst, settings.interval)
        self._speaking = asyncio.Lock()
        self.receipts = Receipts(mark)
        self.membership = Membership(settings, self.fold, session.send, told)

    def fold(self, name: str) -> str:
        """A nick or channel as this server compares it."""
        return irc_text.fold(name, self.mapping)

    @property
    def mapping(self) -> str:
        """The server's case mapping."""
        return self._session.case_mapping

    @property
    def source(self) -> str:
        """The prefix that others get before our lines, or the longest that it may be."""
        return f"{self.nick}!{self._user}@{self._host}"

    def close(self) -> None:
        """The session is gone."""
        self.receipts.lose()
        self.membership.close()

    # --- hearing

    def heard(self, source: str, command: str, params: tuple[str, ...]) -> None:
        """Take one line of the server."""
        if command == "PRIVMSG" and len(params) == 2:
            self._said(irc_text.nick_of(source), params[0], params[1])
        elif command == "PONG" and params:
            self.receipts.confirm(params[-1])
        elif command in ("JOIN", "PART", "KICK", "NICK") and params:
            self._moved(source, command, params[0], params[1:])
        elif command == "396" and len(params) > 1:
            self._host = params[1].rpartition("@")[2]
        elif len(params) > 1 and command.isdigit():
            self._refused(command, params)

    def _moved(self, source: str, command: str, first: str, rest: tuple[str, ...]) -> None:
        """Somebody came, went, was kicked or renamed; only ourselves matter."""
        own = self.fold(irc_text.nick_of(source)) == self.fold(self.nick)
        if command == "KICK" and rest and self.fold(rest[0]) == self.fold(self.nick):
            self.membership.left(first, f"kicked by {irc_text.nick_of(source)}: {' '.join(rest[1:])}")
        elif command == "JOIN" and own:
            self._user, _, self._host = source.partition("!")[2].partition("@")
            self.membership.entered(first)
        elif command == "PART" and own:
            self.membership.left(first, "parted")
        elif command == "NICK" and own:
            self.nick = first
            self._told("nick", "", self.nick)

    def _refused(self, numeric: str, params: tuple[str, ...]) -> None:
        if numeric in REFUSALS:
            self.membership.refused(params[1], numeric, params[-1])
        if numeric in _SENT_BACK:
            self.receipts.refuse(self.fold(params[1]), params[-1])

    # --- speaking

    async def post(self, target: str, text: str) -> Outcome:
        """Post the text, as many lines as it takes, and say what became of it."""
        try:
            pieces = irc_text.lines(text, irc_text.room_for_text(self.source, target))
        except ValueError as exc:
            return NotSent(str(exc), permanent=True)
        if not pieces:
            return NotSent("the text has no line that IRC could carry", permanent=True)
        receipt = self.receipts.open(self.fold(target))
        try:
            async with asyncio.timeout(self._settings.confirm):
                if irc_text.is_channel(target):
                    await self.membership.join(target)
                await self._say(receipt, target, pieces)
                confirmed = await receipt.answer
        except TimeoutError:
            return receipt.unconfirmed(f"not confirmed within {self._settings.confirm:g} s")
        except ConnectionError as exc:
            return receipt.unconfirmed(str(exc))
        except NotSent as refusal:
            return refusal
        finally:
            self.receipts.close(receipt)
        if confirmed:
            return receipt.outcome()
        return receipt.unconfirmed("the connection was lost before the post was confirmed")

    async def _say(self, receipt: Receipt, target: str, pieces: list[str]) -> None:
        async with self._speaking:
            for piece in pieces:
                await self._flood.take()
                if receipt.answer.done():
                    raise ConnectionResetError("the connection to the IRC server is gone")
                receipt.written += 1
                await self._session.send("PRIVMSG", target, piece)
            await self._flood.take()
            await self._session.send("PING", receipt.token)
