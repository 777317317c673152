"""Turn records: what makes a turn resumable (design, "What lasts").

One record per (room, agent), outside every branch. Written at the turn's start, at each round's end before
any call is dispatched, at each boundary, and as `closing` when the turn has ended and its words are still on
their way. Results are records of their own, so that one result does not rewrite the round.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from .blocks import ReplyBlock
from .codec import record
from .places import ChannelRef, Place
from .prose.bounces import StreakEvent
from .prose.resolve import Resolution
from .prose.routing import HeldBy, Link, Retained
from .registry import ProseMode
from .wakes import Answered, Wake

Phase: TypeAlias = Literal["running", "closing"]
Ending: TypeAlias = Literal["", "completed", "turn_ended", "cancelled", "exhausted"]


@record("owed-notice")
@dataclass(frozen=True, slots=True)
class OwedNotice:
    """A notice that the round has earned and no row tells yet: its words and metadata."""

    text: str
    metadata: Mapping[str, Any]


@record("send")
@dataclass(frozen=True, slots=True)
class ExplicitSend:
    """A call that posts: its id and the number of its post in the turn's speech chain."""

    call_id: str
    number: int


@record("inner-call")
@dataclass(frozen=True, slots=True)
class InnerCall:
    """A call that a script of the round made: its id, its full name, and of the `drafts` tool what it asks for."""

    id: str
    name: str
    action: str = ""


@record("frozen-answer")
@dataclass(frozen=True, slots=True)
class FrozenAnswer:
    """What the target of one envelope of a round resolved to; `ordinal` from 0."""

    ordinal: int
    answer: Resolution


@record("round")
@dataclass(frozen=True, slots=True)
class Round:
    """A round that ended in calls: its blocks verbatim, and what its request had heard.

    `watermark` is a log position, `heard` an inbox number. `prompted`: its request ended with `[Continue]`.
    `scripts`: the calls that its verdict waits for; until it is taken the round's posts are parked, and `answers` and
    `retained` are what its admission found. `inner`: what its scripts have called (prose 13, gap 2).
    """

    number: int
    blocks: tuple[ReplyBlock, ...]
    watermark: int
    heard: int
    sends: tuple[ExplicitSend, ...] = ()
    prompted: bool = False
    scripts: tuple[str, ...] = ()
    answers: tuple[FrozenAnswer, ...] = ()
    retained: Retained | None = None
    inner: tuple[InnerCall, ...] = ()


@record("turn")
@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of one agent.

    `number` counts the agent's turns and never goes back. `checkpoint`: the log position before the turn's own rows.
    `target`, `held`, `moved_at`, `link_held`, `continuation`: the turn's routing state (prose 5.1), with `locus`,
    `silenced`, `suppressed` and `private`. `guarded`: the one retry after a refused batch
    of results was used. `owed`: notices for the next boundary. `events`: what moves the bounce
    streak. `stopped`: cut by a stop of the runtime, which is no crash. `watermark` / `heard`: the log position and
    inbox number that the latest request contains. `speech`: the next number of the speech chain. `attempt` counts
    sends of the current request from 0. `cuts`: how often a crash or a raising handler cut it short, which counts for
    all the wakes that it took (agents.md 19.15).
    """

    room: str
    agent: str
    incarnation: int
    number: int
    branch: int
    mode: ProseMode
    started: float
    wakes: tuple[Wake, ...]
    checkpoint: int
    watermark: int
    heard: int
    locus: Place | None = None
    author: str = ""
    silent: bool = False
    system_prompt: str = ""
    phase: Phase = "running"
    ending: Ending = ""
    rounds: int = 0
    speech: int = 1
    attempt: int = 0
    silenced: bool = False
    sent_to: tuple[ChannelRef, ...] = ()
    answered: tuple[Answered, ...] = ()
    suppressed: int = 0
    private: int = 0
    calls: int = 0
    cuts: int = 0
    stopped: bool = False
    round: Round | None = None
    target: Place | None = None
    held: HeldBy | None = None
    moved_at: Link | None = None
    link_held: bool = False
    continuation: bool = False
    guarded: bool = False
    owed: tuple[OwedNotice, ...] = ()
    events: tuple[StreakEvent, ...] = ()
