"""Presence: a channel's desired and confirmed state, and who is writing there (agents.md 10.2-10.4, prose 10).

A plain object owned by the Channel. A decision is on disk before the surface is asked to follow it. Sending into a
closed channel opens it, with one notice; a channel whose opening is not confirmed since the start is opened again
without one. The typing indicator is presence, never a destination; only what was started here is stopped here.
"""

from dataclasses import replace

from ..messages.address import Address
from ..messages.blocks import Text
from ..messages.mail import Decide, Decided, Offer, SurfaceAnswered, Typing, TypingAgain, room_address
from ..messages.notices import channel_opened, notice_row
from ..messages.places import ChannelRef
from ..messages.registry import ChannelRecord
from ..storage import Snapshot, registry
from .desk import Surfaces
from .publishing import call_surface
from .system import Letter, System

TYPING_EVERY = 7.0


class Presence:
    """What is known and wanted of one channel."""

    def __init__(self, system: System, address: Address, at: ChannelRef, surfaces: Surfaces) -> None:
        self._system = system
        self._me = address
        self._at = at
        self._surfaces = surfaces
        self._record: ChannelRecord | None = None
        self._confirmed = False
        self._announce = False
        self._serial = 0
        self._asked: dict[int, Decide] = {}
        self._typing: dict[str, str | None] = {}
        self._typing_serial = 0
        self.opening = False
        self.failure = ""
        self.permanent = False

    def load(self, snapshot: Snapshot) -> None:
        """Read the record; what was heard from needs no opening."""
        self._record = registry.channel(snapshot, self._at)
        self._confirmed = self._record is None or self._record.source == "received"
        self.opening = False

    @property
    def is_open(self) -> bool:
        """Whether the channel is meant to be open."""
        return self._record is None or self._record.desired == "open"

    @property
    def busy(self) -> bool:
        """Whether somebody waits for an answer, or the indicator is on."""
        return self.opening or bool(self._asked) or bool(self._typing)

    # --- opening on send

    def open_first(self, source: str) -> bool:
        """Begin to open the channel for a post, if it must be; the post goes on when `opening` is over."""
        if self._record is None or self._record.desired == "tuned-out":
            return False
        if self._record.desired == "open" and self._confirmed:
            return False
        surface = self._surfaces.get(self._at.server)
        self.failure, self.permanent = "", False
        self._announce = self._record.desired == "closed"
        if self._announce:
            self._record = replace(self._record, desired="open", source=source)
            self._system.commit((registry.put_channel(self._record),))
        elif surface is None or surface.open is None:
            self._confirmed = True
            return False
        self.opening = True
        self._serial += 1
        if surface is None or surface.open is None:
            self._system.tell(self._me, SurfaceAnswered("open", self._serial))
        else:
            args = (self._at.server, self._at.channel)
            call_surface(self._system, self._me, surface, surface.open, args, "open", self._serial)
        return True

    def opened_notice(self, agent: str) -> Letter | None:
        """The one notice that a send has opened the channel, for the room of its author (agents.md 10.4)."""
        if not self._announce or self._record is None:
            return None
        self._announce = False
        with self._system.store.snapshot() as snap:
            author = registry.agent(snap, agent)
        if author is None:
            return None
        now = self._system.clock.now()
        row = notice_row(f"open/{self._at}/{now:.6f}", channel_opened(self._at, self._record.label), now)
        size = sum(len(block.text) for block in row.content if isinstance(block, Text))
        self._system.trace("channel-opened-by-send", channelId=self._at.channel, serverId=self._at.server)
        return room_address(author.room), Offer(row, size, own=True)

    # --- decisions

    def decide(self, mail: Decide) -> None:
        """Set the desired state, then ask the surface to follow; the decision stands even if it cannot."""
        record = self._record
        if record is None:
            self._answer(mail, "the channel is not known")
            return
        if record.desired == "tuned-out":
            self._answer(mail, "the channel is tuned out; cancel that first")
            return
        if record.desired == mail.desired == "open" and self._confirmed:
            self._answer(mail, "")
            return
        self._record = replace(record, desired=mail.desired, source=mail.source)
        self._serial += 1
        self._asked[self._serial] = mail
        surface = self._surfaces.get(self._at.server)
        callback = None if surface is None else surface.open if mail.desired == "open" else surface.close
        put = (registry.put_channel(self._record),)
        answered = SurfaceAnswered(mail.desired, self._serial)
        serial, me = self._serial, self._me
        if surface is None or callback is None:
            self._system.commit(
                put, ((me, answered),), lambda exc: ((me, SurfaceAnswered(mail.desired, serial, str(exc))),)
            )
            return
        self._system.commit(put)
        args = (self._at.server, self._at.channel)
        call_surface(self._system, me, surface, callback, args, mail.desired, serial)

    def answered(self, mail: SurfaceAnswered) -> None:
        """A callback has answered: for a decision, or for the opening that a post waits for."""
        asked = self._asked.pop(mail.serial, None)
        if asked is not None:
            self._confirmed = not mail.error and asked.desired == "open"
            self._answer(asked, mail.error)
        elif mail.what == "open" and mail.serial == self._serial and self.opening:
            self.opening = False
            self.failure, self.permanent = mail.error, mail.permanent
            self._confirmed = not mail.error
            if mail.error:
                self._announce = False
                self._system.trace("channel-open-failed", channelId=self._at.channel, error=mail.error)

    def _answer(self, mail: Decide, error: str) -> None:
        self._system.tell(mail.reply.address, Decided(self._record, error, mail.reply.key))

    # --- typing

    def typing(self, mail: Typing) -> None:
        """Start or stop the indicator of one agent."""
        if mail.on:
            self._typing[mail.agent] = mail.thread
            self._show(mail.agent, mail.thread, True)
            self._typing_serial += 1
            self._system.after(TYPING_EVERY, self._me, TypingAgain(self._typing_serial))
        elif mail.agent in self._typing:
            self._show(mail.agent, self._typing.pop(mail.agent), False)

    def typing_again(self, mail: TypingAgain) -> None:
        """Refresh what is on, about every seven seconds."""
        if not self._typing or mail.serial != self._typing_serial:
            return
        for agent, thread in self._typing.items():
            self._show(agent, thread, True)
        self._system.after(TYPING_EVERY, self._me, TypingAgain(self._typing_serial))

    def _show(self, agent: str, thread: str | None, on: bool) -> None:
        surface = self._surfaces.get(self._at.server)
        if surface is not None and surface.typing is not None:
            args = (self._at.server, self._at.channel, thread, on, agent)
            call_surface(self._system, self._me, surface, surface.typing, args, "typing", 0)
