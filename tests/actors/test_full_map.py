"""A turn over a real LMDB map that is full: it fails cleanly or waits, and the operator hears of it."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from manyminds.actors.providers.scripted import Answer, Scripted, call
from manyminds.actors.spec import Resident
from manyminds.messages.blocks import text_of
from manyminds.messages.errors import StoreError
from manyminds.messages.request import Request
from manyminds.storage import LmdbStore, Op, SteppedWriter, registry
from tests.actors.simulated import SimulatedHouse

MIB = 1024 * 1024
FILL = 32 * 1024
LARGE = "many words " * 20_000
"""More than is left of the map, and less than the filler takes."""


class Town(SimulatedHouse):
    """A house over a small map, and a filler that takes its room."""

    filler = 0

    def submit(self, *ops: Op) -> Exception | None:
        """Write a unit of the test's own; why it was refused."""
        done: list[Exception | None] = []
        self.simulation.store.submit(ops, done.append)
        self.simulation.run(until=lambda: bool(done))
        return done[0]

    def fill(self) -> None:
        """Take all but the room that small records need."""
        while self.submit(registry.put_setting(f"filler{self.filler}", "x" * FILL)) is None:
            self.filler += 1
        self._drop(3)

    def make_room(self) -> None:
        """Give back what the filler took."""
        self._drop(self.filler)

    def _drop(self, count: int) -> None:
        for _ in range(count):
            self.filler -= 1
            table, key, _ = registry.put_setting(f"filler{self.filler}", "")
            assert self.submit((table, key, None)) is None


@contextmanager
def town(folder: Path, *replies: Answer, limit: int = 3 * MIB, **options: Any) -> Generator[Town]:
    """A town whose one resident gives these replies; closed whatever comes."""
    store = LmdbStore(folder / "store", map_size=MIB, map_limit=limit, sync=False, writer=SteppedWriter())
    residents = [Resident("ada", "m")]
    house = Town(1, residents, Scripted(*replies, otherwise="well"), store=store, **options)
    try:
        with house:
            yield house
    finally:
        house.simulation.store.close()


def operator_lines(house: SimulatedHouse) -> int:
    """How many operator lines said that the store refuses."""
    return sum(fields["kind"] == "store-refuses" for fields in house.traced("operator"))


def refused(house: SimulatedHouse, times: int) -> bool:
    """Whether the store has refused so many units since it was opened."""
    return house.simulation.store.statistics().refused >= times


LOUD: Answer = [LARGE, call("think", thought="hm")]


def test_a_round_that_the_map_cannot_hold_fails_its_turn(tmp_path: Path) -> None:
    """[S32] The turn fails cleanly, with a notice and an operator line; nothing half-written; the next turn works."""
    with town(tmp_path, LOUD) as house:
        house.say("first", to="ada")
        house.fill()
        house.run()
        assert (house.turns(), house.pending(), house.outbox("ada", 1), house.platform.posts) == ([], [], [], [])
        assert [row.participant for row in house.log()] == ["zoe", "user"]
        [notice] = house.notices("inference-failed")
        assert "full" in text_of(notice.content)
        assert operator_lines(house) == 1
        house.say("second", to="ada")
        house.run()
        assert house.platform.texts() == ["well"]


def test_a_round_goes_on_when_there_is_room(tmp_path: Path) -> None:
    """[S32] Room is made while the round waits to be stored: the turn completes, its words leave once."""
    with town(tmp_path, LOUD) as house:
        house.say("first", to="ada")
        house.fill()
        before = house.simulation.store.statistics().refused
        house.run(lambda: refused(house, before + 2))
        assert house.platform.posts == []
        house.make_room()
        house.run()
        assert house.platform.texts() == [LARGE.strip(), "well"]
        assert house.notices("inference-failed") == []
        assert operator_lines(house) == 0
        assert house.turns() == []


def test_closing_words_wait_for_room(tmp_path: Path) -> None:
    """[S32] The last transaction cannot be written: it waits, the operator hears of it once."""
    with town(tmp_path, LARGE) as house:
        house.say("first", to="ada")
        house.fill()
        house.run(lambda: operator_lines(house) == 1)
        assert (house.platform.posts, [t.phase for t in house.turns()]) == ([], ["running"])
        before = house.simulation.store.statistics().refused
        house.run(lambda: refused(house, before + 3))
        assert operator_lines(house) == 1
        house.make_room()
        house.run()
        assert house.platform.texts() == [LARGE.strip()]
        assert (house.turns(), house.pending()) == ([], [])


def test_a_crash_over_a_full_map(tmp_path: Path) -> None:
    """[S32] The process dies while the round waits: what is read afterwards is whole, and the turn is resumed."""
    with town(tmp_path, LOUD, LOUD) as house:
        house.say("first", to="ada")
        house.fill()
        before = house.simulation.store.statistics().refused
        house.run(lambda: refused(house, before + 1))
        house.crash()
        assert [(t.number, t.round, t.cuts) for t in house.turns()] == [(1, None, 0)]
        assert house.outbox("ada", 1) == []
        house.make_room()
        house.run()
        assert house.platform.texts() == [LARGE.strip(), "well"]
        assert house.last_turn("ada") == 1


def test_a_message_over_a_full_map_leaves_nothing_behind(tmp_path: Path) -> None:
    """[S32; issue: receive] Refused by name, and handed in again under its id it is new."""
    with town(tmp_path) as house:
        house.fill()
        message = house.message(LARGE, to="ada")
        handed = house.hand_in(message)
        house.run()
        assert handed.answer is not None
        assert isinstance(handed.answer.error, StoreError)
        assert "full" in str(handed.answer.error)
        assert (house.log(), house.waiting(), house.pending()) == ([], [], [])
        house.make_room()
        assert not house.insist(message).duplicate
        house.run()
        assert house.platform.texts() == ["well"]


def test_a_map_that_may_grow_refuses_nothing(tmp_path: Path) -> None:
    """[S32] Below its limit the map grows, and nobody notices."""
    asked: list[Request] = []

    def loud(request: Request) -> Answer:
        asked.append(request)
        return LOUD if len(asked) < 20 else "done"

    with town(tmp_path, *[loud] * 20, limit=64 * MIB) as house:
        house.say("first", to="ada")
        house.run()
        assert house.simulation.store.statistics().refused == 0
        assert operator_lines(house) == 0
        assert len(house.platform.posts) == 20
        assert house.simulation.store.statistics().map_size > MIB

