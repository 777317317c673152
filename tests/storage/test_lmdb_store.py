"""The store on disk: who may open it, what a full map does, what it leaves alone."""

import contextlib
import errno
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import lmdb
import pytest

from manyminds.messages.codec import encode
from manyminds.messages.errors import MapFull, StoreError, StoreInUse, StoreReadOnly
from manyminds.storage import LmdbStore, MemoryStore, NotAStore, SteppedWriter, ThreadedWriter, lmdb_store, open_store
from manyminds.storage.folder import LOCK_FILE
from manyminds.storage.lmdb_faults import STEP, named, refuse_cut
from manyminds.storage.lmdb_store import RESERVE, Stamp
from tests.storage.conformance import hand_in, items, step, write

MIB = 1024 * 1024


@contextlib.contextmanager
def as_nobody() -> Generator[None]:
    """Not as root, whom no mode of a folder holds back."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def small(folder: Path, limit: int = MIB) -> LmdbStore:
    """A store whose map is full soon."""
    return LmdbStore(folder, map_size=MIB, map_limit=limit, sync=False, writer=SteppedWriter())


def test_open_twice_here(tmp_path: Path) -> None:
    """[storage contract] the same folder twice in this process is StoreInUse, by another name too; not after close."""
    store = LmdbStore(tmp_path / "store", writer=SteppedWriter())
    (tmp_path / "other-name").symlink_to(tmp_path / "store")
    for folder in ("store", "other-name"):
        with pytest.raises(StoreInUse, match="in this process; share that runtime, or close it"):
            open_store(tmp_path / folder)
    write(store, [("log", b"a", b"1")])
    store.close()
    again = LmdbStore(tmp_path / "other-name", writer=SteppedWriter())
    assert items(again) == [(b"a", b"1")]
    again.close()


@pytest.mark.process
def test_open_in_another_process(tmp_path: Path) -> None:
    """[storage contract] StoreInUse says which process has it; the owner's death frees it."""
    code = (
        "import sys; from manyminds.storage import open_store; s = open_store(sys.argv[1]); "
        "print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "open\n"
        with pytest.raises(StoreInUse, match=f"in process {owner.pid}; stop that process"):
            open_store(tmp_path)
        owner.kill()
        owner.wait()
    open_store(tmp_path).close()


@pytest.mark.process
def test_a_forked_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    """A child that was forked while the store was open does not hold it after close."""
    store = LmdbStore(tmp_path, writer=SteppedWriter())
    context = multiprocessing.get_context("fork")
    parent, child = context.Pipe()
    process = context.Process(target=child.recv)
    process.start()
    store.close()
    try:
        open_store(tmp_path).close()
    finally:
        parent.send("end")
        process.join()
        parent.close()
        child.close()


def test_a_file_is_no_store(tmp_path: Path) -> None:
    """[storage contract] a folder that is a file, or lies in one: named, and left as it is."""
    (tmp_path / "file").write_text("words")
    for path in (tmp_path / "file", tmp_path / "file" / "store"):
        with pytest.raises(NotAStore, match="file"):
            open_store(path)
    assert (tmp_path / "file").read_text() == "words"


def test_a_folder_of_other_things(tmp_path: Path) -> None:
    """[storage contract] a folder of another program is left as it is; our own files beside are no strangers."""
    (tmp_path / "thesis.tex").write_text("words")
    with pytest.raises(NotAStore, match=r"thesis\.tex"):
        open_store(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]
    (tmp_path / "thesis.tex").unlink()
    (tmp_path / "operator-actions.jsonl").write_text("{}\n")
    open_store(tmp_path).close()
    (tmp_path / "notes.txt").write_text("put here later")
    open_store(tmp_path).close()


def test_the_environment_of_another_program(tmp_path: Path) -> None:
    """[storage contract] somebody else's LMDB environment is named and keeps its bytes."""
    with lmdb.open(str(tmp_path), map_size=MIB, max_dbs=2) as env:
        with env.begin(write=True) as txn:
            txn.put(b"theirs", b"1")
        for bytes_of_meta in (None, b"format"):
            if bytes_of_meta is not None:
                db = env.open_db(b"meta")
                with env.begin(write=True, db=db) as txn:
                    txn.put(bytes_of_meta, b"7")
    before = (tmp_path / "data.mdb").read_bytes()
    with pytest.raises(NotAStore, match="another program"):
        open_store(tmp_path)
    assert (tmp_path / "data.mdb").read_bytes() == before


def test_a_file_that_is_no_environment(tmp_path: Path) -> None:
    """[storage contract] nothing is written over what cannot be read."""
    (tmp_path / "data.mdb").write_bytes(b"no environment" * 1000)
    with pytest.raises(NotAStore, match="damaged"):
        open_store(tmp_path)
    assert (tmp_path / "data.mdb").read_bytes() == b"no environment" * 1000


def test_a_store_of_another_format(tmp_path: Path) -> None:
    """[design, Codec] a store of another version is named, with both versions, and keeps its stamp."""
    store = LmdbStore(tmp_path, writer=SteppedWriter())
    write(store, [("meta", b"format", encode(Stamp(2)))])
    store.close()
    for _ in range(2):
        with pytest.raises(NotAStore, match="format 2; this version reads format 1"):
            open_store(tmp_path)


def test_a_kill_before_the_stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An opening that was cut short leaves a folder that is a new store, not another program's."""
    lmdb.open(str(tmp_path), map_size=MIB, max_dbs=2).close()
    (tmp_path / LOCK_FILE).write_text("not a number")

    def cut(value: object) -> bytes:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(lmdb_store, "encode", cut)
        with pytest.raises(KeyboardInterrupt):
            open_store(tmp_path)
    open_store(tmp_path).close()


@pytest.mark.process
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_a_file_that_lost_its_end(share: float, tmp_path: Path) -> None:
    """[design, Codec] a torn data file is named; reading it would end the process with a bus error."""
    store = LmdbStore(tmp_path, sync=False, writer=SteppedWriter())
    for n in range(500):
        write(store, [("log", b"%04d" % n, b"x" * 900)])
    store.close()
    path = tmp_path / "data.mdb"
    os.truncate(path, int(path.stat().st_size * share) // 4096 * 4096)
    before = path.read_bytes()
    code = (
        "import sys; from manyminds.storage import NotAStore, open_store\n"
        "try: open_store(sys.argv[1])\nexcept NotAStore as e: assert 'lost its end' in str(e); sys.exit(7)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False, timeout=60).returncode == 7
    assert path.read_bytes() == before


def test_a_short_file_that_is_whole(tmp_path: Path) -> None:
    """A file may be shorter than the pages that are counted; when nothing of it is missing it is opened."""
    store = LmdbStore(tmp_path, writer=SteppedWriter())
    write(store, [("log", b"a", b"1")])
    real = store._env.info()

    class Counting:
        def info(self) -> dict[str, int]:
            return {"last_pgno": real["last_pgno"] + 3}

        def stat(self) -> dict[str, int]:
            return {"psize": 4096}

    refuse_cut(Counting(), tmp_path)  # type: ignore[arg-type]
    store.close()


def test_read_only() -> None:
    """[storage contract] a folder that cannot be written is StoreReadOnly, whichever part of it cannot."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o555)
        with as_nobody():
            for path in (folder, folder / "below"):
                with pytest.raises(StoreReadOnly, match="cannot be written"):
                    open_store(path)
        folder.chmod(0o777)
        open_store(folder).close()
        for file in folder.iterdir():
            file.chmod(0o666)
        (folder / "data.mdb").chmod(0o444)
        with as_nobody(), pytest.raises(StoreReadOnly, match="cannot be written"):
            open_store(folder)
        open_store(folder).close()


def test_files_are_private(tmp_path: Path) -> None:
    """What people said is readable by the owner only."""
    open_store(tmp_path / "store").close()
    modes = {p.name: p.stat().st_mode & 0o777 for p in (tmp_path / "store").iterdir()}
    assert modes == {"data.mdb": 0o600, "lock.mdb": 0o600, LOCK_FILE: 0o600}
    assert (tmp_path / "store").stat().st_mode & 0o777 == 0o700


def test_no_folder_is_memory() -> None:
    """open_store(None) is the twin."""
    store = open_store(None)
    assert isinstance(store, MemoryStore)
    store.close()


def test_the_map_grows(tmp_path: Path) -> None:
    """[S32] a full map grows between transactions; nothing is refused and nothing is lost."""
    store = small(tmp_path, limit=64 * MIB)
    before = store.statistics().map_size
    write(store, *([("log", b"%04d" % n, b"x" * 100_000)] for n in range(200)))
    assert store.statistics().map_size > before == MIB
    assert [key for key, _ in items(store)] == [b"%04d" % n for n in range(200)]
    again = store.reopen()
    assert len(items(again)) == 200
    again.close()


def test_map_full_in_the_middle_of_a_commit(tmp_path: Path) -> None:
    """[S32] at the limit only the guilty unit is refused, by name, and nothing of it is written; the next works."""
    store = small(tmp_path)
    guilty = [("log", b"g%d" % n, b"x" * 100_000) for n in range(20)]
    acks = hand_in(store, [[("log", b"a", b"1")], [("log", b"b", b"1"), *guilty, ("log", b"c", b"1")],
                           [("log", b"d", b"1")], []])
    step(store)
    assert [type(fault) for _, fault in acks] == [type(None), MapFull, type(None), type(None)]
    assert "map_limit" in str(acks[1][1])
    assert [key for key, _ in items(store)] == [b"a", b"d"]
    write(store, [("log", b"e", b"1")])
    again = store.reopen()
    assert [key for key, _ in items(again)] == [b"a", b"d", b"e"]
    again.close()


def test_a_full_map_can_be_emptied(tmp_path: Path) -> None:
    """[S32] deleting works at the limit, although LMDB copies on write; then there is room again."""
    store = small(tmp_path)
    count = 0
    while True:
        acks = hand_in(store, [[("log", b"%06d" % count, b"x" * 500)]])
        step(store)
        if acks[0][1] is not None:
            break
        count += 1
    assert isinstance(acks[0][1], MapFull)
    assert count > 500
    write(store, [("log", b"%06d" % n, None) for n in range(0, count, 2)])
    write(store, *([("log", b"%06d" % n, None)] for n in range(1, count, 2)))
    assert items(store) == []
    write(store, *([("log", b"%06d" % n, b"x" * 500)] for n in range(count // 2)))
    assert store.statistics().map_size <= MIB + RESERVE
    store.close()


def test_growth_waits_for_readers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[py-lmdb] a resize kills open snapshots without a word, so the writer waits for the last to leave."""
    store = LmdbStore(tmp_path, map_size=MIB, map_limit=64 * MIB, sync=False, writer=ThreadedWriter())
    asked, done = threading.Event(), threading.Event()
    alone = store._gate.alone

    def watched() -> Any:
        asked.set()
        return alone()

    def noted(fault: Exception | None) -> None:
        faults.append(fault)
        done.set()

    monkeypatch.setattr(store._gate, "alone", watched)
    faults: list[Exception | None] = []
    store.submit([("log", b"small", b"1")], lambda fault: done.set())
    assert done.wait(20)
    done.clear()
    with store.snapshot() as snapshot:
        store.submit([("log", b"large", b"x" * 4 * MIB)], noted)
        assert asked.wait(20)
        assert snapshot.get("log", b"small") == b"1"
        with store.snapshot() as nested:
            assert nested.get("log", b"large") is None
        assert snapshot.get("log", b"small") == b"1"
        assert faults == []
    assert done.wait(20)
    assert faults == [None]
    assert store.statistics().map_size >= 4 * MIB
    store.close()


def test_growth_under_a_snapshot_of_the_same_thread(tmp_path: Path) -> None:
    """A stepped writer cannot wait for its own thread's snapshot: the unit is refused and the snapshot lives."""
    store = small(tmp_path, limit=64 * MIB)
    write(store, [("log", b"a", b"1")])
    with store.snapshot() as snapshot:
        acks = hand_in(store, [[("log", b"large", b"x" * 4 * MIB)], [("log", b"b", b"1")]])
        while step(store):
            pass
        assert [type(fault) for _, fault in acks] == [MapFull, type(None)]
        assert snapshot.get("log", b"a") == b"1"
    write(store, [("log", b"large", b"x" * 4 * MIB)])
    store.close()


@contextlib.contextmanager
def tiny_disk(folder: Path) -> Generator[None]:
    """A file system of 2 MiB at `folder`, where the machine lets us mount one."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("mounting a small disk needs rights that are not given here")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_disk_full(tmp_path: Path) -> None:
    """[S32] a disk that is full refuses the unit by name, and the store goes on once there is room."""
    with tiny_disk(tmp_path / "disk"):
        store = LmdbStore(tmp_path / "disk", writer=SteppedWriter())
        write(store, [("log", b"a", b"x" * 10)])
        acks = hand_in(store, [[("log", b"b", b"x" * 4 * MIB)], [("log", b"c", b"x" * 100)]])
        while step(store):
            pass
        assert [type(fault) for _, fault in acks] == [MapFull, type(None)]
        assert "disk" in str(acks[0][1])
        assert [key for key, _ in items(store)] == [b"a", b"c"]
        again = store.reopen()
        assert [key for key, _ in items(again)] == [b"a", b"c"]
        again.close()


@pytest.mark.process
def test_a_write_that_is_cut_short(tmp_path: Path) -> None:
    """[S32] a commit that the system cuts short leaves nothing half written, and the store goes on."""
    code = """
import resource, sys
from manyminds.storage import LmdbStore, SteppedWriter, StoreError
store = LmdbStore(sys.argv[1], writer=SteppedWriter())
faults = []
def put(key, size):
    store.submit([("log", key + b"1", b"x" * size), ("log", key + b"2", b"x" * size)], faults.append)
    store.writer.step()
put(b"a", 10)
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (1024 * 1024, hard))
put(b"b", 4 * 1024 * 1024)
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
put(b"c", 4 * 1024 * 1024)
with store.snapshot() as s:
    keys = [k for k, _ in s.scan("log", b"a", b"z")]
assert faults[0] is None and isinstance(faults[1], StoreError) and faults[2] is None, faults
assert keys == [b"a1", b"a2", b"c1", b"c2"], keys
store.close()
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=60)


@pytest.mark.process
def test_an_owner_that_never_closes_ends(tmp_path: Path) -> None:
    """[S27] a store that nobody closes keeps no process alive; what was handed in is committed at its exit."""
    code = (
        "import sys; from manyminds.storage import open_store; s = open_store(sys.argv[1]); "
        "[s.submit([('log', bytes([n]), b'1')], lambda fault: None) for n in range(100)]"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=60)
    store = LmdbStore(tmp_path, writer=SteppedWriter())
    assert [key for key, _ in items(store)] == [bytes([n]) for n in range(100)]
    store.close()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (lmdb.DiskError("mdb_txn_commit: No space left on device"), MapFull),
        (lmdb.Error(f"mdb_txn_commit: {os.strerror(errno.EFBIG)}"), MapFull),
        (lmdb.Error(f"mdb_txn_commit: {os.strerror(errno.EROFS)}"), StoreReadOnly),
        (lmdb.Error(f"mdb_txn_commit: {os.strerror(errno.EIO)}"), StoreError),
        (lmdb.PanicError("mdb_txn_begin: MDB_PANIC"), StoreError),
    ],
)
def test_names_of_errors(error: lmdb.Error, kind: type[StoreError], tmp_path: Path) -> None:
    """[rules] every error a user can meet has a name, says where, and what to do."""
    found = named(error, tmp_path)
    assert type(found) is kind
    assert str(tmp_path) in str(found)


def test_sizes_are_whole_steps(tmp_path: Path) -> None:
    """A map is sized in whole megabytes, and never under one."""
    store = LmdbStore(tmp_path, map_size=1, map_limit=STEP + 1, writer=SteppedWriter())
    assert store.statistics().map_size == STEP
    store.close()
