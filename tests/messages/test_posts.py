"""What leaves, and the outbox entry that remembers it."""

from itertools import combinations

import pytest

from manyminds.messages.errors import Error
from manyminds.messages.places import ChannelRef
from manyminds.messages.posts import END_STATES, Attempt, NotSent, OutboxEntry, PostState, idempotency_key

TEA = ChannelRef("irc", "#tea")


def entry(state: PostState = "admitted", *attempts: Attempt) -> OutboxEntry:
    """An entry of this state after these attempts."""
    return OutboxEntry("tea", 1, 2, 3, 0, 1, TEA, None, "hi", "k", 1.0, state, attempts=attempts)


@pytest.mark.parametrize(
    ("state", "ended"),
    [
        ("admitted", False), ("sending", False), ("queued", False),
        ("delivered", True), ("failed", True), ("unknown", True), ("expired", True),
    ],
)
def test_end_states(state: PostState, ended: bool) -> None:
    """[prose 11.3] Nothing more is tried on its own after delivered, failed, unknown or expired."""
    assert entry(state).ended is ended
    assert (state in END_STATES) is ended


@pytest.mark.parametrize(
    ("outcomes", "may"),
    [
        ((), False), (("",), True), (("unknown",), True), (("delivered",), True), (("not-sent",), False),
        (("not-sent", "failed"), False), (("unknown", "not-sent"), True),
    ],
)
def test_may_have_left(outcomes: tuple[str, ...], may: bool) -> None:
    """[prose 9, 11.1] An attempt that is out, unknown or delivered may have arrived; a later failure clears nothing."""
    assert entry("queued", *(Attempt(1.0, outcome) for outcome in outcomes)).may_have_left is may


def test_the_key_is_the_same_on_every_attempt_and_another_for_each_part() -> None:
    """[prose 5.2] Agent, incarnation, turn, round, ordinal or call id, and part each count."""
    keys = [
        idempotency_key("tea", 1, 2, 3, 4, 0),
        idempotency_key("dock", 1, 2, 3, 4, 0),
        idempotency_key("tea", 2, 2, 3, 4, 0),
        idempotency_key("tea", 1, 3, 3, 4, 0),
        idempotency_key("tea", 1, 2, 4, 4, 0),
        idempotency_key("tea", 1, 2, 3, 5, 0),
        idempotency_key("tea", 1, 2, 3, "4", 0),
        idempotency_key("tea", 1, 2, 3, 4, 1),
    ]
    assert all(one != other for one, other in combinations(keys, 2))
    assert keys[0] == idempotency_key("tea", 1, 2, 3, 4, 0)
    assert all(len(key) == 32 and key.isalnum() for key in keys)


def test_not_sent_is_an_error_and_an_answer() -> None:
    """[prose 11.1] The only exception that means that nothing left; it may be returned or raised."""
    refused = NotSent("no such channel", permanent=True)
    assert isinstance(refused, Error)
    assert (refused.reason, refused.permanent, str(refused)) == ("no such channel", True, "no such channel")
    assert NotSent("offline").permanent is False
