"""What every store does, as plain functions of a way to open one: run on the disk and on the twin alike."""

from collections.abc import Callable, Iterable

import pytest

from manyminds.messages.codec import encode
from manyminds.messages.errors import StoreError
from manyminds.messages.places import ChannelRef
from manyminds.storage import BadUnit, Done, SnapshotOver, SteppedWriter, Store, StoreClosed, Unit

Open = Callable[[], Store]
Items = list[tuple[bytes, bytes]]
ALL = (b"\x00", b"\xff" * 511)


def step(store: Store) -> int:
    """One commit of a store with a stepped writer."""
    assert isinstance(store.writer, SteppedWriter)
    return store.writer.step()


def hand_in(store: Store, units: Iterable[Unit]) -> list[tuple[int, Exception | None]]:
    """Submit these; the list that their acknowledgements (number of the unit, fault) will be added to."""
    acks: list[tuple[int, Exception | None]] = []

    def noted(number: int) -> Done:
        return lambda fault: acks.append((number, fault))

    for number, unit in enumerate(units):
        store.submit(unit, noted(number))
    return acks


def write(store: Store, *units: Unit) -> None:
    """Commit these and see them accepted."""
    acks = hand_in(store, units)
    while step(store):
        pass
    assert [fault for _, fault in acks] == [None] * len(units)


def items(store: Store, table: str = "log", reverse: bool = False) -> Items:
    """The whole table."""
    with store.snapshot() as snapshot:
        return list(snapshot.scan(table, *ALL, reverse))


def units_are_applied_in_order_and_acknowledged_once(open_one: Open) -> None:
    """[design, What lasts] in the order given, one acknowledgement each, an empty unit in its order."""
    store = open_one()
    acks = hand_in(store, [[("log", b"k", b"1")], [], [("log", b"k", b"2")], [("log", b"j", b"3")]])
    assert acks == []
    assert items(store) == []
    step(store)
    assert acks == [(0, None), (1, None), (2, None), (3, None)]
    assert items(store) == [(b"j", b"3"), (b"k", b"2")]
    store.close()


def a_unit_is_whole(open_one: Open) -> None:
    """[design, What lasts] a unit with one op that no store can apply changes nothing; its neighbours stand."""
    store = open_one()
    bad: list[Unit] = [
        [("log", b"a", b"1"), ("no such table", b"a", b"1")],
        [("log", b"b", b"1"), ("log", b"", b"1")],
        [("log", b"c", b"1"), ("log", b"x" * 512, b"1")],
        [("log", b"d", b"1"), ("log", b"e", "text")],  # type: ignore[list-item]
    ]
    acks = hand_in(store, [[("log", b"first", b"1")], *bad, [("log", b"x" * 511, b"1")]])
    step(store)
    assert [type(fault) for _, fault in acks] == [type(None), BadUnit, BadUnit, BadUnit, BadUnit, type(None)]
    assert [key for key, _ in items(store)] == [b"first", b"x" * 511]
    store.close()


def only_the_guilty_unit_is_refused(open_one: Open) -> None:
    """[design, What lasts] when a commit fails its units are tried one by one."""
    store = open_one()
    refused = RuntimeError("the disk says no")
    store.refuse = lambda unit: refused if any(value == b"bad" for _, _, value in unit) else None
    acks = hand_in(store, [[("log", bytes([65 + n]), b"bad" if n % 3 == 1 else b"ok")] for n in range(6)])
    step(store)
    assert acks == [(0, None), (1, refused), (2, None), (3, None), (4, refused), (5, None)]
    assert [key for key, _ in items(store)] == [b"A", b"C", b"D", b"F"]
    assert store.statistics().refused == 2
    store.close()


def a_fault_hook_that_raises_refuses(open_one: Open) -> None:
    """A hook's own exception is the refusal; the writer lives on."""
    store = open_one()

    def raising(unit: Unit) -> Exception | None:
        raise KeyError("drawn")

    store.refuse = raising
    acks = hand_in(store, [[("log", b"a", b"1")]])
    step(store)
    assert isinstance(acks[0][1], KeyError)
    store.refuse = None
    write(store, [("log", b"b", b"1")])
    assert items(store) == [(b"b", b"1")]
    store.close()


def an_acknowledgement_that_raises_hurts_nobody(open_one: Open) -> None:
    """The units behind it are acknowledged all the same."""
    store = open_one()

    def raising(fault: Exception | None) -> None:
        raise ValueError("from an acknowledgement")

    store.submit([("log", b"a", b"1")], raising)
    acks = hand_in(store, [[("log", b"b", b"1")]])
    step(store)
    assert acks == [(0, None)]
    assert items(store) == [(b"a", b"1"), (b"b", b"1")]
    store.close()


