"""What an agent is told of its words once their outcomes are known."""

from dataclasses import replace
from typing import Any

import pytest

from manyminds.messages.mail import Receipt
from manyminds.messages.places import ChannelRef, Place
from manyminds.messages.posts import PostState
from manyminds.messages.receipts import Posted, marker, owes_notice, turn_notices
from manyminds.messages.turns import Turn

TEA, LOFT = ChannelRef("irc", "#tea"), ChannelRef("irc", "#loft")
TURN = Turn("shared", "ada", 1, 7, 1, "locus", 5.0, (), 3, 4, 5, locus=Place(TEA))


def told(number: int, state: PostState, at: ChannelRef = TEA, reason: str = "") -> Receipt:
    """The receipt of one post."""
    return Receipt(7, number, at, state, reason, ())


def texts(turn: Turn, *posts: tuple[ChannelRef, PostState | None], labels: Any = None) -> list[str]:
    """The notices of a turn whose posts, numbered from 0, came to these states; None: no outcome yet."""
    known = {n: Posted(at, 10) for n, (at, _) in enumerate(posts)}
    receipts = {n: told(n, state, at, f"why{n}") for n, (at, state) in enumerate(posts) if state is not None}
    return [notice.text for notice in turn_notices(turn, known, receipts, labels or {})]


@pytest.mark.parametrize(
    ("state", "owes"),
    [("failed", True), ("expired", True), ("unknown", True), ("delivered", False), ("queued", False),
     ("admitted", False), ("sending", False)],
)
def test_what_owes_a_notice(state: str, owes: bool) -> None:
    """[prose 11.2] Speech that ended and was not confirmed."""
    assert owes_notice(state) is owes


def test_nothing_to_say() -> None:
    """[prose 11.2] Nothing at all if there is nothing to say."""
    assert texts(TURN) == []


def test_places_once_each_in_order_of_first_delivery() -> None:
    """[prose 11.2] `[delivered] plain speech -> places`, deduped, label and id."""
    said = texts(
        TURN, (LOFT, "delivered"), (TEA, "delivered"), (LOFT, "delivered"), labels={LOFT: "loft"}
    )
    assert said == [f"[delivered] plain speech → #loft ({LOFT}), {TEA}"]


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ("failed", "Nothing was posted"), ("expired", "Nothing was posted"),
        ("unknown", "may or may not have been posted"),
    ],
)
def test_a_marker_says_what_did_not_arrive_and_where_it_is_kept(state: PostState, says: str) -> None:
    """[prose 11.2, 5.3] Channel, reason, whether it may be out, and the draft that keeps the words."""
    said = marker(Posted(TEA, 10), told(0, state, reason="why0"), "tea", "d-abcde").text
    assert said.startswith("[discord-send-failed]")
    assert all(word in said for word in (says, "why0", str(TEA), "d-abcde"))


@pytest.mark.parametrize(("state", "head"), [("failed", []), ("unknown", ["[delivered] nothing confirmed"])])
def test_the_receipt_never_says_delivered_of_what_was_not(state: PostState, head: list[str]) -> None:
    """[prose 11.2] What failed has its marker; the receipt names what did arrive, or that nothing is confirmed."""
    assert texts(TURN, (TEA, state)) == head
    assert texts(TURN, (TEA, state), (LOFT, "delivered")) == [f"[delivered] plain speech → {LOFT}"]


@pytest.mark.parametrize(
    ("state", "words"),
    [(None, "still on its way"), ("sending", "still on its way"), ("admitted", "still on its way"),
     ("queued", "waiting")],
)
def test_what_has_no_outcome_yet_is_said_to_be_out(state: PostState | None, words: str) -> None:
    """[prose 11.3; design, turn record] A queued post is `waiting`, another still on its way; none is confirmed."""
    assert texts(TURN, (TEA, state)) == [f"[delivered] nothing — a message to {TEA} is {words}"]


def test_the_turns_drafts_by_their_present_state() -> None:
    """[prose 11.2] Each of the turn's drafts is named, whatever has become of it since."""
    [note] = turn_notices(
        TURN, {}, {}, {}, {"d-aaaaa": "held", "d-bbbbb": "unconfirmed", "d-ccccc": "delivered", "d-ddddd": "dismissed"}
    )
    assert note.text == (
        "[delivered] nothing — draft d-aaaaa is held; draft d-bbbbb is unconfirmed, it may be out; "
        "draft d-ccccc is delivered; draft d-ddddd is set aside"
    )


def test_what_a_call_tells_is_not_told_twice() -> None:
    """[agents 10.5] An explicit send's outcome is its call's result."""
    posts = {0: Posted(LOFT, 10, "c1"), 1: Posted(TEA, 10), 2: Posted(LOFT, 10, "c2"), 3: Posted(LOFT, 10, "c3")}
    receipts = {0: told(0, "delivered", LOFT), 1: told(1, "delivered"), 2: told(2, "queued", LOFT)}
    said = turn_notices(TURN, posts, receipts, {})
    assert [notice.text for notice in said] == [f"[delivered] plain speech → {TEA}"]


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({"suppressed": 2}, "2 piece(s) of plain text not posted: it stood beside or after an explicit send"),
        ({"suppressed": 1, "locus": None}, "1 piece(s) of plain text not posted: it had no channel to go to"),
        ({"suppressed": 1, "mode": "disabled"}, "1 piece(s) of plain text not posted: prose is disabled"),
        ({"private": 3}, "3 piece(s) kept private"),
    ],
)
def test_notes(changes: dict[str, Any], note: str) -> None:
    """[prose 11.2] The suppressed count (disabled names its setting) and the count kept private."""
    assert texts(replace(TURN, **changes)) == [f"[delivered] nothing — {note}"]
