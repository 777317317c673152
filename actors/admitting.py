"""Admitting: a finished round's words become outbox entries, drafts, notices and the turn's next routing state.

Functions of the turn and the model's blocks, with the store read to resolve targets and to see the agent's drafts.
The pure gateway decides; this carries its decisions into one unit (prose 5.2). Nothing here writes, tells or waits.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from ..messages.address import Address
from ..messages.assembly import prompt_stamp
from ..messages.blocks import ToolCall
from ..messages.mail import GATEWAY, Speech
from ..messages.notices import Notice
from ..messages.places import ChannelRef, Place
from ..messages.prose import (
    Bounce,
    Decision,
    NewDraft,
    Post,
    Private,
    Refused,
    Resolution,
    RoundCall,
    StreakEvent,
    Verdict,
    Withheld,
    admit,
    freeze,
    segments,
    verdict,
)
from ..messages.prose_notices import bounced, copy_refused
from ..messages.receipts import Posted
from ..messages.request import Done, Msg
from ..messages.rows import Row
from ..messages.speech import entries, pieces, routing_of, with_routing
from ..messages.turns import ExplicitSend, InnerCall, OwedNotice, Round, Turn
from ..messages.wakes import Answered
from ..storage import Op, outbox
from .desk import Desk
from .rounds import closing_rows
from .sends import call_action, send_plan

_log = logging.getLogger(__name__)
Targets = Callable[[int, str], Resolution]


@dataclass(slots=True)
class Words:
    """A round's outcome: the turn after it, its closing rows, the unit's operations, the speech to tell.

    `admitted`: the ordinals whose words are to be published.
    """

    turn: Turn
    rows: tuple[Row, ...] = ()
    ops: tuple[Op, ...] = ()
    letters: tuple[tuple[Address, object], ...] = ()
    posts: dict[int, Posted] = field(default_factory=dict[int, Posted])
    admitted: frozenset[int] = frozenset()


@dataclass(slots=True)
class RoundUnit:
    """Gathers what one round comes to."""

    desk: Desk
    turn: Turn
    number: int
    out: Words
    owed: list[OwedNotice] = field(default_factory=list[OwedNotice])
    events: list[StreakEvent] = field(default_factory=list[StreakEvent])

    def post(
        self, place: Place, text: str, ordinal: int | str, call_id: str = "", post: Post | None = None,
        parked: bool = False,
    ) -> int:
        """Admit a post: its entries, its number in the turn's chain, and, unless it is parked, the speech to tell."""
        limit, unit = self.desk.surfaces.limits(place.at.server)
        number = self.number
        made = entries(
            self.turn, place, text, number=number, round_=self.turn.rounds + 1, ordinal=ordinal, at=self.desk.now(),
            limit=limit, unit=unit, call_id=call_id, post=post,
        )
        if parked:
            made = tuple(replace(entry, state="parked", copied=entry.copied or None) for entry in made)
        self.out.ops = (*self.out.ops, *(op for entry in made for op in outbox.put(entry)))
        self.number += 1
        if not parked:
            self.out.posts[number] = Posted(place.at, len(text), call_id, post.link if post is not None else None)
            speech = Speech(self.turn.agent, self.turn.number, number, place.at)
            self.out.letters = (*self.out.letters, (GATEWAY, speech))
        return number

    def carry_out(self, decision: Decision) -> None:
        """One decision of admission."""
        if isinstance(decision, Post):
            self.post(decision.place, decision.text, decision.link.ordinal, post=decision)
        elif isinstance(decision, Bounce):
            self._keep(decision.draft)
            at_risk = decision.draft is not None and decision.draft.state == "unconfirmed"
            self.owe(bounced(decision, self.turn.mode, at_risk))
            self.events.append(StreakEvent(decision.link, True, decision.kept, decision.mark))
            if decision.detail is not None and decision.detail.error is not None:
                _log.error("a target of %s could not be resolved", self.turn.agent, exc_info=decision.detail.error)
        elif isinstance(decision, Withheld):
            self._keep(decision.draft)
        elif isinstance(decision, Private):
            if decision.set_aside is not None:
                self.desk.book.settle(decision.set_aside, "dismissed")
            if decision.refused is not None:
                self.owe(copy_refused(decision.refused, "in-flight", self.turn.mode))
        elif isinstance(decision, Refused):
            self._keep(decision.kept)
            kept = decision.kept.id if decision.kept is not None else ""
            self.owe(copy_refused(decision.draft, decision.state, self.turn.mode, kept))

    def _keep(self, new: NewDraft | None) -> None:
        self.desk.book.add(new, self.turn.number, self.desk.now())

    def owe(self, notice: Notice) -> None:
        """A notice for the next boundary, or the turn's end."""
        self.owed.append(OwedNotice(notice.text, notice.metadata))


