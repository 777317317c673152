"""To a Room: rows for its inbox, and the steps of a turn that touch its log."""

from dataclasses import dataclass

from ..address import ReplyTo
from ..incoming import Accepted
from ..places import ChannelRef
from ..posts import Debt
from ..registry import ProseMode
from ..rows import Row
from ..turns import Ending, Turn
from ..wakes import Wake
from .addresses import Letters, Ops
from .directory import OfferAnswer, Received


@dataclass(frozen=True, slots=True)
class Offer:
    """A row for the inbox, with the wakes it asks for and records that belong to it, in one unit.

    `size` in bytes counts against the inbox's bound unless `own` (the runtime's own rows are never refused). `host`
    is told `accepted`, or the error, with the acknowledgement; `reply` gets an OfferAnswer. `owed`: what the row tells
    of a post; the row is passed over where that was told already.
    """

    row: Row
    size: int
    wakes: tuple[Wake, ...] = ()
    ops: Ops = ()
    own: bool = False
    reply: ReplyTo | None = None
    host: ReplyTo | None = None
    accepted: Accepted | None = None
    owed: Debt | None = None

    def told(self, error: Exception | None) -> Letters:
        """Who hears whether the row was stored: the host itself, so that no actor between them can lose it."""
        letters: Letters = ()
        if self.host is not None:
            accepted = self.accepted if error is None else None
            letters = ((self.host.address, Received(accepted, error, self.host.key)),)
        if self.reply is not None:
            letters = (*letters, (self.reply.address, OfferAnswer(self.reply.key, error)))
        return letters


@dataclass(frozen=True, slots=True)
class Stored:
    """The room's unit `unit`, which held this row, is on disk."""

    unit: int
    row: str
    source: str


@dataclass(frozen=True, slots=True)
class UnitRefused:
    """A unit of the room was refused: its memory is ahead of the store and is read again."""

    error: str


@dataclass(frozen=True, slots=True)
class UnitEnded:
    """The room's unit `unit` is on disk."""

    unit: int


@dataclass(frozen=True, slots=True)
class Hello:
    """An agent has come to life; answered by Greeted once all that the room was told before is in the store."""

    agent: str
    reply: ReplyTo


@dataclass(frozen=True, slots=True)
class Begin:
    """An agent that holds its token asks for a turn; answered by TurnBegun, NothingToDo or Refused.

    `budget`: how many tokens of waiting rows may be moved into the log for it. `notices`: what it has still to be told,
    and `ops` that go with them, if a turn begins.
    """

    agent: str
    incarnation: int
    mode: ProseMode
    home: ChannelRef | None
    budget: int
    reply: ReplyTo | None = None
    notices: tuple[Row, ...] = ()
    ops: Ops = ()


@dataclass(frozen=True, slots=True)
class Boundary:
    """All results of a round are in: store the round's rows, hand over what waited; answered by BoundaryDone.

    `notices` stand behind what waited, and are handed over too.
    """

    turn: Turn
    rows: tuple[Row, ...]
    home: ChannelRef | None
    budget: int
    ops: Ops = ()
    reply: ReplyTo | None = None
    notices: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplaceResults:
    """The model refused after this round's results: put `row` in the place of the row named `old`; answered by
    ResultsReplaced.

    What was handed over with them stays (agents.md 6.4).
    """

    turn: Turn
    old: str
    row: Row
    reply: ReplyTo | None = None


@dataclass(frozen=True, slots=True)
class EndTurn:
    """The turn has ended as `turn.ending`: store its last rows and settle its wakes; answered by TurnClosed.

    `letters` (speech mail) are told once it is on disk. `final`: nothing of it is on its way, so the record goes.
    `wakes`: turns that the agent asked for itself, a bounce's or a continuation's; the room numbers them.
    """

    turn: Turn
    rows: tuple[Row, ...]
    ops: Ops = ()
    letters: Letters = ()
    final: bool = False
    reply: ReplyTo | None = None
    wakes: tuple[Wake, ...] = ()


@dataclass(frozen=True, slots=True)
class Finish:
    """The turn's words have their outcomes, or its deadline has passed: store receipt and notices, drop the record."""

    turn: Turn
    rows: tuple[Row, ...]
    ops: Ops = ()
    reply: ReplyTo | None = None
    wakes: tuple[Wake, ...] = ()


ENDINGS_THAT_SETTLE: tuple[Ending, ...] = ("completed", "turn_ended")
