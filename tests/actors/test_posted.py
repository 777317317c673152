"""A post as a whole, from its parts."""

from dataclasses import replace

import pytest

from manyminds.actors.posted import owed_by, post_state, send_result
from manyminds.messages.mail import Receipt
from manyminds.messages.places import ChannelRef
from manyminds.messages.posts import Attempt, OutboxEntry, PostState

TEA = ChannelRef("irc", "#tea")
OUTCOME: dict[str, tuple[Attempt, ...]] = {
    "admitted": (), "sending": (Attempt(1.0),), "delivered": (Attempt(1.0, "delivered"),),
    "queued": (Attempt(1.0, "not-sent"),), "failed": (Attempt(1.0, "not-sent"),),
    "expired": (Attempt(1.0, "not-sent"),), "withdrawn": (Attempt(1.0, "not-sent"),), "withheld": (), "parked": (),
    "unknown": (Attempt(1.0, "unknown"),),
}


def parts(*states: PostState) -> list[OutboxEntry]:
    """The parts of one post, each in its state; the reason of each names its number."""
    return [
        OutboxEntry(
            "ada", 1, 2, 3, n, len(states), TEA, None, "hi", f"k{n}", 1.0, state, call_id="c1",
            message_id=f"p{n}" if state == "delivered" else "",
            reason="" if state in ("admitted", "sending", "delivered") else f"why{n}", attempts=OUTCOME[state],
        )
        for n, state in enumerate(states)
    ]


@pytest.mark.parametrize(
    ("states", "whole"),
    [
        (("admitted",), None), (("sending",), None), (("delivered", "admitted"), None),
        (("delivered", "sending"), None),
        (("delivered",), "delivered"), (("delivered", "delivered"), "delivered"),
        (("queued",), "queued"), (("delivered", "queued", "admitted"), "queued"), (("queued", "admitted"), "queued"),
        (("failed",), "failed"), (("failed", "failed"), "failed"), (("expired", "failed"), "failed"),
        (("expired",), "expired"), (("unknown",), "unknown"),
        (("withheld",), "withheld"), (("withheld", "withheld"), "withheld"), (("withdrawn",), "withdrawn"),
        (("delivered", "withdrawn"), "withdrawn"), (("parked",), None), (("parked", "parked"), None),
    ],
)
def test_the_state_of_a_post(states: tuple[PostState, ...], whole: str | None) -> None:
    """[prose 11.1, 11.3, 13 gap 2] Delivered only if every part was; a part that waits makes the post wait."""
    receipt = post_state(parts(*states))
    assert (receipt.state if receipt else None) == whole


@pytest.mark.parametrize(
    "states", [("unknown", "failed"), ("delivered", "failed"), ("delivered", "expired", "failed"),
               ("delivered", "unknown", "failed")],
)
def test_failed_only_where_nothing_can_have_been_posted(states: tuple[PostState, ...]) -> None:
    """[agents 10.7] A post of which some part is out, or may be, has not failed: it may have arrived."""
    receipt = post_state(parts(*states))
    assert receipt is not None
    assert receipt.state == "unknown"


def test_a_post_that_arrived_in_part_says_how_far_it_came() -> None:
    """[S31; agents 10.7] The reason names what arrived, so that the agent can send the rest."""
    receipt = post_state(parts("delivered", "failed", "failed"))
    assert receipt is not None
    assert "1 of 3" in receipt.reason
    assert "why1" in receipt.reason
    assert receipt.message_ids == ("p0",)


@pytest.mark.parametrize(
    ("before", "after", "waited", "copied", "owed"),
    [
        ("sending", "delivered", False, False, ""), ("sending", "delivered", True, False, "ended"),
        ("sending", "delivered", False, True, "ended"), ("unknown", "delivered", False, False, "ended"),
        ("sending", "failed", False, False, "ended"), ("sending", "unknown", False, False, "ended"),
        ("queued", "expired", True, False, "ended"), ("admitted", "queued", False, False, "delayed"),
        ("sending", "queued", True, False, ""), ("queued", "withdrawn", True, False, ""),
        ("admitted", "withheld", False, False, ""), ("admitted", "sending", False, False, ""),
    ],
)
def test_what_a_step_owes(before: PostState, after: PostState, waited: bool, copied: bool, owed: str) -> None:
    """[prose 11.3, 7.8] Delayed once; late, lost and corrected outcomes; and what a draft's words came to."""
    was = [replace(part, delayed="down" if waited else "") for part in parts(before)]
    now = [
        replace(part, delayed="down" if waited or after == "queued" else "", copied="d-1" if copied else None)
        for part in parts(after)
    ]
    assert owed_by(was, now) == ([("ada", 2, 3, owed)] if owed else [])


def test_nothing_at_all() -> None:
    """A post without parts has no outcome."""
    assert post_state([]) is None


def test_a_receipt_carries_ids_and_call() -> None:
    """[agents 10.5] The ids of all parts, in order, and the call whose result it is."""
    assert post_state(parts("delivered", "delivered")) == Receipt(2, 3, TEA, "delivered", "", ("p0", "p1"), "c1")


@pytest.mark.parametrize(
    ("state", "words", "error"),
    [
        ("delivered", "Delivered to irc/#tea as message p0", False),
        ("queued", "tried again by itself", False),
        ("unknown", "may or may not have arrived", True),
        ("failed", "Nothing was posted", True),
        ("expired", "Nothing was posted", True),
    ],
)
def test_the_words_of_a_send(state: PostState, words: str, error: bool) -> None:
    """[agents 10.7] A call's result says what is known, and is an error where it is not good news."""
    said, is_error = send_result(post_state(parts(state)), TEA)
    assert words in said
    assert is_error is error


def test_a_send_that_is_still_out() -> None:
    """[design, turn record] A result needed before the outcome says that it is on its way, which is no error."""
    said, is_error = send_result(None, TEA)
    assert "still on its way" in said
    assert not is_error
