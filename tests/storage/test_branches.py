"""Branches: what a lineage is made of, and the cursor of a room."""

import pytest

from manyminds.storage import MemoryStore, SteppedWriter, Store, branches
from manyminds.storage.branches import Branch, NoBranch, Span
from manyminds.storage.keys import BRANCHES, LAST, key
from tests.storage.conformance import Open, write


def made(store: Store, *found: tuple[int, int | None, int]) -> None:
    """Write branches (id, parent, position)."""
    write(store, *(branches.create(Branch(i, "room", parent, position, 5.0)) for i, parent, position in found))


@pytest.mark.parametrize(
    ("tree", "of", "expected"),
    [
        ([(1, None, 0)], 1, [Span(1, 0, LAST)]),
        ([(1, None, 0), (2, 1, 7)], 2, [Span(1, 0, 7), Span(2, 7, LAST)]),
        ([(1, None, 0), (2, 1, 7), (3, 2, 9)], 3, [Span(1, 0, 7), Span(2, 7, 9), Span(3, 9, LAST)]),
        # A branch point before the parent's own begins in the grandparent.
        ([(1, None, 0), (2, 1, 7), (3, 2, 4)], 3, [Span(1, 0, 4), Span(3, 4, LAST)]),
        ([(1, None, 0), (2, 1, 7), (3, 2, 7)], 3, [Span(1, 0, 7), Span(3, 7, LAST)]),
        ([(1, None, 0), (2, 1, 0)], 2, [Span(2, 0, LAST)]),
        ([(1, None, 0), (2, 1, 7), (3, 2, 4), (4, 3, 9)], 4, [Span(1, 0, 4), Span(3, 4, 9), Span(4, 9, LAST)]),
    ],
)
def test_lineage(tree: list[tuple[int, int | None, int]], of: int, expected: list[Span], open_one: Open) -> None:
    """[design, branch] its own writes, then its parent's up to the position, and so on."""
    store = open_one()
    made(store, *tree)
    with store.snapshot() as snapshot:
        assert branches.lineage(snapshot, of) == tuple(expected)
    store.close()


def test_records(open_one: Open) -> None:
    """[design, branch] (id, room, parent, position), read back as written; ids are the caller's."""
    store = open_one()
    with store.snapshot() as snapshot:
        assert branches.last_id(snapshot) == 0
    made(store, (1, None, 0), (2, 1, 3), (300, 2, 3))
    with store.snapshot() as snapshot:
        assert branches.branch(snapshot, 2) == Branch(2, "room", 1, 3, 5.0)
        assert [b.id for b in branches.all_branches(snapshot)] == [1, 2, 300]
        assert branches.last_id(snapshot) == 300
    store.close()


def test_cursors(open_one: Open) -> None:
    """[design, branch] each room's cursor is its own: what moves in one conversation never rewinds another."""
    store = open_one()
    write(store, [branches.set_cursor("a", 1), branches.set_cursor("b", 2)])
    write(store, [branches.set_cursor("a", 3)])
    with store.snapshot() as snapshot:
        assert [branches.cursor(snapshot, room) for room in ("a", "b", "c", "")] == [3, 2, 0, 0]
    store.close()


def test_a_branch_costs_the_same_whatever_the_history() -> None:
    """[design, branch] one record, whose size does not know how long the parent is."""
    short = branches.create(Branch(2, "room", 1, 1, 0.0))
    long = branches.create(Branch(2, "room", 1, 10**9, 0.0))
    assert len(short) == len(long) == 1
    assert len(long[0][2] or b"") - len(short[0][2] or b"") <= 8


def test_what_cannot_be_a_branch() -> None:
    """Ids go up, so that no lineage runs in a circle."""
    for wrong in (Branch(2, "r", 2, 1, 0.0), Branch(2, "r", 3, 1, 0.0), Branch(2, "r", None, 4, 0.0)):
        with pytest.raises(ValueError, match="branch 2"):
            branches.create(wrong)


def test_a_missing_branch_is_named() -> None:
    """[design, Codec] nothing is guessed at where a branch, or a parent of it, cannot be read."""
    store = MemoryStore(writer=SteppedWriter())
    made(store, (1, None, 0), (2, 1, 7))
    write(store, [(BRANCHES, key(1), b"torn")])
    with store.snapshot() as snapshot:
        for missing, of in ((1, 2), (1, 1), (9, 9)):
            with pytest.raises(NoBranch, match=f"branch {missing} "):
                branches.lineage(snapshot, of)
    assert [s.table for s in store.set_aside] == [BRANCHES]
    store.close()
