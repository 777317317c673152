"""What the outcome of a post changes: holds, bounces, drafts, the retained words (prose 5.3, 11.3).

Outcomes come in chain order, a link being released when the one before has one. Admission may have run
ahead of them: where a piece goes was frozen there, whether it goes is asked here once more.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from .bounces import Mint, kept
from .decisions import Bounce, DraftState, NewDraft, Post, Withheld
from .delivery import moved
from .routing import Link, RetainedState, Routing

PostOutcome: TypeAlias = Literal["delivered", "failed", "unknown", "queued"]

_DRAFT_STATES: Final[dict[PostOutcome, DraftState]] = {
    "delivered": "delivered",
    "failed": "held",
    "unknown": "unconfirmed",
}


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What is due after an outcome.

    `resets_streak`: a confirmation that does (prose 8.3). `bounce` or `draft`: the words kept, never both.
    `settled`: the draft whose words were in the post, and its state now. `marker`: a failure marker (11.2).
    """

    routing: Routing
    resets_streak: bool = False
    bounce: Bounce | None = None
    draft: NewDraft | None = None
    settled: tuple[str, DraftState] | None = None
    marker: bool = False


def released(routing: Routing, post: Post, mint: Mint) -> tuple[Routing, Post | Withheld]:
    """Whether a post still goes when its link runs: hybrid's hold by a failure keeps back what names no target."""
    if post.prefixed or not routing.link_held:
        return routing, post
    draft = NewDraft(mint(), "no-destination", post.text, post.written)
    return replace(routing, suppressed=routing.suppressed + 1), Withheld(post.link, "held-failed", post.text, draft)


def after_outcome(routing: Routing, post: Post, outcome: PostOutcome, mint: Mint, *, late: bool = False) -> Aftermath:
    """The state after an outcome, and what it owes.

    `late`: the post had been queued, or was cut by a crash, and has ended now: then a draft is all there is,
    never a bounce, a hold or a marker, and nothing is freed by it (prose 11.3).
    """
    routing, settled = _settled(routing, post, outcome)
    if outcome in ("delivered", "queued"):
        counts = routing.mode == "explicit" or (routing.mode == "hybrid" and post.prefixed)
        resets = outcome == "delivered" and counts
        freed = routing if late else noted(routing, post.link, post.prefixed, outcome)
        return Aftermath(freed, resets, settled=settled)
    prefixed_hybrid = routing.mode == "hybrid" and post.prefixed
    if not late:
        routing = noted(routing, post.link, post.prefixed, outcome)
        if prefixed_hybrid and outcome == "failed":
            routing, bounce = _bounced(routing, post, mint)
            return Aftermath(routing, bounce=bounce, settled=settled)
    return Aftermath(routing, draft=_failed_draft(post, outcome, mint), settled=settled, marker=not late)


def noted(routing: Routing, link: Link, prefixed: bool, outcome: PostOutcome) -> Routing:
    """The hold that an outcome means in hybrid: what names a target holds when it fails, and frees when it does not.

    The turn's own state moves only where no later prefix has moved it since.
    """
    if routing.mode != "hybrid" or not prefixed:
        return routing
    failed = outcome in ("failed", "unknown")
    if failed and routing.moved_at == link:
        routing = moved(routing, link, None, "failed")
    return replace(routing, link_held=failed)


def recovered(routing: Routing, outcomes: Iterable[tuple[Link, bool, PostOutcome]]) -> Routing:
    """The hold as a live turn would have it, from the outcomes of the turn's prefixed posts in chain order."""
    for link, prefixed, outcome in outcomes:
        routing = noted(routing, link, prefixed, outcome)
    return routing


def _settled(routing: Routing, post: Post, outcome: PostOutcome) -> tuple[Routing, tuple[str, DraftState] | None]:
    """The draft whose words were in the post: delivered, held again, or unconfirmed; in flight while queued."""
    if post.copied is None or outcome == "queued":
        return routing, None
    state = _DRAFT_STATES[outcome]
    retained = routing.retained
    if retained is not None and retained.draft == post.copied:
        still: RetainedState = "open" if state == "held" else "unconfirmed"
        routing = replace(routing, retained=None if state == "delivered" else replace(retained, state=still))
    return routing, (post.copied, state)


def _bounced(routing: Routing, post: Post, mint: Mint) -> tuple[Routing, Bounce]:
    bounce = Bounce(post.link, "publish-failed", post.text)
    if post.wholly:
        return routing, replace(bounce, kept=post.copied)
    return kept(routing, bounce, post.written, post.target, "held", mint)


def _failed_draft(post: Post, outcome: PostOutcome, mint: Mint) -> NewDraft | None:
    if post.wholly:
        return None
    return NewDraft(mint(), "publish-failed", post.text, post.written, post.target, _DRAFT_STATES[outcome])
