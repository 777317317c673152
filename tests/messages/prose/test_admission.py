"""Rounds: kept back, silenced, frozen; and what a fresh turn begins with (prose 5.1-5.5)."""

from dataclasses import replace

import pytest

from manyminds.messages.codec import decode, encode
from manyminds.messages.prose import (
    Empty,
    NewDraft,
    Post,
    Private,
    Resolution,
    Resolved,
    RoundCall,
    RoundTargets,
    Routing,
    Segment,
    Withheld,
    admit,
    freeze,
    fresh_turn,
    lifted,
    repinned,
    verdict,
)
from tests.messages.prose.samples import (
    DISABLED,
    EXPLICIT,
    HOME,
    HYBRID,
    LOCUS,
    NORMAL,
    OLD,
    PRIVATE,
    SENT,
    A,
    B,
    admitted,
    at,
    decided,
    link,
    registry,
)


def test_private_round_explicit() -> None:
    """Nothing sent, bounced, retained, moved or marked; one set-aside survives [prose 5.3, 16.2]."""
    routing = replace(EXPLICIT, target=A, retained=OLD)
    result = admitted(routing, "x\n>>#b ! y\n>>#attic z {{unsent}}", ">>skip_reply ! {{unsent}}", found=PRIVATE)
    assert result.decisions == (
        Private(link(0)), Private(link(1)), Private(link(2)), Private(link(3), set_aside="d-old"),
    )  # fmt: skip
    assert result.routing == replace(routing, retained=None, kept_private=2)


@pytest.mark.parametrize("routing", [replace(HYBRID, target=A), replace(HYBRID, held="failed"), LOCUS, DISABLED])
def test_private_round_elsewhere(routing: Routing) -> None:
    """A private-think round moves no state in any mode and counts as kept private [prose 16.8, agents 5.4]."""
    result = admitted(routing, ">>>#b x\n>>>skip_reply y\n>>>\nz", found=PRIVATE)
    assert {type(d) for d in result.decisions} == {Private}
    assert result.routing == replace(routing, kept_private=1)


def test_private_wins_over_a_send() -> None:
    """Both in one round: the round is private and never drafted, the next one is silenced [prose 5.4]."""
    both = verdict([RoundCall("say"), RoundCall("think")], think_is_private=True)
    first = admitted(LOCUS, "x", found=both)
    assert first.decisions == (Private(link(0)),)
    second = admitted(first.routing, "y")
    assert second.decisions == (Withheld(link(0), "silenced", "y", NewDraft("d-1", "explicit-send", "y", "y")),)


def test_silenced_until_lifted() -> None:
    """A send silences its own round and all later ones, until a message lifts it [prose 5.4]."""
    first = admitted(LOCUS, " x", "y", found=SENT)
    assert [(d.text, d.reason) for d in first.decisions if isinstance(d, Withheld)] == [
        (" x", "silenced"), ("y", "silenced"),
    ]  # fmt: skip
    assert (first.routing.suppressed, first.routing.unprefixed_to) == (2, None)
    second = admitted(first.routing, "z")
    assert second.routing.suppressed == 3
    assert second.decisions == (Withheld(link(0), "silenced", "z", NewDraft("d-1", "explicit-send", "z", "z")),)
    assert decided(lifted(second.routing), "w") == [Post(link(0), HOME, "w", "w", False)]


def test_silenced_hybrid_moves_state_and_drafts() -> None:
    """Its envelopes move the state as live; their bodies are drafts with the written target [prose 5.4, 16.8]."""
    routing = replace(HYBRID, retained=OLD)
    result = admitted(routing, "lead\n>>>#a ! x {{unsent}}\n>>>#b", ">>>#attic y", found=SENT)
    drafts = [d.draft for d in result.decisions if isinstance(d, Withheld)]
    assert drafts == [
        NewDraft("d-1", "explicit-send", "lead", "lead"),
        NewDraft("d-2", "explicit-send", "x old words", ">>>#a ! x {{unsent}}", "#a"),
        NewDraft("d-3", "explicit-send", "y", ">>>#attic y", "#attic"),
    ]
    assert result.decisions[2] == Empty(link(2))
    state = result.routing
    assert (state.target, state.held, state.continuation, state.suppressed) == (None, "failed", True, 2)
    assert state.retained == OLD


def test_silenced_hybrid_private_and_token() -> None:
    """A private envelope is private still and never drafted; the token alone keeps its draft [prose 5.4, 8.2]."""
    routing = replace(HYBRID, retained=OLD)
    result = admitted(routing, ">>>#a {{unsent}}\n>>>skip_reply x", "y", found=SENT)
    assert result.decisions == (
        Withheld(link(0), "silenced", "{{unsent}}"),
        Private(link(1)),
        Withheld(link(2), "silenced", "y"),
    )
    assert (result.routing.held, result.routing.retained) == ("private", OLD)