def scans_have_an_inclusive_start_and_an_exclusive_stop(open_one: Open) -> None:
    """[storage contract] start inclusive, stop exclusive, both ways round."""
    store = open_one()
    keys = [b"\x00", b"a", b"a\x00", b"ab", b"b", b"\xff", b"\xff\xff"]
    write(store, [("log", key, key) for key in reversed(keys)])
    cases: list[tuple[bytes, bytes, list[bytes]]] = [
        (b"\x00", b"\xff" * 511, keys), (b"a", b"b", keys[1:4]), (b"a\x00", b"ab", keys[2:3]), (b"aa", b"ab", []),
        (b"b", b"b", []), (b"b", b"a", []), (b"c", b"\xff", []), (b"\xff\x00", b"\xff" * 511, keys[6:]),
        (b"", b"a", keys[:1]),
    ]
    with store.snapshot() as snapshot:
        for start, stop, expected in cases:
            assert [k for k, _ in snapshot.scan("log", start, stop)] == expected, (start, stop)
            assert [k for k, _ in snapshot.scan("log", start, stop, reverse=True)] == expected[::-1], (start, stop)
        assert snapshot.get("log", b"a") == b"a"
        assert snapshot.get("log", b"aa") is None
        assert list(snapshot.scan("inbox", *ALL)) == []
    store.close()


def a_snapshot_is_one_moment(open_one: Open) -> None:
    """[design, What lasts] what is committed while it is open is not in it, and a later one has it."""
    store = open_one()
    write(store, [("log", b"a", b"1"), ("log", b"b", b"1")])
    with store.snapshot() as before:
        half = before.scan("log", *ALL)
        assert next(half) == (b"a", b"1")
        write(store, [("log", b"a", None), ("log", b"b", b"2"), ("log", b"c", b"2")])
        assert list(half) == [(b"b", b"1")]
        assert before.get("log", b"a") == b"1"
        with store.snapshot() as after:
            assert list(after.scan("log", *ALL)) == [(b"b", b"2"), (b"c", b"2")]
        assert store.statistics().readers == 1
    assert store.statistics().readers == 0
    store.close()


def a_snapshot_does_not_outlive_its_with(open_one: Open) -> None:
    """[design, What lasts] a read transaction never outlives a handler: it says so by name."""
    store = open_one()
    write(store, [("log", b"a", b"1"), ("log", b"b", b"1")])
    with store.snapshot() as snapshot:
        begun = snapshot.scan("log", *ALL)
        next(begun)
        unbegun = snapshot.scan("log", *ALL)
    for use in (lambda: next(begun), lambda: next(unbegun), lambda: snapshot.get("log", b"a")):
        with pytest.raises(SnapshotOver):
            use()
    store.close()


def deletions_delete(open_one: Open) -> None:
    """A value of None deletes; deleting what is not there is no fault."""
    store = open_one()
    write(store, [("log", bytes([1, n]), b"x") for n in range(200)])
    write(store, *([("log", bytes([1, n]), None)] for n in range(1, 200)), [("log", b"absent", None)])
    assert items(store) == [(b"\x01\x00", b"x")]
    write(store, [("log", b"\x01\x00", None), ("log", b"z", b""), ("log", b"z", b"")])
    assert items(store) == [(b"z", b"")]
    store.close()


def blobs_are_written_once(open_one: Open) -> None:
    """[design, Keys] content is stored once: a second put of a key changes nothing; a deletion does delete."""
    store = open_one()
    write(store, [("blobs", b"hash", b"content")], [("blobs", b"hash", b"other")])
    assert items(store, "blobs") == [(b"hash", b"content")]
    write(store, [("blobs", b"hash", None), ("blobs", b"hash", b"anew")])
    assert items(store, "blobs") == [(b"hash", b"anew")]
    store.close()


def a_crash_forgets_what_was_not_committed(open_one: Open) -> None:
    """[design, Simulation] crash drops uncommitted units, unacknowledged, and opens the store anew."""
    store = open_one()
    write(store, [("log", b"a", b"1")])
    acks = hand_in(store, [[("log", b"b", b"1")]])
    again = store.reopen()
    assert acks == []
    assert items(again) == [(b"a", b"1")]
    with pytest.raises(StoreClosed), store.snapshot():
        pass
    late = hand_in(store, [[("log", b"c", b"1")]])
    assert isinstance(late[0][1], StoreClosed)
    write(again, [("log", b"d", b"1")])
    assert [key for key, _ in items(again)] == [b"a", b"d"]
    again.close()


