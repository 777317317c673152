"""Owing: what an author has not been told yet, by (agent, turn, number, what).

Of a post that it is "delayed" or has "ended", written by the channel's actor in the unit of that step; of a "draft"
that it is kept, written with it. Deleted in the unit that stores the words that tell it, so that neither a crash nor a
late confirmation loses it (design, "What lasts"). Follows no branch. Pure over a snapshot.
"""

from typing import Any

from ..messages.codec import encode
from ..messages.posts import Debt
from .keys import OWING, key, under
from .snapshot import Snapshot
from .units import Op


def put(debt: Debt) -> Op:
    """The author is to be told."""
    return OWING, key(*debt), encode(list(debt))


def delete(debt: Debt) -> Op:
    """The author is told in this unit, or nothing is owed any more."""
    return OWING, key(*debt), None


def is_owed(snapshot: Snapshot, debt: Debt) -> bool:
    """Whether this has still to be told."""
    return snapshot.get(OWING, key(*debt)) is not None


def all_of(snapshot: Snapshot, agent: str) -> list[Debt]:
    """All that an agent has still to be told of its posts, in the order of the posts."""
    found: list[Any] = [record for _, record in snapshot.records(OWING, *under(agent))]
    return [(str(whose), int(turn), int(number), str(what)) for whose, turn, number, what in found]
