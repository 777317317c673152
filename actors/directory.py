"""Directory: who there is, which channels are known, and where a message goes.

The one door for what hosts hand in: it passes over what came twice, registers a channel from its first message,
decides who is woken, and offers the row with its wakes to the room, which answers when all of it is on disk. Owns the
registry and the platform ids seen. Never touches a log, never wakes an agent itself. Built anew, it takes nothing in
before the room has stored what its predecessor offered; else one platform id could be stored twice.
"""

import logging
from dataclasses import dataclass, replace
from typing import Any

from ..messages.address import Address, MailFailed, ReplyTo, Undelivered
from ..messages.errors import Error, RuntimeClosed
from ..messages.errors import Failed as ActorFailed
from ..messages.incoming import Accepted, Incoming
from ..messages.invitations import invited
from ..messages.mail import (
    Answer,
    AskState,
    CloseIntake,
    Enlist,
    Greeted,
    Hello,
    Offer,
    OfferAnswer,
    Receive,
    Received,
    Refused,
    Relabel,
    channel_address,
    room_address,
)
from ..messages.places import ChannelRef
from ..messages.registry import AgentRecord, ChannelRecord, refusal
from ..messages.routing import WakeOn, Woken, message_row, message_wakes, who_is_woken
from ..messages.rows import Row
from ..storage import Op, Snapshot, outbox, registry, seen
from .dispatcher import handles
from .room_member import RoomMember
from .system import System
from .targets import entry_of

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class InFlight:
    """A message on its way to the disk, and who joined it with the same id; its own host is told by the room."""

    message: Incoming
    joined: list[Receive]
    channel: ChannelRecord | None = None


