"""To an Agent: wakes, its stream's events, results of its calls, outcomes of its posts, and what is asked of it."""

from dataclasses import dataclass
from typing import Any

from ..address import ReplyTo
from ..blocks import ToolResult
from ..drafts import Draft
from ..places import ChannelRef, Place
from ..posts import PostState
from ..rows import Placed
from ..turns import Turn
from .addresses import Letters, Ops


@dataclass(frozen=True, slots=True)
class Awake:
    """A start of the runtime: resume what was cut, then look for wakes."""


@dataclass(frozen=True, slots=True)
class Greeted:
    """Answer to Hello. `pending`: wakes wait for the agent."""

    pending: bool
    key: Any = None


@dataclass(frozen=True, slots=True)
class WakeHint:
    """Wakes wait for the agent in its room's store."""


@dataclass(frozen=True, slots=True)
class StaleLook:
    """Wakes may have waited for too long."""


@dataclass(frozen=True, slots=True)
class NothingToDo:
    """No wake of the agent can be taken now."""


@dataclass(frozen=True, slots=True)
class TurnBegun:
    """The turn's record is on disk and its messages are in the log."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class BoundaryDone:
    """The round is in the log; `rows` are what was handed over, by position."""

    turn: Turn
    rows: tuple[Placed, ...]


@dataclass(frozen=True, slots=True)
class TurnClosed:
    """The turn's last transaction is on disk."""

    turn: Turn
    final: bool


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The record is gone; `pending`: wakes wait."""

    number: int
    pending: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """The store refused the unit of this mail; nothing of it was written. It may be sent again."""

    mail: Any
    error: str


@dataclass(frozen=True, slots=True)
class SendAgain:
    """A refused mail's delay is over."""

    turn: int
    mail: Any


@dataclass(frozen=True, slots=True)
class Admitted:
    """The provider may be asked now."""

    key: int


@dataclass(frozen=True, slots=True)
class StreamNews:
    """Events of a stream wait in its buffer."""

    stream: int


@dataclass(frozen=True, slots=True)
class StreamLost:
    """A stream's task ended without a terminal event."""

    stream: int
    error: str


@dataclass(frozen=True, slots=True)
class RoundStored:
    """The round's record is on disk: its calls may be dispatched."""

    turn: int
    round: int


@dataclass(frozen=True, slots=True)
class RoundRefused:
    """The round's record was refused by the store."""

    turn: int
    round: int
    error: str


@dataclass(frozen=True, slots=True)
class ToolDone:
    """A call's result, not yet stored."""

    turn: int
    round: int
    call_id: str
    result: ToolResult
    ends_turn: bool = False
    opened: Place | None = None


@dataclass(frozen=True, slots=True)
class ResultStored:
    """A result is on disk (or was refused: `error`)."""

    turn: int
    round: int
    call_id: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class MidRound:
    """A unit in the middle of a round was refused (`error`), and is written again with the turn as it is then."""

    turn: int
    round: int
    ops: Ops
    letters: Letters
    error: str = ""


@dataclass(frozen=True, slots=True)
class MidRoundStored:
    """A unit in the middle of a round is on disk."""

    turn: int
    round: int


@dataclass(frozen=True, slots=True)
class InnerAsked:
    """A script calls a tool; answered by InnerAnswer. `script`: its own call; `arguments` as JSON."""

    turn: int
    round: int
    script: str
    name: str
    arguments: str
    reply: ReplyTo


@dataclass(frozen=True, slots=True)
class InnerStored:
    """What a script calls is recorded: the call may run."""

    turn: int
    round: int
    call_id: str


@dataclass(frozen=True, slots=True)
class InnerAnswer:
    """To a script: the result of a call of its own."""

    text: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class Retry:
    """The delay before attempt `attempt` of the turn's request is over."""

    turn: int
    attempt: int


@dataclass(frozen=True, slots=True)
class CompileSlice:
    """Go on with a compile that was begun (design: over 500 rows in slices)."""

    stream: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """A post of the agent has an outcome; `state` as of its outbox entries."""

    turn: int
    number: int
    at: ChannelRef
    state: PostState
    reason: str
    message_ids: tuple[str, ...]
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Dropped:
    """Answer to Drop: the waiting post is gone, or why it is not (`error`)."""

    error: str = ""
    key: Any = None


@dataclass(frozen=True, slots=True)
class DraftsRefused:
    """The store refused a unit of drafts with `ops`: it is written again `now`, else in a while.

    `changed`: the drafts, and whether each is new. `letters` are told once it stands.
    """

    changed: tuple[tuple[Draft, bool], ...]
    ops: Ops
    letters: Letters
    now: bool = False


@dataclass(frozen=True, slots=True)
class ChainDeadline:
    """The turn's end has waited long enough for its speech chain."""

    turn: int


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancel the running turn; answered by Answer(whether one ran)."""

    by: str
    reason: str
    reply: ReplyTo | None = None


@dataclass(frozen=True, slots=True)
class StopTurns:
    """The runtime stops: begin nothing; answered by Answer when no turn runs. `hard`: cut the turn, keep its record."""

    hard: bool
    reply: ReplyTo


@dataclass(frozen=True, slots=True)
class StopCut:
    """The record of a turn that a stop cut is on disk."""

    turn: int


@dataclass(frozen=True, slots=True)
class Resumed:
    """The count of a resumed turn's cut starts is on disk: it may go on."""

    turn: int


@dataclass(frozen=True, slots=True)
class AskState:
    """What is the actor doing; answered by Answer(a plain mapping)."""

    reply: ReplyTo


@dataclass(frozen=True, slots=True)
class ResultsReplaced:
    """The refused round's results are withheld on disk: the turn may ask once more."""

    turn: Turn
