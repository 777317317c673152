"""What the outcome of a post changes (prose 5.3, 11.3, 13 gap 3)."""

from dataclasses import replace

import pytest

from manyminds.messages.places import Place
from manyminds.messages.prose import (
    Aftermath,
    Bounce,
    Link,
    NewDraft,
    Post,
    PostOutcome,
    Retained,
    Routing,
    Withheld,
    after_outcome,
    fresh_turn,
    recovered,
    released,
)
from tests.messages.prose.samples import EXPLICIT, HOME, HYBRID, LOCUS, OLD, A, B

LINK = Link(1, 0)
FLYING = replace(OLD, state="in-flight")


def mint() -> str:
    """The id of the new draft."""
    return "d-new"


def prefixed(text: str = "x", at: Place = A, link: Link = LINK) -> Post:
    """A post whose envelope named its target."""
    return Post(link, at, text, f">>>#a {text}", True, "#a")


def bare(text: str = "x", at: Place = HOME, link: Link = LINK) -> Post:
    """A post of unprefixed text."""
    return Post(link, at, text, text, False)


def stuck(routing: Routing, link: Link = LINK, at: Place = A) -> Routing:
    """Hybrid's state as the prefixed post left it at admission."""
    return replace(routing, target=at, moved_at=link)


def failed_draft(state: str, post: Post) -> NewDraft:
    """The draft of a failed publish."""
    return NewDraft("d-new", "publish-failed", post.text, post.written, post.target, state)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("routing", "post", "resets"),
    [(EXPLICIT, prefixed(), True), (EXPLICIT, bare(), True), (HYBRID, prefixed(), True), (HYBRID, bare(), False),
     (LOCUS, bare(), False)],
)  # fmt: skip
def test_confirmed(routing: Routing, post: Post, resets: bool) -> None:
    """A confirmation resets the streak: explicit any, hybrid a prefixed one [prose 8.3]."""
    assert after_outcome(routing, post, "delivered", mint) == Aftermath(routing, resets)


def test_queued_is_accepted_and_confirms_nothing() -> None:
    """Queued: no bounce, marker, hold or draft, and no reset; copied words stay in flight [prose 11.3]."""
    routing = stuck(replace(HYBRID, retained=FLYING))
    post = replace(prefixed(), copied="d-old")
    assert after_outcome(routing, post, "queued", mint) == Aftermath(routing)


@pytest.mark.parametrize(("outcome", "state"), [("failed", "held"), ("unknown", "unconfirmed")])
def test_explicit_failure(outcome: PostOutcome, state: str) -> None:
    """Marker and a `publish-failed` draft; never a bounce; destination and retained words stay [prose 5.3]."""
    routing = replace(EXPLICIT, target=A, retained=OLD)
    after = after_outcome(routing, prefixed(), outcome, mint)
    assert after == Aftermath(routing, draft=failed_draft(state, prefixed()), marker=True)


@pytest.mark.parametrize(
    ("outcome", "settled", "left"),
    [
        ("delivered", "delivered", None),
        ("failed", "held", OLD),
        ("unknown", "unconfirmed", replace(OLD, state="unconfirmed")),
    ],
)
def test_words_wholly_from_a_draft(outcome: PostOutcome, settled: str, left: Retained | None) -> None:
    """The attempt is recorded on the draft they came from; no second one is made [prose 5.3, 9]."""
    routing = replace(EXPLICIT, target=A, retained=FLYING)
    post = Post(LINK, A, "old words", ">>#a {{unsent}}", True, "#a", "d-old", wholly=True)
    after = after_outcome(routing, post, outcome, mint)
    assert (after.draft, after.bounce, after.settled) == (None, None, ("d-old", settled))
    assert after.routing.retained == left


def test_a_newer_bounce_stays_the_retained_one() -> None:
    """Confirming an older draft leaves the newest bounce alone [prose 9]."""
    newer = Retained("d-newer", "newer")
    post = replace(prefixed(), copied="d-old", wholly=True)
    after = after_outcome(replace(EXPLICIT, retained=newer), post, "delivered", mint)
    assert (after.routing.retained, after.settled) == (newer, ("d-old", "delivered"))


def test_words_partly_from_a_draft() -> None:
    """Partly: a draft of the whole text, and the copied one settles too [prose 5.3, 9]."""
    post = replace(prefixed("old words!"), copied="d-old")
    after = after_outcome(replace(EXPLICIT, retained=FLYING), post, "unknown", mint)
    assert (after.draft, after.settled) == (failed_draft("unconfirmed", post), ("d-old", "unconfirmed"))


def test_hybrid_failed() -> None:
    """Failed: sticky cleared, held, the body bounces, and no marker beside it [prose 5.3, 11.2]."""
    after = after_outcome(stuck(HYBRID), prefixed(), "failed", mint)
    draft = NewDraft("d-new", "bounced", "x", ">>>#a x", "#a")
    assert after.bounce == Bounce(LINK, "publish-failed", "x", draft, "d-new")
    assert (after.draft, after.marker, after.routing.retained) == (None, False, Retained("d-new", "x"))
    assert (after.routing.target, after.routing.held) == (None, "failed")


