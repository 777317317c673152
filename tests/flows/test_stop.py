"""SIGTERM in the middle of turns: an orderly end in time, and nothing of what was queued is lost."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from manyminds.actors.house import ROOM
from manyminds.messages.blocks import ToolResult, text_of
from manyminds.storage import branches, inbox, log, open_store, turns, wakes
from tests.flows.stopped_town import DEADLINE, NAMES

SCRIPT = Path(__file__).with_name("stopped_town.py")
HERE = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SCRIPT.parents[2]), os.environ.get("PYTHONPATH", "")])}


@pytest.mark.process
def test_a_terminated_process_ends_in_order(tmp_path: Path) -> None:
    """[S26] Three turns in tools, five messages queued: exit code 0 by deadline + 1 s; all run at the next start."""
    folder = str(tmp_path / "store")
    with subprocess.Popen([sys.executable, str(SCRIPT), folder, "busy"], stdout=subprocess.PIPE, env=HERE) as child:
        assert child.stdout is not None
        try:
            while child.stdout.readline() not in (b"ready\n", b""):
                pass
            child.send_signal(signal.SIGTERM)
            assert child.wait(DEADLINE + 1.0) == 0
        finally:
            child.kill()

    store = open_store(folder)
    with store.snapshot() as snap:
        assert [(t.agent, t.stopped, t.cuts) for t in turns.of_room(snap, ROOM)] == [(n, True, 0) for n in NAMES]
        assert [text_of(entry.row.content) for entry in inbox.waiting(snap, ROOM)] == [f"queued {n}" for n in range(5)]
    store.close()

    subprocess.run([sys.executable, str(SCRIPT), folder, "quiet"], env=HERE, check=True, timeout=60)
    store = open_store(folder)
    with store.snapshot() as snap:
        branch = branches.cursor(snap, ROOM)
        rows = [placed.row for placed in log.between(snap, branch, 0, log.end(snap, branch))]
        assert turns.of_room(snap, ROOM) == []
        assert wakes.pending(snap, ROOM) == []
        assert list(inbox.waiting(snap, ROOM)) == []
    store.close()
    said = [text_of(row.content) for row in rows if row.participant == "zoe"]
    assert said == [*(f"{name} one" for name in NAMES), *(f"queued {n}" for n in range(5))]
    results = [text_of(b.content) for row in rows for b in row.content if isinstance(b, ToolResult)]
    assert sum(text.startswith("interrupted") for text in results) == 3
    assert all(any(r.participant == name and text_of(r.content) == "done" for r in rows) for name in NAMES)