def words(
    desk: Desk, turn: Turn, done: Done, messages: Sequence[Msg], targets: Targets, *, live: bool
) -> Words:
    """Admit a round (prose 5.2). `live`: it ended in calls, and its record is kept; else it closes the turn."""
    routing = routing_of(turn, desk.book.retained())
    items = freeze(routing.mode, segments(pieces(done.content)), targets)
    admission = admit(routing, turn.rounds + 1, items, verdict_of(desk, done.calls), desk.book.mint)
    unit = RoundUnit(desk, turn, turn.speech, Words(turn, admitted=admission.admitted))
    for decision in admission.decisions:
        unit.carry_out(decision)
    sends, sent_to = sends_of(unit, done.calls)
    prompted = bool(prompt_stamp(messages, turn.number))
    after = replace(
        with_routing(turn, admission.routing), speech=unit.number, calls=turn.calls + len(done.calls),
        sent_to=sent_to, answered=answered(turn, (posted.at for posted in unit.out.posts.values())),
        owed=(*turn.owed, *unit.owed), events=(*turn.events, *unit.events),
    )
    unit.out.ops = (*unit.out.ops, *desk.book.flush())
    if live:
        round_ = Round(turn.rounds + 1, done.content, turn.watermark, turn.heard, tuple(sends), prompted)
        unit.out.turn = replace(after, round=round_)
    else:
        unit.out.turn = after
        unit.out.rows = closing_rows(desk, turn, done.content, prompted)
    return unit.out


def admit_call(
    desk: Desk, turn: Turn, call_id: str, place: Place, text: str, draft: str = ""
) -> tuple[Turn, int, tuple[Op, ...]]:
    """A post that a running call makes: the turn after it, its number, and its entries (prose 5.2).

    `draft`: the id of the draft that it sends again; its key is then of call and draft.
    """
    at = place.at
    limit, unit = desk.surfaces.limits(at.server)
    round_ = turn.round.number if turn.round is not None else turn.rounds + 1
    made = entries(
        turn, place, text, number=turn.speech, round_=round_, ordinal=f"{call_id}/{draft}" if draft else call_id,
        at=desk.now(), limit=limit, unit=unit, call_id=call_id,
    )
    ops = tuple(op for entry in made for op in outbox.put(replace(entry, copied=draft or None, wholly=bool(draft))))
    after = replace(
        turn, speech=turn.speech + 1, sent_to=tuple(dict.fromkeys((*turn.sent_to, at))), answered=answered(turn, [at])
    )
    return after, turn.speech, ops


def verdict_of(desk: Desk, made: Iterable[ToolCall], inner: Iterable[InnerCall] = ()) -> Verdict:
    """What the round's calls mean for its prose, those inside its scripts included (prose 5.4, 5.5, 13 gap 2)."""
    calls = [RoundCall(call.name, call_action(desk, call)) for call in made]
    calls += [RoundCall(call.name, call.action) for call in inner]
    return verdict(calls, think_is_private=desk.spec.think_policy == "private")


def sends_of(unit: RoundUnit, made: Iterable[ToolCall]) -> tuple[list[ExplicitSend], tuple[ChannelRef, ...]]:
    """The round's explicit sends, admitted, and every channel that the turn has sent into."""
    sends: list[ExplicitSend] = []
    sent_to = list(unit.turn.sent_to)
    for call in made:
        plan = send_plan(unit.desk, unit.turn, call)
        if plan is not None:
            sends.append(ExplicitSend(call.id, unit.post(plan.place, plan.text, call.id, call.id)))
            sent_to.append(plan.place.at)
    return sends, tuple(dict.fromkeys(sent_to))


def answered(turn: Turn, places: Iterable[ChannelRef]) -> tuple[Answered, ...]:
    """Which channels the turn has answered, and up to what it had heard."""
    latest = {a.at: a.heard for a in turn.answered}
    latest.update((at, turn.heard) for at in places)
    return tuple(Answered(at, heard) for at, heard in latest.items())
