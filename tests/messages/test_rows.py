"""The predicates that every layer reads rows by."""

from typing import Any

import pytest

from manyminds.messages.blocks import Block, SystemChange, Text
from manyminds.messages.rows import Row, channel_of, is_change, is_conversational, is_notice

CHANGE = SystemChange(system=("more",))


def row(*content: Block, **metadata: Any) -> Row:
    """A row of somebody's."""
    return Row("r", "ann", content, metadata)


# (what, row, notice, change, conversational)
TABLE = [
    ("words", row(Text("hi")), False, False, True),
    ("words with a kind", row(Text("hi"), kind="prose-bounce", speaker="x", channelId="c"), False, False, True),
    ("a notice", row(Text("hi"), system=True), True, False, False),
    ("system must be exactly True", row(Text("hi"), system=1), False, False, True),
    ("system as a word", row(Text("hi"), system="true"), False, False, True),
    ("a reaction", row(Text("+1"), tags=("chat:reaction",)), False, False, False),
    ("a reaction removed", row(Text("+1"), tags=["x", "chat:reaction-remove"]), False, False, False),
    ("an edit", row(Text("hi"), tags=("chat:edited",)), False, False, False),
    ("a deletion", row(Text("hi"), tags=("chat:deleted",)), False, False, False),
    ("another tag", row(Text("hi"), tags=("chat:new",)), False, False, True),
    ("a change", row(CHANGE), False, True, False),
    ("two changes", row(CHANGE, CHANGE), False, True, False),
    ("a change whatever its metadata", row(CHANGE, channelId="c", serverId="s"), False, True, False),
    ("a change beside words", row(CHANGE, Text("hi")), False, False, True),
    ("nothing in it", row(), False, False, True),
]


@pytest.mark.parametrize(("what", "item", "notice", "change", "said"), TABLE, ids=[case[0] for case in TABLE])
def test_predicates(what: str, item: Row, notice: bool, change: bool, said: bool) -> None:
    """[agents 3, invariants 3.2, 3.3; context 4.0] Notices, change rows and conversational rows."""
    assert (is_notice(item), is_change(item), is_conversational(item)) == (notice, change, said)


def test_a_channel_is_a_pair() -> None:
    """[agents 10.1] Identity is always (server, channel); half of it is none."""
    assert channel_of(row(serverId="s", channelId="c")) == ("s", "c")
    assert channel_of(row(channelId="c")) is None
    assert channel_of(row(serverId="s")) is None
