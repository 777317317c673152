"""Mail: what our actors tell each other. Facts and requests, never references (design, "Actors").

Grouped by addressee. Mail never reaches the disk: what must outlive a crash is a record, written before
the mail that speaks of it is told. A mail with `reply` is always answered, if only by MailFailed.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

from .address import Address, ReplyTo
from .blocks import ToolResult
from .incoming import Accepted, Incoming
from .places import ChannelRef, Place
from .posts import Outcome, PostState
from .registry import AgentRecord, ChannelRecord, Desired, ProseMode
from .request import ErrorRecord
from .rows import Placed, Row
from .turns import Ending, Turn
from .wakes import Wake

Ops: TypeAlias = tuple[tuple[str, bytes, bytes | None], ...]
Letters: TypeAlias = tuple[tuple[Address, Any], ...]

DIRECTORY = Address("directory", "main")
GATEWAY = Address("gateway", "main")
STOPPER = Address("stopper", "main")
TO_GATEWAY = ReplyTo(GATEWAY)


def room_address(name: str) -> Address:
    """Where the mail of a room goes."""
    return Address("room", name)


def agent_address(name: str, incarnation: int = 0) -> Address:
    """Where the mail of an agent goes."""
    return Address("agent", name, incarnation)


def provider_address(name: str) -> Address:
    """Where admission to a provider is asked for."""
    return Address("provider", name)


def channel_address(at: ChannelRef) -> Address:
    """Where the mail of a channel goes; the pair is kept apart by the length of its first part."""
    return Address("channel", f"{len(at.server)}:{at.server}:{at.channel}")


def channel_of_address(address: Address) -> ChannelRef:
    """The channel of `channel_address`."""
    size, rest = address.name.split(":", 1)
    return ChannelRef(rest[: int(size)], rest[int(size) + 1 :])


# --- to the Directory


@dataclass(frozen=True, slots=True)
class Receive:
    """A host's message; answered by Received."""

    message: Incoming
    reply: ReplyTo


@dataclass(frozen=True, slots=True)
class Received:
    """Answer to Receive: what was accepted, or the error that left nothing behind."""

    accepted: Accepted | None
    error: Exception | None
    key: Any = None


@dataclass(frozen=True, slots=True)
class OfferAnswer:
    """A room's answer to an Offer: the inbox number, or the error."""

    ticket: int
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Enlist:
    """These agents live from now on and `gone` do not; `ops` says so on disk. Answered by Answer, or Refused."""

    agents: tuple[AgentRecord, ...]
    ops: Ops
    reply: ReplyTo
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CloseIntake:
    """No message is accepted from now on; answered by Answer."""

    reply: ReplyTo


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer to a request that has no other."""

    value: Any = None
    key: Any = None


# --- to a Room


@dataclass(frozen=True, slots=True)
class Offer:
    """A row for the inbox, with the wakes it asks for and records that belong to it, in one unit.

    `size` in bytes counts against the inbox's bound unless `own` (the runtime's own rows are never refused). `host`
    is told `accepted`, or the error, with the acknowledgement; `reply` gets an OfferAnswer. `owed`: (agent, turn,
    number) of the post whose outcome the row tells; the row is passed over where that was told already.
    """

    row: Row
    size: int
    wakes: tuple[Wake, ...] = ()
    ops: Ops = ()
    own: bool = False
    reply: ReplyTo | None = None
    host: ReplyTo | None = None
    accepted: Accepted | None = None
    owed: tuple[str, int, int] | None = None

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
    """An agent asks whether wakes wait for it; answered by WakeHint if so."""

    agent: str


@dataclass(frozen=True, slots=True)
class Begin:
    """An agent that holds its token asks for a turn; answered by TurnBegun, NothingToDo or Refused.

    `budget`: how many tokens of waiting rows may be moved into the log for it.
    """

    agent: str
    incarnation: int
    mode: ProseMode
    home: ChannelRef | None
    budget: int
    reply: ReplyTo | None = None


@dataclass(frozen=True, slots=True)
class Boundary:
    """All results of a round are in: store the round's rows, hand over what waited; answered by BoundaryDone."""

    turn: Turn
    rows: tuple[Row, ...]
    home: ChannelRef | None
    budget: int
    ops: Ops = ()
    reply: ReplyTo | None = None


