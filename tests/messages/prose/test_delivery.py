"""What happens to one envelope: the tables of prose 5.3, and what is kept of a bounce (8.2)."""

from dataclasses import replace

import pytest

from manyminds.messages.prose import (
    Bounce,
    Empty,
    NewDraft,
    Post,
    Private,
    Refused,
    Retained,
    Routing,
    Unresolved,
    Withheld,
    fresh_turn,
)
from tests.messages.prose.samples import (
    DISABLED,
    EXPLICIT,
    HOME,
    HYBRID,
    LOCUS,
    NEAR,
    OLD,
    SENT,
    A,
    B,
    admitted,
    decided,
    link,
)

BROKEN = Unresolved("resolver-error")


def held(text: str, written: str, target: str | None = None) -> NewDraft:
    """The first draft, of a bounce."""
    return NewDraft("d-1", "bounced", text, written, target)


# -- explicit --------------------------------------------------------------------------------------------


def test_explicit_private() -> None:
    """Nothing sent, no bounce, destination unchanged; a mark counts [prose 5.3]."""
    result = admitted(replace(EXPLICIT, target=A), ">>skip_reply ! x")
    assert result.decisions == (Private(link(0)),)
    assert (result.routing.target, result.routing.continuation, result.routing.kept_private) == (A, True, 1)


def test_explicit_private_sets_aside() -> None:
    """`{{unsent}}` in a private body sets the retained words aside [prose 5.3]."""
    result = admitted(replace(EXPLICIT, retained=OLD), ">>skip_reply see {{unsent}}")
    assert result.decisions == (Private(link(0), set_aside="d-old"),)
    assert result.routing.retained is None


def test_explicit_unresolved() -> None:
    """The body bounces, without its prefix; the destination stays; the mark waits for the streak [prose 5.3, 8.4]."""
    result = admitted(replace(EXPLICIT, target=A), ">>#attic ! boxes")
    draft = held("boxes", ">>#attic ! boxes", "#attic")
    assert result.decisions == (Bounce(link(0), "unresolved", "boxes", draft, "d-1", NEAR, mark=True),)
    assert (result.routing.target, result.routing.continuation) == (A, False)
    assert result.routing.retained == Retained("d-1", "boxes")


def test_explicit_resolver_error() -> None:
    """A resolver that raises bounces one envelope, the others go on [prose 5.2]."""
    first, second = decided(EXPLICIT, ">>#broken x\n>>#a y")
    assert first == Bounce(link(0), "resolver-error", "x", held("x", ">>#broken x", "#broken"), "d-1", BROKEN)
    assert second == Post(link(1), A, "y", ">>#a y", True, "#a")


def test_explicit_unresolved_blank_body() -> None:
    """A target alone that does not resolve: bounced, retained words unchanged, no draft [prose 5.3]."""
    result = admitted(replace(EXPLICIT, retained=OLD), ">>#attic")
    assert result.decisions == (Bounce(link(0), "unresolved", "", detail=NEAR),)
    assert result.routing.retained == OLD


def test_explicit_resolved() -> None:
    """The destination is the last target that resolved; bodies are not trimmed [prose 5.2, 5.3, 3.5]."""
    result = admitted(EXPLICIT, ">>#a x\n\n>>#b !\n y\n>>#attic z\n>>skip_reply w")
    assert result.decisions[:2] == (
        Post(link(0), A, "x\n", ">>#a x\n", True, "#a"),
        Post(link(1), B, " y", ">>#b !\n y", True, "#b"),
    )
    assert (result.routing.target, result.routing.continuation) == (B, True)


def test_explicit_target_alone() -> None:
    """A target alone sends nothing and takes effect; so does one whose words vanish [prose 5.3, 4.4]."""
    result = admitted(EXPLICIT, ">>#a", ">>#b {{unsent}}")
    assert result.decisions == (Empty(link(0)), Empty(link(1)))
    assert result.routing.target == B


@pytest.mark.parametrize(("routing", "arrow"), [(EXPLICIT, ">>"), (HYBRID, ">>>")])
def test_blank_bodies(routing: Routing, arrow: str) -> None:
    """A body of whitespace alone sends nothing, and keeps nothing when it bounces [prose 5.3]."""
    first, second, third = decided(routing, f"{arrow}#a\u00a0\n{arrow}#attic \v\n{arrow}#b x")
    assert (first, second) == (Empty(link(0)), Bounce(link(1), "unresolved", "\v", detail=NEAR))
    assert isinstance(third, Post)


def test_explicit_unprefixed() -> None:
    """To the destination where there is one, whole; else it bounces, whole [prose 5.3]."""
    assert decided(replace(EXPLICIT, target=A), "x\n>> y") == [Post(link(0), A, "x\n>> y", "x\n>> y", False)]
    bounce = Bounce(link(0), "no-destination", "x\n>> y", held("x\n>> y", "x\n>> y"), "d-1")
    assert decided(EXPLICIT, "x\n>> y") == [bounce]


