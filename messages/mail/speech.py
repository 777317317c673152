"""To the Gateway and to a Channel: posts on their way, attempts, outcomes, and what is decided of a channel."""

from dataclasses import dataclass
from typing import Any

from ..address import ReplyTo
from ..places import ChannelRef
from ..posts import Outcome
from ..registry import ChannelRecord, Desired
from .addresses import TO_GATEWAY
from .agent import Receipt


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
class Rewithhold:
    """An agent was built anew: tell it again which of its posts are held back."""

    agent: str


@dataclass(frozen=True, slots=True)
class ReleaseAgain:
    """A channel could not take a post: let it go again."""

    post: "PostNow"


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
class AttemptOut:
    """A channel's actor was replaced while this attempt was under way: its answer is still to come.

    `recording`: that it begins is on its way to the disk, and nothing of it has left.
    """

    attempt: int
    post: PostNow
    part: int
    recording: bool = False


@dataclass(frozen=True, slots=True)
class OutcomeOut:
    """A channel's actor was replaced while this outcome was being written: who takes over writes it."""

    post: PostNow
    part: int
    outcome: Outcome


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
    """The store refused the outcome of this attempt: it is decided anew from what the store holds, and written."""

    attempt: int
    tries: int


@dataclass(frozen=True, slots=True)
class CorrectAgain:
    """The store refused a late confirmation: it is looked at again in a while."""

    ended: AttemptEnded


@dataclass(frozen=True, slots=True)
class StillBehind:
    """That a post waits behind another could not be written: see in a while whether it still does."""

    post: PostNow
    wait: bool = True


@dataclass(frozen=True, slots=True)
class TryAgain:
    """The backoff of the channel's head is over, or its server is connected again."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class Drop:
    """Do not post this any more, if it still waits and no attempt is out.

    Without `reason` its author takes it back; else it is given up for that reason. Answered by Dropped.
    """

    post: PostNow
    reason: str = ""
    reply: ReplyTo | None = None


@dataclass(frozen=True, slots=True)
class Dropping:
    """A channel's actor was replaced while this post's end was being written: leave it alone until that has ended."""

    post: PostNow


@dataclass(frozen=True, slots=True)
class DropStored:
    """A dropped post's end is on disk (or was refused: `error`, and it waits on)."""

    post: PostNow
    error: str = ""


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
class DecisionStored:
    """A decision about the channel is on disk (or was refused: `error`); the surface may be asked to follow it."""

    serial: int
    error: str = ""


@dataclass(frozen=True, slots=True)
class Relabel:
    """People call the channel by another name now."""

    label: str


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


@dataclass(frozen=True, slots=True)
class Withhold:
    """A failure before it holds this post back: its agent keeps the words; answered by PostEnded (prose 5.3)."""

    turn: int
    number: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """More of what an agent is writing, for surfaces that show it; `index` rises over all channels of a stream."""

    inference: str
    thread: str | None
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class Complete:
    """A stream is over in this channel: the text of it that was admitted."""

    inference: str
    thread: str | None
    text: str