@dataclass(frozen=True, slots=True)
class EndTurn:
    """The turn has ended as `turn.ending`: store its last rows and settle its wakes; answered by TurnClosed.

    `letters` (speech mail) are told once it is on disk. `final`: nothing of it is on its way, so the record goes.
    """

    turn: Turn
    rows: tuple[Row, ...]
    ops: Ops = ()
    letters: Letters = ()
    final: bool = False
    reply: ReplyTo | None = None


@dataclass(frozen=True, slots=True)
class Finish:
    """The turn's words have their outcomes, or its deadline has passed: store receipt and notices, drop the record."""

    turn: Turn
    rows: tuple[Row, ...]
    ops: Ops = ()
    reply: ReplyTo | None = None


# --- to an Agent


@dataclass(frozen=True, slots=True)
class Awake:
    """A start of the runtime: resume what was cut, then look for wakes."""


@dataclass(frozen=True, slots=True)
class WakeHint:
    """Wakes wait for the agent in its room's store."""


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


# --- to a provider's gate


@dataclass(frozen=True, slots=True)
class Admit:
    """May the agent ask the provider; answered by Admitted(key), at once or when the cooldown is over."""

    agent: Address
    key: int


@dataclass(frozen=True, slots=True)
class Cooldown:
    """The provider asked everybody to wait `seconds`."""

    seconds: float
    error: ErrorRecord


@dataclass(frozen=True, slots=True)
class CooldownOver:
    """The cooldown's time is over."""

    until: float


# --- to the Gateway


@dataclass(frozen=True, slots=True)
class Speech:
    """A post that was admitted; its parts are in the outbox. Numbered within its turn."""

    agent: str
    turn: int
    number: int
    at: ChannelRef


@dataclass(frozen=True, slots=True)
class PostEnded:
    """A post has an outcome, or waits for its channel as `queued`, which releases its chain too."""

    agent: str
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Rerelease:
    """A channel's actor was built anew: tell it again which of its posts have been let go."""

    at: ChannelRef


@dataclass(frozen=True, slots=True)
class ReleaseAgain:
    """A channel could not take a post: let it go again."""

    post: "PostNow"


# --- to a Channel


@dataclass(frozen=True, slots=True)
class PostNow:
    """It is this post's turn."""

    agent: str
    turn: int
    number: int
    reply: ReplyTo | None = TO_GATEWAY


@dataclass(frozen=True, slots=True)
class AttemptStored:
    """The attempt is on disk: the post may leave (or was refused: `error`)."""

    attempt: int
    error: str = ""


@dataclass(frozen=True, slots=True)
class AttemptEnded:
    """What the publisher answered; `late`: after its deadline, when the outbox has an outcome already."""

    attempt: int
    outcome: Outcome
    post: PostNow
    part: int
    late: bool = False


@dataclass(frozen=True, slots=True)
class AttemptDeadline:
    """The time of an asynchronous attempt is over."""

    attempt: int


@dataclass(frozen=True, slots=True)
class OutcomeStored:
    """An outcome is on disk."""

    attempt: int


@dataclass(frozen=True, slots=True)
class WriteAgain:
    """A unit that the store refused is to be written again."""

    ops: Ops
    letters: Letters
    tries: int


@dataclass(frozen=True, slots=True)
class TryAgain:
    """The backoff of the channel's head is over, or its server is connected again."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class Decide:
    """Set the channel's desired state; answered by Decided."""

    desired: Desired
    source: str
    reply: ReplyTo


@dataclass(frozen=True, slots=True)
class Decided:
    """Answer to Decide: the record as it is now and, if the surface refused, why."""

    record: ChannelRecord | None
    error: str = ""
    key: Any = None


@dataclass(frozen=True, slots=True)
class SurfaceAnswered:
    """What an open, close or typing callback of the surface answered."""

    what: str
    serial: int
    error: str = ""
    permanent: bool = False


@dataclass(frozen=True, slots=True)
class TypingAgain:
    """The typing indicator wants to be refreshed."""

    serial: int


@dataclass(frozen=True, slots=True)
class Typing:
    """An agent began (`on`) or ended to write here."""

    agent: str
    thread: str | None
    on: bool


# --- to the Stopper


@dataclass(frozen=True, slots=True)
class StopAll:
    """Close intake, end turns, let posts go; answered by Answer within `deadline` seconds."""

    agents: tuple[Address, ...]
    deadline: float
    reply: ReplyTo


@dataclass(frozen=True, slots=True)
class StopStep:
    """The stopper's timer: look again, or (`over`) the deadline has come."""

    over: bool


ENDINGS_THAT_SETTLE: tuple[Ending, ...] = ("completed", "turn_ended")