class Directory(RoomMember):
    """The actor of the registry and of the way in."""

    def __init__(self, system: System, address: Address, room: str, wake_on: WakeOn) -> None:
        super().__init__(system, address, room)
        self.wake_on: WakeOn = wake_on
        self.closed: CloseIntake | None = None
        self.acquainted = False
        self.in_flight: dict[int, InFlight] = {}
        self.by_id: dict[tuple[ChannelRef, str], int] = {}

    def loaded(self) -> None:
        """Read who lives and which channels are known. The room is asked before the first message, not at a start."""
        self.acquainted = False
        self._read()

    def greeted(self, pending: bool) -> None:
        """Whatever a predecessor offered is in the store, or was refused."""
        self._read()

    def _read(self) -> None:
        self.seen: dict[ChannelRef, seen.SeenIds] = {}
        with self.system.store.snapshot() as snap:
            self.agents: list[AgentRecord] = registry.agents(snap)
            self.channels: dict[ChannelRef, ChannelRecord] = {c.at: c for c in registry.channels(snap)}

    def receive(self, mail: Any) -> bool:
        """Ask the room before the first message; one that has ended has nothing left to store."""
        if isinstance(mail, Receive) and not self.loading and not self.acquainted:
            self.acquainted = True
            self.greet()
        if isinstance(mail, Undelivered) and isinstance(mail.mail, Hello):
            mail = Greeted(False, mail.mail.reply.key)
        return super().receive(mail)

    def busy(self) -> bool:
        """What is on its way is known only here, and so is a closed intake."""
        return super().busy() or bool(self.in_flight) or self.closed is not None

    def replaced(self) -> None:
        """Another object takes over: it answers who waits for a twin, and takes in no more than this one did."""
        joined = [mail for done in self.in_flight.values() for mail in done.joined]
        self.leave(*joined, *([self.closed] if self.closed is not None else []))

    @handles(Receive)
    def receive_message(self, mail: Receive) -> None:
        """Take a host's message; it is answered once the message is on disk, or with what was wrong."""
        message = mail.message
        if self.closed is not None:
            self._tell(mail, None, RuntimeClosed())
            return
        if message.from_self:
            # Our own words came back from the platform: they are in the log already (S33).
            self._tell(mail, Accepted(False, False, ()), None)
            return
        with self.system.store.snapshot() as snap:
            if message.id is not None and self._known(snap, mail, message.id):
                return
            replied_to = outbox.posted_by(snap, message.place, message.reply_to) if message.reply_to else None
        self._offer(mail, who_is_woken(message, self._readers(), self.wake_on, replied_to))

    def _readers(self) -> list[AgentRecord]:
        return [a for a in self.agents if a.room == self.room]

    def _known(self, snap: Snapshot, mail: Receive, platform_id: str) -> bool:
        """Whether the message came before: answered now, or with the one that is in flight."""
        at = mail.message.place
        ticket = self.by_id.get((at, platform_id))
        if ticket is not None:
            self.in_flight[ticket].joined.append(mail)
            return True
        if at not in self.seen:
            self.seen[at] = seen.load(snap, at)
        if platform_id not in self.seen[at]:
            return False
        self._tell(mail, Accepted(True, True, ()), None)
        return True

    def _offer(self, mail: Receive, woken: tuple[Woken, ...]) -> None:
        message, now = mail.message, self.system.clock.now()
        ticket = self.system.stream_id()  # never one of a predecessor, whose answers may still come
        added, ops = self._register(message, now)
        if message.id is not None:
            ops = (*ops, *self.seen[message.place].add(message.id))
            self.by_id[message.place, message.id] = ticket
        several = len(self.channels) > 1
        voices = [name for a in self._readers() for name in (a.name, *a.self_participants)]
        addressed = [w.agent for w in woken if w.addressed]
        row = message_row(message, now, addressed, several, voices)
        if addressed:
            row = self._invited(row, message.place)
        accepted = Accepted(False, True, tuple(w.agent for w in woken))
        self.in_flight[ticket] = InFlight(message, [], added)
        wakes = message_wakes(message, now, woken)
        self.system.tell(
            room_address(self.room),
            Offer(
                row, message.size(), wakes, ops, reply=ReplyTo(self.address, ticket), host=mail.reply,
                accepted=accepted,
            ),
        )

    def _invited(self, row: Row, at: ChannelRef) -> Row:
        """The row with an invitation, where its channel is closed now: the record is the channel's to write."""
        with self.system.store.snapshot() as snap:
            known = registry.channel(snap, at)
            if known is None or known.desired != "closed":
                return row
            entries = [entry_of(channel) for channel in registry.channels(snap)]
        return invited(row, known, entry_of(known), entries)

    def _register(self, message: Incoming, now: float) -> tuple[ChannelRecord | None, tuple[Op, ...]]:
        """A channel is known from its first message on; a new label is kept for later rows (agents.md 10.1)."""
        known = self.channels.get(message.place)
        if known is None:
            made = ChannelRecord(message.place, message.kind, message.label or "", seen_at=now)
            self.channels[message.place] = made
            return made, (registry.put_channel(made),)
        if message.label and message.label != known.label:
            # From its registration on the channel alone writes its record: a copy from here would undo a decision.
            self.channels[message.place] = replace(known, label=message.label)
            self.system.tell(channel_address(message.place), Relabel(message.label))
        return None, ()

    @handles(OfferAnswer)
    def offer_answer(self, mail: OfferAnswer) -> None:
        """The message is on disk, or was refused and left nothing behind."""
        done = self.in_flight.pop(mail.ticket, None)
        if done is None:
            return
        message = done.message
        if message.id is not None:
            self.by_id.pop((message.place, message.id), None)
        if mail.error is not None:
            self._forget(done)
            for joined in done.joined:
                self._tell(joined, None, mail.error)
            return
        if done.channel is not None:
            self.system.trace("channel-lazy-registered", channelId=message.channel, serverId=message.server)
        for joined in done.joined:
            self._tell(joined, Accepted(True, True, ()), None)

    def _forget(self, refused: InFlight) -> None:
        message = refused.message
        if message.id is not None and message.place in self.seen:
            self.seen[message.place].discard(message.id)
        if refused.channel is not None:
            self.channels.pop(message.place, None)

    @handles(Undelivered)
    def undelivered(self, mail: Undelivered) -> None:
        """Mail of ours has no addressee any more."""
        self._came_back(mail)

    @handles(MailFailed)
    def mail_failed(self, mail: MailFailed) -> None:
        """Mail of ours could not be handled."""
        self._came_back(mail)

    def _came_back(self, mail: MailFailed | Undelivered) -> None:
        """An offer could not be handled: its senders hear of it."""
        if isinstance(mail.mail, Offer):
            error = ActorFailed("the room could not take the message; nothing of it was stored")
            for to, letter in mail.mail.told(error):
                self.system.tell(to, letter)

    @handles(Enlist)
    def enlist(self, mail: Enlist) -> None:
        """A start of the runtime or a spawn: these agents live."""
        replaced = {*mail.gone, *(record.name for record in mail.agents)}
        living = [a for a in self.agents if a.name not in replaced] + list(mail.agents)
        reply = mail.reply
        if wrong := refusal(living):
            self.system.tell(reply.address, Refused(mail, wrong))
            return
        self.agents = living
        self.system.commit(
            mail.ops, ((reply.address, Answer(None, reply.key)),),
            lambda exc: tuple((to, Refused(mail, str(exc))) for to in (self.address, reply.address)),
        )

    @handles(Refused)
    def refused(self, mail: Refused) -> None:
        """The store refused a registration: memory is ahead of it, so read it again."""
        self.reload()

    @handles(CloseIntake)
    def close_intake(self, mail: CloseIntake) -> None:
        """Nothing is accepted from now on."""
        self.closed = mail
        self.system.tell(mail.reply.address, Answer(len(self.in_flight), mail.reply.key))

    def _tell(self, mail: Receive, accepted: Accepted | None, error: Exception | None) -> None:
        if error is not None and not isinstance(error, Error):
            _log.error("a message was refused by the store: %s", error)
        self.system.tell(mail.reply.address, Received(accepted, error, mail.reply.key))

    @handles(AskState)
    def ask_state(self, mail: AskState) -> None:
        """Say who there is and what is in flight."""
        names = [agent.name for agent in self.agents]
        state = {"agents": names, "channels": len(self.channels), "in_flight": len(self.in_flight)}
        self.system.tell(mail.reply.address, Answer(state, mail.reply.key))

