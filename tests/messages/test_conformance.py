"""The runner of vector files, and the context vectors themselves."""

import json
from pathlib import Path

import pytest

from tests import conformance

VECTORS = Path(__file__).parents[1] / "vectors" / "context.json"


def test_the_context_vectors_pass(capsys: pytest.CaptureFixture[str]) -> None:
    """[context 4.1, 5; providers 1.4] Every case of a kind that is built passes."""
    assert conformance.main([str(VECTORS)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "passthrough: 6 passed, 0 failed, 0 skipped" in lines
    assert "placement: 12 passed, 0 failed, 0 skipped" in lines
    assert "json_price: 8 passed, 0 failed, 0 skipped" in lines
    assert "text_estimate: 4 passed, 0 failed, 0 skipped" in lines


def run(folder: Path, cases: object) -> int:
    """Run a file of these cases."""
    path = folder / "cases.json"
    path.write_text(json.dumps(cases), encoding="utf-8")
    return conformance.main([str(path)])


def test_a_wrong_value_is_printed_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """[contract] Each mismatch, a line per kind, and a last line; the exit status is not zero."""
    cases = [{"kind": "json_price", "json_length": 23, "tokens": tokens} for tokens in (10, 11)]
    assert run(tmp_path, [*cases, {"kind": "of tomorrow"}]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "cases.json[1] json_price : tokens: 10, expected 11",
        "json_price: 1 passed, 1 failed, 0 skipped",
        "of tomorrow: 0 passed, 0 failed, 1 skipped",
        "1 passed, 1 failed, 1 skipped",
    ]


WRONG: list[dict[str, object]] = [
    {"kind": "json_price"},
    {"kind": "placement", "rows": ["u1", "s1"], "sent": ["s1", "u1"]},
    {"kind": "placement", "rows": ["u1", "s1"], "sent": None},
    {"kind": "text_estimate", "text": "hello world", "tokens": 3},
    {"kind": "passthrough", "budget": 5, "rows": [{"id": "m", "tokens": 1, "kind": "message"}],
     "steps": [{"append": None, "messages": [], "first_changed": None}]},
    {"kind": "passthrough", "budget": 5, "rows": [{"id": "m", "tokens": 1, "kind": "message"}],
     "steps": [{"append": None, "messages": None, "first_changed": None, "over_budget": True}]},
    {"kind": "passthrough", "budget": 5, "rows": [{"id": "m", "tokens": 9, "kind": "message"}],
     "steps": [{"append": None, "messages": ["m"], "first_changed": None}]},
]


@pytest.mark.parametrize("case", WRONG)
def test_every_kind_can_fail(tmp_path: Path, case: dict[str, object]) -> None:
    """[contract] A wrong expectation, or a case that raises, is a failure and no pass."""
    assert run(tmp_path, [case]) == 1


def test_a_file_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """[contract] No file, or no JSON: said on the error stream, status 2."""
    assert conformance.main([str(tmp_path / "none.json")]) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert conformance.main([]) == 2
