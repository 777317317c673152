"""The inbox: order, counters that outlive it, totals, blobs."""

from manyminds.messages.blocks import Image
from manyminds.storage import blobs, inbox
from manyminds.storage.keys import INBOX, key
from tests.storage.conformance import Open, items, write
from tests.storage.records import entry


def test_order_and_removal(open_one: Open) -> None:
    """[design, inbox] what was accepted, in arrival order, until a drain removes a prefix of it."""
    store = open_one()
    write(store, *(inbox.put("room", entry(n)) for n in (1, 2, 3, 255, 256, 70_000)), inbox.put("room2", entry(9)))
    with store.snapshot() as snapshot:
        assert [e.number for e in inbox.waiting(snapshot, "room")] == [1, 2, 3, 255, 256, 70_000]
        assert [e.number for e in inbox.waiting(snapshot, "room", after=2, limit=3)] == [3, 255, 256]
        assert list(inbox.waiting(snapshot, "room", limit=0)) == list(inbox.waiting(snapshot, "no room")) == []
        assert next(inbox.waiting(snapshot, "room")) == entry(1)
    write(store, [inbox.remove("room", 1), inbox.remove("room", 2)])
    with store.snapshot() as snapshot:
        assert [e.number for e in inbox.waiting(snapshot, "room")] == [3, 255, 256, 70_000]
        assert [e.number for e in inbox.waiting(snapshot, "room2")] == [9]
    store.close()


def test_the_number_outlives_the_entries(open_one: Open) -> None:
    """[design, wake] numbers are never used twice, an empty inbox and a restart included."""
    store = open_one()
    write(store, inbox.put("room", entry(1)), inbox.put("room", entry(2)), inbox.put("other", entry(7)))
    write(store, [inbox.remove("room", 1), inbox.remove("room", 2)])
    again = store.reopen()
    with again.snapshot() as snapshot:
        assert [inbox.last_number(snapshot, room) for room in ("room", "other", "third")] == [2, 7, 0]
        assert inbox.totals(snapshot, "room") == (0, 0)
    again.close()


def test_totals(open_one: Open) -> None:
    """[S24] the inbox is bounded in messages and bytes, so both are counted, per room."""
    store = open_one()
    write(store, *(inbox.put("room", entry(n, size=n * 100)) for n in (1, 2, 3)), inbox.put("other", entry(1, size=5)))
    with store.snapshot() as snapshot:
        assert inbox.totals(snapshot, "room") == (3, 600)
        assert inbox.totals(snapshot, "other") == (1, 5)
        assert inbox.totals(snapshot, "third") == (0, 0)
    store.close()


def test_attachments_are_blobs(open_one: Open) -> None:
    """[S24] bodies stay on disk: a large picture is a blob from the start, and a stub while it waits."""
    store = open_one()
    write(store, inbox.put("room", entry(1, data=b"z" * 100_000)))
    assert len(items(store, INBOX)[0][1]) < 1_000
    with store.snapshot() as snapshot:
        waiting = next(inbox.waiting(snapshot, "room"))
        picture = waiting.row.content[1]
        assert isinstance(picture, Image)
        assert picture.data == b""
        assert blobs.resolve(snapshot, waiting.row) == entry(1, data=b"z" * 100_000).row
    store.close()


def test_a_torn_entry_is_passed_over(open_one: Open) -> None:
    """[design, Codec] it is named, and the others are drained."""
    store = open_one()
    write(store, *(inbox.put("room", entry(n)) for n in (1, 2, 3)), [(INBOX, key("room", 2), b"\x00")])
    with store.snapshot() as snapshot:
        assert [e.number for e in inbox.waiting(snapshot, "room")] == [1, 3]
        assert inbox.totals(snapshot, "room") == (2, 20)
    assert [(s.table, s.key) for s in store.set_aside] == [(INBOX, key("room", 2))]
    store.close()
