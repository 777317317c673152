"""Passthrough: the newest rows that fit."""

from collections.abc import Callable, Sequence
from random import Random

import pytest

from manyminds.messages.blocks import Block, SystemChange, Text, ToolCall, ToolResult
from manyminds.messages.contract import OverBudget
from manyminds.messages.rows import Placed, Row, is_change
from manyminds.messages.strategies.passthrough import Selected, compile_rows, passthrough


def rows_of(words: str) -> list[Placed]:
    """`m20` a message of 20 tokens, `C10` a change, `q20` a call, `r20` its results."""
    made: list[Placed] = []
    for position, word in enumerate(words.split(), 1):
        content: dict[str, Block] = {
            "m": Text("x"), "C": SystemChange(system=("x",)),
            "q": ToolCall("c", "look", "{}"), "r": ToolResult("c", (Text("x"),)),
        }
        made.append(Placed(position, Row(f"{word}@{position}", "ann", (content[word[0]],))))
    return made


def price(placed: Placed) -> int:
    """The tokens that the row's word names."""
    return int(placed.row.id[1:].split("@")[0])


def select(words: str, budget: int) -> Selected:
    """Passthrough over rows of words."""
    return passthrough(rows_of(words), price, budget)


def shown(rows: Sequence[Placed]) -> str:
    """The words of the rows."""
    return " ".join(placed.row.id.split("@")[0] for placed in rows)


TABLE = [
    ("", 10, ""),
    ("m20 m20", 40, "m20 m20"),
    ("m20 m20", 39, "m20"),
    ("m20 m20", 20, "m20"),
    # A small row behind a large one is not reached: the run is contiguous.
    ("m1 m50 m20", 30, "m20"),
    ("m20 C10 m20 m20", 60, "C10 m20 m20"),
    ("C10 m20 C10 m20", 45, "C10 C10 m20"),
    ("m20 C10 m20 C10", 60, "m20 C10 m20 C10"),
    # Where only changes are stored they go out as they are.
    ("C60 C50", 100, "C60 C50"),
    # A result whose call stands before the window is left out.
    ("q20 r20 m20", 45, "m20"),
    ("q20 r20 m20", 60, "q20 r20 m20"),
    ("m20 q20 r20 m20", 65, "q20 r20 m20"),
    ("m20 q20 r20", 40, "q20 r20"),
    ("q20 C5 r20 m20", 45, "C5 m20"),
    # An id used again by a later round is that round's.
    ("q20 r20 q20 r20", 65, "q20 r20"),
    # A row that costs nothing is in the run.
    ("m20 m0 m20", 20, "m0 m20"),
]


@pytest.mark.parametrize(("words", "budget", "expected"), TABLE)
def test_selection(words: str, budget: int, expected: str) -> None:
    """[context 4.1] Everything if it fits, else the newest run beside the reserve of all changes, never half a pair."""
    selected = select(words, budget)
    assert shown(selected.rows) == expected
    assert selected.price == sum(price(placed) for placed in selected.rows)
    assert selected.left_out == len(words.split()) - len(expected.split())


@pytest.mark.parametrize(
    ("words", "budget"),
    [("m20", 19), ("m5 m20", 19), ("C60 C50 m10", 100), ("m20 C95", 100), ("q50 r20", 40), ("C10 q50 r20", 40)],
)
def test_refused(words: str, budget: int) -> None:
    """[context 4.1] Not even the newest row that is not a change can go out: OverBudget, never an empty request."""
    with pytest.raises(OverBudget):
        select(words, budget)


def test_the_error_says_what_was_needed() -> None:
    """[context 4.1] Changes and the newest row, in tokens."""
    with pytest.raises(OverBudget) as caught:
        select("m20 C60 C50 m10", 100)
    assert (caught.value.budget, caught.value.actual) == (100, 120)
    assert caught.value.diagnostics == {"changes": 110, "newest": 10}


def test_random_rows_within_the_budget(amount: Callable[[int, int], int]) -> None:
    """[context 6.18, 6.20] Within the budget; each change once and in order; a run that one row more would burst."""
    for seed in range(amount(300, 20_000)):
        dice = Random(seed)
        words = " ".join(f"{dice.choice('mmmC')}{dice.randint(0, 30)}" for _ in range(dice.randint(1, 20)))
        budget = dice.randint(20, 200)
        rows = rows_of(words)
        changes = [placed for placed in rows if is_change(placed.row)]
        messages = [placed for placed in rows if not is_change(placed.row)]
        if messages and sum(map(price, changes)) + price(messages[-1]) > budget:
            with pytest.raises(OverBudget):
                passthrough(rows, price, budget)
            continue
        selected = passthrough(rows, price, budget)
        taken = [placed for placed in selected.rows if not is_change(placed.row)]
        assert [placed for placed in selected.rows if is_change(placed.row)] == changes, f"seed {seed}"
        assert list(selected.rows) == sorted(selected.rows, key=lambda placed: placed.position), f"seed {seed}"
        assert taken == messages[len(messages) - len(taken) :], f"seed {seed}"
        assert selected.price <= budget or not messages, f"seed {seed}"
        if len(taken) < len(messages):
            assert selected.price + price(messages[-len(taken) - 1]) > budget, f"seed {seed}"


def test_what_the_compile_tells() -> None:
    """[context 4.0] Sources parallel to rows, and how many rows stayed out."""
    compiled = compile_rows(select("m20 m20 m20", 40), changed=0)
    assert len(compiled.sources) == len(compiled.rows) == 2
    assert (compiled.price, compiled.left_out, compiled.first_changed) == (40, 1, 0)
