"""What happens to one envelope: the tables of prose 5.3, as a step from state to state.

Each step takes the turn's routing state and one envelope with its frozen answer, and gives back the next
state and a decision. It runs at the round's verdict, before any post has an outcome; what outcomes change is
in `outcomes`. Sends nothing, resolves nothing, counts nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from ..places import Place
from .bounces import Mint, bounced, copies_risky, expanded
from .decisions import (
    Bounce,
    BounceReason,
    Decision,
    DraftReason,
    DraftState,
    Empty,
    NewDraft,
    Post,
    Private,
    Refused,
    Withheld,
)
from .grammar import Envelope, has_unsent, only_unsent, substitute
from .resolve import Resolution, Resolved, Unresolved
from .routing import HeldBy, Link, Routing
from .whitespace import only_whitespace

Step: TypeAlias = tuple[Routing, Decision]
Deliver: TypeAlias = Callable[["Routing", "Frozen", Link, Mint], Step]


@dataclass(frozen=True, slots=True)
class Frozen:
    """An envelope as its round's end found it (prose 5.2).

    `ordinal`: in the round; `segment`: which one it stands in; `answer`: of its target, asked once; `run`:
    the untrimmed run, where the envelope is all of it and has no prefix.
    """

    ordinal: int
    segment: int
    envelope: Envelope
    answer: Resolution | None = None
    run: str | None = None

    @property
    def place(self) -> Place | None:
        """Where its target resolved to."""
        return self.answer.place if isinstance(self.answer, Resolved) else None


def deliver_explicit(routing: Routing, item: Frozen, link: Link, mint: Mint) -> Step:
    """Explicit, in a normal round: a failed target bounces the body, no target at all the whole envelope."""
    envelope = item.envelope
    if envelope.private:
        return _private(_marked(routing, envelope), envelope, link)
    if envelope.prefixed and item.place is None:
        return _unresolved(routing, item, link, mint)
    routing = _marked(routing, envelope)
    if item.place is not None:
        routing = replace(routing, target=item.place)
    if routing.target is None:
        return bounced(routing, Bounce(link, "no-destination", envelope.text), envelope.text, envelope.text, None, mint)
    return _send(routing, item, link, routing.target, mint)


def deliver_hybrid(routing: Routing, item: Frozen, link: Link, mint: Mint) -> Step:
    """Hybrid: every prefix moves the sticky target; one that names nobody, or on purpose, holds."""
    envelope = item.envelope
    if not envelope.prefixed:
        return _unprefixed(routing, item, link, mint)
    routing = _sticky(routing, item, link)
    if envelope.private:
        return _private(_marked(routing, envelope), envelope, link)
    if envelope.malformed:
        bounce = Bounce(link, "missing-target", envelope.text)
        return bounced(routing, bounce, envelope.body, envelope.text, None, mint)
    if item.place is None:
        return _unresolved(routing, item, link, mint)
    return _send(_marked(routing, envelope), item, link, item.place, mint)


def deliver_locus(routing: Routing, item: Frozen, link: Link, mint: Mint) -> Step:
    """Locus: the segment goes to the locus; without one it is kept, never sent somewhere else (prose 5.8)."""
    return _unprefixed(routing, item, link, mint)


def deliver_disabled(routing: Routing, item: Frozen, link: Link, mint: Mint) -> Step:
    """Disabled: narration, never sent and never drafted."""
    return routing, Withheld(link, "disabled", item.envelope.text)


def keep_private(routing: Routing, item: Frozen, link: Link, mint: Mint) -> Step:
    """A `skip_reply` or private-think round: nothing is sent, bounced, marked or moved.

    One effect survives: a private envelope with `{{unsent}}` sets the words aside (prose 5.3, 16.2).
    """
    if item.envelope.private:
        return _private(routing, item.envelope, link)
    return routing, Private(link)


def withhold_silenced(routing: Routing, item: Frozen, link: Link, mint: Mint) -> Step:
    """A round silenced by a send: the state moves as live, the words become drafts (prose 5.4, 16.8)."""
    envelope = item.envelope
    if not envelope.prefixed:
        draft = None if routing.held == "private" else _draft(item, "explicit-send", mint)
        return routing, Withheld(link, "silenced", item.run or envelope.text, draft)
    routing = _marked(_sticky(routing, item, link), envelope)
    if envelope.private:
        return _private(routing, envelope, link)
    words = envelope.text if envelope.malformed else envelope.body
    if only_whitespace(envelope.body):
        return routing, Empty(link)
    if only_unsent(envelope.body):
        return routing, Withheld(link, "silenced", words)
    state: DraftState = "unconfirmed" if copies_risky(words, routing) else "held"
    text = expanded(words, routing)
    draft = NewDraft(mint(), "explicit-send", text, envelope.text, envelope.target, state)
    return routing, Withheld(link, "silenced", words, draft)


def _unprefixed(routing: Routing, item: Frozen, link: Link, mint: Mint) -> Step:
    place = routing.unprefixed_to
    if place is not None:
        return routing, Post(link, place, item.envelope.text, item.envelope.text, prefixed=False)
    text = item.run or item.envelope.text
    if routing.held == "private":
        return routing, Withheld(link, "held-private", text)
    draft = _draft(item, "no-destination", mint)
    return routing, Withheld(link, "no-locus" if routing.held is None else "held-failed", text, draft)


def _send(routing: Routing, item: Frozen, link: Link, place: Place, mint: Mint) -> Step:
    """A body with a place to go to: the token is replaced here, once, by the words as they are now (prose 4.4)."""
    envelope, retained, copied = item.envelope, routing.retained, None
    text = envelope.body
    if has_unsent(text):
        if retained is not None and retained.state != "open":
            held = routing if routing.mode == "explicit" else moved(routing, link, None, "failed")
            return held, Refused(link, retained.draft, retained.state, _beside(envelope, mint))
        text = substitute(text, retained.text if retained else None)
        copied = retained.draft if retained else None
    if only_whitespace(text):
        return routing, Empty(link)
    if retained is not None and copied is not None:
        routing = replace(routing, retained=replace(retained, state="in-flight"))
    wholly = copied is not None and only_unsent(envelope.body)
    return routing, Post(link, place, text, envelope.text, envelope.prefixed, envelope.target, copied, wholly)


def _beside(envelope: Envelope, mint: Mint) -> NewDraft | None:
    """The words that stand beside a token that could not be replaced: kept, so that they are lost with nothing."""
    if only_whitespace(substitute(envelope.body, None)):
        return None
    return NewDraft(mint(), "publish-failed", envelope.body, envelope.text, envelope.target)


def _unresolved(routing: Routing, item: Frozen, link: Link, mint: Mint) -> Step:
    envelope = item.envelope
    detail = item.answer if isinstance(item.answer, Unresolved) else None
    threw = detail is not None and detail.reason == "resolver-error"
    reason: BounceReason = "resolver-error" if threw else "unresolved"
    bounce = Bounce(link, reason, envelope.body, detail=detail, mark=envelope.mark)
    return bounced(routing, bounce, envelope.body, envelope.text, envelope.target, mint)


def _private(routing: Routing, envelope: Envelope, link: Link) -> Step:
    retained = routing.retained
    if retained is None or not has_unsent(envelope.body):
        return routing, Private(link)
    if retained.state == "in-flight":
        return routing, Private(link, refused=retained.draft)
    return replace(routing, retained=None), Private(link, set_aside=retained.draft)


def _draft(item: Frozen, reason: DraftReason, mint: Mint) -> NewDraft:
    return NewDraft(mint(), reason, item.run or item.envelope.text, item.envelope.text)


def _marked(routing: Routing, envelope: Envelope) -> Routing:
    return replace(routing, continuation=True) if envelope.mark else routing


def _sticky(routing: Routing, item: Frozen, link: Link) -> Routing:
    """Hybrid's state after a prefix: the target if it has one, else held, by the writer's wish or a failure."""
    if item.place is not None:
        return moved(routing, link, item.place, None)
    return moved(routing, link, None, "private" if item.envelope.private else "failed")


def moved(routing: Routing, link: Link, target: Place | None, held: HeldBy | None) -> Routing:
    """The sticky target or the hold as this piece leaves it (hybrid)."""
    return replace(routing, target=target, held=held, moved_at=link)
