"""The log: windows, lineages, removals, blobs."""

import hashlib

import pytest

from manyminds.messages.blocks import Image, Text, ToolCall, ToolResult
from manyminds.messages.rows import Placed, Row
from manyminds.storage import MemoryStore, Snapshot, SteppedWriter, Store, blobs, branches, log
from manyminds.storage.blobs import TextBlob
from manyminds.storage.branches import Branch
from manyminds.storage.keys import BLOBS, LOG, key
from tests.storage.conformance import Open, items, write


def row(name: str, *content: Text | Image | ToolResult | ToolCall) -> Row:
    """A row of this id."""
    return Row(name, "ann", content or (Text(name),), {"serverId": "s", "n": [1, 2]}, 5.0, None, None, "ann: ")


def begun(store: Store, count: int = 0) -> None:
    """A room on branch 1, with rows r1.. at positions 1..count."""
    write(store, branches.create(Branch(1, "room", None, 0, 0.0)))
    write(store, *(log.append(1, n, row(f"r{n}")) for n in range(1, count + 1)))


def windows(store: Store, branch: int, before: int | None = None) -> list[list[int]]:
    """The positions of each window."""
    with store.snapshot() as snapshot:
        return [[p.position for p in window] for window in log.newest(snapshot, branch, before)]


def ids(store: Store, branch: int) -> list[str]:
    """The ids of the rows of a branch, oldest first."""
    with store.snapshot() as snapshot:
        return [p.row.id for p in log.between(snapshot, branch, 0, 10**9)]


def test_windows(open_one: Open) -> None:
    """[storage contract] newest first, 16 rows, doubling to 500."""
    store = open_one()
    begun(store, 1600)
    found = windows(store, 1)
    assert [len(w) for w in found] == [16, 32, 64, 128, 256, 500, 500, 104]
    assert [p for w in found for p in w] == list(range(1600, 0, -1))
    store.close()


def test_windows_across_parents_and_removals(open_one: Open) -> None:
    """[design, branch] own rows, then the parent's up to the position; tombstones on the branch take rows out."""
    store = open_one()
    begun(store, 20)
    write(store, branches.create(Branch(2, "room", 1, 12, 0.0)))
    write(store, log.append(1, 21, row("later")), log.tombstone(1, 22, 5))
    write(store, log.tombstone(2, 13, 3), log.append(2, 14, row("own")), log.tombstone(2, 15, 14),
          log.append(2, 16, row("own2")))
    assert windows(store, 1) == [[21, *range(20, 5, -1)], [4, 3, 2, 1]]
    assert windows(store, 2) == [[16, 12, 11, 10, 9, 8, 7, 6, 5, 4, 2, 1]]
    assert windows(store, 2, before=10) == [[9, 8, 7, 6, 5, 4, 2, 1]]
    assert windows(store, 2, before=1) == []
    assert windows(store, 1, before=22)[0][0] == 21
    with store.snapshot() as snapshot:
        assert [p.position for p in log.between(snapshot, 2, 2, 12)] == [4, 5, 6, 7, 8, 9, 10, 11, 12]
        assert [p.position for p in log.between(snapshot, 2, 11, 16)] == [12, 16]
        assert log.between(snapshot, 2, 16, 16) == log.between(snapshot, 2, 9, 3) == []
    store.close()


def test_a_removal_before_the_branch_point_is_inherited(open_one: Open) -> None:
    """[design, branch] a child reads its parent's up to the branch point, tombstones included; later ones not."""
    store = open_one()
    begun(store, 3)
    write(store, log.tombstone(1, 4, 1), log.append(1, 5, row("r5")), log.tombstone(1, 6, 2))
    write(store, branches.create(Branch(2, "room", 1, 5, 0.0)), branches.create(Branch(3, "room", 1, 3, 0.0)))
    assert [ids(store, branch) for branch in (1, 2, 3)] == [["r3", "r5"], ["r2", "r3", "r5"], ["r1", "r2", "r3"]]
    store.close()


