"""Wakes: why an agent should have a turn, which of them one turn takes, and when one is settled.

A wake stands for inbox numbers `first..last` of its channel; pending wakes merge, so a flood is one record
(agents.md 4.2, 19.8, 19.9; design, "What lasts"). Pure decisions; the room's actor keeps the records.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from .codec import record
from .places import ChannelRef, Place

CHANNEL_MESSAGE = "channel-message"


@record("wake")
@dataclass(frozen=True, slots=True)
class Wake:
    """One wake of one agent. Key: (room, number); `first == 0`: it stands for no message.

    `row` names the newest message it stands for, `author` who wrote that, `time` when (Unix seconds).
    """

    number: int
    agent: str
    reason: str
    time: float
    channel: ChannelRef | None = None
    thread: str | None = None
    addressed: bool = False
    author: str = ""
    first: int = 0
    last: int = 0
    row: str = ""
    suppress_prose: bool = False
    system_prompt: str = ""

    def merges_with(self, other: "Wake") -> bool:
        """Whether two pending wakes are one: same agent, channel, reason, addressed."""
        mine = (self.agent, self.channel, self.reason, self.addressed, self.suppress_prose, self.system_prompt)
        return mine == (
            other.agent, other.channel, other.reason, other.addressed, other.suppress_prose, other.system_prompt
        )


@record("answered")
@dataclass(frozen=True, slots=True)
class Answered:
    """Words for `at` were admitted in a round whose request had heard the inbox up to `heard`."""

    at: ChannelRef
    heard: int


def merge(pending: Sequence[Wake], new: Wake) -> Wake:
    """The record to keep for `new`: itself, or the pending wake that it merges into."""
    for wake in pending:
        if wake.merges_with(new):
            newer = new if new.time >= wake.time else wake
            return replace(
                wake, first=wake.first or new.first, last=max(wake.last, new.last), time=newer.time,
                author=newer.author, row=newer.row, thread=newer.thread,
            )
    return new


def oldest_first(wakes: Iterable[Wake]) -> list[Wake]:
    """In the order of the oldest message that each still stands for.

    A wake of which a part was settled keeps its number, so its number does not tell its age.
    """
    return sorted(wakes, key=lambda wake: (wake.first or wake.number, wake.number))


def choose(pending: Sequence[Wake], one_channel: bool) -> tuple[Wake, ...]:
    """The wakes that the next turn takes (agents.md 19.8).

    `one_channel` (locus and hybrid): the oldest pending addressed wake names the channel; addressed wakes of
    other channels stay and start turns of their own. Without it the whole batch is taken.
    """
    wakes = oldest_first(pending)
    if not one_channel:
        return tuple(wakes)
    named = next((w.channel for w in wakes if w.addressed and w.channel is not None), None)
    return tuple(w for w in wakes if not w.addressed or w.channel is None or w.channel == named)


@dataclass(frozen=True, slots=True)
class Trigger:
    """What a batch says about its turn: the channel-bearing winner's place, and who spoke (agents.md 4.3)."""

    place: Place | None
    author: str
    silent: bool
    system_prompt: str


def trigger_of(batch: Sequence[Wake]) -> Trigger:
    """The newest addressed channel-bearing wake, else the newest channel-bearing one (agents.md 4.3).

    Newest by the event's time. `silent` only if every wake of the batch is silent.
    """
    bearing = [w for w in batch if w.channel is not None]
    addressed = [w for w in bearing if w.addressed]
    winner = max(addressed or bearing, key=lambda w: (w.time, w.number), default=None)
    named = winner or max((w for w in batch if w.author), key=lambda w: (w.time, w.number), default=None)
    place = None
    if winner is not None and winner.channel is not None:
        place = Place(winner.channel, winner.thread)
    silent = bool(batch) and all(w.suppress_prose for w in batch)
    prompt = next((w.system_prompt for w in batch if w.system_prompt), "")
    return Trigger(place, named.author if named else "", silent, prompt)


def split(wake: Wake, moved: int) -> tuple[Wake | None, Wake | None]:
    """(the part whose messages are in the log up to inbox number `moved`, the part that still waits)."""
    if wake.first == 0 or wake.last <= moved:
        return wake, None
    if wake.first > moved:
        return None, wake
    return replace(wake, last=moved), replace(wake, first=moved + 1)


def joined(one: Wake | None, other: Wake) -> Wake:
    """Two parts of one wake as one again."""
    return other if one is None else replace(other, first=min(one.first, other.first), last=max(one.last, other.last))


def settle(
    wake: Wake, *, heard: int, answered: Sequence[Answered], locus: ChannelRef | None, by_channel: bool, taken: bool
) -> Wake | None:
    """What is left of a wake after a turn that completed: None, itself, or a later part (agents.md 19.9).

    `heard`: the inbox number that the turn's last request had heard. `by_channel`: locus and hybrid, where an
    addressed wake is settled only by words for its channel, or by its channel being the locus at the end.
    """
    if wake.first == 0:
        return None if taken else wake
    reached = heard
    if by_channel and wake.addressed and wake.channel is not None and wake.channel != locus:
        reached = max((a.heard for a in answered if a.at == wake.channel), default=0)
    if wake.last <= reached:
        return None
    return replace(wake, first=max(wake.first, reached + 1))
