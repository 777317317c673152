"""When what was handed in is committed: groups, bounds, order, threads."""

import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import pytest

from manyminds.messages.errors import StoreError
from manyminds.storage import LmdbStore, MemoryStore, Ops, SteppedWriter, Store, StoreClosed, ThreadedWriter
from manyminds.storage.units import Waiting, waiting
from manyminds.storage.writers import take
from tests.storage.conformance import hand_in, items, step

WAIT = 20


def barrier(store: Store) -> None:
    """Wait until everything handed in so far is acknowledged."""
    done = threading.Event()
    store.submit([], lambda fault: done.set())
    assert done.wait(WAIT)


def test_a_step_commits_what_has_gathered() -> None:
    """[design, What lasts] group commit: a hundred units, one commit."""
    store = MemoryStore(writer=SteppedWriter())
    acks = hand_in(store, [[("log", bytes([n]), b"1")] for n in range(1, 101)])
    assert step(store) == 100
    assert acks == [(n, None) for n in range(100)]
    assert store.statistics().commits == 1
    store.close()


@pytest.mark.parametrize(
    ("sizes", "batches"),
    [
        ([1, 1, 1, 1, 1], [3, 2]),  # three units at most
        ([4, 5, 2, 8, 1], [2, 2, 1]),  # ten bytes at most
        ([25, 1, 1], [1, 2]),  # a unit is never split: a large one goes alone
        ([1, 25, 1], [1, 1, 1]),
        ([], []),
    ],
)
def test_batches_are_bounded(sizes: list[int], batches: list[int]) -> None:
    """[performance 4] a batch has a bound in units and in bytes, and never half a unit."""
    queue: deque[Waiting] = deque(Waiting((), lambda fault: None, size) for size in sizes)
    found: list[int] = []
    while batch := take(queue, 3, 10):
        found.append(len(batch))
    assert found == batches


def test_a_unit_weighs_its_bytes() -> None:
    """Keys and values count, deletions only their keys."""
    assert waiting([("log", b"abc", b"12345"), ("log", b"x", None)], lambda fault: None).size == 9


def test_a_unit_is_as_it_was_when_handed_in() -> None:
    """A list that its owner changes afterwards is not what is committed."""
    store = MemoryStore(writer=SteppedWriter())
    unit: list[tuple[str, bytes, bytes | None]] = [("log", b"a", b"1")]
    store.submit(unit, lambda fault: None)
    unit.append(("log", b"b", b"1"))
    step(store)
    assert items(store) == [(b"a", b"1")]
    store.close()


def test_drop_forgets_and_goes_on() -> None:
    """[design, Simulation] what was dropped is neither committed nor acknowledged."""
    writer = SteppedWriter()
    store = MemoryStore(writer=writer)
    acks = hand_in(store, [[("log", b"a", b"1")]])
    assert writer.pending()
    assert writer.drop() == 1
    assert not writer.pending()
    more = hand_in(store, [[("log", b"b", b"1")]])
    step(store)
    assert (acks, more) == ([], [(0, None)])
    assert items(store) == [(b"b", b"1")]
    store.close()


def test_a_writer_serves_one_store() -> None:
    """Two stores with one writer would mix their units: refused by name."""
    for writer in (SteppedWriter(), ThreadedWriter()):
        store = MemoryStore(writer=writer)
        with pytest.raises(StoreError, match="serves a store already"):
            MemoryStore(writer=writer)
        store.close()


def test_an_acknowledgement_may_hand_in_more() -> None:
    """An acknowledgement's own unit goes into a later commit, and closing waits for it."""
    for writer in (SteppedWriter(), ThreadedWriter()):
        store = MemoryStore(writer=writer)
        found: list[Exception | None] = []
        store.submit(
            [("log", b"a", b"1")],
            lambda fault, store=store, found=found: store.submit([("log", b"b", b"1")], found.append),  # type: ignore[misc]
        )
        if isinstance(writer, ThreadedWriter):
            barrier(store)
        store.close()
        assert found == [None]
        again = store.reopen(SteppedWriter())
        assert [key for key, _ in items(again)] == [b"a", b"b"]
        again.close()


def test_groups_form_while_a_commit_runs(tmp_path: Path) -> None:
    """[performance 4.6] what gathers while one commit runs is the next one: no linger, and far fewer commits."""
    store = LmdbStore(tmp_path, writer=ThreadedWriter())
    entered, go_on = threading.Event(), threading.Event()

    def hold(fault: Exception | None) -> None:
        entered.set()
        assert go_on.wait(WAIT)

    store.submit([("log", b"first", b"1")], hold)
    assert entered.wait(WAIT)
    acks = hand_in(store, [[("log", b"%04d" % n, b"1")] for n in range(500)])
    assert store.statistics().waiting == 501
    go_on.set()
    barrier(store)
    assert acks == [(n, None) for n in range(500)]
    assert store.statistics().commits <= 3
    assert store.statistics().units == 502
    store.close()