def test_end(open_one: Open) -> None:
    """[design, branch] a position counts every write of a lineage, not only rows."""
    store = open_one()
    begun(store)
    with store.snapshot() as snapshot:
        assert log.end(snapshot, 1) == 0
    write(store, log.append(1, 1, row("a")), log.tombstone(1, 2, 1), [log.mark(1, 3, "head")])
    write(store, branches.create(Branch(2, "room", 1, 2, 0.0)), branches.create(Branch(10, "room", 2, 1, 0.0)))
    with store.snapshot() as snapshot:
        assert [log.end(snapshot, branch) for branch in (1, 2, 10)] == [3, 2, 1]
        assert [list(log.newest(snapshot, branch)) for branch in (1, 2)] == [[], []]
    write(store, log.append(2, 3, row("b")))
    with store.snapshot() as snapshot:
        assert [log.end(snapshot, branch) for branch in (1, 2, 10)] == [3, 3, 1]
    store.close()


def test_find(open_one: Open) -> None:
    """[design, wake] a wake names its message by row id: found in every lineage that has it, and not if removed."""
    store = open_one()
    begun(store, 6)
    write(store, branches.create(Branch(2, "room", 1, 4, 0.0)))
    # An undo copies rows that stay to the new branch, with their ids (agents.md 19.11).
    write(store, log.append(2, 5, row("r6")), log.tombstone(2, 6, 2))
    with store.snapshot() as snapshot:
        found = {name: [log.find(snapshot, branch, name) for branch in (1, 2)] for name in ("r2", "r4", "r5", "r6")}
        assert log.find(snapshot, 2, "unknown") is None
    places = {name: [p and p.position for p in both] for name, both in found.items()}
    assert places == {"r2": [2, None], "r4": [4, 4], "r5": [5, None], "r6": [6, 5]}
    store.close()


def test_find_a_row_that_came_back(open_one: Open) -> None:
    """[agents 19.11] a row removed and appended again keeps its id: each lineage finds the place that it reads."""
    store = open_one()
    begun(store, 3)
    write(store, log.tombstone(1, 4, 2), log.append(1, 5, row("r2")))
    write(store, branches.create(Branch(2, "room", 1, 3, 0.0)), branches.create(Branch(3, "room", 1, 4, 0.0)))
    with store.snapshot() as snapshot:
        found = [log.find(snapshot, branch, "r2") for branch in (1, 2, 3)]
    assert [p and p.position for p in found] == [5, 2, None]
    store.close()


def test_a_tombstone_comes_after_its_row() -> None:
    """A removal of what is not there yet would remove what comes."""
    for target in (0, 5, 6):
        with pytest.raises(ValueError, match="not before it"):
            log.tombstone(1, 5, target)


def test_rows_come_back_as_they_were(open_one: Open) -> None:
    """[design, Codec] every field, surrogates and nested results too."""
    store = open_one()
    begun(store)
    blocks = (Text("a\ud800b"), ToolCall("c", "t", '{"x": 1}'), ToolResult("c", (Text("r"), Image("image/png", b"1"))))
    full = Row("i", "bob", blocks, {"tags": ["x"], "system": True, "deep": {"a": [None, 1.5]}}, 7.5, 3, 9, "bob: ")
    write(store, log.append(1, 1, full))
    with store.snapshot() as snapshot:
        assert list(log.newest(snapshot, 1)) == [[Placed(1, full)]]
    store.close()


LARGE = Image("image/png", b"\x89" * 4097)
SMALL = Image("image/png", b"\x89" * 4096)
LONG = Text("é" * 32_769)  # 65,538 bytes
SHORT = Text("é" * 32_768)  # 65,536 bytes


def test_large_blocks_are_blobs(open_one: Open) -> None:
    """[design, Keys] pictures over 4 KiB and texts over 64 KiB lie beside the row, in results too."""
    store = open_one()
    begun(store)
    content = (SMALL, LARGE, SHORT, LONG, ToolResult("c", (LARGE, LONG, Text("x")), True))
    write(store, log.append(1, 1, row("a", *content)))
    assert len(items(store, BLOBS)) == 2
    with store.snapshot() as snapshot:
        stored = next(log.newest(snapshot, 1))[0].row
        small, large, short, long, result = stored.content
        assert (small, short) == (SMALL, SHORT)
        assert isinstance(large, Image)
        assert large.data == b""
        assert large.blob == hashlib.sha256(b"bytes\0" + LARGE.data).hexdigest()
        assert isinstance(long, TextBlob)
        assert long.text == "é" * 1000
        assert isinstance(result, ToolResult)
        assert result.content[:2] == (large, long)
        assert log.resolve(snapshot, stored).content == content
        assert next(log.newest(snapshot, 1, blobs=True))[0].row.content == content
        assert log.between(snapshot, 1, 0, 1, blobs=True)[0].row.content == content
    assert len(items(store, LOG)[0][1]) < 75_000
    store.close()


