"""Passthrough: the newest rows that fit, as they are (context.md 4.1).

If everything fits, everything goes out. Otherwise the price of all change rows is reserved, and rows are taken
from the newest back until one does not fit; change rows older than that window stand ahead of it. A pure
function over priced rows in heard order; it keeps no state, so a restart chooses the same rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..blocks import ToolCall, ToolResult
from ..contract import Compiled, OverBudget, raw
from ..rows import Placed, Row, is_change


@dataclass(frozen=True, slots=True)
class Selected:
    """The rows that go out, in order, their price in tokens, and how many rows stayed out."""

    rows: tuple[Placed, ...]
    price: int
    left_out: int


def _with_calls(rows: Sequence[Placed]) -> list[int]:
    """Indices of the rows whose results all have their call among the rows before them."""
    called: set[str] = set()
    kept: list[int] = []
    for index, placed in enumerate(rows):
        content = placed.row.content
        if all(block.call_id in called for block in content if isinstance(block, ToolResult)):
            kept.append(index)
            called.update(block.id for block in content if isinstance(block, ToolCall))
    return kept


def _window(changes: Sequence[bool], prices: Sequence[int], room: int) -> int:
    """Index of the oldest row of the window: rows from there on fit the room, change rows costing nothing more."""
    start = len(prices)
    while start > 0:
        if not changes[start - 1]:
            if prices[start - 1] > room:
                break
            room -= prices[start - 1]
        start -= 1
    return start


def passthrough(rows: Sequence[Placed], price: Callable[[Placed], int], budget: int) -> Selected:
    """The rows to send of `rows`, which are in heard order; `budget` and prices in tokens.

    A result whose call stands before the window is left out with the rest of its row. Raises OverBudget where
    rows other than changes are stored and not even the newest of them can go out.
    """
    prices = [price(placed) for placed in rows]
    changes = [is_change(placed.row) for placed in rows]
    start = 0
    if sum(prices) > budget:
        reserve = sum(cost for cost, change in zip(prices, changes, strict=True) if change)
        start = _window(changes, prices, budget - reserve)
    ahead = [index for index in range(start) if changes[index]]
    window = [start + index for index in _with_calls(rows[start:])]
    if start > 0 and all(changes[index] for index in window):
        _refuse_empty(changes, prices, budget)
    chosen = [*ahead, *window]
    return Selected(tuple(rows[index] for index in chosen), sum(prices[i] for i in chosen), len(rows) - len(chosen))


def _refuse_empty(changes: Sequence[bool], prices: Sequence[int], budget: int) -> None:
    newest = next((index for index in reversed(range(len(prices))) if not changes[index]), None)
    if newest is None:
        return
    reserve = sum(cost for cost, change in zip(prices, changes, strict=True) if change)
    raise OverBudget(budget, reserve + prices[newest], {"changes": reserve, "newest": prices[newest]})


def content_of(row: Row) -> tuple[str, object]:
    """What of a row two compiles are compared by."""
    return row.participant, row.content


def compile_rows(selected: Selected, changed: int | None = None) -> Compiled:
    """The selection in the form that every strategy answers with. `changed`: its `first_changed`."""
    return Compiled(
        selected.rows, tuple(raw(placed) for placed in selected.rows), selected.price, changed, selected.left_out
    )
