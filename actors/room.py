"""Room: one shared message log. The only actor that writes to it.

Owns the inbox, the log's positions, the pending wakes and which of its agents is in a turn. Composes every unit that
touches the log, from its agents' mail, so that a message and its wakes, or a round and what was handed over, are on
disk together or not at all. Knows no model, no channel's state and no agent's turn beyond its record. Mail of a turn
that is not the room's present one (an agent was rebuilt meanwhile) is passed over. A unit that touches the log is
sent when no other is on its way, so that none is built on one that the store refuses.
"""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..messages.address import Address
from ..messages.blocks import calls
from ..messages.errors import QueueFull
from ..messages.locus import MODES_WITH_LOCUS, first_locus, repinned, said
from ..messages.mail import (
    ENDINGS_THAT_SETTLE,
    Answer,
    AskState,
    Begin,
    Boundary,
    BoundaryDone,
    EndTurn,
    Finish,
    Greeted,
    Hello,
    Letters,
    NothingToDo,
    Offer,
    Refused,
    ReplaceResults,
    ResultsReplaced,
    Stored,
    TurnBegun,
    TurnClosed,
    TurnFinished,
    UnitEnded,
    UnitRefused,
    WakeHint,
    agent_address,
)
from ..messages.posts import Debt
from ..messages.rows import Placed, Row
from ..messages.turns import Turn
from ..messages.wakes import Wake, choose, joined, settle, split, trigger_of
from ..storage import Op, Snapshot, branches, inbox, log, owing, registry, turns, wakes
from .dispatcher import StoredActor, handles
from .room_notices import announced, locus_known, mode_told, routing_row
from .room_unit import RoomState, RoomUnit
from .system import System

_log = logging.getLogger(__name__)
ALONE = (Hello, Begin, Boundary, EndTurn, Finish)


@dataclass(frozen=True, slots=True)
class InboxBounds:
    """How much may wait in a room's inbox; `retry_after` in seconds is what a full one tells the host."""

    messages: int = 10_000
    bytes: int = 64 * 1024 * 1024
    retry_after: float = 1.0


@dataclass(slots=True)
class Progress:
    """How far the turn of one agent has come, to pass over mail that comes twice."""

    number: int
    rounds: int
    closing: bool = False


