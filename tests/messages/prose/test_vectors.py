"""The vector file: segments, router, resolve, and turns and posts through the real actors (prose 15)."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import conformance_prose, conformance_turns

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parents[2] / "vectors" / "prose.json").read_text("utf-8"))
RUNS: dict[str, Callable[[conformance_prose.Case], list[str]]] = {
    "segments": conformance_prose.run_segments,
    "router": conformance_prose.run_router,
    "resolve": conformance_prose.run_resolve,
    "turn": conformance_prose.run_turn,
    "publish-outcome": conformance_turns.run_publish_outcome,
}
CASES = [case for case in VECTORS if case["kind"] in RUNS]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    """Every case gives what was written by hand, at every cut and with outcomes early and late [prose 14, 15]."""
    assert RUNS[case["kind"]](case) == []


def test_all_cases_are_here() -> None:
    """5 segments, 9 router, 9 resolve, 99 turn, 9 publish-outcome [prose 15]."""
    counts = {kind: sum(case["kind"] == kind for case in CASES) for kind in RUNS}
    assert counts == {"segments": 5, "router": 9, "resolve": 9, "turn": 99, "publish-outcome": 9}


@pytest.mark.parametrize("case", [case for case in CASES if case["kind"] == "turn"][:3], ids=lambda case: case["name"])
def test_a_wrong_expectation_is_seen(case: dict[str, Any]) -> None:
    """The comparison itself can fail: a case with another delivery does not pass."""
    assert conformance_prose.run_turn({**case, "delivered": [["elsewhere", "x"]]}) != []
    assert conformance_prose.run_turn({**case, "streamed": {"elsewhere": "x"}}) != []
