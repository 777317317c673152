"""kill -9 on the way of one post: at most one copy is shown, exactly one where keys are kept, and the agent knows."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from manyminds.actors.house import ROOM
from manyminds.messages.blocks import text_of
from manyminds.storage import branches, log, open_store, outbox, turns
from tests.flows.posting_town import POINTS

ROOT = Path(__file__).parents[2]
LONG = 60.0


def start(folder: Path, keeps: str, number: int, point: str) -> "subprocess.Popen[str]":
    """The town, as a process."""
    command = [sys.executable, "-m", "tests.flows.posting_town", str(folder), keeps, str(number), point]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def kill_at(folder: Path, keeps: str, number: int, point: str) -> None:
    """Let the town come to the point, and kill it there."""
    with start(folder, keeps, number, point) as town:
        assert town.stdout is not None
        assert town.stdout.readline() == "here\n"
        town.kill()


def shown(folder: Path) -> Counter[str]:
    """How many copies of each text people were shown."""
    return Counter(json.loads(line)[1] for line in (folder / "shown.txt").read_text().splitlines())


def told(folder: Path) -> tuple[list[str], list[str]]:
    """The words of the notices of words that were not confirmed, and the end states of all posts."""
    store = open_store(str(folder / "store"))
    try:
        with store.snapshot() as snap:
            branch = branches.cursor(snap, ROOM)
            rows = [placed.row for placed in log.between(snap, branch, 0, log.end(snap, branch))]
            states = [str(e.state) for turn in range(1, turns.last_turn(snap, "ada") + 1)
                      for e in outbox.of_turn(snap, "ada", turn)]
    finally:
        store.close()
    return [text_of(r.content) for r in rows if r.metadata.get("kind") == "discord-send-failed"], states


@pytest.mark.timeout(300)
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("keeps", ["keeps", "plain"])
def test_a_kill_on_the_way_of_a_post(
    tmp_path: Path, keeps: str, point: str, amount: Callable[[int, int], int]
) -> None:
    """[S9] Killed between "turn stored" and "post sent", and between "sent" and "acked"; then started in peace."""
    kills = amount(3, 10)
    for number in range(1, kills + 1):
        kill_at(tmp_path, keeps, number, point)
    with start(tmp_path, keeps, 0, "none") as town:
        assert town.wait(LONG) == 0
    everything = {f"answer {number}": 1 for number in range(1, kills + 1)}
    markers, states = told(tmp_path)
    if keeps == "keeps" or point == "admitted":
        assert shown(tmp_path) == everything
        assert (markers, states) == ([], ["delivered"] * kills)
    else:
        assert shown(tmp_path) == ({} if point == "recorded" else everything)
        assert states == ["unknown"] * kills
        assert len(markers) == kills
        assert all("may or may not have been posted" in marker for marker in markers)
