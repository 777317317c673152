"""Random units, refusals, crashes and reopenings: disk, twin and a dict agree after every step."""

import tempfile
from collections.abc import Callable
from contextlib import ExitStack

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from manyminds.storage import LmdbStore, MemoryStore, Op, Snapshot, SteppedWriter, Unit
from tests.storage.conformance import ALL, items, step

TABLES = ("log", "inbox", "blobs")
KEYS = st.one_of(
    st.sampled_from([b"a", b"a\x00", b"b", b"\xff", b"\x00", b"\xff" * 510]), st.binary(min_size=1, max_size=3)
)
OPS = st.tuples(st.sampled_from(TABLES), KEYS, st.one_of(st.none(), st.binary(max_size=4)))
UNITS = st.lists(OPS, max_size=6)
BAD: list[Op] = [("log", b"", b"1"), ("nowhere", b"a", b"1"), ("log", b"x" * 512, b"1")]
Tables = dict[str, dict[bytes, bytes]]


class Refused(Exception):
    """What the fault hook returns."""


def refusal(unit: Unit) -> Exception | None:
    """Guilty is a unit that writes the word `bad`."""
    return Refused() if any(value == b"bad" for _, _, value in unit) else None


class Stores(RuleBasedStateMachine):
    """The model is a dict per table, a queue, and the acknowledgements that should have come."""

    def __init__(self) -> None:
        super().__init__()
        self.exits = ExitStack()
        folder = self.exits.enter_context(tempfile.TemporaryDirectory())
        self.disk = LmdbStore(folder, sync=False, map_size=2**20, map_limit=2**26, writer=SteppedWriter())
        self.twin = MemoryStore(writer=SteppedWriter())
        self.disk.refuse = self.twin.refuse = refusal
        self.tables: Tables = {name: {} for name in TABLES}
        self.queue: list[tuple[int, list[Op], type[Exception] | None]] = []
        self.acks: tuple[list[tuple[int, str]], ...] = ([], [], [])
        self.held: list[tuple[Snapshot, Snapshot, Tables]] = []
        self.snapshots = ExitStack()
        self.count = 0

    def hand_in(self, unit: list[Op], guilty: bool) -> None:
        self.count += 1
        self.queue.append((self.count, unit, Refused if guilty else None))
        for store, acks in zip((self.disk, self.twin), self.acks[:2], strict=True):
            store.submit(unit, self.noted(acks, self.count))

    def noted(self, acks: list[tuple[int, str]], number: int) -> Callable[[Exception | None], None]:
        return lambda fault: acks.append((number, "refused" if fault else "committed"))

    @rule(unit=UNITS)
    def submit(self, unit: list[Op]) -> None:
        self.hand_in(unit, guilty=False)

    @rule(unit=UNITS, at=st.integers(0, 6), bad=st.sampled_from([*BAD, ("log", b"a", b"bad")]))
    def submit_guilty(self, unit: list[Op], at: int, bad: Op) -> None:
        self.hand_in([*unit[:at], bad, *unit[at:]], guilty=True)

    @rule()
    def commit(self) -> None:
        assert step(self.disk) == step(self.twin) == len(self.queue)
        self.queue_is_committed()

    @rule()
    def hold_a_snapshot(self) -> None:
        if len(self.held) < 3:
            views = [self.snapshots.enter_context(store.snapshot()) for store in (self.disk, self.twin)]
            self.held.append((views[0], views[1], {name: dict(rows) for name, rows in self.tables.items()}))

    @rule()
    def read_what_is_held(self) -> None:
        for disk, twin, then in self.held:
            for table, rows in then.items():
                assert list(disk.scan(table, *ALL)) == list(twin.scan(table, *ALL)) == sorted(rows.items())
        self.let_go()

    @rule()
    def crash(self) -> None:
        self.let_go()
        self.queue = []
        self.disk, self.twin = self.disk.reopen(), self.twin.reopen()
        self.disk.refuse = self.twin.refuse = refusal

    @rule()
    def close_and_open(self) -> None:
        self.let_go()
        self.disk.close()
        self.twin.close()
        self.disk, self.twin = self.disk.reopen(), self.twin.reopen()
        self.queue_is_committed()
        self.disk.refuse = self.twin.refuse = refusal

    def queue_is_committed(self) -> None:
        for number, unit, fault in self.queue:
            self.acks[2].append((number, "refused" if fault else "committed"))
            for table, key, value in [] if fault else unit:
                if value is None:
                    self.tables[table].pop(key, None)
                elif table != "blobs" or key not in self.tables[table]:
                    self.tables[table][key] = value
        self.queue = []

    @rule(table=st.sampled_from(TABLES), start=KEYS, stop=KEYS, reverse=st.booleans())
    def scan(self, table: str, start: bytes, stop: bytes, reverse: bool) -> None:
        expected = sorted((i for i in self.tables[table].items() if start <= i[0] < stop), reverse=reverse)
        for store in (self.disk, self.twin):
            with store.snapshot() as snapshot:
                assert list(snapshot.scan(table, start, stop, reverse)) == expected
                assert snapshot.get(table, start) == self.tables[table].get(start)

    @invariant()
    def they_agree(self) -> None:
        assert self.acks[0] == self.acks[1] == self.acks[2]
        for table, rows in self.tables.items():
            assert items(self.disk, table) == items(self.twin, table) == sorted(rows.items())
        assert self.twin.statistics().used == sum(len(k) + len(v) for t in self.tables.values() for k, v in t.items())

    def let_go(self) -> None:
        self.held = []
        self.snapshots.close()

    def teardown(self) -> None:
        self.let_go()
        self.disk.close()
        self.twin.close()
        self.exits.close()


@pytest.mark.timeout(600)
def test_disk_twin_and_model_agree(amount: Callable[[int, int], int]) -> None:
    """[design, What lasts] whole or not at all, in order, one ack each; crashes forget only what was not committed."""
    run_state_machine_as_test(
        Stores, settings=settings(max_examples=amount(30, 300), stateful_step_count=30, deadline=None)
    )
