"""kill -9 on the way of one post: at most one copy is shown, exactly one where keys are kept, and the agent knows."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from manyminds.actors.house import ROOM
from manyminds.messages.blocks import ToolResult, text_of
from manyminds.messages.drafts import Draft
from manyminds.messages.posts import OutboxEntry
from manyminds.messages.rows import Row
from manyminds.storage import branches, drafts, log, open_store, outbox, owing, turns
from tests.flows.posting_town import POINTS, way_of

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


@dataclass
class Found:
    """What the town has left behind."""

    shown: list[tuple[str, str, str]]
    rows: list[Row]
    posts: dict[str, OutboxEntry]
    drafts: dict[str, Draft]
    owed: int

    def tellings(self, draft: str) -> list[str]:
        """What tells the author of words that may be out and where they are kept: notices, or a call's result."""
        results = [text_of(b.content) for row in self.rows for b in row.content if isinstance(b, ToolResult)]
        notices = [text_of(r.content) for r in self.rows if r.metadata.get("kind") == "discord-send-failed"]
        return [text for text in (*results, *notices) if draft in text and "may or may not" in text]


def found(folder: Path) -> Found:
    """Read it."""
    lines = (folder / "shown.txt").read_text().splitlines()
    store = open_store(str(folder / "store"))
    try:
        with store.snapshot() as snap:
            branch = branches.cursor(snap, ROOM)
            rows = [placed.row for placed in log.between(snap, branch, 0, log.end(snap, branch))]
            names = ("ada", "bob")
            entries = [
                e for name in names for turn in range(1, turns.last_turn(snap, name) + 1)
                for e in outbox.of_turn(snap, name, turn)
            ]
            kept = [draft for name in names for draft in drafts.of_agent(snap, name)]
            owed = sum(len(owing.all_of(snap, name)) for name in names)
    finally:
        store.close()
    posts, by_text = {e.text: e for e in entries}, {draft.text: draft for draft in kept}
    assert len(posts) == len(entries), "some words were admitted twice"
    assert len(by_text) == len(kept), "some words are kept twice"
    return Found([tuple(json.loads(line)) for line in lines], rows, posts, by_text, owed)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("keeps", ["keeps", "plain"])
def test_a_kill_on_the_way_of_a_post(
    tmp_path: Path, keeps: str, point: str, amount: Callable[[int, int], int]
) -> None:
    """[S9; prose 5.2, 11.3] Killed between admitted, recorded, posted and confirmed; then started in peace.

    Posted once; or, without keys and with an attempt on disk, at most once, kept as an unconfirmed draft, told once.
    """
    kills = amount(4, 25)
    for number in range(1, kills + 1):
        kill_at(tmp_path, keeps, number, point)
    with start(tmp_path, keeps, 0, "none") as town:
        assert town.wait(LONG) == 0
    left = found(tmp_path)
    unsure = keeps == "plain" and point in ("recorded", "shown", "answered")
    copies = Counter(text for _, _, text in left.shown)
    assert len({key for key, _, _ in left.shown}) == len(left.shown), "a key was shown twice"
    for number in range(1, kills + 1):
        words, way = f"answer {number}", way_of(number)
        draft = left.drafts.get(words)
        if unsure:
            assert copies[words] == (point != "recorded"), words
            assert left.posts[words].state == "unknown", words
            assert draft is not None, words
            assert draft.state == "unconfirmed", words
            assert len(left.tellings(draft.id)) == 1, words
        else:
            assert copies[words] == 1, words
            assert left.posts[words].state == "delivered", words
            assert (draft.state if draft is not None else "") == ("delivered" if way == "unsent" else ""), words
        if way == "envelopes":
            assert copies[f"also {number}"] == 1
    assert {channel for _, channel, text in left.shown if text.startswith("also")} <= {"#b"}
    assert {channel for _, channel, text in left.shown if text.startswith("answer")} <= {"#a"}
    assert sum(row.metadata.get("kind") == "discord-send-failed" for row in left.rows) <= (kills if unsure else 0)
    assert left.owed == 0
