"""Parking: the words of a round whose scripts still run (prose 13, gap 2).

At the round's end its targets are frozen and its posts written, parked: they hold nobody back. The verdict is taken
when the last script's result is known, from the blocks, the frozen answers and what the scripts have called, in the
unit that stores that result: only then are destination, marks, silence, bounces and drafts decided. All of it can be
taken again from the turn's record. Functions; nothing here writes, tells or waits.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..messages.blocks import ToolCall
from ..messages.mail import GATEWAY, Speech
from ..messages.posts import OutboxEntry
from ..messages.prose import Link, Post, Resolution, Unresolved, admit, freeze, segments
from ..messages.receipts import Posted
from ..messages.request import Done
from ..messages.speech import pieces, routing_of, with_routing
from ..messages.turns import FrozenAnswer, Round, Turn
from ..storage import outbox
from .admitting import RoundUnit, Targets, Words, answered, sends_of, verdict_of
from .desk import Desk
from .rounds import calls_of

_log = logging.getLogger(__name__)
WITHHELD = "the verdict on its round withheld it"


def scripts_of(desk: Desk, made: Iterable[ToolCall]) -> tuple[str, ...]:
    """The ids of the calls that may call other tools while they run."""
    found = ((call, desk.tools.get(call.name)) for call in made)
    return tuple(call.id for call, tool in found if tool is not None and tool.script and not call.unusable)


def park(desk: Desk, turn: Turn, done: Done, scripts: tuple[str, ...], targets: Targets, prompted: bool) -> Words:
    """Admit a round whose verdict has to wait: its posts are parked, its own sends go, the turn's state stays."""
    asked: list[FrozenAnswer] = []

    def asking(ordinal: int, token: str) -> Resolution:
        answer = targets(ordinal, token)
        kept = answer
        if isinstance(answer, Unresolved) and answer.error is not None:
            _log.error("a target of %s could not be resolved", turn.agent, exc_info=answer.error)
            kept = replace(answer, error=None)
        asked.append(FrozenAnswer(ordinal, kept))
        return answer

    retained = desk.book.retained()
    routing = routing_of(turn, retained)
    items = freeze(routing.mode, segments(pieces(done.content)), asking)
    found = admit(routing, turn.rounds + 1, items, verdict_of(desk, done.calls), lambda: "")
    unit = RoundUnit(desk, turn, turn.speech, Words(turn))
    for decision in found.decisions:
        if isinstance(decision, Post):
            unit.post(decision.place, decision.text, decision.link.ordinal, post=decision, parked=True)
    sends, sent_to = sends_of(unit, done.calls)
    round_ = Round(
        turn.rounds + 1, done.content, turn.watermark, turn.heard, tuple(sends), prompted, scripts, tuple(asked),
        retained,
    )
    unit.out.turn = replace(
        turn, speech=unit.number, calls=turn.calls + len(done.calls), sent_to=sent_to, round=round_,
        answered=answered(turn, (posted.at for posted in unit.out.posts.values())),
    )
    unit.out.ops = (*unit.out.ops, *desk.book.flush())
    return unit.out


def settle(desk: Desk, turn: Turn) -> Words:
    """The verdict on the turn's round: a parked post is released or ends withheld, the rest is as at a round's end."""
    round_ = turn.round
    if round_ is None:
        return Words(turn)
    answers = {frozen.ordinal: frozen.answer for frozen in round_.answers}
    routing = routing_of(turn, round_.retained)
    items = freeze(routing.mode, segments(pieces(round_.blocks)), lambda ordinal, _token: answers[ordinal])
    verdict = verdict_of(desk, calls_of(round_), round_.inner)
    found = admit(routing, round_.number, items, verdict, desk.book.mint)
    unit = RoundUnit(desk, turn, turn.speech, Words(turn, admitted=found.admitted))
    waiting = _parked(desk, turn)
    for decision in found.decisions:
        parts = waiting.pop(decision.link, None) if isinstance(decision, Post) else None
        if isinstance(decision, Post) and parts:
            _release(unit, parts, decision)
        else:
            unit.carry_out(decision)
    for parts in waiting.values():
        ended = (replace(part, state="withheld", reason=WITHHELD) for part in parts)
        unit.out.ops = (*unit.out.ops, *(op for part in ended for op in outbox.put(part)))
    unit.out.turn = replace(
        with_routing(turn, found.routing), speech=unit.number,
        answered=answered(turn, (posted.at for posted in unit.out.posts.values())),
        owed=(*turn.owed, *unit.owed), events=(*turn.events, *unit.events),
        round=replace(round_, scripts=(), answers=(), retained=None),
    )
    unit.out.ops = (*unit.out.ops, *desk.book.flush())
    return unit.out


def _parked(desk: Desk, turn: Turn) -> dict[Link, list[OutboxEntry]]:
    with desk.system.store.snapshot() as snap:
        entries = outbox.of_turn(snap, turn.agent, turn.number)
    found: dict[Link, list[OutboxEntry]] = {}
    for entry in entries:
        if entry.state == "parked" and entry.link is not None:
            found.setdefault(entry.link, []).append(entry)
    return found


def _release(unit: RoundUnit, parts: Sequence[OutboxEntry], post: Post) -> None:
    """It takes its place in its channel now; a draft that it copies has its id only since the verdict."""
    out, turn, first = unit.out, unit.turn, parts[0]
    let_go = (replace(part, state="admitted", copied=post.copied, wholly=post.wholly) for part in parts)
    out.ops = (*out.ops, *(op for part in let_go for op in outbox.put(part)))
    out.posts[first.number] = Posted(first.at, len(post.text), link=post.link)
    out.letters = (*out.letters, (GATEWAY, Speech(turn.agent, turn.number, first.number, first.at)))
