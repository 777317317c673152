"""The order of rows as one agent heard them."""

from collections.abc import Callable, Sequence
from random import Random

import pytest

from manyminds.messages.blocks import Block, Text, ToolCall, ToolResult
from manyminds.messages.heard import as_heard, clean_cut, is_turn_row
from manyminds.messages.rows import Placed, Row
from tests.messages.room_histories import Room

Amount = Callable[[int, int], int]
# The whole counts take minutes on a small machine.
pytestmark = pytest.mark.timeout(900)
A = frozenset({"a", "old-a"})


def said(position: int, name: str = "ann") -> Placed:
    """Somebody's words."""
    return Placed(position, Row(f"m{position}", name, (Text("hi"),)))


def own(position: int, heard: int | None, *content: Block, name: str = "a", turn: int | None = 1) -> Placed:
    """A row of the agent's own voice."""
    return Placed(position, Row(f"o{position}", name, content or (Text("I"),), turn=turn, heard=heard))


def ids(rows: Sequence[Placed]) -> list[str]:
    """The ids of the rows."""
    return [placed.row.id for placed in rows]


CALL, RESULT = ToolCall("c", "look", "{}"), ToolResult("c", (Text("seen"),))

TABLE: list[tuple[str, list[Placed], list[str]]] = [
    ("nothing", [], []),
    ("only others", [said(2), said(1)], ["m1", "m2"]),
    ("one agent: the identity", [said(1), own(2, 1), said(3), own(4, 3)], ["m1", "o2", "m3", "o4"]),
    ("stored before, heard after", [said(1), said(2), own(3, 1)], ["m1", "o3", "m2"]),
    ("at the watermark stands before", [said(1), said(2), own(3, 2)], ["m1", "m2", "o3"]),
    (
        "another's turn in the midst",
        [said(1), own(2, 1, name="b"), own(3, 1), own(4, 3, name="b"), own(5, 4)],
        ["m1", "o3", "o2", "o4", "o5"],
    ),
    (
        "results stand with their calls",
        [said(1), said(2), own(3, 1, CALL), own(4, 1, RESULT), own(5, 2)],
        ["m1", "o3", "o4", "m2", "o5"],
    ),
    (
        "a replaced result stands with its call too (agents 6.4)",
        [said(1), own(2, 1, CALL), said(3), own(4, 3, RESULT), own(5, 4)],
        ["m1", "o2", "o4", "m3", "o5"],
    ),
    (
        "ids used again name the nearest call",
        [own(1, 0, CALL), own(2, 0, RESULT), said(3), own(4, 3, CALL), said(5), own(6, 5, RESULT)],
        ["o1", "o2", "m3", "o4", "o6", "m5"],
    ),
    (
        "own voice without a turn orders by position",
        [said(1), own(2, None, turn=None), own(3, 1), own(4, None, name="old-a", turn=None)],
        ["m1", "o3", "o2", "o4"],
    ),
    ("a former name is a voice", [said(1), said(2), own(3, 1, name="old-a")], ["m1", "o3", "m2"]),
    ("a turn row without heard orders by position", [said(1), own(2, None), said(3)], ["m1", "o2", "m3"]),
]


@pytest.mark.parametrize(("name", "rows", "order"), TABLE, ids=[case[0] for case in TABLE])
def test_order(name: str, rows: list[Placed], order: list[str]) -> None:
    """[agents 2.5] Another's row stands before an own row exactly when its position is at most that row's `heard`."""
    assert ids(as_heard(rows, A)) == order


def random_log(seed: int, names: tuple[str, ...] = ("a", "b")) -> Room:
    """A room after a random history."""
    room = Room(Random(seed), names)
    for _ in range(24):
        agent = room.dice.choice(room.agents)
        if room.dice.random() < 0.4:
            room.arrive()
        elif not agent.alive:
            room.start(agent)
        elif room.dice.random() < 0.6:
            room.round(agent)
        else:
            room.close(agent)
    return room


def test_every_pair_of_rows_stands_as_the_rule_says(amount: Amount) -> None:
    """[agents 2.5] All pairs of random rooms: like rows by position, own against others by `heard`."""
    for seed in range(amount(100, 2_000)):
        room = random_log(seed)
        voices = room.agents[0].voices
        order = as_heard(room.log, voices)
        assert sorted(placed.position for placed in order) == [placed.position for placed in room.log]
        for index, first in enumerate(order):
            for later in order[index + 1 :]:
                mine, theirs = is_turn_row(first.row, voices), is_turn_row(later.row, voices)
                if mine == theirs:
                    assert first.position < later.position, f"seed {seed}"
                elif theirs:
                    assert first.position <= (later.row.heard or 0), f"seed {seed}"
                else:
                    assert later.position > (first.row.heard or 0), f"seed {seed}"


def test_one_agent_hears_the_log_as_it_is(amount: Amount) -> None:
    """[agents 2.5] The identity for a room with one agent."""
    for seed in range(amount(300, 20_000)):
        room = random_log(seed, ("a",))
        assert as_heard(room.log, room.agents[0].voices) == room.log, f"seed {seed}"


def test_after_a_clean_cut_no_older_row_stands_inside_the_window(amount: Amount) -> None:
    """[agents 2.5] A newest-first reader that stops at a clean cut has the end of the whole order."""
    clean = dirty = 0
    for seed in range(amount(300, 20_000)):
        room = random_log(seed)
        voices = room.agents[0].voices
        whole = as_heard(room.log, voices)
        for start in range(len(room.log)):
            window = room.log[start:]
            if clean_cut(window, voices):
                clean += 1
                assert whole[start:] == as_heard(window, voices), f"seed {seed}, cut {start}"
            else:
                dirty += 1
    assert clean > dirty > 0


def test_a_cut_is_not_clean_where_an_older_row_may_stand_inside() -> None:
    """[agents 2.5] A row past an own row's watermark, or the call of a result, is still to be read."""
    rows = [said(1), said(2), own(3, 1)]
    assert not clean_cut(rows[2:], A)
    assert clean_cut(rows[1:], A)
    # Between the watermark and the row only a hidden row stood, and the reader has passed it.
    assert clean_cut(rows[2:], A, since=2)
    assert not clean_cut([said(5), own(6, 5, RESULT)], A)
    assert clean_cut([own(5, 4, CALL), own(6, 4, RESULT)], A)
    assert clean_cut([], A)
    assert clean_cut([said(9)], A)