def closing_commits_what_has_gathered(open_one: Open) -> None:
    """[design, What lasts] closing is ordered: the writer finishes, then refuses by name; twice is once."""
    store = open_one()
    acks = hand_in(store, [[("log", b"a", b"1")], []])
    store.close()
    store.close()
    assert acks == [(0, None), (1, None)]
    late = hand_in(store, [[]])
    assert isinstance(late[0][1], StoreClosed)
    assert store.statistics().used == 0
    again = store.reopen()
    assert items(again) == [(b"a", b"1")]
    again.close()


def a_store_closes_only_outside_of_snapshots(open_one: Open) -> None:
    """Closing under one's own feet is refused by name and leaves the snapshot whole."""
    store = open_one()
    write(store, [("log", b"a", b"1")])
    with store.snapshot() as snapshot:
        with pytest.raises(StoreError, match="inside a snapshot"):
            store.close()
        assert snapshot.get("log", b"a") == b"1"
    store.close()


def unreadable_records_are_named_and_passed_over(open_one: Open, caplog: pytest.LogCaptureFixture) -> None:
    """[design, Codec] torn, of another version, of an unknown kind, of another class: set aside, once each."""
    store = open_one()
    good, here = encode(ChannelRef("s", "c")), ChannelRef("s", "c")
    other_version = bytes([good[0], 2]) + good[2:]
    written = {b"a": good, b"b": good[:-3], b"c": other_version, b"d": b"", b"e": good, b"f": encode("text")}
    unknown = good.replace(b"channel", b"chanmel")
    write(store, [("channels", key, data) for key, data in written.items()] + [("channels", b"g", unknown)])
    with store.snapshot() as snapshot:
        for _ in range(2):
            found = list(snapshot.records("channels", *ALL, ChannelRef))
            assert found == [(b"a", here), (b"e", here)]
            assert list(snapshot.records("channels", *ALL, ChannelRef, reverse=True)) == found[::-1]
        assert snapshot.read("channels", b"b") is None
        assert snapshot.read("channels", b"f") == "text"
        assert snapshot.read("channels", b"f", ChannelRef) is None
        assert snapshot.read("channels", b"z") is None
    assert [(s.table, s.key) for s in store.set_aside] == [("channels", k) for k in (b"b", b"c", b"d", b"f", b"g")]
    assert sum("set aside" in record.getMessage() for record in caplog.records) == 5
    assert store.statistics().set_aside == 5
    store.close()


def large_tables_keep_their_order(open_one: Open) -> None:
    """Thousands of keys, put and deleted out of order, are scanned in order."""
    store = open_one()
    numbers = [(n * 7919) % 5003 for n in range(5003)]
    write(store, *([("log", n.to_bytes(4, "big"), b"%d" % n)] for n in numbers))
    write(store, *([("log", n.to_bytes(4, "big"), None)] for n in numbers if n % 3))
    expected = [(n.to_bytes(4, "big"), b"%d" % n) for n in range(0, 5003, 3)]
    assert items(store) == expected
    assert items(store, reverse=True) == expected[::-1]
    with store.snapshot() as snapshot:
        low, high = (1000).to_bytes(4, "big"), (2000).to_bytes(4, "big")
        assert list(snapshot.scan("log", low, high)) == [item for item in expected if low <= item[0] < high]
    store.close()


def statistics_count(open_one: Open) -> None:
    """Commits, units, what waits, what is used."""
    store = open_one()
    hand_in(store, [[("log", b"a", b"1" * 10_000)], []])
    assert store.statistics().waiting == 2
    before = store.statistics().used
    step(store)
    after = store.statistics()
    assert (after.commits, after.units, after.refused, after.waiting) == (1, 2, 0, 0)
    assert after.used >= before + 10_000
    store.close()


PLAIN: tuple[Callable[[Open], None], ...] = (
    units_are_applied_in_order_and_acknowledged_once, a_unit_is_whole, only_the_guilty_unit_is_refused,
    a_fault_hook_that_raises_refuses, an_acknowledgement_that_raises_hurts_nobody,
    scans_have_an_inclusive_start_and_an_exclusive_stop, a_snapshot_is_one_moment,
    a_snapshot_does_not_outlive_its_with, deletions_delete, blobs_are_written_once,
    a_crash_forgets_what_was_not_committed, closing_commits_what_has_gathered,
    a_store_closes_only_outside_of_snapshots, large_tables_keep_their_order, statistics_count,
)
