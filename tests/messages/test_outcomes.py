"""What a publisher's answer means, and what becomes of a post after an attempt."""

from typing import Any

import pytest

from manyminds.messages.outcomes import (
    after_attempt,
    backoff,
    begin_attempt,
    read_answer,
    read_error,
    rest_after,
    surplus,
)
from manyminds.messages.places import ChannelRef
from manyminds.messages.posts import Attempt, Delivered, NotSent, OutboxEntry, Outcome, PostState, Unknown

TEA = ChannelRef("irc", "#tea")
WRITTEN = 1000.0
HOUR = 3600.0
OUT = Attempt(WRITTEN)


def entry(
    state: PostState = "sending", attempts: tuple[Attempt, ...] = (OUT,), part: int = 0, parts: int = 1
) -> OutboxEntry:
    """One part of a post."""
    return OutboxEntry("tea", 1, 2, 3, part, parts, TEA, None, "hi", f"k{part}", WRITTEN, state, attempts=attempts)


class Sentence(str):
    """A str of a host's own type."""


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Delivered("m1"), Delivered("m1")), ("m1", Delivered("m1")), (Sentence("m2"), Delivered("m2")),
        (17, Delivered("17")), (0, Delivered("0")), (Unknown("hm"), Unknown("hm")),
    ],
)
def test_answers_that_say_something(answer: Any, outcome: Outcome) -> None:
    """[prose 11.1] An outcome stands as it is; a bare str or int is a delivered id."""
    assert read_answer(answer) == outcome


def test_not_sent_may_be_returned() -> None:
    """[prose 11.1] NotSent is the same, returned or raised."""
    told = NotSent("closed", permanent=True)
    assert read_answer(told) is told
    assert read_error(told) is told


@pytest.mark.parametrize("answer", [None, True, False, 1.5, "", Sentence(), b"m1", {"id": "m1"}, ["m1"], object()])
def test_answers_that_say_nothing(answer: Any) -> None:
    """[prose 11.1; agents 10.7] No explicit positive receipt, or an empty id: unknown, never delivered or failed."""
    assert isinstance(read_answer(answer), Unknown)


@pytest.mark.parametrize(
    "error", [RuntimeError("x"), ConnectionError("lost"), TimeoutError(), ValueError(), OSError(), SystemExit(1)]
)
def test_errors_are_unknown(error: BaseException) -> None:
    """[prose 11.1; agents 10.10] Only NotSent says that nothing left; a timeout is unknown, not failed."""
    assert isinstance(read_error(error), Unknown)


def test_an_attempt_is_noted_before_it_leaves() -> None:
    """[prose 11.3] The entry says `sending` and has an attempt without an outcome."""
    first = begin_attempt(entry("admitted", ()), 1001.0)
    assert (first.state, first.attempts) == ("sending", (Attempt(1001.0),))
    again = begin_attempt(entry("queued", (Attempt(1001.0, "not-sent", "down"),)), 1061.0)
    assert again.attempts == (Attempt(1001.0, "not-sent", "down"), Attempt(1061.0))
    assert again.key == "k0"


@pytest.mark.parametrize(
    ("outcome", "keeps_keys", "state", "word"),
    [
        (Delivered("m1"), False, "delivered", "delivered"),
        (Delivered("m1"), True, "delivered", "delivered"),
        (NotSent("down"), False, "queued", "not-sent"),
        (NotSent("down"), True, "queued", "not-sent"),
        (NotSent("no right", permanent=True), False, "failed", "not-sent"),
        (NotSent("no right", permanent=True), True, "failed", "not-sent"),
        (Unknown("lost"), False, "unknown", "unknown"),
        (Unknown("lost"), True, "queued", "unknown"),
    ],
)
def test_after_an_attempt(outcome: Outcome, keeps_keys: bool, state: str, word: str) -> None:
    """[prose 11.3] Not sent is retried; permanent is failed; unknown is retried only where the server keeps keys."""
    after = after_attempt(entry(), outcome, keeps_keys, WRITTEN + 1)
    assert after.state == state
    assert [a.outcome for a in after.attempts] == [word]
    assert after.message_id == ("m1" if state == "delivered" else "")


