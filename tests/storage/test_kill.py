"""kill -9 at any moment: what was acknowledged is there, and every unit is whole."""

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from manyminds.storage import LmdbStore, SteppedWriter
from manyminds.storage.keys import key, number
from tests.storage.conformance import ALL
from tests.storage.killed_writer import IN_FLIGHT, PARTS, unit

SCRIPT = Path(__file__).with_name("killed_writer.py")


def write_and_kill(folder: Path, first: int, acks: int) -> int:
    """Let a process write, kill it after so many acknowledgements; the last number that was acknowledged."""
    with subprocess.Popen([sys.executable, str(SCRIPT), str(folder), str(first)], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        seen = [child.stdout.readline() for _ in range(acks)]
        child.kill()
        seen += child.stdout.read().splitlines(keepends=True)
        child.wait()
    numbers = [int(line) for line in seen if line.endswith(b"\n")]
    assert numbers == list(range(first, first + len(numbers)))
    return numbers[-1]


def check(folder: Path, acknowledged: int) -> int:
    """Every unit up to some number is there, whole and right, and nothing else; that number."""
    store = LmdbStore(folder, writer=SteppedWriter())
    with store.snapshot() as snapshot:
        last = int(snapshot.get("counters", key("last")) or b"0")
        found = list(snapshot.scan("log", *ALL))
    store.close()
    assert acknowledged <= last <= acknowledged + IN_FLIGHT
    assert len(found) == last * PARTS
    expected = [(k, v) for n in range(1, last + 1) for _, k, v in unit(n)[:PARTS]]
    assert found == expected
    assert [number(k) for k, _ in found[:PARTS]] == list(range(PARTS))
    return last


@pytest.mark.process
@pytest.mark.timeout(600)
def test_kill(tmp_path: Path, amount: Callable[[int, int], int], seeds: list[int]) -> None:
    """[S9, performance 4.5] killed again and again in one folder: no acknowledged unit is lost, none is torn."""
    draw = random.Random(seeds[-1])
    last = 0
    for _ in range(amount(3, 50)):
        acknowledged = write_and_kill(tmp_path / "store", last + 1, draw.randrange(1, 400))
        last = check(tmp_path / "store", acknowledged)