def test_a_stored_row_is_stored_as_it_is(open_one: Open) -> None:
    """A drain moves the inbox's stub into the log; the blob is neither read nor written again."""
    store = open_one()
    begun(store)
    lifted, ops = blobs.lift(row("a", LARGE, LONG))
    assert len(ops) == 2
    assert blobs.lift(lifted) == (lifted, ())
    write(store, ops, log.append(1, 1, lifted))
    with store.snapshot() as snapshot:
        assert log.between(snapshot, 1, 0, 1, blobs=True)[0].row.content == (LARGE, LONG)
    store.close()


def test_the_tail_is_read_without_blobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """[design, Keys] large blocks are blobs beside the row, so the tail can be read without them."""
    store = MemoryStore(writer=SteppedWriter())
    begun(store)
    write(store, *(log.append(1, n, row(f"r{n}", Image("image/png", b"%04d" % n * 2000))) for n in range(1, 51)))
    asked: list[str] = []

    def watched(snapshot: Snapshot, name: str) -> None:
        asked.append(name)

    monkeypatch.setattr(blobs, "get", watched)
    assert sum(map(len, windows(store, 1))) == 50
    assert asked == []
    with store.snapshot() as snapshot:
        next(log.newest(snapshot, 1, blobs=True))
    assert len(asked) == 16
    store.close()


def test_a_blob_is_stored_once(open_one: Open) -> None:
    """[S22] a thousand rows with one 100 kB picture store it once."""
    store = open_one()
    begun(store)
    picture = Image("image/png", bytes(range(256)) * 400)
    before = store.statistics().used
    write(store, *(log.append(1, n, row(f"r{n}", Text("words " * 20), picture)) for n in range(1, 1001)))
    per_row = sum(len(k) + len(v) for table in ("log", "row-ids") for k, v in items(store, table)) / 1000
    assert per_row < 500
    assert len(items(store, BLOBS)) == 1
    assert store.statistics().used - before < 102_400 + per_row * 1000 * 1.5
    store.close()


def test_a_blob_that_is_gone_stays_a_stub(open_one: Open) -> None:
    """[design, Codec] a missing blob, a torn one and one that does not fit its hash: named, never guessed at."""
    store = open_one()
    begun(store)
    write(store, log.append(1, 1, row("a", LARGE, LONG, Image("image/gif", b"3" * 5000))))
    names = [block.blob for block in blobs.lift(row("a", LARGE, LONG, Image("image/gif", b"3" * 5000)))[0].content
             if isinstance(block, Image | TextBlob)]
    other = blobs.put("other")[1][2]
    write(store, [(BLOBS, key(name), None) for name in names])
    write(store, [(BLOBS, key(names[1]), other), (BLOBS, key(names[2]), b"\x92")])
    with store.snapshot() as snapshot:
        stub = log.between(snapshot, 1, 0, 1)[0].row
        assert log.resolve(snapshot, stub) == stub
    assert {s.key: s.table for s in store.set_aside} == {key(names[1]): BLOBS, key(names[2]): BLOBS}
    store.close()


def test_a_torn_row_is_passed_over(open_one: Open) -> None:
    """[design, Codec] its neighbours are read, and it is named with its table and key."""
    store = open_one()
    begun(store, 3)
    write(store, [(LOG, key(1, 2), b"torn")])
    assert ids(store, 1) == ["r1", "r3"]
    with store.snapshot() as snapshot:
        assert log.end(snapshot, 1) == 3
        assert log.find(snapshot, 1, "r2") is None
    assert [(s.table, s.key) for s in store.set_aside] == [(LOG, key(1, 2))]
    store.close()
