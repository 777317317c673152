"""What a compile tells."""

from collections.abc import Callable
from random import Random

import pytest

from manyminds.messages.blocks import Text
from manyminds.messages.contract import Body, OverBudget, Raw, first_changed, raw
from manyminds.messages.errors import Error
from manyminds.messages.rows import Placed, Row

TABLE: list[tuple[str | None, str, int | None]] = [
    (None, "abc", None),
    ("", "", 0),
    ("", "ab", 0),
    ("ab", "abcd", 2),
    ("abc", "abc", 3),
    ("abc", "ab", 2),
    ("abc", "", 0),
    ("abc", "xbc", 0),
    ("abc", "axc", 1),
    ("abcd", "abx", 2),
    ("abc", "bc", 0),
]


@pytest.mark.parametrize(("previous", "current", "index"), TABLE)
def test_first_changed(previous: str | None, current: str, index: int | None) -> None:
    """[context 4.0] Append: its old length; equal: its length; shorter: the new one; None before the first compile."""
    assert first_changed(None if previous is None else list(previous), list(current)) == index


def test_first_changed_is_the_first_difference(amount: Callable[[int, int], int]) -> None:
    """[context 6.19] Equal to a comparison written otherwise, over random pairs."""
    dice = Random(7)
    for _ in range(amount(300, 20_000)):
        old = [dice.choice("ab") for _ in range(dice.randint(0, 6))]
        new = [dice.choice("ab") for _ in range(dice.randint(0, 6))]
        common = max(n for n in range(7) if old[:n] == new[:n] and n <= min(len(old), len(new)))
        assert first_changed(old, new) == common


def test_contents_are_compared_not_identities() -> None:
    """[context 4.0] Equal content made anew has not changed."""
    assert first_changed([("ann", (Text("hi"),))], [("ann", (Text("hi"),))]) == 1


def test_the_source_of_a_row() -> None:
    """[context 4.0] A raw row: its id and position, complete, and all blocks its own."""
    row = Row("m7", "ann", (Text("a"), Text("b")))
    assert raw(Placed(12, row)) == Raw((Body("m7", 12, 0, 2, complete=True, missing=False),))


def test_over_budget_says_both_figures() -> None:
    """[context 4.0] The budget fallback needs an error to catch; a user needs the figures."""
    error = OverBudget(100, 120, {"changes": 110})
    assert isinstance(error, Error)
    assert (error.budget, error.actual, error.diagnostics) == (100, 120, {"changes": 110})
    assert "120" in str(error)
    assert "100" in str(error)
