"""The log: the rows of a branch, read through its parents with removals applied.

A position counts every write of a lineage: rows, tombstones, and the marks of what others record at a position
(heads, strategy state). The room's actor gives positions out, in order, and composes the units; nothing here
is rewritten (design, "What lasts"). Pure over a snapshot.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..messages.codec import encode, record
from ..messages.rows import Placed, Row
from . import blobs as blob_store
from .blobs import resolve
from .branches import Span, branch, lineage
from .keys import LAST, LOG, ROW_IDS, TOMBSTONES, key, number
from .keys import between as positions
from .snapshot import Snapshot
from .units import Op, Ops

FIRST_WINDOW = 16
LARGEST_WINDOW = 500

__all__ = ["Mark", "Tombstone", "append", "between", "end", "find", "mark", "newest", "removed", "resolve", "tombstone"]


@record("tombstone")
@dataclass(frozen=True, slots=True)
class Tombstone:
    """The write of a lineage that takes the row at `target` out of it."""

    target: int


@record("log-mark")
@dataclass(frozen=True, slots=True)
class Mark:
    """A position that something else than a row took: `what` names it (a head, strategy state)."""

    what: str


def append(branch_id: int, position: int, row: Row) -> Ops:
    """Write a row at a position. Large blocks become blobs beside it."""
    stored, ops = blob_store.lift(row)
    return (
        *ops,
        (LOG, key(branch_id, position), encode(stored)),
        (ROW_IDS, key(branch_id, row.id, position), encode(position)),
    )


def tombstone(branch_id: int, position: int, target: int) -> Ops:
    """Take the row at position `target` out of this branch, as its write number `position`.

    Raises ValueError for a target that is not before it.
    """
    if not 0 < target < position:
        raise ValueError(f"the write at {position} cannot remove what is at {target}: it is not before it")
    return (
        (LOG, key(branch_id, position), encode(Tombstone(target))),
        (TOMBSTONES, key(branch_id, position), encode(target)),
    )


def mark(branch_id: int, position: int, what: str) -> Op:
    """Take a position for a write that is no row and lives in a table of its own."""
    return LOG, key(branch_id, position), encode(Mark(what))


def end(snapshot: Snapshot, branch_id: int) -> int:
    """The last position of a lineage, 0 if it has none. Raises NoBranch."""
    point = branch(snapshot, branch_id).position
    own = snapshot.scan(LOG, *positions((branch_id,), point, LAST), reverse=True)
    return next((number(at) for at, _ in own), point)


def newest(
    snapshot: Snapshot, branch_id: int, before: int | None = None, *, first: int = FIRST_WINDOW,
    most: int = LARGEST_WINDOW, blobs: bool = False,
) -> Iterator[list[Placed]]:
    """The rows of a branch from the newest (below position `before`, if given) to the oldest, in windows.

    Windows of `first` rows, doubling up to `most`, each newest first too; only the last may be smaller.
    Without `blobs`, large blocks stay stubs: `resolve` fills a row in. Raises NoBranch.
    """
    spans = lineage(snapshot, branch_id)
    gone = removed(snapshot, spans)
    window: list[Placed] = []
    size = first
    for placed in _rows(snapshot, reversed(spans), 0, LAST if before is None else before - 1, reverse=True):
        if placed.position in gone:
            continue
        window.append(Placed(placed.position, resolve(snapshot, placed.row)) if blobs else placed)
        if len(window) == size:
            yield window
            window, size = [], min(2 * size, most)
    if window:
        yield window


def between(snapshot: Snapshot, branch_id: int, after: int, upto: int, *, blobs: bool = False) -> list[Placed]:
    """The rows of a branch at positions p with after < p <= upto, oldest first. Raises NoBranch.

    Without `blobs`, large blocks stay stubs: `resolve` fills a row in.
    """
    spans = lineage(snapshot, branch_id)
    gone = removed(snapshot, spans, after)
    rows = [p for p in _rows(snapshot, spans, after, upto) if p.position not in gone]
    return [Placed(p.position, resolve(snapshot, p.row)) for p in rows] if blobs else rows


def find(snapshot: Snapshot, branch_id: int, row_id: str) -> Placed | None:
    """The newest row of this id in a branch, None where the lineage has none or has removed it. Raises NoBranch."""
    spans = lineage(snapshot, branch_id)
    for span in reversed(spans):
        where = positions((span.branch, row_id), span.after, span.upto)
        for at, _ in snapshot.scan(ROW_IDS, *where, reverse=True):
            row = snapshot.read(LOG, key(span.branch, number(at)), Row)
            if row is not None and number(at) not in removed(snapshot, spans, number(at)):
                return Placed(number(at), row)
    return None


def removed(snapshot: Snapshot, spans: Iterable[Span], after: int = 0) -> frozenset[int]:
    """The positions that a lineage's tombstones past `after` remove; every removal of a row past it is one of them."""
    return frozenset(
        target
        for span in spans
        for _, target in snapshot.records(
            TOMBSTONES, *positions((span.branch,), max(span.after, after), max(span.upto, after)), int
        )
    )


def _rows(
    snapshot: Snapshot, spans: Iterable[Span], after: int, upto: int, *, reverse: bool = False
) -> Iterator[Placed]:
    for span in spans:
        low, high = max(span.after, after), min(span.upto, upto)
        if low >= high:
            continue
        for at, found in snapshot.records(LOG, *positions((span.branch,), low, high), reverse=reverse):
            if isinstance(found, Row):
                yield Placed(number(at), found)
            elif not isinstance(found, Tombstone | Mark):
                snapshot.set_aside(LOG, at, f"holds a {type(found).__name__} where a row belongs")
