"""Wakes, turn records and results: kept by their keys, apart from each other, and back as they were."""

from dataclasses import replace

from manyminds.messages.blocks import Text, ToolCall, ToolResult
from manyminds.messages.turns import ExplicitSend, Round
from manyminds.storage import turns, wakes
from manyminds.storage.keys import RESULTS, TURNS, WAKES, key
from tests.storage.conformance import Open, items, write
from tests.storage.records import turn, wake


def test_wakes(open_one: Open) -> None:
    """[design, wake] pending ones of a room in the order asked for; deleted when settled; one number, two agents."""
    store = open_one()
    asked = [(3, "zoe"), (1, "zoe"), (2, "ann"), (3, "ann"), (300, "ann")]
    unit = [wakes.put("room", wake(name, n)) for n, name in asked]
    write(store, [*unit, wakes.put("other", wake("ann", 2))])
    with store.snapshot() as snapshot:
        found = [(w.number, w.agent) for w in wakes.pending(snapshot, "room")]
        assert found == [(1, "zoe"), (2, "ann"), (3, "ann"), (3, "zoe"), (300, "ann")]
        assert wakes.pending(snapshot, "room", "zoe") == [wake("zoe", 1), wake("zoe", 3)]
    write(store, [wakes.delete("room", "ann", 3), wakes.put("room", replace(wake("ann", 2), first=9))])
    with store.snapshot() as snapshot:
        assert [(w.number, w.first) for w in wakes.pending(snapshot, "room", "ann")] == [(2, 9), (300, 300)]
        assert [w.number for w in wakes.pending(snapshot, "other")] == [2]
        assert wakes.pending(snapshot, "third") == []
    assert len(items(store, WAKES)) == 5
    store.close()


def test_turn_records(open_one: Open) -> None:
    """[design, turn record] one per (room, agent); every field comes back, the round's blocks verbatim."""
    store = open_one()
    round_ = Round(2, (Text(" x "), ToolCall("c", "t", '{"a":  1}')), 7, 8, (ExplicitSend("c", 3),))
    full = replace(turn("room", "ann", 4), round=round_, phase="closing", ending="completed", rounds=2)
    write(store, [turns.put(full), turns.put(turn("room", "zoe", 1)), turns.put(turn("other", "ann", 9))])
    with store.snapshot() as snapshot:
        assert turns.get(snapshot, "room", "ann") == full
        assert turns.get(snapshot, "room", "bob") is None
        assert [t.agent for t in turns.of_room(snapshot, "room")] == ["ann", "zoe"]
        assert sorted((t.room, t.agent) for t in turns.everywhere(snapshot)) == [
            ("other", "ann"), ("room", "ann"), ("room", "zoe"),
        ]
    write(store, [turns.delete("room", "ann")])
    with store.snapshot() as snapshot:
        assert turns.get(snapshot, "room", "ann") is None
    assert len(items(store, TURNS)) == 2
    store.close()


def test_results(open_one: Open) -> None:
    """[design, turn record] results are records of their own, by call id in the order of the calls."""
    store = open_one()
    results = [ToolResult(f"c{n}", (Text(str(n)),), n == 1) for n in range(3)]
    write(store, *([turns.put_result("room", "ann", 4, 2, n, results[n])] for n in (2, 0, 1)),
          [turns.put_result("room", "ann", 4, 3, 0, ToolResult("other", ()))])
    with store.snapshot() as snapshot:
        found = turns.results(snapshot, "room", "ann", 4, 2)
        assert list(found.items()) == [("c0", results[0]), ("c1", results[1]), ("c2", results[2])]
        assert turns.results(snapshot, "room", "ann", 4, 1) == {}
    write(store, turns.delete_results("room", "ann", 4, 2, 3))
    assert [k for k, _ in items(store, RESULTS)] == [key("room", "ann", 4, 3, 0)]
    store.close()


def test_turn_numbers_never_go_back(open_one: Open) -> None:
    """[prose 5.2] `turn` is a counter of the store per agent; it stays when the record is deleted."""
    store = open_one()
    write(store, [turns.put(turn("room", "ann", 4)), turns.set_last_turn("ann", 4)], [turns.delete("room", "ann")])
    again = store.reopen()
    with again.snapshot() as snapshot:
        assert (turns.last_turn(snapshot, "ann"), turns.last_turn(snapshot, "zoe")) == (4, 0)
    again.close()
