"""The operator log: what a line holds, and that it never fails the action."""

import json
from pathlib import Path

import pytest

from manyminds.storage import LmdbStore, SteppedWriter
from manyminds.storage.operator_log import FILE_NAME, OperatorLog, capped


def lines(folder: Path) -> list[object]:
    """The file's lines, read as anybody would."""
    return [json.loads(line) for line in (folder / FILE_NAME).read_text().splitlines()]


def test_a_line(tmp_path: Path) -> None:
    """[agents 16] {at, kind, agent?, requester{via,name?,id?}, note?, params?, result?, error?}, one a line."""
    log = OperatorLog(tmp_path)
    assert log.write("quiesce", 5.5)
    assert log.write(
        "suppress", 6.0, agent="mira", requester={"via": "console", "name": "ann"}, note="a\nb", params={"ids": ["1"]},
        result={"rows": 1}, error="agent-busy",
    )
    assert lines(tmp_path) == [
        {"at": 5.5, "kind": "quiesce"},
        {"at": 6.0, "kind": "suppress", "agent": "mira", "requester": {"via": "console", "name": "ann"}, "note": "a\nb",
         "params": {"ids": ["1"]}, "result": {"rows": 1}, "error": "agent-busy"},
    ]
    assert list(log.entries()) == lines(tmp_path)


def test_the_file_is_private_and_appended_to(tmp_path: Path) -> None:
    """[agents 16] append-only, mode 0600, whatever mode somebody gave it."""
    (tmp_path / FILE_NAME).write_text('{"kind": "older"}\n')
    (tmp_path / FILE_NAME).chmod(0o644)
    OperatorLog(tmp_path).write("nudge", 1.0)
    OperatorLog(tmp_path).write("hide", 2.0)
    assert (tmp_path / FILE_NAME).stat().st_mode & 0o777 == 0o600
    assert [entry["kind"] for entry in OperatorLog(tmp_path).entries()] == ["older", "nudge", "hide"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"ids": list(range(50))}, {"ids": list(range(50))}),
        ({"ids": list(range(51))}, {"ids": list(range(50)), "truncated": True}),
        ({"deep": {"ids": tuple(range(80)), "n": 1}}, {"deep": {"ids": list(range(50)), "n": 1, "truncated": True}}),
        ([list(range(60))], [list(range(50))]),
        ("x" * 100, "x" * 100),
    ],
)
def test_lists_are_capped(value: object, expected: object) -> None:
    """[agents 16] id lists capped at 50, and flagged."""
    assert capped(value) == expected


def test_it_never_fails_the_action(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """[agents 16] failing log sinks never fail the action: False and a log line."""
    log = OperatorLog(tmp_path / "missing")
    assert log.write("undo-turn", 1.0) is False
    circle: list[object] = []
    circle.append(circle)
    assert OperatorLog(tmp_path).write("undo-turn", 1.0, params=circle) is False
    assert "undo-turn" in caplog.text
    assert OperatorLog(tmp_path).write("undo-turn", 1.0, params={"path": tmp_path, 7: "\ud800"}) is True
    assert [entry["params"] for entry in OperatorLog(tmp_path).entries()] == [{"path": str(tmp_path), "7": "\ud800"}]


def test_a_line_that_a_crash_cut(tmp_path: Path) -> None:
    """The next line is not glued to it, and it is passed over."""
    (tmp_path / FILE_NAME).write_text('{"kind": "a"}\n{"kind": "cut')
    log = OperatorLog(tmp_path)
    log.write("b", 1.0)
    assert [entry["kind"] for entry in log.entries()] == ["a", "b"]
    assert list(OperatorLog(tmp_path / "none").entries()) == []


def test_without_a_folder() -> None:
    """A store in memory keeps its newest thousand lines in memory."""
    log = OperatorLog(None)
    for n in range(1_100):
        log.write("nudge", float(n))
    assert [entry["at"] for entry in log.entries()] == [float(n) for n in range(100, 1_100)]


def test_beside_a_store(tmp_path: Path) -> None:
    """[design, What lasts] beside the environment, so that it survives a lost map: the folder stays ours."""
    store = LmdbStore(tmp_path / "store", writer=SteppedWriter())
    OperatorLog(store.folder).write("quiesce", 1.0)
    store.close()
    (tmp_path / "store" / "data.mdb").unlink()
    again = LmdbStore(tmp_path / "store", writer=SteppedWriter())
    assert [entry["kind"] for entry in OperatorLog(again.folder).entries()] == ["quiesce"]
    again.close()