def test_hybrid_unknown() -> None:
    """Unknown: sticky cleared, held, no bounce; an unconfirmed draft and the marker [prose 5.3, 11.2]."""
    after = after_outcome(stuck(HYBRID), prefixed(), "unknown", mint)
    assert (after.bounce, after.draft, after.marker) == (None, failed_draft("unconfirmed", prefixed()), True)
    assert (after.routing.target, after.routing.held, after.routing.retained) == (None, "failed", None)


def test_hybrid_failed_words_of_a_draft() -> None:
    """A bounce of words wholly from a draft keeps that draft open [prose 8.2]."""
    post = Post(LINK, A, "old words", ">>>#a {{unsent}}", True, "#a", "d-old", wholly=True)
    after = after_outcome(stuck(replace(HYBRID, retained=FLYING)), post, "failed", mint)
    assert after.bounce == Bounce(LINK, "publish-failed", "old words", None, "d-old")
    assert after.routing.retained == OLD


@pytest.mark.parametrize("routing", [HYBRID, LOCUS, stuck(HYBRID, Link(0, 0), HOME)])
@pytest.mark.parametrize(("outcome", "state"), [("failed", "held"), ("unknown", "unconfirmed")])
def test_unprefixed_failure(routing: Routing, outcome: PostOutcome, state: str) -> None:
    """Hybrid and locus, unprefixed: marker and draft, no bounce, state unchanged [prose 5.3]."""
    after = after_outcome(routing, bare(), outcome, mint)
    assert after == Aftermath(routing, draft=failed_draft(state, bare()), marker=True)


def test_a_failure_under_a_later_target() -> None:
    """A prefix admitted since keeps its sticky target: only the chain is held [prose 13, gap 3]."""
    routing = stuck(HYBRID, Link(1, 1), B)
    after = after_outcome(routing, prefixed(), "failed", mint)
    assert (after.routing.target, after.routing.held, after.routing.link_held) == (B, None, True)


def test_a_failure_under_a_later_private_envelope() -> None:
    """A private envelope admitted since holds by its own reason [prose 5.3, 13 gap 3]."""
    routing = replace(HYBRID, held="private", moved_at=Link(1, 1))
    assert after_outcome(routing, prefixed(), "failed", mint).routing.held == "private"


def test_freezing_fixes_where_not_whether() -> None:
    """Held by a failure when its link runs, unprefixed text is not sent; a later prefix frees it [prose 13, gap 3]."""
    routing = stuck(HYBRID, Link(2, 0), B)
    routing = after_outcome(routing, prefixed(), "failed", mint).routing
    second = bare("y", A, Link(1, 1))
    routing, kept = released(routing, second, mint)
    assert kept == Withheld(Link(1, 1), "held-failed", "y", NewDraft("d-new", "no-destination", "y", "y"))
    assert routing.suppressed == 1
    third = prefixed("z", B, Link(2, 0))
    routing, goes = released(routing, third, mint)
    assert goes == third
    routing = after_outcome(routing, third, "queued", mint).routing
    fourth = bare("w", B, Link(2, 1))
    assert released(routing, fourth, mint) == (routing, fourth)


def test_released_elsewhere() -> None:
    """Explicit and locus hold nothing back [prose 5.3]."""
    for routing in (EXPLICIT, LOCUS, fresh_turn("locus")):
        after = after_outcome(routing, bare(), "failed", mint).routing
        assert released(after, bare(), mint) == (after, bare())


def test_an_end_after_the_queue() -> None:
    """A queued or interrupted post that ends undelivered is a draft alone: no bounce, hold, marker [prose 11.3]."""
    routing = stuck(HYBRID)
    after = after_outcome(routing, prefixed(), "failed", mint, late=True)
    assert after == Aftermath(routing, draft=failed_draft("held", prefixed()))


def test_a_late_confirmation_resets() -> None:
    """A queued post that is confirmed later counts then [prose 8.3, 11.3]."""
    assert after_outcome(stuck(HYBRID), prefixed(), "delivered", mint, late=True).resets_streak


@pytest.mark.parametrize(
    ("outcomes", "held", "link_held"),
    [
        ([], None, False),
        ([(Link(1, 0), True, "delivered"), (Link(2, 0), True, "failed")], "failed", True),
        ([(Link(1, 0), True, "failed"), (Link(2, 0), True, "delivered")], None, False),
        ([(Link(1, 0), True, "unknown")], None, True),
        ([(Link(2, 0), True, "queued"), (Link(2, 1), False, "failed")], None, False),
    ],
)
def test_recovered(outcomes: list[tuple[Link, bool, PostOutcome]], held: str | None, link_held: bool) -> None:
    """After a restart the hold follows from the outcomes in chain order, as in a live turn [design, What lasts]."""
    routing = recovered(stuck(HYBRID, Link(2, 0)), outcomes)
    assert (routing.held, routing.link_held) == (held, link_held)
