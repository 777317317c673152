"""Wakes: what one turn takes, and when one is settled."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from manyminds.messages.places import ChannelRef, Place
from manyminds.messages.wakes import Answered, Wake, choose, merge, oldest_first, settle, split, trigger_of

A, B = ChannelRef("irc", "#a"), ChannelRef("irc", "#b")


def wake(
    number: int, channel: ChannelRef | None = A, *, addressed: bool = False, first: int | None = None,
    last: int | None = None, time: float | None = None, author: str = "ann",
) -> Wake:
    """A wake for inbox message `number`, asked for at that second."""
    first = number if first is None else first
    return Wake(
        number, "tea", "channel-message", float(number) if time is None else time, channel, None, addressed, author,
        first, number if last is None else last, f"r{number}",
    )


def numbers(wakes: tuple[Wake, ...] | list[Wake]) -> list[int]:
    """The wakes' numbers."""
    return [item.number for item in wakes]


def test_pending_wakes_merge_so_a_flood_is_one_record() -> None:
    """[design, "What lasts"; S24] First and last inbox number, and the newest message."""
    merged = merge([wake(3, author="ann")], replace(wake(9, author="ben"), thread="t"))
    assert (merged.number, merged.first, merged.last) == (3, 3, 9)
    assert (merged.row, merged.author, merged.time, merged.thread) == ("r9", "ben", 9.0, "t")


def test_newest_is_by_the_events_time() -> None:
    """[agents 4.3] A message that came late but happened early is in the range and does not give its author."""
    merged = merge([wake(3, author="ann", time=50.0)], wake(9, author="ben", time=40.0))
    assert (merged.first, merged.last, merged.author, merged.time) == (3, 9, "ann", 50.0)


@pytest.mark.parametrize(
    "other",
    [
        wake(9, B), wake(9, addressed=True), replace(wake(9), reason="nudge"), replace(wake(9), agent="dock"),
        replace(wake(9), suppress_prose=True), replace(wake(9), system_prompt="x"), wake(9, None),
    ],
)
def test_what_does_not_merge(other: Wake) -> None:
    """[design, "What lasts"] Pending wakes merge by agent, channel, reason and addressed."""
    assert merge([wake(3)], other) == other


def test_a_wake_without_a_message_lends_none() -> None:
    """[messages.wakes] `first == 0` stands for no message."""
    nothing = replace(wake(3), first=0, last=0)
    assert (merge([nothing], wake(9)).first, merge([nothing], wake(9)).last) == (9, 9)


CHOOSE: list[tuple[str, list[Wake], bool, list[int]]] = [
    ("nothing", [], True, []),
    ("ambient only: all", [wake(2, B), wake(1)], True, [1, 2]),
    ("the oldest addressed names the channel",
     [wake(1, addressed=True), wake(2, B, addressed=True), wake(3, addressed=True)], True, [1, 3]),
    ("ambient of any channel is merged in", [wake(1, B), wake(2, addressed=True), wake(3, B)], True, [1, 2, 3]),
    ("those without a channel too",
     [wake(1, None), wake(2, B, addressed=True), wake(3, None, addressed=True)], True, [1, 2, 3]),
    ("addressed without a channel names none",
     [wake(1, None, addressed=True), wake(2, B, addressed=True)], True, [1, 2]),
    ("older ambient does not name it",
     [wake(1, B), wake(2, addressed=True), wake(3, B, addressed=True)], True, [1, 2]),
    ("explicit and disabled take the whole batch",
     [wake(1, addressed=True), wake(2, B, addressed=True)], False, [1, 2]),
]


@pytest.mark.parametrize(("what", "pending", "one", "taken"), CHOOSE, ids=[case[0] for case in CHOOSE])
def test_choose(what: str, pending: list[Wake], one: bool, taken: list[int]) -> None:
    """[agents 19.8] The wakes of one channel; others' addressed ones stay for turns of their own."""
    assert numbers(choose(pending, one)) == taken


def test_oldest_first() -> None:
    """[messages.wakes] In the order in which they were asked for."""
    assert numbers(oldest_first([wake(3), wake(1), wake(2)])) == [1, 2, 3]


def test_trigger_is_the_newest_addressed_wake_of_a_channel() -> None:
    """[agents 4.3, invariant 4.7] Addressed beats newer ambient; the author belongs to the winning message."""
    batch = [wake(1, A, addressed=True, author="ann"), wake(2, B, author="ben"), wake(3, None, author="cat")]
    trigger = trigger_of(batch)
    assert (trigger.place, trigger.author) == (Place(A), "ann")
    assert trigger_of(batch[1:]).place == Place(B)


def test_trigger_newest_by_time_not_by_number() -> None:
    """[prose 5.8] Order is by the event's time; the thread is the winner's."""
    late = replace(wake(1, B, time=9.0), thread="t")
    assert trigger_of([late, wake(2, A, time=5.0)]).place == Place(B, "t")


