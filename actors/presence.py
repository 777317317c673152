"""Presence: a channel's desired and confirmed state, and who is writing there (agents.md 10.2-10.4, prose 10).

A plain object owned by the Channel, the only writer of the channel's record after its registration. Operations run
one after the other; each is on disk before the surface is asked to follow it, so the last decision wins. Sending into
a closed channel opens it, with one notice, which is owed on disk until the room has it; a channel whose opening is
not confirmed since the start is opened again without one. The typing indicator is presence, never a destination; only
what was started here is stopped here.
"""

from collections import deque
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from ..messages.address import Address, ReplyTo
from ..messages.blocks import Text
from ..messages.mail import Decide, Decided, DecisionStored, Offer, Relabel, Typing, TypingAgain, room_address
from ..messages.notices import channel_opened, notice_row
from ..messages.places import ChannelRef
from ..messages.posts import Debt
from ..messages.registry import ChannelRecord, Desired
from ..storage import Op, Snapshot, owing, registry
from .desk import Surface, Surfaces
from .publishing import call_surface
from .system import Letter, System

TYPING_EVERY = 7.0
LABEL_AGAIN = 1.0
Way: TypeAlias = Literal["open", "wait", "closed"]


@dataclass(frozen=True, slots=True)
class Operation:
    """One change of the record: a decision (`asked`: who waits for its answer), or a label alone."""

    desired: Desired | None = None
    source: str = ""
    label: str = ""
    asked: Decide | None = None

    def applied(self, record: ChannelRecord) -> ChannelRecord:
        """The record after it."""
        if self.desired is None:
            return replace(record, label=self.label)
        return replace(record, desired=self.desired, source=self.source)


