"""Branches: lineages of a room, and the room's cursor on one of them.

Reading a branch reads its own rows, then its parent's up to the branch point, and so on; making one costs
the same whatever the history's length (design, "What lasts"). Ids go up, so a parent's is below its child's.
The caller gives out ids. Pure over a snapshot.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ..messages.codec import encode, record
from ..messages.errors import StoreError
from .keys import BRANCHES, CURSORS, LAST, key, number, under
from .snapshot import Snapshot
from .units import Op, Ops


class NoBranch(StoreError):
    """A branch that is not in the store, or whose record was set aside: its log cannot be read."""

    def __init__(self, branch_id: int) -> None:
        super().__init__(f"branch {branch_id} is not in the store, or its record cannot be read; see set_aside")


@record("branch")
@dataclass(frozen=True, slots=True)
class Branch:
    """A lineage of one room. It has its parent's writes up to `position`, and its own past it.

    `created` is in Unix seconds. A room's first branch has no parent and position 0.
    """

    id: int
    room: str
    parent: int | None
    position: int
    created: float


@dataclass(frozen=True, slots=True)
class Span:
    """The part of a lineage that one branch wrote: positions p with after < p <= upto."""

    branch: int
    after: int
    upto: int


def create(made: Branch) -> Ops:
    """Write a new branch.

    Raises ValueError for a parent that is not older, or for a position without a parent.
    """
    if made.parent is None and made.position != 0:
        raise ValueError(f"branch {made.id} has no parent, so its position is 0, not {made.position}")
    if made.parent is not None and not made.parent < made.id:
        raise ValueError(f"branch {made.id} cannot be a child of {made.parent}: ids go up")
    return ((BRANCHES, key(made.id), encode(made)),)


def branch(snapshot: Snapshot, branch_id: int) -> Branch:
    """The record of a branch. Raises NoBranch."""
    found = snapshot.read(BRANCHES, key(branch_id), Branch)
    if found is None:
        raise NoBranch(branch_id)
    return found


def all_branches(snapshot: Snapshot) -> Iterator[Branch]:
    """Every branch of every room, oldest first."""
    return (found for _, found in snapshot.records(BRANCHES, *under(), Branch))


def last_id(snapshot: Snapshot) -> int:
    """The highest branch id there is, 0 if none."""
    return next((number(at) for at, _ in snapshot.scan(BRANCHES, *under(), reverse=True)), 0)


def lineage(snapshot: Snapshot, branch_id: int) -> tuple[Span, ...]:
    """The spans of a branch, oldest first; parents that nothing is read from are left out. Raises NoBranch."""
    spans: list[Span] = []
    upto, wanted = LAST, branch_id
    while True:
        here = branch(snapshot, wanted)
        if here.position < upto:
            spans.append(Span(here.id, here.position, upto))
        upto = min(upto, here.position)
        if here.parent is None or upto == 0:
            return tuple(reversed(spans))
        wanted = here.parent


def cursor(snapshot: Snapshot, room: str) -> int:
    """The branch that a room is on, 0 if the room has none yet."""
    return snapshot.read(CURSORS, key(room), int) or 0


def set_cursor(room: str, branch_id: int) -> Op:
    """Put a room on a branch."""
    return CURSORS, key(room), encode(branch_id)
