"""Where a turn's plain words go: decided at its start, and moved only by who speaks to the agent or where it spoke."""

from typing import Any

import pytest

from manyminds.messages.blocks import SystemChange, Text
from manyminds.messages.locus import addressed_to, first_locus, repinned, said, through_inbox
from manyminds.messages.places import ChannelRef, Place
from manyminds.messages.registry import ProseMode
from manyminds.messages.rows import Placed, Row
from manyminds.messages.wakes import Trigger

A, B, C = (ChannelRef("irc", name) for name in ("#a", "#b", "#c"))


def trigger(place: Place | None) -> Trigger:
    """What woke the turn, with its place."""
    return Trigger(place, "zoe", False, "")


@pytest.mark.parametrize(
    ("mode", "home", "place", "locus"),
    [
        ("locus", None, Place(A), Place(A)), ("locus", None, Place(A, "t"), Place(A, "t")), ("locus", None, None, None),
        ("locus", B, Place(A), Place(B)), ("locus", B, None, Place(B)), ("hybrid", None, Place(A), Place(A)),
        ("hybrid", B, Place(A), Place(B)), ("explicit", None, Place(A), None), ("explicit", B, Place(A), None),
        ("disabled", None, Place(A), None),
    ],
)
def test_first_locus(mode: ProseMode, home: ChannelRef | None, place: Place | None, locus: Place | None) -> None:
    """[agents 5.2, 10.6] Home, else the trigger's channel and thread, else none; the other modes have none."""
    assert first_locus(mode, home, trigger(place)) == locus


def heard(at: ChannelRef | None, *addressed: str, inbox: bool = True, **metadata: Any) -> Placed:
    """A row that a boundary handed over."""
    place = {} if at is None else {"serverId": at.server, "channelId": at.channel}
    number = {"inbox": 1} if inbox else {}
    return Placed(1, Row("r", "zoe", (Text("hi"),), {**place, **number, "addressed": list(addressed), **metadata}))


CHANGE = Placed(1, Row("r", "zoe", (SystemChange(system=("more",)),), {
    "serverId": "irc", "channelId": "#b", "inbox": 1, "addressed": ["ada"],
}))

# (what, rows handed over, channels the agent sent into, the locus after, from #a)
REPIN: list[tuple[str, list[Placed], tuple[ChannelRef, ...], Place | None]] = [
    ("nothing was handed over", [], (), Place(A)),
    ("a message to it", [heard(B, "ada")], (), Place(B)),
    ("with its thread", [heard(B, "ada", threadId="t")], (), Place(B, "t")),
    ("a message to it and another", [heard(B, "bob", "ada")], (), Place(B)),
    ("a message to another", [heard(B, "bob")], (), Place(A)),
    ("ambient words", [heard(B)], (), Place(A)),
    ("ambient words where it sent", [heard(B)], (B,), Place(B)),
    ("ambient words where it sent, elsewhere", [heard(B)], (C,), Place(A)),
    ("the last of two", [heard(B, "ada"), heard(C, "ada")], (), Place(C)),
    ("the last that may", [heard(B, "ada"), heard(C)], (), Place(B)),
    ("back to where it was", [heard(B, "ada"), heard(A, "ada")], (), Place(A)),
    ("a notice", [heard(B, "ada", system=True)], (B,), Place(A)),
    ("a reaction", [heard(B, "ada", tags=["chat:reaction"])], (B,), Place(A)),
    ("an edit", [heard(B, "ada", tags=["chat:edited"])], (B,), Place(A)),
    ("a change row", [CHANGE], (B,), Place(A)),
    ("a row that did not come through the inbox", [heard(B, "ada", inbox=False)], (B,), Place(A)),
    ("a message without a channel", [heard(None, "ada")], (), Place(A)),
    ("a message without a channel behind one", [heard(B, "ada"), heard(None, "ada")], (), Place(B)),
]


@pytest.mark.parametrize(("what", "rows", "sent", "after"), REPIN, ids=[case[0] for case in REPIN])
def test_repinned(what: str, rows: list[Placed], sent: tuple[ChannelRef, ...], after: Place | None) -> None:
    """[agents 5.3] The last conversational row of the inbox that is to it, or where it sent, moves the locus."""
    assert repinned("locus", None, Place(A), rows, "ada", sent) == after
    assert repinned("hybrid", None, Place(A), rows, "ada", sent) == after


@pytest.mark.parametrize(("mode", "home"), [("explicit", None), ("disabled", None), ("locus", A)])
def test_what_never_moves(mode: ProseMode, home: ChannelRef | None) -> None:
    """[agents 5.3, 7.6] Modes without a locus, and an agent with a home."""
    assert repinned(mode, home, Place(A), [heard(B, "ada")], "ada", (B,)) == Place(A)


def test_a_turn_without_a_place_gets_one() -> None:
    """[agents 5.3] A turn that began nowhere moves to who speaks to it."""
    assert repinned("locus", None, None, [heard(B, "ada")], "ada", ()) == Place(B)
    assert repinned("locus", None, None, [heard(B)], "ada", ()) is None


def test_said_is_what_came_from_outside_and_is_conversation() -> None:
    """[agents 3, 5.3] Only such rows move a locus or lift a silence."""
    deleted = heard(A, tags=["chat:deleted"])
    rows = [heard(A), heard(A, inbox=False), heard(A, system=True), deleted, CHANGE, heard(None)]
    assert said(rows) == [rows[0].row, rows[5].row]
    assert through_inbox(rows[0].row)
    assert not through_inbox(rows[1].row)


def test_addressed_to() -> None:
    """[agents 5.3] To this agent, by the names that were stored with the row."""
    assert addressed_to(heard(A, "bob", "ada").row, "ada")
    assert not addressed_to(heard(A, "bob").row, "ada")
    assert not addressed_to(Row("r", "zoe", ()), "ada")
