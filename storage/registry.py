"""The registry: agents, channels and settings. The store's, and on no branch (agents.md 13.2).

One record per agent and per channel, never a snapshot of all. Of the agents that have ended the newest 256 are
kept; an incarnation never goes back (design, "What lasts"; "How actors run"). Pure over a snapshot.
"""

from collections.abc import Iterator
from typing import Any

from ..messages.codec import encode
from ..messages.places import ChannelRef
from ..messages.registry import AgentRecord, ChannelRecord
from . import counters
from .keys import AGENTS, CHANNELS, ENDED, SETTINGS, key, under
from .snapshot import Snapshot
from .units import Op, Ops

ENDED_KEPT = 256
_INCARNATIONS = "incarnation"


def put_agent(agent: AgentRecord) -> Op:
    """Write the record of an agent that lives.

    Raises ValueError for one that has ended: `end_agent` writes that.
    """
    if agent.ended_at is not None:
        raise ValueError(f"agent {agent.name!r} has ended; write it with end_agent()")
    return AGENTS, key(agent.name), encode(agent)


def agent(snapshot: Snapshot, name: str) -> AgentRecord | None:
    """The agent of that name that lives."""
    return snapshot.read(AGENTS, key(name), AgentRecord)


def agents(snapshot: Snapshot) -> list[AgentRecord]:
    """The agents that live, by name."""
    return [found for _, found in snapshot.records(AGENTS, *under(), AgentRecord)]


def end_agent(snapshot: Snapshot, ended: AgentRecord, keep: int = ENDED_KEPT) -> Ops:
    """Move an agent to those that have ended; the oldest of these past `keep` are forgotten.

    Raises ValueError where `ended_at` is not set.
    """
    if ended.ended_at is None:
        raise ValueError(f"agent {ended.name!r} has no ended_at; set it, with the reason")
    mine = key(float(ended.ended_at), ended.name, ended.incarnation)
    kept = sorted({at for at, _ in snapshot.scan(ENDED, *under())} | {mine})
    forgotten = tuple((ENDED, at, None) for at in kept[: max(0, len(kept) - keep)] if at != mine)
    return ((AGENTS, key(ended.name), None), (ENDED, mine, encode(ended)), *forgotten)


def ended_agents(snapshot: Snapshot) -> Iterator[AgentRecord]:
    """The agents that have ended, the latest first."""
    return (found for _, found in snapshot.records(ENDED, *under(), AgentRecord, reverse=True))


def incarnation(snapshot: Snapshot, name: str) -> int:
    """The highest incarnation that an agent of that name ever had, 0 if none."""
    return counters.last(snapshot, _INCARNATIONS, name)


def set_incarnation(name: str, number: int) -> Op:
    """Write that an incarnation was given out."""
    return counters.put(_INCARNATIONS, name, number)


def put_channel(channel: ChannelRecord) -> Op:
    """Write the record of a channel."""
    return CHANNELS, key(channel.at.server, channel.at.channel), encode(channel)


def channel(snapshot: Snapshot, ref: ChannelRef) -> ChannelRecord | None:
    """The record of a channel, if it is known."""
    return snapshot.read(CHANNELS, key(ref.server, ref.channel), ChannelRecord)


def channels(snapshot: Snapshot) -> list[ChannelRecord]:
    """Every known channel, by server and id."""
    return [found for _, found in snapshot.records(CHANNELS, *under(), ChannelRecord)]


def put_setting(name: str, value: Any) -> Op:
    """Write a setting: a plain value, or lists and dicts of such."""
    return SETTINGS, key(name), encode(value)


def delete_setting(name: str) -> Op:
    """Back to the default."""
    return SETTINGS, key(name), None


def setting(snapshot: Snapshot, name: str, default: Any = None) -> Any:
    """A setting that was written, else `default`."""
    return next((value for _, value in snapshot.records(SETTINGS, key(name), key(name) + b"\0")), default)