def test_trigger_without_a_channel() -> None:
    """[agents 10.6] A turn from a surface without channels infers none; an author is known where a wake names one."""
    trigger = trigger_of([wake(1, None, author="ann")])
    assert (trigger.place, trigger.author) == (None, "ann")
    assert trigger_of([]).place is None


def test_silent_only_if_every_wake_is() -> None:
    """[agents 4.3] One wake that may speak lets the turn speak; a one-turn prompt is the first that is set."""
    quiet, loud = replace(wake(1), suppress_prose=True, system_prompt="p"), wake(2)
    assert trigger_of([quiet]).silent
    assert not trigger_of([quiet, loud]).silent
    assert not trigger_of([]).silent
    assert trigger_of([loud, quiet]).system_prompt == "p"


SPLIT: list[tuple[Wake, int, tuple[int, int] | None, tuple[int, int] | None]] = [
    (wake(1, first=3, last=7), 7, (3, 7), None),
    (wake(1, first=3, last=7), 9, (3, 7), None),
    (wake(1, first=3, last=7), 5, (3, 5), (6, 7)),
    (wake(1, first=3, last=7), 3, (3, 3), (4, 7)),
    (wake(1, first=3, last=7), 2, None, (3, 7)),
    (wake(1, first=0, last=0), 0, (0, 0), None),
]


@pytest.mark.parametrize(("whole", "moved", "now", "later"), SPLIT)
def test_split(whole: Wake, moved: int, now: tuple[int, int] | None, later: tuple[int, int] | None) -> None:
    """[design, "What lasts"] A turn takes the part of a wake whose messages have moved into the log."""
    assert tuple(None if part is None else (part.first, part.last) for part in split(whole, moved)) == (now, later)


ADDRESSED = wake(1, A, addressed=True, first=3, last=7)
AMBIENT = wake(1, A, first=3, last=7)
BARE = replace(wake(1, None), first=0, last=0)
# (what, wake, heard, answered, locus, by channel, taken, what is left of it)
SETTLE: list[tuple[str, Wake, int, list[Answered], ChannelRef | None, bool, bool, tuple[int, int] | None]] = [
    ("its channel was the locus", ADDRESSED, 7, [], A, True, True, None),
    ("heard in part, at the locus", ADDRESSED, 5, [], A, True, True, (6, 7)),
    ("the locus moved, nothing said there", ADDRESSED, 7, [], B, True, True, (3, 7)),
    ("no locus, nothing said there", ADDRESSED, 7, [], None, True, True, (3, 7)),
    ("answered there", ADDRESSED, 7, [Answered(A, 7)], B, True, True, None),
    ("answered there before all of it was heard", ADDRESSED, 7, [Answered(A, 5)], B, True, True, (6, 7)),
    ("answered elsewhere", ADDRESSED, 7, [Answered(B, 7)], B, True, True, (3, 7)),
    ("the later answer counts", ADDRESSED, 7, [Answered(A, 4), Answered(A, 7)], B, True, True, None),
    ("explicit and disabled: heard is enough", ADDRESSED, 7, [], B, False, True, None),
    ("ambient: heard is enough", AMBIENT, 7, [], B, True, True, None),
    ("ambient, heard in part", AMBIENT, 4, [], B, True, True, (5, 7)),
    ("met at a boundary, not taken", AMBIENT, 9, [], B, True, False, None),
    ("not heard at all", AMBIENT, 2, [], A, True, False, (3, 7)),
    ("without a message, taken", BARE, 0, [], None, True, True, None),
    ("without a message, not taken", BARE, 9, [], None, True, False, (0, 0)),
    ("addressed without a channel", replace(ADDRESSED, channel=None), 7, [], B, True, True, None),
]


@pytest.mark.parametrize(
    ("what", "item", "heard", "answered", "locus", "by_channel", "taken", "left"),
    SETTLE,
    ids=[case[0] for case in SETTLE],
)
def test_settle(
    what: str, item: Wake, heard: int, answered: list[Answered], locus: ChannelRef | None, by_channel: bool,
    taken: bool, left: tuple[int, int] | None,
) -> None:
    """[agents 19.9] Settled by the last locus, by words for its channel, or where ambient by being heard."""
    rest = settle(item, heard=heard, answered=answered, locus=locus, by_channel=by_channel, taken=taken)
    assert (None if rest is None else (rest.first, rest.last)) == left


def test_a_flood_is_one_wake_for_each_agent_channel_and_addressing(amount: Callable[[int, int], int]) -> None:
    """[S24] Pending wakes stay few, and their ranges hold every message that was accepted."""
    dice = Random(5)
    pending: dict[int, Wake] = {}
    held: dict[tuple[ChannelRef | None, bool], list[int]] = {}
    for number in range(1, amount(300, 20_000) + 1):
        new = wake(number, dice.choice((A, B, None)), addressed=dice.random() < 0.3)
        held.setdefault((new.channel, new.addressed), []).append(number)
        kept = merge(list(pending.values()), new)
        pending[kept.number] = kept
    assert len(pending) == 6
    for item in pending.values():
        of_kind = held[item.channel, item.addressed]
        assert (item.first, item.last) == (of_kind[0], of_kind[-1])