def test_explicit_substitution() -> None:
    """Every token of a body, or of unprefixed text with a destination, is the retained words [prose 4.4]."""
    routing = replace(EXPLICIT, retained=OLD)
    prefixed = admitted(routing, ">>#a {{unsent}}, {{unsent}}")
    assert prefixed.decisions == (
        Post(link(0), A, "old words, old words", ">>#a {{unsent}}, {{unsent}}", True, "#a", "d-old"),
    )
    assert prefixed.routing.retained == replace(OLD, state="in-flight")
    bare = admitted(replace(routing, target=A), " {{unsent}}")
    assert bare.decisions == (Post(link(0), A, "old words", "{{unsent}}", False, None, "d-old", wholly=True),)


def test_explicit_substitution_takes_the_newest_bounce() -> None:
    """In order of admission: a bounce before the token is what it stands for [prose 4.4]."""
    _, post = decided(replace(EXPLICIT, retained=OLD), ">>#attic new\n>>#a {{unsent}}")
    assert post == Post(link(1), A, "new", ">>#a {{unsent}}", True, "#a", "d-1", wholly=True)


@pytest.mark.parametrize("state", ["in-flight", "unconfirmed"])
def test_words_on_their_way_are_not_substituted(state: str) -> None:
    """Unconfirmed or in flight: nothing is sent; explicit's destination moves all the same [prose 9]."""
    retained = replace(OLD, state=state)  # type: ignore[arg-type]
    result = admitted(replace(EXPLICIT, retained=retained), ">>#a {{unsent}} x")
    beside = NewDraft("d-1", "publish-failed", "{{unsent}} x", ">>#a {{unsent}} x", "#a")
    assert result.decisions == (Refused(link(0), "d-old", state, beside),)  # type: ignore[arg-type]
    assert (result.routing.target, result.routing.retained) == (A, retained)


def test_a_token_twice_in_a_round() -> None:
    """From its unit on the draft is in flight: the second envelope is refused [prose 4.4, 9]."""
    first, second = decided(replace(EXPLICIT, retained=OLD), ">>#a {{unsent}}\n>>#b {{unsent}}")
    assert isinstance(first, Post)
    assert second == Refused(link(1), "d-old", "in-flight")


def test_set_aside_in_flight_is_refused() -> None:
    """Words in flight cannot be set aside; unconfirmed ones can [prose 9]."""
    flying = admitted(replace(EXPLICIT, retained=replace(OLD, state="in-flight")), ">>skip_reply {{unsent}}")
    assert flying.decisions == (Private(link(0), refused="d-old"),)
    assert flying.routing.retained == replace(OLD, state="in-flight")
    maybe = admitted(replace(EXPLICIT, retained=replace(OLD, state="unconfirmed")), ">>skip_reply {{unsent}}")
    assert maybe.decisions == (Private(link(0), set_aside="d-old"),)


def test_explicit_is_exempt_from_send_silence() -> None:
    """A send does not silence explicit mode [prose 2, 5.4]."""
    result = admitted(EXPLICIT, ">>#a x", found=SENT)
    assert [type(d) for d in result.decisions] == [Post]
    assert not result.routing.silenced


# -- re-bounce -------------------------------------------------------------------------------------------


def test_rebounce_of_the_token_keeps_the_words() -> None:
    """Just the token: the existing words, no new draft, unprefixed text included [prose 8.2]."""
    for text, reason, detail in ((">>#attic\n{{unsent}} ", "unresolved", NEAR), ("{{unsent}}", "no-destination", None)):
        result = admitted(replace(EXPLICIT, retained=OLD), text)
        assert result.decisions == (Bounce(link(0), reason, "old words", None, "d-old", detail),)  # type: ignore[arg-type]
        assert result.routing.retained == OLD


def test_rebounce_of_the_token_with_nothing_retained() -> None:
    """With nothing retained, nothing is retained [prose 8.2]."""
    result = admitted(EXPLICIT, ">>#attic {{unsent}}")
    assert result.decisions == (Bounce(link(0), "unresolved", "", detail=NEAR),)
    assert result.routing.retained is None


def test_rebounce_with_other_text_expands() -> None:
    """The whole text with the token expanded, as a new draft [prose 8.2]."""
    (bounce,) = decided(replace(EXPLICIT, retained=OLD), ">>#attic {{unsent}}!")
    draft = held("old words!", ">>#attic {{unsent}}!", "#attic")
    assert bounce == Bounce(link(0), "unresolved", "old words!", draft, "d-1", NEAR)


def test_rebounce_copies_words_at_risk() -> None:
    """A copy of words that may be out is unconfirmed from the start [prose 8.1, 9]."""
    result = admitted(replace(EXPLICIT, retained=replace(OLD, state="unconfirmed")), ">>#attic {{unsent}}!")
    assert result.routing.retained == Retained("d-1", "old words!", "unconfirmed")


# -- hybrid ----------------------------------------------------------------------------------------------


def test_hybrid_private() -> None:
    """Sticky cleared, held by the writer's wish; the words are set aside [prose 5.3, 16.9]."""
    result = admitted(replace(HYBRID, target=A, retained=OLD), ">>>skip_reply ! {{unsent}}", "after")
    assert result.decisions == (Private(link(0), set_aside="d-old"), Withheld(link(1), "held-private", "after"))
    routing = result.routing
    assert (routing.target, routing.held, routing.continuation) == (None, "private", True)
    assert (routing.suppressed, routing.kept_private, routing.retained) == (1, 1, None)


