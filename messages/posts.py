"""What leaves: a Post, what its publisher answers, and the outbox entry that remembers it.

Three outcomes and no fourth: delivered (an explicit receipt), not sent (it provably never left), unknown
(everything else) (prose 11.1). An entry is written before the post leaves and is never sent again blindly.
"""

import hashlib
from dataclasses import dataclass
from typing import Literal, TypeAlias

from .codec import encode, record
from .errors import Error
from .places import ChannelRef
from .prose.routing import Link

PostState: TypeAlias = Literal[
    "parked", "admitted", "sending", "delivered", "failed", "unknown", "queued", "expired", "withheld", "withdrawn"
]
END_STATES: frozenset[str] = frozenset({"delivered", "failed", "unknown", "expired", "withheld", "withdrawn"})
Debt: TypeAlias = tuple[str, int, int, str]
"""What an author has still to be told: (agent, turn, number, what). Of a post that it is "delayed" or has "ended", of a
"draft" that it is kept; `number` is the post's or the draft's."""
LengthUnit: TypeAlias = Literal["chars", "bytes", "utf16"]


@dataclass(frozen=True, slots=True)
class Post:
    """What a publisher is asked to post. `key` is the same on every attempt; `written_at` is in Unix seconds.

    `attempt` counts from 1. `delay_reason`: why a post that had to wait is late, else "".
    """

    server: str
    channel: str
    thread: str | None
    text: str
    author: str
    key: str
    written_at: float
    attempt: int
    delay_reason: str = ""


@dataclass(frozen=True, slots=True)
class Delivered:
    """The platform confirmed the post under this message id."""

    id: str


class NotSent(Error):
    """The post provably never left. The only exception that means so; may be returned or raised.

    `permanent`: it will never be possible (an unknown channel, no right to write); then it is not retried.
    """

    def __init__(self, reason: str, permanent: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.permanent = permanent


@dataclass(frozen=True, slots=True)
class Unknown:
    """The post may or may not have arrived."""

    reason: str


Outcome: TypeAlias = Delivered | NotSent | Unknown


@record("attempt")
@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to post: when it began, and how it ended ("" while it is out)."""

    at: float
    outcome: str = ""
    reason: str = ""


@record("outbox")
@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """One part of a post: key (agent, turn, number, part).

    `number` is the post's place in its turn's speech chain; `call_id` is set on an explicit send. The rest is what
    admission decided of prose: `whole` text of the post, the envelope as `written`, whether it named its `target`,
    the draft `copied` into it (`wholly`: it is all of it), the envelope's place in its round, and whether a failure
    before it `holds` it back (hybrid). `delayed`: why it first had to wait, "" as long as it never had. `parked`: it
    waits for the verdict on its round and holds nobody back (prose 13, gap 2).
    """

    agent: str
    incarnation: int
    turn: int
    number: int
    part: int
    parts: int
    at: ChannelRef
    thread: str | None
    text: str
    key: str
    written_at: float
    state: PostState = "admitted"
    call_id: str = ""
    message_id: str = ""
    reason: str = ""
    attempts: tuple[Attempt, ...] = ()
    whole: str = ""
    written: str = ""
    prefixed: bool = False
    target: str | None = None
    copied: str | None = None
    wholly: bool = False
    link: Link | None = None
    holds: bool = False
    delayed: str = ""

    @property
    def ended(self) -> bool:
        """Whether nothing more will be tried on its own."""
        return self.state in END_STATES

    @property
    def may_have_left(self) -> bool:
        """Whether some attempt may have reached the platform."""
        return any(a.outcome in ("", "unknown", "delivered") for a in self.attempts)


def idempotency_key(agent: str, incarnation: int, turn: int, round_: int, ordinal: int | str, part: int) -> str:
    """The key of one part, the same on every attempt (prose 5.2). `ordinal`: of the envelope, or a call's id."""
    return hashlib.sha256(encode([agent, incarnation, turn, round_, ordinal, part])).hexdigest()[:32]
