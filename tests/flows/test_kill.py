"""kill -9 at any moment, again and again, in one folder: nothing accepted is lost, nothing is done or heard twice."""

import json
import random
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from manyminds.actors.house import ROOM
from manyminds.messages.blocks import ToolCall, ToolResult, text_of
from manyminds.messages.rows import Placed
from manyminds.messages.turns import Turn
from manyminds.storage import branches, inbox, log, open_store, turns, wakes
from tests.flows.killed_town import addressee

SCRIPT = Path(__file__).with_name("killed_town.py")
MOST_LINES = 60
MOST_CUTS = 2


@dataclass(frozen=True, slots=True)
class Kept:
    """What a folder holds that nobody has open."""

    rows: list[Placed]
    numbers: list[int]
    turns: list[Turn]
    wakes: int


def kept(folder: Path) -> Kept:
    """Read the store; the numbers of all messages in log and inbox, in order."""
    store = open_store(folder / "store")
    try:
        with store.snapshot() as snap:
            branch = branches.cursor(snap, ROOM)
            rows = log.between(snap, branch, 0, log.end(snap, branch))
            waiting = [entry.row for entry in inbox.waiting(snap, ROOM)]
            texts = [text_of(row.content) for row in (*(p.row for p in rows), *waiting) if row.participant == "zoe"]
            return Kept(rows, [int(t[1:]) for t in texts], turns.of_room(snap, ROOM), len(wakes.pending(snap, ROOM)))
    finally:
        store.close()


@dataclass(slots=True)
class Host:
    """Who starts the town and kills it, and remembers what it was told."""

    folder: Path
    draw: random.Random
    acknowledged: int = 0
    cuts: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])

    def _note(self, line: str) -> None:
        if line.startswith("ack ") and line.endswith("\n"):
            self.acknowledged = int(line.split()[1])

    def run_and_kill(self) -> None:
        """Start, kill at some line that it prints; turns that were cut twice are let end before."""
        spared = {f"end {agent} {number}\n" for (agent, number), cut in self.cuts.items() if cut >= MOST_CUTS}
        lines = self.draw.randrange(1, MOST_LINES)
        command = [sys.executable, str(SCRIPT), str(self.folder), str(self.acknowledged + 1), "run"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            try:
                while lines > 0 or spared:
                    line = child.stdout.readline()
                    assert line, f"the town ended by itself (exit code {child.wait()})"
                    self._note(line)
                    spared.discard(line)
                    lines -= 1
            finally:
                child.kill()
            for line in child.stdout:
                self._note(line)

    def run_quietly(self) -> int:
        """Start once more without new messages, until nothing is left to do; the exit code."""
        command = [sys.executable, str(SCRIPT), str(self.folder), "0", "quiet"]
        return subprocess.run(command, stdout=subprocess.DEVNULL, check=False, timeout=100).returncode

    def look(self) -> Kept:
        """Read the folder after a kill, check it, and count which turns were cut."""
        found = kept(self.folder)
        self.cuts = Counter({
            (t.agent, t.number): self.cuts[t.agent, t.number] + 1 for t in found.turns if t.phase == "running"
        })
        assert found.numbers[: self.acknowledged] == list(range(1, self.acknowledged + 1))
        assert found.numbers == list(range(1, len(found.numbers) + 1))
        assert len(found.numbers) <= self.acknowledged + 1
        return found

    def lines(self, name: str) -> list[str]:
        """What the town wrote into a file of its own."""
        return (self.folder / f"{name}.txt").read_text().splitlines()


def check_calls(host: Host, found: Kept) -> None:
    """No tool ran twice for one call; each call in the log has one result, right behind it."""
    assert max(Counter(host.lines("tools")).values()) == 1
    assert max(Counter(host.lines("posts")).values()) == 1
    rows = [placed.row for placed in found.rows]
    for row, behind in zip(rows, [*rows[1:], None], strict=True):
        calls = [b.id for b in row.content if isinstance(b, ToolCall)]
        assert behind is not None or not calls
        if calls and behind is not None:
            assert [b.call_id for b in behind.content if isinstance(b, ToolResult)] == calls
    ran = set(host.lines("tools"))
    logged = {b.id for row in rows for b in row.content if isinstance(b, ToolCall)}
    assert ran <= logged


def heard_by_log(found: Kept, agent: str) -> dict[int, int]:
    """For each message the first turn of the agent whose rows had heard it."""
    own = [(p.row.heard or 0, p.row.turn) for p in found.rows if p.row.participant == agent and p.row.turn]
    first: dict[int, int] = {}
    for placed in found.rows:
        numbers = [turn for heard, turn in own if turn and heard >= placed.position]
        if placed.row.participant == "zoe" and numbers:
            first[int(text_of(placed.row.content)[1:])] = min(numbers)
    return first


def check_hearing(host: Host, found: Kept) -> None:
    """Each message was new in the requests of one turn of its addressee, the turn that the log says."""
    new: dict[tuple[str, int], set[int]] = defaultdict(set)
    for line in host.lines("requests"):
        asked = json.loads(line)
        for number in asked["new"]:
            new[asked["agent"], number].add(asked["turn"])
    assert [(key, found_in) for key, found_in in new.items() if len(found_in) > 1] == []
    for agent in ("ada", "bob"):
        by_log = heard_by_log(found, agent)
        mine = [number for number in found.numbers if addressee(number) == agent]
        assert {n: {by_log.get(n)} for n in mine} == {n: new.get((agent, n)) for n in mine}


@pytest.mark.process
@pytest.mark.timeout(600)
def test_kill(tmp_path: Path, amount: Callable[[int, int], int], seeds: list[int]) -> None:
    """[S9] [agents 4.10, 5.1] Accepted messages once and in order; no call run twice; each message new in one turn."""
    host = Host(tmp_path, random.Random(seeds[-1]))
    for _ in range(amount(3, 50)):
        host.run_and_kill()
        host.look()
    assert host.run_quietly() == 0
    found = kept(tmp_path)
    assert found.turns == []
    assert found.wakes == 0
    assert found.numbers[: host.acknowledged] == list(range(1, host.acknowledged + 1))
    assert not [p for p in found.rows if p.row.metadata.get("kind") == "inference-failed"]
    check_calls(host, found)
    check_hearing(host, found)
