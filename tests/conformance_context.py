"""The context vectors, case by case: each function runs one case and lists what differs; nothing is a pass.

Expected values stand in the vector file, written by hand from context.md and providers.md 1.4.
"""

from collections.abc import Mapping
from typing import Any

from manyminds.messages.blocks import SystemChange, Text
from manyminds.messages.contract import OverBudget, first_changed
from manyminds.messages.placement import place
from manyminds.messages.prices import json_price, text_estimate
from manyminds.messages.request import Role
from manyminds.messages.rows import Placed, Row
from manyminds.messages.strategies.passthrough import passthrough

Case = Mapping[str, Any]

ROLES: Mapping[str, Role] = {"u": "user", "a": "assistant", "s": "change"}


def run_passthrough(case: Case) -> list[str]:
    """Kind `passthrough`: rows of given prices, one more appended at each step (context.md 4.1)."""
    prices: dict[str, int] = {}
    rows: list[Placed] = []

    def append(row: Mapping[str, Any]) -> None:
        prices[row["id"]] = row["tokens"]
        content = SystemChange(system=(row["id"],)) if row["kind"] == "change" else Text(row["id"])
        rows.append(Placed(len(rows) + 1, Row(row["id"], "host", (content,))))

    for row in case["rows"]:
        append(row)
    wrong: list[str] = []
    previous: list[str] | None = None
    for number, step in enumerate(case["steps"]):
        if step["append"] is not None:
            append(step["append"])
        try:
            selected = passthrough(rows, lambda placed: prices[placed.row.id], case["budget"])
        except OverBudget:
            wrong += _differs(f"step {number}: over_budget", True, step.get("over_budget", False))
            continue
        shown = [placed.row.id for placed in selected.rows]
        wrong += _differs(f"step {number}: messages", shown, step["messages"])
        wrong += _differs(f"step {number}: first_changed", first_changed(previous, shown), step["first_changed"])
        previous = shown
    return wrong


def run_json_price(case: Case) -> list[str]:
    """Kind `json_price`: tokens of JSON of a length (context.md 5)."""
    return _differs("tokens", json_price(case["json_length"]), case["tokens"])


def run_text_estimate(case: Case) -> list[str]:
    """Kind `text_estimate`: tokens of a text (context.md 5)."""
    return _differs("tokens", text_estimate(case["text"]), case["tokens"])


def run_placement(case: Case) -> list[str]:
    """Kind `placement`: the order in which rows are sent; null where the request is refused (providers.md 1.4)."""
    order = place([ROLES[name[0]] for name in case["rows"]])
    sent = None if order is None else [case["rows"][index] for index in order]
    return _differs("sent", sent, case["sent"])


def _differs(label: str, found: object, expected: object) -> list[str]:
    return [] if found == expected else [f"{label}: {found!r}, expected {expected!r}"]
