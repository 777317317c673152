"""Wakes that are not settled yet, by (room, agent, number). Follow no branch. Pure over a snapshot.

Merging, taking and settling are decided by `messages.wakes`; here they are only kept.
"""

from ..messages.codec import encode
from ..messages.wakes import Wake, oldest_first
from .keys import WAKES, key, under
from .snapshot import Snapshot
from .units import Op


def put(room: str, wake: Wake) -> Op:
    """Write a wake, or what is left of it."""
    return WAKES, key(room, wake.agent, wake.number), encode(wake)


def delete(room: str, agent: str, number: int) -> Op:
    """A wake is settled."""
    return WAKES, key(room, agent, number), None


def pending(snapshot: Snapshot, room: str, agent: str | None = None) -> list[Wake]:
    """The wakes of a room, or of one agent of it, in the order in which they were asked for."""
    where = under(room) if agent is None else under(room, agent)
    return oldest_first(wake for _, wake in snapshot.records(WAKES, *where, Wake))
