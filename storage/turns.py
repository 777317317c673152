"""Turn records and the results of their rounds: what makes a turn resumable. Follow no branch.

One record per (room, agent); results are records of their own, so that one result does not rewrite the
round (design, "What lasts"). The number of an agent's turns never goes back. Pure over a snapshot.
"""

from collections.abc import Iterator

from ..messages.blocks import ToolResult
from ..messages.codec import encode
from ..messages.turns import Turn
from . import counters
from .keys import RESULTS, TURNS, key, under
from .snapshot import Snapshot
from .units import Op, Ops

_NUMBERS = "turn"


def put(turn: Turn) -> Op:
    """Write the record of a turn as it stands now."""
    return TURNS, key(turn.room, turn.agent), encode(turn)


def get(snapshot: Snapshot, room: str, agent: str) -> Turn | None:
    """The turn that an agent is in, or that is closing."""
    return snapshot.read(TURNS, key(room, agent), Turn)


def delete(room: str, agent: str) -> Op:
    """A turn is over, its receipt stored."""
    return TURNS, key(room, agent), None


def of_room(snapshot: Snapshot, room: str) -> list[Turn]:
    """The turn records of a room, by agent."""
    return [turn for _, turn in snapshot.records(TURNS, *under(room), Turn)]


def everywhere(snapshot: Snapshot) -> Iterator[Turn]:
    """The turn records of every room."""
    return (turn for _, turn in snapshot.records(TURNS, *under(), Turn))


def put_result(room: str, agent: str, turn: int, round_: int, index: int, result: ToolResult) -> Op:
    """Write the result of a round's call number `index`, from 0."""
    return RESULTS, key(room, agent, turn, round_, index), encode(result)


def results(snapshot: Snapshot, room: str, agent: str, turn: int, round_: int) -> dict[str, ToolResult]:
    """The results that a round has so far, by call id, in the order of the calls."""
    found = snapshot.records(RESULTS, *under(room, agent, turn, round_), ToolResult)
    return {result.call_id: result for _, result in found}


def delete_results(room: str, agent: str, turn: int, round_: int, calls: int) -> Ops:
    """A round of so many calls went to the log."""
    return tuple((RESULTS, key(room, agent, turn, round_, index), None) for index in range(calls))


def last_turn(snapshot: Snapshot, agent: str) -> int:
    """The number of an agent's latest turn, 0 if it had none."""
    return counters.last(snapshot, _NUMBERS, agent)


def set_last_turn(agent: str, number: int) -> Op:
    """Write that an agent begins its turn `number`."""
    return counters.put(_NUMBERS, agent, number)