class Room(StoredActor):
    """The actor of one room."""

    def __init__(self, system: System, address: Address, bounds: InboxBounds) -> None:
        super().__init__(system, address)
        self.bounds = bounds
        self.alive: dict[str, Progress] = {}
        self.in_flight: set[int] = set()
        self.refused = 0
        self.alone = False
        self.living: set[str] = set()
        self.state: RoomState

    def loaded(self) -> None:
        """Read the room from the store and tell the agents whose wakes wait."""
        name = self.address.name
        self.in_flight.clear()
        self.alone = False
        with self.system.store.snapshot() as snap:
            branch = branches.cursor(snap, name)
            end = log.end(snap, branch)
            number = inbox.last_number(snap, name)
            waiting = deque((entry.number, entry.size) for entry in inbox.waiting(snap, name))
            self.state = RoomState(name, branch, end, number, waiting, wakes.pending(snap, name))
            self.state.bytes = sum(size for _, size in waiting)
            self.living = {agent.name for agent in registry.agents(snap)}
            records = [t for t in turns.of_room(snap, name) if t.agent in self.living]
        self.alive = {t.agent: Progress(t.number, t.rounds, t.phase == "closing") for t in records}
        self._hint(self.state.pending)
        self._drain_if_idle()

    def receive(self, mail: Any) -> bool:
        """Put aside, in order, what must not be built on units that the store may still refuse."""
        if not self.loading and self._must_wait(mail):
            self.cell.stash.append(mail)
            return False
        return super().receive(mail)

    def _must_wait(self, mail: Any) -> bool:
        behind = bool(self.cell.stash)
        if type(mail) is Offer and mail.owed is None:
            return self.alone or behind
        return type(mail) in (Offer, *ALONE) and (bool(self.in_flight) or behind)

    # --- the inbox

    @handles(Offer)
    def offer(self, mail: Offer) -> None:
        """Take a row into the inbox, or say why not; its offerer hears when it is on disk."""
        if not mail.own and self._full(mail.size):
            error = QueueFull(self.state.room, len(self.state.waiting), self.state.bytes, self.bounds.retry_after)
            self.refused += 1
            for to, answer in mail.told(error):
                self.system.tell(to, answer)
            return
        if mail.owed is None or self._owes(mail.owed):
            self._accept(mail)

    def _owes(self, debt: Debt) -> bool:
        with self.system.store.snapshot() as snap:
            return owing.is_owed(snap, debt)

    def _full(self, size: int) -> bool:
        waiting = self.state.waiting
        over = len(waiting) >= self.bounds.messages or self.state.bytes + size > self.bounds.bytes
        return bool(waiting) and over

    def _accept(self, mail: Offer) -> None:
        state = self.state
        state.number += 1
        number = state.number
        metadata = mail.row.metadata if mail.own else {**mail.row.metadata, "inbox": number}
        row = replace(mail.row, id=mail.row.id or f"m{number}", metadata=metadata)
        unit = RoomUnit(state)
        unit.ops.extend(inbox.put(state.room, inbox.InboxEntry(number, row, mail.size)))
        unit.ops.extend(mail.ops)
        unit.add_wakes([replace(w, number=number, first=number, last=number, row=row.id) for w in mail.wakes])
        state.waiting.append((number, mail.size))
        state.bytes += mail.size
        unit.take_over()
        source = str(mail.row.metadata.get("kind", "channel"))
        hints = tuple((agent_address(w.agent), WakeHint()) for w in mail.wakes)
        sent = self._sent()
        self._commit(
            unit.ops, ((self.address, Stored(sent, row.id, source)), *mail.told(None), *hints), mail.told
        )

    @handles(Stored)
    def stored(self, mail: Stored) -> None:
        """A message is on disk; where no turn is alive and nobody is woken it goes on into the log."""
        self.system.trace("message:added", messageId=mail.row, source=mail.source, room=self.state.room)
        self._unit_over(mail.unit)

    def _drain_if_idle(self) -> None:
        woken = any(w.first for w in self.state.pending if w.agent in self.living)
        if self.alive or not self.state.waiting or woken:
            return  # a turn is alive, or the one that these wakes start moves them
        self.alone = True
        if self.in_flight:
            return  # once they are on disk; new messages wait for it, so that a flood cannot put it off
        unit = RoomUnit(self.state)
        with self.system.store.snapshot() as snap:
            unit.drain(snap, budget=1_000_000)
        self._send(unit, ())

    @handles(AskState)
    def ask_state(self, mail: AskState) -> None:
        """Say what waits, and how many messages a full inbox has refused since the room was built."""
        state = self.state
        counts = {
            "waiting": len(state.waiting), "bytes": state.bytes, "wakes": len(state.pending), "refused": self.refused,
        }
        self.system.tell(mail.reply.address, Answer(counts, mail.reply.key))

    # --- turns

    @handles(Hello)
    def hello(self, mail: Hello) -> None:
        """An agent has come to life: what its predecessor asked for is in the store by now."""
        pending = bool(self.state.pending_of(mail.agent))
        self.system.tell(mail.reply.address, Greeted(pending, mail.reply.key))

    @handles(Begin)
    def begin(self, mail: Begin) -> None:
        """Start a turn: move the inbox, take the wakes, write the record (design, turn record 1)."""
        batch = choose(self.state.pending_of(mail.agent), mail.mode in MODES_WITH_LOCUS)
        if mail.agent in self.alive:
            return  # its record is on the way to it already
        if not batch:
            self.system.tell(agent_address(mail.agent), NothingToDo())
            return
        unit = RoomUnit(self.state)
        with self.system.store.snapshot() as snap:
            unit.drain(snap, mail.budget, min(w.first for w in batch), self._live_voices(snap))
            number = turns.last_turn(snap, mail.agent) + 1
        parts = [split(w, unit.moved) for w in batch]
        taken = tuple(part for part, _ in parts if part is not None)
        unit.replace_wakes(batch, [rest for _, rest in parts if rest is not None])
        turn = self._new_turn(mail, unit, number, taken)
        notices = [*mode_told(self.system, turn, unit), *announced(self.system, turn, unit), *mail.notices]
        unit.ops.extend(mail.ops)
        unit.append(notices)
        turn = replace(turn, watermark=unit.end)
        unit.ops += [turns.put(turn), turns.set_last_turn(turn.agent, number)]
        self.alive[turn.agent] = Progress(number, 0)
        self._send(unit, ((agent_address(turn.agent), TurnBegun(turn)),), mail, turn.agent)

    def _new_turn(self, mail: Begin, unit: RoomUnit, number: int, taken: tuple[Wake, ...]) -> Turn:
        trigger = trigger_of(taken)
        return Turn(
            self.state.room, mail.agent, mail.incarnation, number, self.state.branch, mail.mode,
            self.system.clock.now(), taken, checkpoint=unit.end, watermark=unit.end, heard=unit.moved,
            locus=first_locus(mail.mode, mail.home, trigger), author=trigger.author, silent=trigger.silent,
            system_prompt=trigger.system_prompt,
        )

    @handles(Boundary)
    def boundary(self, mail: Boundary) -> None:
        """Store a round and hand over what waited, in one unit (design, turn record 4)."""
        turn, round_ = mail.turn, mail.turn.round
        progress = self.alive.get(turn.agent)
        if round_ is None or progress is None or progress != Progress(turn.number, round_.number - 1):
            _log.info("a boundary of %s, turn %d, is not its present one; passed over", turn.agent, turn.number)
            return
        unit = RoomUnit(self.state)
        unit.append(mail.rows)
        with self.system.store.snapshot() as snap:
            unit.drain(snap, mail.budget, voices=self._live_voices(snap))
            stored = log.between(snap, turn.branch, turn.watermark, self.state.end)
        others = [p for p in stored if not _of_turn(p.row, turn)]
        unit.ops.extend((*_results_gone(turn), *mail.ops))
        heard = others + [p for p in unit.rows if not _of_turn(p.row, turn)]
        heard += unit.append(mail.notices)
        after = self._after_boundary(mail, heard, unit)
        if after.locus != turn.locus and after.locus is not None:
            heard += unit.append([routing_row(self.system, after, after.locus, moved=True)])
            unit.ops.append(locus_known(turn.agent, after.locus))
        after = replace(after, watermark=unit.end)
        unit.ops.append(turns.put(after))
        progress.rounds = after.rounds
        self._send(unit, ((agent_address(turn.agent), BoundaryDone(after, tuple(heard))),), mail, turn.agent)

    def _live_voices(self, snap: Snapshot, ended: str = "") -> frozenset[str]:
        alive = [registry.agent(snap, name) for name in self.alive if name != ended]
        return frozenset(voice for a in alive if a is not None for voice in (a.name, *a.self_participants))

    def _after_boundary(self, mail: Boundary, heard: list[Placed], unit: RoomUnit) -> Turn:
        turn = mail.turn
        locus = repinned(turn.mode, mail.home, turn.locus, heard, turn.agent, turn.sent_to)
        silenced = turn.silenced and not said(heard)
        return replace(
            turn, round=None, rounds=turn.rounds + 1, heard=unit.moved, locus=locus, silenced=silenced, attempt=0
        )

    @handles(ReplaceResults)
    def replace_results(self, mail: ReplaceResults) -> None:
        """Withhold a refused batch of results: a tombstone and a row with the same call ids (agents.md 6.4)."""
        turn = mail.turn
        progress = self.alive.get(turn.agent)
        if progress is None or progress != Progress(turn.number, turn.rounds):
            return
        with self.system.store.snapshot() as snap:
            old = log.find(snap, turn.branch, mail.old)
        unit = RoomUnit(self.state)
        if old is not None:
            unit.remove(old.position)
            unit.append([mail.row])
        after = replace(turn, watermark=max(turn.watermark, unit.end))
        unit.ops.append(turns.put(after))
        self._send(unit, ((agent_address(turn.agent), ResultsReplaced(after)),), mail, turn.agent)

    @handles(EndTurn)
    def end_turn(self, mail: EndTurn) -> None:
        """The turn's last transaction: its closing rows, its words' entries, its wakes settled."""
        turn = mail.turn
        progress = self.alive.get(turn.agent)
        if progress is None or progress.number != turn.number or progress.closing:
            return
        unit = RoomUnit(self.state)
        unit.append(mail.rows)
        unit.ops.extend(mail.ops)
        unit.ops.extend(_results_gone(turn))
        self._settle(turn, unit)
        unit.ask_for(mail.wakes)
        closed = replace(turn, phase="closing", round=None)
        if mail.final:
            unit.ops.append(turns.delete(turn.room, turn.agent))
        else:
            unit.ops.append(turns.put(closed))
        progress.closing = True
        agent = agent_address(turn.agent)
        over = self._turn_over(turn, unit) if mail.final else ()
        self._send(unit, (*mail.letters, (agent, TurnClosed(closed, mail.final)), *over), mail, turn.agent)

    def _settle(self, turn: Turn, unit: RoomUnit) -> None:
        mine = self.state.pending_of(turn.agent)
        if turn.ending not in ENDINGS_THAT_SETTLE:
            return  # what it took is settled by having been taken; what it heard later keeps its wake (19.9)
        locus = turn.locus.at if turn.locus else None
        by_channel = turn.mode in MODES_WITH_LOCUS
        left: dict[int, Wake] = {}
        for wake, taken in [*((w, True) for w in turn.wakes), *((w, False) for w in mine)]:
            rest = settle(
                wake, heard=turn.heard, answered=turn.answered, locus=locus, by_channel=by_channel, taken=taken
            )
            if rest is not None:
                # The rest of a taken wake and its part that had not moved are one wake again.
                left[rest.number] = joined(left.get(rest.number), rest)
        unit.replace_wakes(mine, list(left.values()))

    @handles(Finish)
    def finish(self, mail: Finish) -> None:
        """Store receipt and notices, drop the record, and move what waited for the turn's end."""
        turn = mail.turn
        progress = self.alive.get(turn.agent)
        if progress is None or progress.number != turn.number or not progress.closing:
            return
        unit = RoomUnit(self.state)
        unit.append(mail.rows)
        unit.ops += [*mail.ops, turns.delete(turn.room, turn.agent)]
        unit.ask_for(mail.wakes)
        with self.system.store.snapshot() as snap:
            unit.drain(snap, budget=1_000_000, voices=self._live_voices(snap, ended=turn.agent))
        self._send(unit, self._turn_over(turn, unit), mail, turn.agent)

    def _turn_over(self, turn: Turn, unit: RoomUnit) -> Letters:
        """The agent hears that its token is free when the record is gone from the disk."""
        self.alive.pop(turn.agent, None)
        return ((agent_address(turn.agent), TurnFinished(turn.number, unit.has_wakes(turn.agent))),)

    # --- units

    def _hint(self, pending: Sequence[Wake]) -> None:
        for agent in dict.fromkeys(w.agent for w in pending):
            if agent not in self.alive:
                self.system.tell(agent_address(agent), WakeHint())

    def _send(self, unit: RoomUnit, then: Letters, mail: object = None, agent: str = "") -> None:
        unit.take_over()
        self.alone = True
        ended: Letters = ((self.address, UnitEnded(self._sent())),)
        self._commit(
            unit.ops, (*ended, *then),
            lambda exc: ((agent_address(agent), Refused(mail, str(exc))),) if mail is not None else (),
        )

    def _sent(self) -> int:
        unit = self.system.stream_id()
        self.in_flight.add(unit)
        return unit

    def _commit(self, ops: Sequence[Op], then: Letters, failed: Callable[[Exception], Letters]) -> None:
        self.system.commit(
            tuple(ops), then, lambda exc: ((self.address, UnitRefused(str(exc))), *failed(exc))
        )

    @handles(UnitEnded)
    def unit_ended(self, mail: UnitEnded) -> None:
        """A unit with log rows is on disk."""
        self._unit_over(mail.unit)

    def _unit_over(self, unit: int) -> None:
        self.in_flight.discard(unit)
        if self.in_flight:
            return
        self.alone = False
        self.cell.unstash()
        self._drain_if_idle()

    @handles(UnitRefused)
    def unit_refused(self, mail: UnitRefused) -> None:
        """The store refused a unit: the room's memory is ahead of it, so read everything again."""
        _log.warning("room %s: a unit was refused (%s); the room is read again", self.state.room, mail.error)
        self.reload()


def _results_gone(turn: Turn) -> tuple[Op, ...]:
    round_ = turn.round
    if round_ is None:
        return ()
    return turns.delete_results(turn.room, turn.agent, turn.number, round_.number, len(calls(round_.blocks)))


def _of_turn(row: Row, turn: Turn) -> bool:
    return row.turn == turn.number and row.participant == turn.agent