class Presence:
    """What is known and wanted of one channel."""

    def __init__(self, system: System, address: Address, at: ChannelRef, surfaces: Surfaces) -> None:
        self._system = system
        self._me = address
        self._at = at
        self._surfaces = surfaces
        self._record: ChannelRecord | None = None
        self._confirmed = False
        self._debt: Debt = (f"opened {at}", 0, 0, "opened")
        self._owes = False
        self._serial = 0
        self._operations: deque[Operation] = deque()
        self._typing: dict[str, str | None] = {}
        self._typing_serial = 0
        self.author = ""
        self.failure = ""
        self.permanent = False

    def load(self, snapshot: Snapshot) -> None:
        """Read the record; what was heard from needs no opening."""
        self._record = registry.channel(snapshot, self._at)
        self._confirmed = self._record is None or self._record.source == "received"
        self._owes = owing.is_owed(snapshot, self._debt)

    @property
    def is_open(self) -> bool:
        """Whether the channel is meant to be open."""
        return self._record is None or self._record.desired == "open"

    @property
    def working(self) -> bool:
        """Whether an operation is under way."""
        return bool(self._operations)

    @property
    def closing(self) -> bool:
        """Whether somebody is closing the channel just now."""
        return any(operation.desired == "closed" for operation in self._operations)

    @property
    def busy(self) -> bool:
        """Whether it holds what is nowhere else: an operation, the indicator, a confirmed opening."""
        opened = self._confirmed and self._record is not None and self._record.source != "received"
        return self.working or bool(self._typing) or opened

    def unfinished(self) -> list[object]:
        """The mail for another object that takes over: what this one had not finished."""
        left: list[object] = [Typing(agent, thread, True) for agent, thread in self._typing.items()]
        for operation in self._operations:
            if operation.asked is not None:
                left.append(operation.asked)
            elif operation.desired is None:
                left.append(Relabel(operation.label))
        return left

    # --- what is asked for

    def way(self, source: str) -> Way:
        """Whether a post may go ("open"), must wait for an operation, or meets a channel that is being closed.

        Begins to open a channel that is closed, or whose opening is not confirmed (agents.md 10.4).
        """
        record = self._record
        if record is None or record.desired == "tuned-out":
            return "open"
        if self.closing:
            return "closed"
        self.failure, self.permanent = "", False
        if self._operations:
            return "wait"
        if record.desired == "open":
            surface = self._surface()
            self._confirmed = self._confirmed or surface is None or surface.open is None
            if self._confirmed:
                return "open"
        self._enter(Operation("open", source if record.desired == "closed" else record.source))
        return "wait"

    def decide(self, mail: Decide) -> None:
        """Set the desired state, then ask the surface to follow; the decision stands even if it cannot."""
        self._enter(Operation(mail.desired, mail.source, asked=mail))

    def relabel(self, mail: Relabel) -> None:
        """People call the channel by another name."""
        self._enter(Operation(label=mail.label))

    # --- operations

    def _enter(self, operation: Operation) -> None:
        self._operations.append(operation)
        if len(self._operations) == 1:
            self._go_on()

    def _go_on(self) -> None:
        while self._operations and not self._under_way(self._operations[0]):
            self._operations.popleft()

    def _under_way(self, operation: Operation) -> bool:
        """Begin it; False where it is over at once."""
        record = self._record
        self._serial = self._system.stream_id()
        if record is None:
            return self._over(operation, "the channel is not known")
        if operation.desired is not None and record.desired == "tuned-out":
            return self._over(operation, "the channel is tuned out; cancel that first")
        if operation.desired == record.desired == "open":
            if self._confirmed:
                return self._over(operation)
            if operation.asked is None:
                return self._at_surface(operation)
        return self._record_first(operation, record)

    def _record_first(self, operation: Operation, record: ChannelRecord) -> bool:
        ops: tuple[Op, ...] = (registry.put_channel(operation.applied(record)),)
        if operation.desired is not None:
            by_post = operation.asked is None
            ops = (*ops, owing.put(self._debt) if by_post else owing.delete(self._debt))
        me, serial = self._me, self._serial
        self._system.commit(
            ops, ((me, DecisionStored(serial)),), lambda exc: ((me, DecisionStored(serial, str(exc))),)
        )
        return True

    def stored(self, mail: DecisionStored) -> None:
        """The decision is on disk, or the store would not have it: then nothing follows it."""
        if not self._operations or mail.serial != self._serial or self._record is None:
            return
        operation = self._operations[0]
        if mail.error:
            if operation.desired is None:
                self._system.after(LABEL_AGAIN, self._me, Relabel(operation.label))
            self._over(operation, f"it could not be recorded ({mail.error})")
        else:
            self._record = operation.applied(self._record)
            if operation.desired is not None:
                self._owes = operation.asked is None
            if self._at_surface(operation):
                return
        self._operations.popleft()
        self._go_on()

    def _surface(self) -> Surface | None:
        return self._surfaces.get(self._at.server)

    def _at_surface(self, operation: Operation) -> bool:
        surface = self._surface()
        callback = None if surface is None else surface.open if operation.desired == "open" else surface.close
        if operation.desired is None or surface is None or callback is None:
            return self._over(operation)
        args = (self._at.server, self._at.channel)
        call_surface(self._system, self._me, surface, callback, args, operation.desired, self._serial)
        return True

    def answered(self, serial: int, error: str, permanent: bool) -> bool:
        """The surface has answered; False if it was for nothing that is under way."""
        if not self._operations or serial != self._serial:
            return False
        self._over(self._operations.popleft(), error, permanent)
        self._go_on()
        return True

    def _over(self, operation: Operation, error: str = "", permanent: bool = False) -> bool:
        """It has ended: remember what is confirmed and answer who waits. Always False, for it is not under way."""
        if not error and operation.desired is not None:
            self._confirmed = operation.desired == "open"
        if operation.desired == "open":
            self.failure, self.permanent = error, permanent
            if error:
                self._system.trace("channel-open-failed", channelId=self._at.channel, error=error)
        if operation.asked is not None:
            reply = operation.asked.reply
            self._system.tell(reply.address, Decided(self._record, error, reply.key))
        return False

    def opened_notice(self, agent: str) -> Letter | None:
        """The one notice that a send has opened the channel, for the room of its author (agents.md 10.4)."""
        if not self._owes or not self._confirmed or self._record is None:
            return None
        self.author = agent
        with self._system.store.snapshot() as snap:
            author = registry.agent(snap, agent)
        if author is None:
            return None
        now = self._system.clock.now()
        row = notice_row(f"open/{self._at}/{now:.6f}", channel_opened(self._at, self._record.label), now)
        size = sum(len(block.text) for block in row.content if isinstance(block, Text))
        forget = (owing.delete(self._debt),)
        offer = Offer(row, size, ops=forget, own=True, reply=ReplyTo(self._me, 0), owed=self._debt)
        return room_address(author.room), offer

    def told_opened(self) -> None:
        """The room has the notice."""
        self._owes = False
        self._system.trace("channel-opened-by-send", channelId=self._at.channel, serverId=self._at.server)

    # --- typing

    def typing(self, mail: Typing) -> None:
        """Start or stop the indicator of one agent."""
        if mail.on:
            refreshed = bool(self._typing)  # by a timer that runs; another would put off who is on already
            self._typing[mail.agent] = mail.thread
            self._show(mail.agent, mail.thread, True)
            if not refreshed:
                self._typing_serial = self._system.stream_id()
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
        surface = self._surface()
        if surface is not None and surface.typing is not None:
            args = (self._at.server, self._at.channel, thread, on, agent)
            call_surface(self._system, self._me, surface, surface.typing, args, "typing", 0)
