"""Platform ids: once is once, bounded, oldest first, across restarts."""

from hypothesis import given, settings
from hypothesis import strategies as st

from manyminds.messages.places import ChannelRef
from manyminds.storage import MemoryStore, SteppedWriter, Store, seen
from manyminds.storage.keys import SEEN, SEEN_IDS
from tests.storage.conformance import Open, items, write
from tests.storage.records import HERE


def loaded(store: Store, bound: int = 3, ref: ChannelRef = HERE) -> seen.SeenIds:
    """The ids of a channel."""
    with store.snapshot() as snapshot:
        return seen.load(snapshot, ref, bound)


def test_the_oldest_go_first(open_one: Open) -> None:
    """[S10] the set is capped, the oldest ids go first, in memory and in the store."""
    store = open_one()
    ids = loaded(store)
    for name in ("a", "b", "c", "d", "e"):
        write(store, ids.add(name))
    assert [name in ids for name in "abcde"] == [False, False, True, True, True]
    assert len(ids) == 3
    with store.snapshot() as snapshot:
        assert [seen.known(snapshot, HERE, name) for name in "abcde"] == [False, False, True, True, True]
    assert (len(items(store, SEEN)), len(items(store, SEEN_IDS))) == (3, 3)
    store.close()


def test_across_a_restart(open_one: Open) -> None:
    """[S10] the same id delivered twice across a restart is one message; the order of age is kept."""
    store = open_one()
    ids = loaded(store)
    for name in ("a", "b", "c"):
        write(store, ids.add(name))
    again = store.reopen()
    ids = loaded(again)
    assert all(name in ids for name in "abc")
    write(again, ids.add("d"))
    assert "a" not in loaded(again)
    assert "b" in loaded(again)
    again.close()


def test_a_known_id_costs_nothing(open_one: Open) -> None:
    """An id that comes again keeps its place among the others and writes nothing."""
    store = open_one()
    ids = loaded(store)
    for name in ("a", "b", "c"):
        write(store, ids.add(name))
    assert ids.add("a") == ()
    write(store, ids.add("d"))
    assert "a" not in ids
    store.close()


def test_last(open_one: Open) -> None:
    """[S11] the last id seen, for an adapter that starts; None where there was none."""
    store = open_one()
    ids = loaded(store)
    assert ids.last is None
    for name in ("9", "10", "8"):
        write(store, ids.add(name))
    assert ids.last == "8"
    with store.snapshot() as snapshot:
        assert seen.last(snapshot, HERE) == "8"
        assert seen.last(snapshot, ChannelRef("irc", "#other")) is None
    assert loaded(store).last == "8"
    store.close()


def test_channels_are_apart(open_one: Open) -> None:
    """[agents 10.1] identity is always the pair (server, channel)."""
    store = open_one()
    others = [ChannelRef("irc", "#her"), ChannelRef("irc#", "here"), ChannelRef("discord", "#here")]
    write(store, loaded(store).add("a"))
    assert not any("a" in loaded(store, ref=ref) for ref in others)
    store.close()


def test_a_refused_unit_is_taken_back(open_one: Open) -> None:
    """[design, What lasts] decided in memory: when the unit is refused the id is new again."""
    store = open_one()
    ids = loaded(store)
    write(store, ids.add("a"))
    ids.add("b")
    ids.discard("b")
    ids.discard("never there")
    assert "b" not in ids
    write(store, ids.add("c"))
    assert [name in loaded(store) for name in "abc"] == [True, False, True]
    assert loaded(store).last == ids.last == "c"
    store.close()


def test_a_smaller_bound_is_reached_with_the_next_id() -> None:
    """A bound that was lowered, or surplus that a refused unit left, goes with the next addition."""
    store = MemoryStore(writer=SteppedWriter())
    ids = loaded(store, bound=10)
    write(store, *(ids.add(str(n)) for n in range(10)))
    ids = loaded(store, bound=2)
    write(store, ids.add("new"))
    assert len(items(store, SEEN)) == len(items(store, SEEN_IDS)) == 2
    store.close()


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 12), max_size=60), st.integers(1, 5))
def test_memory_and_store_agree(ids: list[int], bound: int) -> None:
    """[S10] after any sequence the store holds what the owner holds: the newest `bound` by first sight."""
    store = MemoryStore(writer=SteppedWriter())
    owner = loaded(store, bound)
    model: list[str] = []
    for number in map(str, ids):
        assert (number in owner) == (number in model)
        write(store, owner.add(number))
        if number not in model:
            model = [*model, number][-bound:]
    fresh = loaded(store, bound)
    with store.snapshot() as snapshot:
        for number in map(str, range(13)):
            assert (number in fresh) == (number in owner) == (number in model) == seen.known(snapshot, HERE, number)
    assert fresh.last == owner.last == (model[-1] if model else None)
    store.close()