# -- freezing, fresh turns -------------------------------------------------------------------------------


def test_freezing() -> None:
    """Envelopes are numbered through the round, each target resolved once, private ones never [prose 5.2]."""
    asked: list[str] = []

    def counting(token: str) -> Resolution:
        asked.append(token)
        return Resolved(token)

    texts = [Segment("a\n>>#b c", ""), Segment(">>skip_reply d\n>>#b e", "")]
    found = [(f.ordinal, f.segment, f.envelope.body) for f in freeze("explicit", texts, RoundTargets(counting))]
    assert found == [(0, 0, "a"), (1, 0, "c"), (2, 1, "d"), (3, 1, "e")]
    assert asked == ["#b", "#b"]


def test_frozen_targets_stay() -> None:
    """A rename after the round's end does not move what was frozen [prose 5.2]."""
    names = {"#x": "old"}
    frozen = freeze("explicit", [Segment(">>#x y", ">>#x y")], RoundTargets(lambda t: Resolved(names[t])))
    names["#x"] = "new"
    (post,) = admit(EXPLICIT, 1, frozen, NORMAL, lambda: "d").decisions
    assert isinstance(post, Post)
    assert post.place == at("old")


def test_a_verdict_taken_again() -> None:
    """A script's inner skip_reply: the same frozen round, judged anew from the state before it [prose 13, gap 2]."""
    frozen = freeze("explicit", [Segment(">>#a ! x", "")], RoundTargets(registry))
    first = admit(EXPLICIT, 1, frozen, NORMAL, lambda: "d")
    again = admit(EXPLICIT, 1, frozen, verdict([RoundCall("skip_reply")]), lambda: "d")
    assert (first.routing.target, first.routing.continuation) == (A, True)
    assert (again.routing.target, again.routing.continuation, again.admitted) == (None, False, frozenset())


def test_what_complete_may_carry() -> None:
    """Only posts are admitted: not bounces, private, empty or withheld envelopes [prose 13, gap 1]."""
    result = admitted(HYBRID, "a\n>>>#b\n>>>#a c\n>>>skip_reply d", "e")
    assert result.admitted == {0, 2}


@pytest.mark.parametrize("mode", ["explicit", "hybrid", "locus", "disabled"])
def test_fresh_turn(mode: str) -> None:
    """Nothing is carried into a fresh turn but the agent's retained words [prose 5.1]."""
    state = fresh_turn(mode, HOME, OLD)  # type: ignore[arg-type]
    assert (state.target, state.held, state.silenced, state.continuation) == (None, None, False, False)
    assert (state.suppressed, state.kept_private, state.retained) == (0, 0, OLD)
    assert state.locus == (HOME if mode in ("locus", "hybrid") else None)


def test_where_a_stream_begins() -> None:
    """Explicit none, then its destination; hybrid its state, held none; locus the locus [prose 6.2]."""
    assert fresh_turn("explicit", HOME).unprefixed_to is None
    assert replace(EXPLICIT, target=A).unprefixed_to == A
    assert (HYBRID.unprefixed_to, replace(HYBRID, target=A).unprefixed_to) == (HOME, A)
    assert replace(HYBRID, held="private").unprefixed_to is None
    assert (LOCUS.unprefixed_to, DISABLED.unprefixed_to) == (HOME, None)


def test_the_state_can_be_stored() -> None:
    """A turn that is resumed after a restart goes on from the state it had [prose 7.1]."""
    result = admitted(replace(HYBRID, retained=OLD), ">>>#a x", ">>>skip_reply y", "z")
    assert decode(encode(result.routing)) == result.routing
    assert decode(encode(EXPLICIT)) == EXPLICIT


@pytest.mark.parametrize(("state", "text"), [("open", "old words"), ("in-flight", None), ("unconfirmed", None)])
def test_what_a_stream_substitutes(state: str, text: str | None) -> None:
    """The retained words only while they may be sent [prose 6.4, 9]."""
    assert replace(EXPLICIT, retained=replace(OLD, state=state)).retained_text == text  # type: ignore[arg-type]
    assert EXPLICIT.retained_text is None


def test_repin() -> None:
    """The locus moves, sticky target and hold stay; explicit and disabled have no locus [prose 5.8, 2]."""
    moved = repinned(replace(HYBRID, target=A, held="failed"), B)
    assert (moved.locus, moved.target, moved.held) == (B, A, "failed")
    assert repinned(LOCUS, B).unprefixed_to == B
    assert repinned(EXPLICIT, B) == EXPLICIT
    assert repinned(DISABLED, B) == DISABLED