@pytest.mark.parametrize(
    ("outcome", "earlier", "hours", "state"),
    [
        (NotSent("down"), (), 5.99, "queued"),
        (NotSent("down"), (), 6.0, "expired"),
        (Unknown("lost"), (), 6.0, "unknown"),
        (NotSent("down"), (Attempt(WRITTEN, "unknown", "lost"),), 7.0, "unknown"),
        (NotSent("down"), (Attempt(WRITTEN, "not-sent", "down"),), 7.0, "expired"),
        (Delivered("m1"), (), 7.0, "delivered"),
    ],
)
def test_own_words_expire(outcome: Outcome, earlier: tuple[Attempt, ...], hours: float, state: str) -> None:
    """[prose 11.3] Given up after 6 h: as expired where nothing can have left, else as unknown."""
    attempts = (*earlier, Attempt(WRITTEN + hours * HOUR))
    after = after_attempt(entry(attempts=attempts), outcome, True, WRITTEN + hours * HOUR)
    assert after.state == state
    assert len(after.attempts) == len(attempts)


@pytest.mark.parametrize(
    ("outcome", "keeps_keys", "state"),
    [
        (NotSent("down"), False, "failed"), (NotSent("down"), True, "failed"), (Unknown("lost"), True, "queued"),
        (Unknown("lost"), False, "unknown"), (Delivered("m1"), False, "delivered"),
    ],
)
def test_where_retrying_is_off(outcome: Outcome, keeps_keys: bool, state: str) -> None:
    """[prose 11.3] What was not sent has failed; a repeat under the same key is another matter."""
    assert after_attempt(entry(), outcome, keeps_keys, WRITTEN + 1, retries=False).state == state


def test_why_it_first_had_to_wait_is_kept() -> None:
    """[prose 11.3] The reason of the delay goes with every retry; the latest reason is the entry's own."""
    once = after_attempt(entry(), NotSent("down"), False, WRITTEN + 1)
    again = after_attempt(begin_attempt(once, WRITTEN + 60), NotSent("busy"), False, WRITTEN + 61)
    assert (once.delayed, again.delayed, again.reason) == ("down", "down", "busy")
    assert entry().delayed == ""


def test_how_many_may_wait() -> None:
    """[prose 11.3] 50 of an agent, then 200 in all; the oldest go first, and no more than needed."""
    assert surplus(["a"] * 50) == []
    assert [index for index, _ in surplus(["b", *["a"] * 52])] == [1, 2]
    several = [name for name in "abcde" for _ in range(50)]
    assert [index for index, _ in surplus(several[:200])] == []
    assert [index for index, _ in surplus(several[:203])] == [0, 1, 2]
    mixed = surplus(["a"] * 51 + several[50:203])
    assert [(index, "50" in why) for index, why in mixed] == [(0, True), (1, False), (2, False), (3, False)]


def test_an_open_that_failed_is_no_attempt() -> None:
    """[prose 11.1] Nothing was tried, so no attempt is closed, and nothing may have left."""
    after = after_attempt(entry("admitted", ()), NotSent("could not open"), False, WRITTEN)
    assert (after.state, after.attempts, after.may_have_left) == ("queued", (), False)


@pytest.mark.parametrize(
    ("tries", "seconds"), [(0, 60.0), (1, 60.0), (2, 120.0), (3, 240.0), (4, 480.0), (5, 900.0), (12, 900.0)]
)
def test_backoff(tries: int, seconds: float) -> None:
    """[prose 11.3] 60 s doubling to 15 min."""
    assert backoff(entry("queued", (OUT,) * tries)) == seconds


@pytest.mark.parametrize("state", ["failed", "unknown", "expired"])
def test_the_rest_of_a_broken_post_is_not_sent(state: PostState) -> None:
    """[S31] What comes after a part that is lost is not sent; what came before stays; each says why."""
    parts = [entry("delivered", part=0, parts=4), entry(state, part=1, parts=4)]
    parts += [entry("admitted", (), 2, 4), entry("queued", (), 3, 4)]
    rest = rest_after(parts, parts[1])
    assert [(p.part, p.state) for p in rest] == [(2, "failed"), (3, "failed")]
    assert all("part 2 of 4" in p.reason for p in rest)


@pytest.mark.parametrize("state", ["delivered", "queued", "sending"])
def test_the_rest_of_a_post_that_goes_on_is_left_alone(state: PostState) -> None:
    """[S31] A part that arrived, or will be tried again, ends nothing."""
    parts = [entry(state, part=0, parts=2), entry("admitted", (), 1, 2)]
    assert rest_after(parts, parts[0]) == []
