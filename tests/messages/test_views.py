"""The resident's view of its room's log."""

from typing import Any

import pytest

from manyminds.messages.blocks import Block, SystemChange, Text
from manyminds.messages.rows import Row
from manyminds.messages.views import is_own_change, owner, resident_view, sees

NAMES = frozenset({"tea", "old-tea"})
CHANGE = SystemChange(system=("more",))


def row(block: Block = Text("hi"), **metadata: Any) -> Row:  # noqa: B008
    """A row of somebody's."""
    return Row("r", "ann", (block,), metadata)


# (what, row, in the view, seen by metadata alone)
TABLE = [
    ("conversation", row(), True, True),
    ("a notice", row(system=True, kind="routing-notice"), True, True),
    ("a held row", row(tuneOut={"epochId": "e"}), False, False),
    ("the same, with nothing in it", row(tuneOut=None), True, True),
    ("own injection", row(kind="injection", agent="tea"), True, True),
    ("own injection by a former name", row(kind="injection", agent="old-tea"), True, True),
    ("another's injection", row(kind="injection", agent="dock"), False, False),
    ("nobody's injection", row(kind="injection"), True, True),
    ("a host's change", row(CHANGE), True, True),
    ("a host's change that only names an agent", row(CHANGE, agent="dock"), True, True),
    ("own change", row(CHANGE, kind="system-change", agent="tea"), True, True),
    ("own change by a former name", row(CHANGE, kind="system-change", agent="old-tea"), True, True),
    ("another's change", row(CHANGE, kind="system-change", agent="dock"), False, True),
    ("a stamp without an agent is nobody's", row(CHANGE, kind="system-change"), True, True),
    ("words that merely claim to be another's change", row(kind="system-change", agent="dock"), True, True),
    ("another's words", row(agent="dock"), True, True),
]


@pytest.mark.parametrize(("what", "item", "kept", "seen"), TABLE, ids=[case[0] for case in TABLE])
def test_resident_view(what: str, item: Row, kept: bool, seen: bool) -> None:
    """[agents 2.2, invariants 2.2-2.4] The table's first line; compile filter and `sees` differ on change rows only."""
    assert resident_view(NAMES)(item) is kept
    assert sees(NAMES)(item.metadata) is seen


def test_own_change() -> None:
    """[agents 2.2] A change row is an agent's own where its stamp holds its name or one of its self participants."""
    mine = row(CHANGE, kind="system-change", agent="old-tea")
    assert is_own_change(mine, NAMES)
    assert not is_own_change(mine, frozenset({"tea"}))
    assert not is_own_change(row(CHANGE), NAMES)
    assert owner(mine) == "old-tea"
    assert owner(row(CHANGE)) is None


def test_a_notice_for_one_agent_is_not_shown_to_another() -> None:
    """[agents 9.2] What became of ada's own turn would mislead bert; a notice for nobody by name is everybody's."""
    receipt = {"system": True, "kind": "delivery-receipt", "for": "ada"}
    assert sees(frozenset({"ada"}))(receipt)
    assert not sees(frozenset({"bert"}))(receipt)
    assert sees(frozenset({"bert", "ada"}))(receipt)
    assert sees(frozenset({"bert"}))({"system": True, "kind": "channel-notice"})
    assert sees(frozenset({"bert"}))({"for": "ada"})
