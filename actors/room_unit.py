"""One unit of a room while it is being composed: rows get their positions, the inbox gives up a prefix.

Owned by the Room's handler that makes it; moves nothing of the room's memory until the room takes it over, so a
unit that is given up leaves no trace. Decides nothing about turns.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..messages.prices import row_price
from ..messages.rows import Placed, Row
from ..messages.wakes import Wake, merge
from ..storage import Op, Snapshot, inbox, log, wakes

ROWS_A_DRAIN = 500


@dataclass(slots=True)
class RoomState:
    """What a room's actor holds in memory; all of it can be read again from the store.

    `end`: last log position given. `number`: last inbox number given. `waiting`: (number, bytes) of entries not in
    the log yet, `bytes` their sum.
    """

    room: str
    branch: int
    end: int
    number: int
    waiting: deque[tuple[int, int]]
    pending: list[Wake]
    bytes: int = 0

    @property
    def moved(self) -> int:
        """All inbox numbers up to this one are in the log."""
        return self.waiting[0][0] - 1 if self.waiting else self.number

    def pending_of(self, agent: str) -> list[Wake]:
        """The wakes that wait for an agent."""
        return [wake for wake in self.pending if wake.agent == agent]


class RoomUnit:
    """Operations on one room that are applied whole or not at all."""

    def __init__(self, state: RoomState) -> None:
        self.state = state
        self.ops: list[Op] = []
        self.end = state.end
        self.rows: list[Placed] = []
        self.moved = state.moved
        self.number = state.number
        self._drained = 0
        self._pending = list(state.pending)

    def append(self, rows: Iterable[Row]) -> list[Placed]:
        """Rows at the end of the log, in order."""
        placed: list[Placed] = []
        for row in rows:
            self.end += 1
            self.ops.extend(log.append(self.state.branch, self.end, row))
            placed.append(Placed(self.end, row))
        self.rows.extend(placed)
        return placed

    def remove(self, position: int) -> None:
        """A tombstone over the row at this position; it takes a position of its own."""
        self.end += 1
        self.ops.extend(log.tombstone(self.state.branch, self.end, position))

    def drain(
        self, snapshot: Snapshot, budget: int, at_least: int = 0, voices: frozenset[str] = frozenset()
    ) -> list[Placed]:
        """Move a prefix of the inbox into the log, at most 500 rows or `budget` tokens.

        A row in one of `voices`, those of the agents whose turns go on, waits for the end of their turns, and all
        behind it (agents.md 4.4). Both give way up to inbox number `at_least`, so that a turn never begins without its
        message.
        """
        out: list[Placed] = []
        spent = 0
        for entry in inbox.waiting(snapshot, self.state.room, after=self.moved):
            spent += row_price(entry.row, frozenset())
            full = bool(out) and (len(out) >= ROWS_A_DRAIN or spent > budget)
            if entry.number > at_least and (full or entry.row.participant in voices):
                break
            out.extend(self.append([entry.row]))
            self.ops.append(inbox.remove(self.state.room, entry.number))
            self._drained += 1
            self.moved = entry.number
        if self._drained == len(self.state.waiting):
            self.moved = self.state.number
        return out

    def add_wakes(self, new: Sequence[Wake]) -> None:
        """Pending wakes, merged into those that wait already."""
        for wake in new:
            mine = [w for w in self._pending if w.agent == wake.agent]
            merged = merge(mine, wake)
            self._pending = [w for w in self._pending if (w.agent, w.number) != (merged.agent, merged.number)]
            self._pending.append(merged)
            self.ops.append(wakes.put(self.state.room, merged))

    def ask_for(self, new: Sequence[Wake]) -> None:
        """Wakes that stand for no message; each takes the next inbox number as its own."""
        for wake in new:
            self.number += 1
            self.add_wakes([replace(wake, number=self.number)])
        if new:
            self.ops.append(inbox.set_last_number(self.state.room, self.number))

    def replace_wakes(self, old: Sequence[Wake], left: Sequence[Wake]) -> None:
        """Take `old` out of the pending wakes and keep `left` of them."""
        gone = {(w.agent, w.number) for w in old}
        self._pending = [w for w in self._pending if (w.agent, w.number) not in gone]
        kept = {(w.agent, w.number) for w in left}
        for agent, number in sorted(gone - kept):
            self.ops.append(wakes.delete(self.state.room, agent, number))
        self.ops.extend(wakes.put(self.state.room, w) for w in left)
        self._pending.extend(left)

    def has_wakes(self, agent: str) -> bool:
        """Whether wakes of the agent wait after this unit."""
        return any(w.agent == agent for w in self._pending)

    def take_over(self) -> None:
        """Make the room's memory what it will be once the unit is on disk."""
        state = self.state
        for _ in range(self._drained):
            state.bytes -= state.waiting.popleft()[1]
        state.end = self.end
        state.number = max(state.number, self.number)
        state.pending = self._pending