def test_hybrid_malformed() -> None:
    """Sticky cleared, held, the whole envelope bounces; what follows is kept as a draft [prose 5.3]."""
    result = admitted(replace(HYBRID, target=A), ">>>\nx", " after\n")
    assert result.decisions == (
        Bounce(link(0), "missing-target", ">>>\nx", held(">>>\nx", ">>>\nx"), "d-1"),
        Withheld(link(1), "held-failed", " after\n", NewDraft("d-2", "no-destination", " after\n", "after")),
    )
    assert (result.routing.target, result.routing.held, result.routing.suppressed) == (None, "failed", 1)


def test_hybrid_bare_prefix_keeps_the_retained_words() -> None:
    """A bare prefix bounces and replaces no useful words [prose 8.2]."""
    result = admitted(replace(HYBRID, retained=OLD), ">>>")
    assert result.decisions == (Bounce(link(0), "missing-target", ">>>"),)
    assert result.routing.retained == OLD


def test_hybrid_malformed_token() -> None:
    """A malformed prefix around the token keeps what it stands for [prose 8.2]."""
    result = admitted(replace(HYBRID, retained=OLD), ">>>\n{{unsent}}")
    assert result.decisions == (Bounce(link(0), "missing-target", "old words", None, "d-old"),)
    assert result.routing.retained == OLD


def test_hybrid_unresolved() -> None:
    """Sticky cleared, held, the body bounces; a later target frees it [prose 5.3]."""
    result = admitted(replace(HYBRID, target=A), ">>>#attic x\n>>>#b y")
    draft = held("x", ">>>#attic x", "#attic")
    assert result.decisions == (
        Bounce(link(0), "unresolved", "x", draft, "d-1", NEAR),
        Post(link(1), B, "y", ">>>#b y", True, "#b"),
    )
    assert (result.routing.target, result.routing.held) == (B, None)


def test_hybrid_unprefixed() -> None:
    """To the sticky target, else the locus, else nowhere and counted [prose 5.3]."""
    assert decided(replace(HYBRID, target=A), "x") == [Post(link(0), A, "x", "x", False)]
    assert decided(HYBRID, "x") == [Post(link(0), HOME, "x", "x", False)]
    result = admitted(fresh_turn("hybrid"), " x")
    draft = NewDraft("d-1", "no-destination", " x", "x")
    assert result.decisions == (Withheld(link(0), "no-locus", " x", draft),)
    assert result.routing.suppressed == 1


def test_hybrid_unprefixed_token_is_text() -> None:
    """In hybrid the token stands in bodies alone [prose 4.4]."""
    result = admitted(replace(HYBRID, retained=OLD), "{{unsent}}\n>>>#a {{unsent}}")
    assert [d.text for d in result.decisions if isinstance(d, Post)] == ["{{unsent}}", "old words"]


def test_hybrid_refused_words_hold() -> None:
    """Words that may be out: nothing sent, sticky cleared, held as after a failure [prose 9]."""
    result = admitted(replace(HYBRID, retained=replace(OLD, state="unconfirmed")), ">>>#a {{unsent}}")
    assert result.decisions == (Refused(link(0), "d-old", "unconfirmed"),)
    assert (result.routing.target, result.routing.held) == (None, "failed")


def test_hybrid_held_pieces_count_one_by_one() -> None:
    """Each unprefixed envelope while held counts once; bounces and private envelopes do not [prose 15]."""
    result = admitted(HYBRID, ">>>skip_reply a", "b", "c\n>>>#attic d", "e")
    assert (result.routing.suppressed, result.routing.kept_private) == (3, 1)


# -- locus, disabled -------------------------------------------------------------------------------------


def test_locus() -> None:
    """Each segment goes to the locus, trimmed and unparsed [prose 5.3]."""
    assert decided(LOCUS, " x\n>>#a {{unsent}}", "y") == [
        Post(link(0), HOME, "x\n>>#a {{unsent}}", "x\n>>#a {{unsent}}", False),
        Post(link(1), HOME, "y", "y", False),
    ]


def test_locus_without_a_locus() -> None:
    """No route is no route: nothing is sent, the words are kept [prose 5.8, agents 19.5]."""
    result = admitted(fresh_turn("locus"), "x ")
    assert result.decisions == (Withheld(link(0), "no-locus", "x ", NewDraft("d-1", "no-destination", "x ", "x")),)


def test_disabled() -> None:
    """Each segment is counted; nothing is sent or drafted, prefix or not [prose 5.3, 9]."""
    result = admitted(DISABLED, ">>#a x\n>>>#b y", "z", found=SENT)
    assert result.decisions == (
        Withheld(link(0), "disabled", ">>#a x\n>>>#b y"),
        Withheld(link(1), "disabled", "z"),
    )
    assert (result.routing.suppressed, result.routing.unprefixed_to) == (2, None)
