"""Aftermath: what an outcome means for its turn and for the agent's drafts (prose 5.3, 11.3).

Carries the pure decision of `prose.outcomes` into the turn's record, the draft book and the notices owed. The
operations go with the next unit; until then the outcome is owed on disk, so a crash between only makes it be judged
again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..messages.mail import GATEWAY, PostEnded, Receipt, Withhold
from ..messages.posts import OutboxEntry, PostState
from ..messages.prose import StreakEvent, after_outcome, released
from ..messages.prose.outcomes import PostOutcome
from ..messages.prose_notices import bounced
from ..messages.receipts import Posted, marker
from ..messages.speech import post_of, routing_of, with_routing
from ..messages.turns import OwedNotice, Turn
from ..storage import Op, outbox
from .desk import Desk

_OUTCOMES: dict[PostState, PostOutcome] = {
    "delivered": "delivered", "failed": "failed", "expired": "failed", "unknown": "unknown", "queued": "queued",
}


@dataclass(frozen=True, slots=True)
class Judged:
    """A turn after an outcome; `not_shown`: the post's words are not carried by the stream's end."""

    turn: Turn
    not_shown: bool = False


def after_receipt(desk: Desk, turn: Turn, told: Receipt, label: str, late: bool = False) -> Judged:
    """The turn after one of its prose posts has an outcome; an explicit send changes nothing here.

    `late`: its turn is over, or it had been queued: then a draft is all there is (prose 11.3).
    """
    parts = parts_of(desk, turn, told.number)
    post, outcome = post_of(parts), _OUTCOMES.get(told.state)
    if post is None or outcome is None:
        return Judged(turn, told.state == "withheld")
    late = late or told.state == "expired"
    book = desk.book
    found = after_outcome(routing_of(turn, book.retained()), post, outcome, book.mint, late=late)
    turn = with_routing(turn, found.routing)
    owed, events = list(turn.owed), list(turn.events)
    if found.settled is not None:
        book.settle(*found.settled, told.at, told.message_ids)
    if found.resets_streak:
        events.append(StreakEvent(post.link, bounced=False))
    if found.bounce is not None:
        book.add(found.bounce.draft, turn.number, desk.now())
        events.append(StreakEvent(post.link, True, found.bounce.kept, found.bounce.mark))
        notice = bounced(found.bounce, turn.mode, at_risk=False)
        owed.append(OwedNotice(notice.text, notice.metadata))
    book.add(found.draft, turn.number, desk.now())
    if found.marker:
        kept = found.draft.id if found.draft is not None else post.copied or ""
        notice = marker(Posted(told.at, len(post.text)), told, label, kept)
        owed.append(OwedNotice(notice.text, notice.metadata))
    turn = replace(turn, owed=tuple(owed), events=tuple(events))
    return Judged(turn, outcome in ("failed", "unknown"))


def parts_of(desk: Desk, turn: Turn, number: int) -> Sequence[OutboxEntry]:
    """The entries of one post of a turn."""
    with desk.system.store.snapshot() as snap:
        return outbox.of_post(snap, turn.agent, turn.number, number)


def tell_withheld(desk: Desk, turn: Turn, mail: Withhold, ops: tuple[Op, ...]) -> None:
    """Write what was held back, then let its chain go on; a refused unit is judged again when the gateway asks."""
    at = next((part.at for part in parts_of(desk, turn, mail.number)), None)
    if at is None:
        return
    told = Receipt(turn.number, mail.number, at, "withheld", "held back by a failure before it", ())
    desk.system.commit(ops, ((GATEWAY, PostEnded(turn.agent, told)),))


def withhold(desk: Desk, turn: Turn, number: int) -> tuple[Turn, tuple[Op, ...]]:
    """A post that a failure before it holds back (hybrid): its entries end as withheld, its words as a draft."""
    parts = parts_of(desk, turn, number)
    post = post_of(parts)
    if post is None:
        return turn, ()
    routing, found = released(replace(routing_of(turn, desk.book.retained()), link_held=True), post, desk.book.mint)
    if found is post:
        return turn, ()
    desk.book.add(getattr(found, "draft", None), turn.number, desk.now())
    ops = tuple(op for part in parts for op in outbox.put(replace(part, state="withheld", reason="held back")))
    return with_routing(turn, routing), (*ops, *desk.book.flush())
