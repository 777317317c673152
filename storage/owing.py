"""Owing: outcomes that their author has not been told yet, by (agent, turn, number).

Written by the channel's actor in the unit that stores the outcome; deleted in the unit that stores the notice, so that
neither a crash nor a late confirmation loses it (design, "What lasts"). Follows no branch. Pure over a snapshot.
"""

from typing import Any

from ..messages.codec import encode
from .keys import OWING, key, under
from .snapshot import Snapshot
from .units import Op


def put(agent: str, turn: int, number: int, state: str) -> Op:
    """The post ended as `state`, and its author is to be told."""
    return OWING, key(agent, turn, number), encode([turn, number, state])


def delete(agent: str, turn: int, number: int) -> Op:
    """The author is told in this unit, or nothing is owed any more."""
    return OWING, key(agent, turn, number), None


def is_owed(snapshot: Snapshot, agent: str, turn: int, number: int) -> bool:
    """Whether the outcome of this post has still to be told."""
    return snapshot.get(OWING, key(agent, turn, number)) is not None


def all_of(snapshot: Snapshot, agent: str) -> list[tuple[int, int]]:
    """(turn, number) of every post of an agent whose outcome has still to be told."""
    found: list[Any] = [record for _, record in snapshot.records(OWING, *under(agent))]
    return [(int(record[0]), int(record[1])) for record in found]