def test_many_threads(tmp_path: Path) -> None:
    """[design, What lasts] submit is for every thread; each thread's units keep their order; one ack each."""
    store = LmdbStore(tmp_path, sync=False, writer=ThreadedWriter(most_units=7))
    threads, count = 4, 150
    acks: list[list[int]] = [[] for _ in range(threads)]

    def submit(mine: int) -> None:
        for n in range(count):
            def done(fault: Exception | None, n: int = n) -> None:
                assert fault is None
                acks[mine].append(n)
            store.submit([("log", bytes([65 + mine]), b"%d" % n), ("inbox", b"%d-%d" % (mine, n), b"1")], done)

    def read() -> None:
        for _ in range(100):
            with store.snapshot() as snapshot:
                for mine in range(threads):
                    last = snapshot.get("log", bytes([65 + mine]))
                    if last is not None:
                        assert snapshot.get("inbox", b"%d-%d" % (mine, int(last))) == b"1"

    workers = [threading.Thread(target=submit, args=(n,)) for n in range(threads)]
    workers.append(threading.Thread(target=read))
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(WAIT)
    barrier(store)
    assert acks == [list(range(count))] * threads
    assert items(store) == [(bytes([65 + n]), b"%d" % (count - 1)) for n in range(threads)]
    store.close()


def test_closing_while_others_submit() -> None:
    """[design, What lasts] every unit is acknowledged: committed before the close or refused as closed."""
    store = MemoryStore(writer=ThreadedWriter())
    acks: list[Exception | None] = []
    count = 2_000

    def submit() -> None:
        for n in range(count):
            store.submit([("log", b"%05d" % n, b"1")], acks.append)

    worker = threading.Thread(target=submit)
    worker.start()
    store.close()
    worker.join(WAIT)
    assert len(acks) == count
    committed = sum(fault is None for fault in acks)
    assert all(fault is None or isinstance(fault, StoreClosed) for fault in acks)
    again = store.reopen(SteppedWriter())
    assert [key for key, _ in items(again)] == [b"%05d" % n for n in range(committed)]
    again.close()


def test_closing_from_an_acknowledgement_is_refused() -> None:
    """It would wait for itself: named instead, and the store goes on."""
    store = MemoryStore(writer=ThreadedWriter())
    found: list[BaseException] = []

    def close(fault: Exception | None) -> None:
        try:
            store.close()
        except StoreError as exc:
            found.append(exc)

    store.submit([], close)
    barrier(store)
    assert "from an acknowledgement" in str(found[0])
    store.close()


def test_a_crash_with_a_thread_acknowledges_what_it_committed() -> None:
    """After a crash everything acknowledged is there, and what is there was at most in flight."""
    store = MemoryStore(writer=ThreadedWriter(most_units=3))
    acks: list[int] = []
    for n in range(300):
        store.submit([("log", b"%04d" % n, b"1")], lambda fault, n=n: acks.append(n))  # type: ignore[misc]
    again = store.reopen(SteppedWriter())
    assert acks == list(range(len(acks)))
    assert [key for key, _ in items(again)] == [b"%04d" % n for n in acks]
    again.close()


class Breaking(MemoryStore):
    """A store whose engine fails on any commit that holds the key `broken`."""

    applied: int = 0

    def _apply(self, units: Sequence[Ops]) -> None:
        if any(key == b"broken" for ops in units for _, key, _ in ops):
            raise OSError("the engine broke")
        super()._apply(units)
        self.applied += 1


def test_a_commit_that_fails_is_tried_unit_by_unit(caplog: pytest.LogCaptureFixture) -> None:
    """[design, What lasts] whatever the engine raises, only the guilty unit is refused, by name, in its order."""
    store = Breaking(writer=SteppedWriter())
    acks = hand_in(store, [[("log", b"a", b"1")], [("log", b"b", b"1"), ("log", b"broken", b"1")], [],
                           [("log", b"c", b"1")]])
    step(store)
    assert [(n, type(fault)) for n, fault in acks] == [
        (0, type(None)), (1, StoreError), (2, type(None)), (3, type(None)),
    ]
    assert "the engine broke" in str(acks[1][1])
    assert [key for key, _ in items(store)] == [b"a", b"c"]
    assert store.applied == store.statistics().commits == 2
    assert "failed" in caplog.text
    store.close()


def names_of(threads: Sequence[threading.Thread]) -> list[str]:
    """The names of those that are writers."""
    return [thread.name for thread in threads if thread.name == "manyminds-writer"]


def test_no_thread_is_left() -> None:
    """[S23] a closed store has no thread any more."""
    before = names_of(threading.enumerate())
    stores = [MemoryStore() for _ in range(5)]
    assert len(names_of(threading.enumerate())) == len(before) + 5
    for store in stores:
        store.close()
    assert names_of(threading.enumerate()) == before
