"""What a compile tells: its rows, where each came from, and where it first differs from the last one.

Every strategy answers with these values (context.md 4.0). A request's openings, `[Continue]` and the like are
added afterwards (`assembly`), so sources stay parallel to rows. Values and one pure comparison; no strategy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from .errors import Error
from .rows import Placed


@dataclass(frozen=True, slots=True)
class Body:
    """One stored row that a message was made from; blocks `start` (inclusive) to `end` of the message are its.

    `complete`: every block is present and none was cut or stripped. `missing`: the stored row could not be read.
    """

    message_id: str
    position: int
    start: int
    end: int
    complete: bool = True
    missing: bool = False


@dataclass(frozen=True, slots=True)
class Raw:
    """A message that gives stored rows as they are."""

    bodies: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class SummaryPart:
    """One summary in a message: its id, its level (1 = of rows), and whether it was cut."""

    id: str
    level: int
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Summary:
    """A message that stands for rows by summaries."""

    parts: tuple[SummaryPart, ...]


@dataclass(frozen=True, slots=True)
class Injection:
    """A message that a module injected for this request."""

    namespace: str


@dataclass(frozen=True, slots=True)
class Other:
    """A message of no stored origin."""


Source: TypeAlias = Raw | Summary | Injection | Other


@dataclass(frozen=True, slots=True)
class Compiled:
    """What a strategy chose, in the order in which the agent heard it. `sources` is parallel to `rows`.

    `price`: tokens of the rows. `first_changed`: see the function of that name; None in a dry compile.
    `left_out`: how many rows of the view are not among `rows`.
    """

    rows: tuple[Placed, ...]
    sources: tuple[Source, ...]
    price: int = 0
    first_changed: int | None = None
    left_out: int = 0


class OverBudget(Error):
    """What must go out does not fit the budget; nothing was left out silently. Prices in tokens."""

    def __init__(self, budget: int, actual: int, diagnostics: Mapping[str, int] | None = None) -> None:
        super().__init__(
            f"the context needs {actual} tokens and the budget is {budget}; "
            "raise max_tokens of the context or shorten the newest message"
        )
        self.budget = budget
        self.actual = actual
        self.diagnostics: Mapping[str, int] = dict(diagnostics or {})


def first_changed(previous: Sequence[object] | None, current: Sequence[object]) -> int | None:
    """Index of the first message whose content differs from the previous committing compile (context.md 4.0).

    A pure append gives the length of `previous`, an equal compile its length, a shorter one the length of
    `current`. None where there was no committing compile. Give contents: equality decides, never identity.
    """
    if previous is None:
        return None
    for index, (old, new) in enumerate(zip(previous, current, strict=False)):
        if old != new:
            return index
    return min(len(previous), len(current))


def raw(placed: Placed) -> Raw:
    """The source of a row that goes out whole, alone in its message."""
    return Raw((Body(placed.row.id, placed.position, 0, len(placed.row.content)),))
