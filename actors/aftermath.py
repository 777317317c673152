"""Aftermath: what an outcome means for its turn and for the agent's drafts (prose 5.3, 11.3).

Carries the pure decision of `prose.outcomes` into the turn's record, the draft book and the notices owed. The
operations go with the next unit; until then the outcome is owed on disk, so a crash between only makes it be judged
again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..messages.mail import GATEWAY, PostEnded, Receipt, Withhold
from ..messages.notices import Notice
from ..messages.outbox_notices import delayed, delivered_late, given_up
from ..messages.places import Place
from ..messages.posts import OutboxEntry, PostState
from ..messages.prose import Link, Post, StreakEvent, after_outcome, released
from ..messages.prose.outcomes import PostOutcome
from ..messages.prose_notices import bounced
from ..messages.receipts import Posted, marker
from ..messages.speech import post_of, routing_of, with_routing, words_of
from ..messages.turns import Turn
from ..storage import Op, outbox
from .desk import Desk
from .keeping import write_drafts

_OUTCOMES: dict[PostState, PostOutcome] = {
    "delivered": "delivered", "failed": "failed", "expired": "failed", "unknown": "unknown", "queued": "queued",
}


@dataclass(frozen=True, slots=True)
class Judged:
    """A turn after an outcome; `not_shown`: the post's words are not carried by the stream's end.

    `notice`: what its author is to be told of it; `draft`: the draft that keeps its words.
    """

    turn: Turn
    not_shown: bool = False
    notice: Notice | None = None
    draft: str = ""


def after_receipt(desk: Desk, turn: Turn, told: Receipt, label: str, late: bool = False) -> Judged:
    """The turn after one of its posts has an outcome.

    `late`: its turn is over; as where it had to wait, or was no prose, a draft is all there is then (prose 11.3).
    """
    parts = parts_of(desk, turn, told.number)
    outcome = _OUTCOMES.get(told.state)
    if not parts or outcome is None:
        return Judged(turn, told.state == "withheld")
    prose = post_of(parts)
    post = prose or Post(Link(0, 0), Place(told.at), words_of(parts), "", False, None, parts[0].copied, parts[0].wholly)
    waited = any(part.delayed for part in parts)
    book = desk.book
    routing = routing_of(turn, book.retained())
    late = late or prose is None or (waited and outcome != "queued")
    found = after_outcome(routing, post, outcome, book.mint, late=late)
    events, notice = list(turn.events), None
    if found.settled is not None:
        book.settle(*found.settled, told.at, told.message_ids)
    earlier = book.of_post(turn.number, told.number)
    if earlier is not None and outcome == "delivered":
        book.settle(earlier.id, "delivered", told.at, told.message_ids)
    if found.resets_streak and prose is not None:
        events.append(StreakEvent(post.link, bounced=False))
    if found.bounce is not None:
        book.add(found.bounce.draft, turn.number, desk.now(), told.number)
        events.append(StreakEvent(post.link, True, found.bounce.kept, found.bounce.mark))
        notice = bounced(found.bounce, turn.mode, at_risk=False)
    if earlier is not None and outcome == "unknown":
        book.settle(earlier.id, "unconfirmed")
    if earlier is None:
        book.add(found.draft, turn.number, desk.now(), told.number)
    kept = earlier.id if earlier is not None else found.draft.id if found.draft is not None else post.copied or ""
    if notice is None:
        notice = _notice(desk, parts, told, label, kept)
    turn = replace(with_routing(turn, found.routing) if prose is not None else turn, events=tuple(events))
    return Judged(turn, outcome in ("failed", "unknown"), notice, kept)


def _notice(desk: Desk, parts: Sequence[OutboxEntry], told: Receipt, label: str, kept: str) -> Notice | None:
    """What is said of an outcome; of a plain delivery nothing, and a post that had to wait has its own words."""
    text, why = words_of(parts), next((part.delayed for part in parts if part.delayed), "")
    if told.state == "queued":
        return delayed(told.at, label, told.reason or why, len(text), parts[0].key)
    if told.state == "delivered":
        late = desk.now() - parts[0].written_at
        return delivered_late(told.at, label, why, len(text), late) if why else None
    if why:
        return given_up(told.at, label, told.reason, text, kept, told.state == "unknown")
    return marker(Posted(told.at, len(text)), told, label, kept)


def parts_of(desk: Desk, turn: Turn, number: int) -> Sequence[OutboxEntry]:
    """The entries of one post of a turn."""
    with desk.system.store.snapshot() as snap:
        return outbox.of_post(snap, turn.agent, turn.number, number)


def tell_withheld(desk: Desk, turn: Turn, mail: Withhold, ops: tuple[Op, ...]) -> None:
    """Write what was held back, until the store takes it; then its chain goes on."""
    at = next((part.at for part in parts_of(desk, turn, mail.number)), None)
    if at is None:
        return
    told = Receipt(turn.number, mail.number, at, "withheld", "held back by a failure before it", ())
    write_drafts(desk, ops, ((GATEWAY, PostEnded(turn.agent, told)),))


def withhold(desk: Desk, turn: Turn, number: int) -> tuple[Turn, tuple[Op, ...]]:
    """A post that a failure before it holds back (hybrid): its entries end as withheld, its words as a draft.

    The draft goes with the unit that writes these operations.
    """
    parts = parts_of(desk, turn, number)
    post = post_of(parts)
    if post is None or parts[0].state == "withheld" or desk.book.of_post(turn.number, number) is not None:
        return turn, ()
    routing, found = released(replace(routing_of(turn, desk.book.retained()), link_held=True), post, desk.book.mint)
    if found is post:
        return turn, ()
    desk.book.add(getattr(found, "draft", None), turn.number, desk.now(), number)
    ops = tuple(op for part in parts for op in outbox.put(replace(part, state="withheld", reason="held back")))
    return with_routing(turn, routing), ops
