"""What a finished round comes to: its words' outbox entries, its rows, and the turn's record after it.

Functions of the turn and the model's blocks, with the store read only to resolve a named channel. The agent's turn
sends what they return; nothing here writes, tells or waits.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ..messages.address import Address
from ..messages.assembly import CONTINUE, PROMPTED_BY, prompt_stamp
from ..messages.blocks import Block, Text, ToolCall, ToolResult, calls, is_thinking
from ..messages.mail import GATEWAY, Speech
from ..messages.notices import inference_failed, notice_row, turn_interrupted
from ..messages.places import ChannelRef, Place
from ..messages.receipts import Posted
from ..messages.request import Done, ErrorRecord, Msg
from ..messages.routing import shown_label
from ..messages.rows import Row
from ..messages.speech import admit, entries
from ..messages.turns import ExplicitSend, Round, Turn
from ..messages.wakes import Answered
from ..storage import Op, outbox, registry
from .desk import Desk
from .sends import send_plan

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Words:
    """A round's outcome: the turn after it, its closing rows, the unit's operations, the speech to tell."""

    turn: Turn
    rows: tuple[Row, ...] = ()
    ops: tuple[Op, ...] = ()
    letters: tuple[tuple[Address, object], ...] = ()
    posts: dict[int, Posted] = field(default_factory=dict[int, Posted])


@dataclass(slots=True)
class _Admission:
    """Gathers the posts of one round."""

    desk: Desk
    turn: Turn
    now: float
    number: int
    out: Words

    def post(self, place: Place, text: str, ordinal: int | str, call_id: str = "") -> int:
        limit, unit = self.desk.surfaces.limits(place.at.server)
        number = self.number
        made = entries(
            self.turn, place, text, number=number, round_=self.turn.rounds + 1, ordinal=ordinal, at=self.now,
            limit=limit, unit=unit, call_id=call_id,
        )
        self.out.ops = (*self.out.ops, *(op for entry in made for op in outbox.put(entry)))
        self.out.posts[number] = Posted(place.at, len(text), call_id)
        speech = Speech(self.turn.agent, self.turn.number, number, place.at)
        self.out.letters = (*self.out.letters, (GATEWAY, speech))
        self.number += 1
        return number


def words(desk: Desk, turn: Turn, done: Done, messages: Sequence[Msg], *, live: bool) -> Words:
    """Admit a round (prose 5.2). `live`: it ended in calls, and its record is kept; else it closes the turn."""
    said = admit(
        done.content, silenced=turn.silenced, has_locus=turn.locus is not None,
        private_think=desk.spec.think_policy == "private", speaks=not turn.silent and turn.mode != "disabled",
    )
    work = _Admission(desk, turn, desk.now(), turn.speech, Words(turn))
    for ordinal, text in enumerate(said.texts):
        if turn.locus is not None:
            work.post(turn.locus, text, ordinal)
    sends: list[ExplicitSend] = []
    sent_to = list(turn.sent_to)
    for call in done.calls:
        plan = send_plan(desk, turn, call)
        if plan is not None:
            sends.append(ExplicitSend(call.id, work.post(plan.place, plan.text, call.id, call.id)))
            sent_to.append(plan.place.at)
    after = replace(
        turn, speech=work.number, silenced=said.silenced, suppressed=turn.suppressed + said.suppressed,
        private=turn.private + said.private, calls=turn.calls + len(done.calls),
        sent_to=tuple(dict.fromkeys(sent_to)),
        answered=_answered(turn, (posted.at for posted in work.out.posts.values())),
    )
    prompted = bool(prompt_stamp(messages, turn.number))
    if live:
        round_ = Round(turn.rounds + 1, done.content, turn.watermark, turn.heard, tuple(sends), prompted)
        work.out.turn = replace(after, round=round_)
    else:
        work.out.turn = after
        work.out.rows = closing_rows(desk, turn, done.content, prompted)
    return work.out


def _answered(turn: Turn, places: Iterable[ChannelRef]) -> tuple[Answered, ...]:
    latest = {a.at: a.heard for a in turn.answered}
    latest.update((at, turn.heard) for at in places)
    return tuple(Answered(at, heard) for at, heard in latest.items())


def _stamp(turn: Turn, prompted: bool) -> dict[str, object]:
    return {PROMPTED_BY: {"turn": turn.number, "text": CONTINUE}} if prompted else {}


def opening_of(desk: Desk, turn: Turn) -> str:
    """How the turn's words open for the other agents of the room; fixed when the row is stored (agents.md 2.5)."""
    name = desk.spec.present_as or turn.agent
    if turn.locus is None:
        return f"{name}: "
    with desk.system.store.snapshot() as snap:
        known = registry.channels(snap)
    here = next((channel for channel in known if channel.at == turn.locus.at), None)
    if here is None or len(known) < 2:
        return f"{name}: "
    return f"{name} in {shown_label(here.label or here.at.channel, here.kind)}: "


def round_rows(desk: Desk, turn: Turn, results: tuple[ToolResult, ...]) -> tuple[Row, ...]:
    """The two rows of a round that ended in calls: its blocks verbatim, and its results (agents.md 5.3)."""
    round_, now = turn.round, desk.now()
    if round_ is None:
        return ()
    row_id = f"{turn.agent}/{turn.number}/{round_.number}"
    stamp = _stamp(turn, round_.prompted)
    opening = opening_of(desk, turn)
    spoken = Row(f"{row_id}c", turn.agent, round_.blocks, stamp, now, turn.number, round_.watermark, opening)
    answered = Row(f"{row_id}r", turn.agent, results, {"results": True}, now, turn.number, round_.watermark)
    return (spoken, answered) if results else (spoken,)


def closing_rows(desk: Desk, turn: Turn, blocks: Sequence[Block], prompted: bool) -> tuple[Row, ...]:
    """The closing row; none for an output of nothing but thinking or blank text (agents.md 2.4)."""
    kept = tuple(b for b in blocks if not isinstance(b, Text) or b.text.strip())
    if all(is_thinking(b) for b in kept):
        if kept:
            _log.warning("turn %d of %s ended in thinking alone; it is not stored", turn.number, turn.agent)
        return ()
    row_id = f"{turn.agent}/{turn.number}/end"
    stamp, opening = _stamp(turn, prompted), opening_of(desk, turn)
    return (Row(row_id, turn.agent, tuple(blocks), stamp, desk.now(), turn.number, turn.watermark, opening),)


def end_rows(
    turn: Turn, ending: str, error: ErrorRecord | None, by: str, streak: int, now: float
) -> tuple[Row, ...]:
    """The notice that an ending owes: a failure's, or a cancel's (agents.md 5.5, 6.2)."""
    row_id = f"{turn.agent}/{turn.number}/ending"
    if ending == "exhausted" and error is not None:
        return (notice_row(row_id, inference_failed(error.text, streak), now, turn.agent),)
    if ending == "cancelled":
        under_way = [call.name for call in calls(turn.round.blocks)] if turn.round is not None else []
        return (notice_row(row_id, turn_interrupted(by, under_way), now, turn.agent),)
    return ()


def calls_of(round_: Round) -> tuple[ToolCall, ...]:
    """The calls of a round, in the order in which they were written."""
    return calls(round_.blocks)
