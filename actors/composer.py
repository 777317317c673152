"""Composer: reads an agent's rows and makes a request's messages of them, in slices.

Runs inside the agent's handlers, at most one window of rows each, so that a long log does not hold a worker. Reads the
store newest first and stops where the budget is passed and no older row could stand inside what was read. Writes
nothing; decides nothing that `messages` does not decide.
"""


from ..messages.assembly import assemble
from ..messages.heard import as_heard, clean_cut
from ..messages.prices import row_price
from ..messages.request import Msg
from ..messages.rows import Placed
from ..messages.strategies.passthrough import passthrough
from ..messages.views import resident_view
from ..storage import Store, log
from .spec import AgentSpec

ROWS_A_SLICE = 500


class Composer:
    """One compile of one agent's rows up to a watermark."""

    def __init__(self, store: Store, spec: AgentSpec, branch: int, watermark: int) -> None:
        self._store = store
        self._spec = spec
        self._branch = branch
        self._before: int | None = watermark + 1
        self._keeps = resident_view(spec.voices)
        self._rows: list[Placed] = []
        self._price = 0
        self._prices: dict[int, int] = {}

    def step(self) -> bool:
        """Read one slice; True when no more is needed."""
        read = 0
        with self._store.snapshot() as snap:
            for window in log.newest(snap, self._branch, self._before):
                read += len(window)
                self._take(window)
                if self._enough():
                    return True
                if read >= ROWS_A_SLICE:
                    return False
        return True

    def _take(self, window: list[Placed]) -> None:
        for placed in window:
            self._before = placed.position
            if not self._keeps(placed.row):
                continue
            self._rows.append(placed)
            price = self._prices[placed.position] = row_price(placed.row, self._spec.voices)
            self._price += price

    def _enough(self) -> bool:
        if self._price <= self._spec.budget:
            return False
        return clean_cut(self._rows, self._spec.voices, self._before)

    def messages(self) -> tuple[Msg, ...]:
        """The request's messages. Raises OverBudget (context.md 4.1)."""
        rows = as_heard(self._rows, self._spec.voices)
        chosen = passthrough(rows, lambda placed: self._prices[placed.position], self._spec.budget)
        with self._store.snapshot() as snap:
            whole = [Placed(p.position, log.resolve(snap, p.row)) for p in chosen.rows]
        return assemble(whole, self._spec.voices)


def visible(store: Store, spec: AgentSpec, rows: tuple[Placed, ...]) -> list[Placed]:
    """Of rows handed over at a boundary, those that the agent's view keeps, with their blobs."""
    keeps = resident_view(spec.voices)
    with store.snapshot() as snap:
        return [Placed(p.position, log.resolve(snap, p.row)) for p in rows if keeps(p.row)]
