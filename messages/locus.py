"""The locus: the channel a turn's unaddressed words belong to, and what moves it (agents.md 5.3, 10.6).

Decided once at a fresh turn and frozen; only an addressed message heard at a boundary, or one in a channel
that the agent itself sent into this turn, moves it. Ambient traffic never does.
"""

from collections.abc import Iterable, Sequence

from .places import ChannelRef, Place
from .registry import ProseMode
from .rows import Placed, Row, channel_of, is_conversational
from .wakes import Trigger

MODES_WITH_LOCUS: tuple[ProseMode, ...] = ("locus", "hybrid")


def first_locus(mode: ProseMode, home: ChannelRef | None, trigger: Trigger) -> Place | None:
    """The locus of a fresh turn: the agent's home, else the trigger's channel, else none (agents.md 10.6)."""
    if mode not in MODES_WITH_LOCUS:
        return None
    if home is not None:
        return Place(home)
    return trigger.place


def through_inbox(row: Row) -> bool:
    """Whether the row came from outside through the room's inbox."""
    return "inbox" in row.metadata


def addressed_to(row: Row, agent: str) -> bool:
    """Whether the message is addressed to this agent: a DM, a mention, a reply, or a named target."""
    return agent in (row.metadata.get("addressed") or ())


def said(rows: Iterable[Placed]) -> list[Row]:
    """The rows that count as something said: conversational, and through the inbox (agents.md 5.3)."""
    return [p.row for p in rows if through_inbox(p.row) and is_conversational(p.row)]


def after_opening(mode: ProseMode, home: ChannelRef | None, locus: Place | None, place: Place | None) -> Place | None:
    """Where the locus is after a round in which the agent itself opened `place` (agents.md 10.6, prose 16.5)."""
    moves = place is not None and home is None and mode in MODES_WITH_LOCUS
    return place if moves else locus


def repinned(
    mode: ProseMode, home: ChannelRef | None, locus: Place | None, rows: Sequence[Placed], agent: str,
    sent_to: Sequence[ChannelRef],
) -> Place | None:
    """Where the locus is after a boundary handed over `rows`: moved by the last that may move it, else as it was."""
    if mode not in MODES_WITH_LOCUS or home is not None:
        return locus
    for row in reversed(said(rows)):
        pair = channel_of(row)
        if pair is None:
            continue
        at = ChannelRef(*pair)
        if addressed_to(row, agent) or at in sent_to:
            thread = row.metadata.get("threadId")
            return Place(at, thread if isinstance(thread, str) else None)
    return locus
