"""The registry: agents, those that ended, incarnations, channels, settings."""

from dataclasses import replace

import pytest

from manyminds.messages.places import ChannelRef
from manyminds.messages.registry import ChannelRecord, Roles
from manyminds.storage import registry
from manyminds.storage.keys import ENDED
from tests.storage.conformance import Open, items, write
from tests.storage.records import HERE, agent


def test_agents(open_one: Open) -> None:
    """[agents 12] one record per agent, back as written, never a snapshot of all."""
    store = open_one()
    full = replace(
        agent("zoe"), roles=Roles(True, True), home=HERE, message_peers=("a", "b"), trigger_sources=("x",), deadline=7.0
    )
    write(store, [registry.put_agent(full), registry.put_agent(agent("ann"))])
    with store.snapshot() as snapshot:
        assert registry.agent(snapshot, "zoe") == full
        assert registry.agent(snapshot, "bob") is None
        assert [a.name for a in registry.agents(snapshot)] == ["ann", "zoe"]
    store.close()


def test_the_end_of_an_agent(open_one: Open) -> None:
    """[design, settled records] the record moves to those that ended; the same name may live again."""
    store = open_one()
    write(store, [registry.put_agent(agent("ann"))])
    with store.snapshot() as snapshot:
        write(store, registry.end_agent(snapshot, agent("ann", ended_at=9.0)))
    write(store, [registry.put_agent(agent("ann", incarnation=2))])
    with store.snapshot() as snapshot:
        write(store, registry.end_agent(snapshot, agent("ann", incarnation=2, ended_at=9.0)))
    with store.snapshot() as snapshot:
        assert registry.agent(snapshot, "ann") is None
        assert [(a.name, a.incarnation) for a in registry.ended_agents(snapshot)] == [("ann", 2), ("ann", 1)]
    store.close()


def test_ended_agents_are_bounded(open_one: Open) -> None:
    """[design, settled records] ended agents' records 256, the oldest going first."""
    store = open_one()
    for n in range(300):
        with store.snapshot() as snapshot:
            ops = registry.end_agent(snapshot, agent(f"fork{n % 7}", incarnation=n, ended_at=float(n)))
        write(store, ops)
    with store.snapshot() as snapshot:
        found = [a.incarnation for a in registry.ended_agents(snapshot)]
    assert found == list(range(299, 43, -1))
    assert len(items(store, ENDED)) == 256
    store.close()


def test_an_agent_that_ends_with_an_old_time_is_kept(open_one: Open) -> None:
    """A clock that went back does not make the record vanish in its own unit."""
    store = open_one()
    for ended_at in (5.0, 6.0, 1.0):
        with store.snapshot() as snapshot:
            write(store, registry.end_agent(snapshot, agent("ann", ended_at=ended_at), keep=2))
    with store.snapshot() as snapshot:
        assert 1.0 in [a.ended_at for a in registry.ended_agents(snapshot)]
    store.close()


def test_living_and_ended_are_not_mixed_up(open_one: Open) -> None:
    """Each goes where it belongs, or the writer is told."""
    store = open_one()
    with pytest.raises(ValueError, match="end_agent"):
        registry.put_agent(agent("ann", ended_at=9.0))
    with store.snapshot() as snapshot, pytest.raises(ValueError, match="ended_at"):
        registry.end_agent(snapshot, agent("ann"))
    store.close()


def test_incarnations(open_one: Open) -> None:
    """[design, Addresses] an incarnation goes up and outlives its agent."""
    store = open_one()
    write(store, [registry.set_incarnation("ann", 3)])
    again = store.reopen()
    with again.snapshot() as snapshot:
        assert [registry.incarnation(snapshot, name) for name in ("ann", "zoe")] == [3, 0]
    again.close()


def test_channels(open_one: Open) -> None:
    """[agents 10.1] identity is the pair (server, channel)."""
    store = open_one()
    one = ChannelRecord(HERE, "dm", "Here", "tuned-out", "operator", 4.0)
    other = ChannelRecord(ChannelRef("discord", "#here"))
    write(store, [registry.put_channel(one), registry.put_channel(other)])
    with store.snapshot() as snapshot:
        assert registry.channel(snapshot, HERE) == one
        assert registry.channel(snapshot, ChannelRef("irc", "here")) is None
        assert registry.channels(snapshot) == [other, one]
    store.close()


@pytest.mark.parametrize("value", [None, False, 0, "", [], {"a": [1, 2.5, None]}, ["x"], "words"])
def test_settings(value: object, open_one: Open) -> None:
    """[agents 13.2] settings follow no branch; a value that is written is never the default."""
    store = open_one()
    write(store, [registry.put_setting("name", value), registry.put_setting("name2", "other")])
    with store.snapshot() as snapshot:
        assert registry.setting(snapshot, "name", "default") == value
        assert registry.setting(snapshot, "nam", "default") == "default"
    write(store, [registry.delete_setting("name")])
    with store.snapshot() as snapshot:
        assert registry.setting(snapshot, "name", "default") == "default"
        assert registry.setting(snapshot, "name2") == "other"
    store.close()
