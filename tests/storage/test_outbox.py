"""The outbox: entries, their indexes, pruning."""

from dataclasses import replace
from typing import get_args

import pytest

from manyminds.messages.places import ChannelRef
from manyminds.messages.posts import END_STATES, Attempt, PostState
from manyminds.storage import outbox
from manyminds.storage.keys import OUTBOX, OUTBOX_ORDER, POSTED
from tests.storage.conformance import Open, items, write
from tests.storage.records import HERE, post

THERE = ChannelRef("irc", "#there")


def test_entries_by_turn(open_one: Open) -> None:
    """[design, outbox] one entry per part, in the order of the speech chain."""
    store = open_one()
    entries = [post(n, turn=t, part=p) for n, t, p in ((2, 1, 0), (1, 1, 1), (1, 1, 0), (256, 1, 0), (1, 2, 0))]
    write(store, *map(outbox.put, entries), outbox.put(post(1, agent="ned")))
    with store.snapshot() as snapshot:
        found = [(e.number, e.part) for e in outbox.of_turn(snapshot, "mira", 1)]
        assert found == [(1, 0), (1, 1), (2, 0), (256, 0)]
        assert outbox.get(snapshot, "mira", 1, 1, 1) == entries[1]
        assert outbox.get(snapshot, "mira", 1, 3, 0) is None
    store.close()


def test_a_channel_s_work_in_order_of_admission(open_one: Open) -> None:
    """[design, way of a message] posts of a channel in order of admission, across turns and agents."""
    store = open_one()
    late, early = post(1, turn=1, written_at=9.0), post(1, turn=2, written_at=3.0)
    middle = [post(n, agent="ned", turn=1, part=p, written_at=5.0) for n in (1, 2) for p in (0, 1)]
    write(store, *map(outbox.put, [late, *reversed(middle), early]), outbox.put(post(7, at=THERE)))
    with store.snapshot() as snapshot:
        assert outbox.unfinished_of(snapshot, HERE) == [early, *middle, late]
        assert [e.number for e in outbox.unfinished_of(snapshot, THERE)] == [7]
        assert len(list(outbox.unfinished(snapshot))) == 7
        assert outbox.unfinished_of(snapshot, ChannelRef("irc", "#her")) == []
    store.close()


@pytest.mark.parametrize("state", get_args(PostState))
def test_what_is_unfinished(state: PostState, open_one: Open) -> None:
    """[prose 11.3] delivered, failed, unknown and expired are ends; all else, queued too, has still to be done."""
    store = open_one()
    write(store, outbox.put(post(1)), outbox.put(post(1, state=state)))
    with store.snapshot() as snapshot:
        unfinished, ended = outbox.unfinished_of(snapshot, HERE), outbox.ended_of(snapshot, HERE)
    assert (len(unfinished), len(ended)) == ((0, 1) if state in END_STATES else (1, 0))
    assert {"delivered", "failed", "unknown", "expired", "withheld", "withdrawn"} == END_STATES
    store.close()


def test_an_entry_that_is_corrected_has_one_place(open_one: Open) -> None:
    """[prose 11.3] sending, queued, unknown, then a late confirmation: the indexes follow."""
    store = open_one()
    moves: list[PostState] = ["admitted", "sending", "unknown", "sending", "queued", "delivered"]
    for state in moves:
        write(store, outbox.put(replace(post(1), state=state, attempts=(Attempt(1.0),))))
    write(store, outbox.put(post(1, state="delivered", message_id="m1")))
    assert len(items(store, OUTBOX)) == len(items(store, OUTBOX_ORDER)) == len(items(store, POSTED)) == 1
    with store.snapshot() as snapshot:
        assert list(outbox.unfinished(snapshot)) == []
        assert [e.message_id for e in outbox.ended_of(snapshot, HERE)] == ["m1"]
    store.close()


def test_posted_by(open_one: Open) -> None:
    """[S33] who posted a message, by (server, channel, message id)."""
    store = open_one()
    write(store, outbox.put(post(1, state="delivered", message_id="m1")),
          outbox.put(post(1, agent="ned", at=THERE, state="delivered", message_id="m1")),
          outbox.put(post(2, state="failed")))
    with store.snapshot() as snapshot:
        assert outbox.posted_by(snapshot, HERE, "m1") == "mira"
        assert outbox.posted_by(snapshot, THERE, "m1") == "ned"
        assert outbox.posted_by(snapshot, HERE, "m2") is None
        assert outbox.posted_by(snapshot, HERE, "") is None
    store.close()


def test_prune(open_one: Open) -> None:
    """[design, settled records] end states only, the oldest, down to `keep`, never of a turn that lives."""
    store = open_one()
    entries = [post(1, turn=t, written_at=float(t), state="delivered", message_id=f"m{t}") for t in range(1, 9)]
    open_ones = [post(2, turn=t, written_at=0.0, state="queued") for t in (1, 2)]
    elsewhere = post(1, agent="ned", at=THERE, written_at=0.0, state="failed")
    write(store, *map(outbox.put, [*entries, *open_ones, elsewhere]))
    with store.snapshot() as snapshot:
        assert outbox.prune(snapshot, HERE) == outbox.prune(snapshot, HERE, keep=8) == ()
        ops = outbox.prune(snapshot, HERE, keep=4, alive={("mira", 2), ("ned", 1)})
    write(store, ops)
    with store.snapshot() as snapshot:
        assert [e.turn for e in outbox.ended_of(snapshot, HERE)] == [2, 6, 7, 8]
        assert outbox.unfinished_of(snapshot, HERE) == open_ones
        assert outbox.ended_of(snapshot, THERE) == [elsewhere]
        assert [outbox.posted_by(snapshot, HERE, f"m{t}") for t in (1, 2, 3, 8)] == [None, "mira", None, "mira"]
        write(store, outbox.prune(snapshot, HERE, keep=0))
    assert len(items(store, OUTBOX)) == len(items(store, OUTBOX_ORDER)) == 3
    assert items(store, POSTED) == []
    store.close()


def test_prune_passes_over_nothing_that_is_torn(open_one: Open) -> None:
    """[design, Codec] an entry that cannot be read is named once; pruning takes it away with the others."""
    store = open_one()
    write(store, outbox.put(post(1, state="failed")), outbox.put(post(2, state="failed")))
    write(store, [(OUTBOX, items(store, OUTBOX)[0][0], b"torn")])
    with store.snapshot() as snapshot:
        assert [e.number for e in outbox.ended_of(snapshot, HERE)] == [2]
        ops = outbox.prune(snapshot, HERE, keep=0)
    write(store, ops)
    assert items(store, OUTBOX) == items(store, OUTBOX_ORDER) == []
    assert len(store.set_aside) == 1
    store.close()
