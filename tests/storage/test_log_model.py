"""Random lineages, rows and removals against a model that keeps every branch as a list."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manyminds.messages.blocks import Text
from manyminds.messages.rows import Row
from manyminds.storage import MemoryStore, Snapshot, SteppedWriter, branches, log
from manyminds.storage.branches import Branch
from tests.storage.conformance import write

STEPS = st.lists(
    st.tuples(st.sampled_from(["row", "row", "row", "remove", "mark", "branch"]), st.integers(0, 10**6),
              st.integers(0, 10**6)),
    max_size=60,
)


@dataclass
class Lineage:
    """A branch of the model: everything that was ever written to its lineage, by position."""

    rows: dict[int, str] = field(default_factory=dict[int, str])
    gone: dict[int, int] = field(default_factory=dict[int, int])
    end: int = 0

    def upto(self, position: int) -> "Lineage":
        """What a child made at this position begins with."""
        rows = {p: r for p, r in self.rows.items() if p <= position}
        return Lineage(rows, {p: t for p, t in self.gone.items() if p <= position}, position)

    def visible(self) -> list[tuple[int, str]]:
        """What is to be read, oldest first."""
        return sorted((p, r) for p, r in self.rows.items() if p not in self.gone.values())


def play(store: MemoryStore, steps: list[tuple[str, int, int]]) -> dict[int, Lineage]:
    """Do the steps in the store and in the model."""
    write(store, branches.create(Branch(1, "room", None, 0, 0.0)))
    model = {1: Lineage()}
    for number, (what, which, where) in enumerate(steps):
        branch = which % len(model) + 1
        here = model[branch]
        visible = here.visible()
        if what == "branch":
            made, point = len(model) + 1, where % (here.end + 1)
            write(store, branches.create(Branch(made, "room", branch, point, 0.0)))
            model[made] = here.upto(point)
        elif what == "remove" and visible:
            target = visible[where % len(visible)][0]
            here.end += 1
            write(store, log.tombstone(branch, here.end, target))
            here.gone[here.end] = target
        elif what == "mark":
            here.end += 1
            write(store, [log.mark(branch, here.end, "head")])
        else:
            here.end += 1
            # Some rows come back under an id that was removed.
            old = [here.rows[t] for t in here.gone.values() if here.rows[t] not in dict(visible).values()]
            name = old[where % len(old)] if old and where % 3 == 0 else f"r{number}"
            write(store, log.append(branch, here.end, Row(name, "p", (Text(name),))))
            here.rows[here.end] = name
    return model


def same(snapshot: Snapshot, branch: int, expected: Lineage, cut: int) -> None:
    """The store reads this branch as the model has it, whole and from any cut."""
    visible = expected.visible()
    flat = [(p.position, p.row.id) for w in log.newest(snapshot, branch, first=2, most=5) for p in w]
    assert flat == visible[::-1]
    sizes = [len(w) for w in log.newest(snapshot, branch, first=2, most=5)]
    assert sizes[:-1] == [2, 4, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5][: max(0, len(sizes) - 1)]
    at = cut % (expected.end + 2)
    below = [(p.position, p.row.id) for w in log.newest(snapshot, branch, at) for p in w]
    assert below == [item for item in reversed(visible) if item[0] < at]
    part = [(p.position, p.row.id) for p in log.between(snapshot, branch, at // 2, at)]
    assert part == [item for item in visible if at // 2 < item[0] <= at]
    assert log.end(snapshot, branch) == expected.end
    places = {name: position for position, name in visible}
    for name in set(expected.rows.values()):
        found = log.find(snapshot, branch, name)
        assert (found.position if found else None) == places.get(name)


@pytest.mark.timeout(600)
def test_lineages_agree_with_a_model(amount: Callable[[int, int], int]) -> None:
    """[design, branch] own rows, the parent's up to the position, removals on the branch, whatever the order."""

    @settings(max_examples=amount(60, 1000), deadline=None)
    @given(STEPS, st.integers(0, 10**6))
    def check(steps: list[tuple[str, int, int]], cut: int) -> None:
        store = MemoryStore(writer=SteppedWriter())
        model = play(store, steps)
        with store.snapshot() as snapshot:
            for branch, expected in model.items():
                same(snapshot, branch, expected, cut)
        assert store.set_aside == []
        store.close()

    check()
