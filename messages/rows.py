"""Rows: what a room's log is made of, and the predicates that every layer reads them by (agents.md 3).

A row is never rewritten; a removal is a tombstone on a branch. Its opening is fixed when it is stored,
so that a later rename moves no byte of a request (agents.md 2.5).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .blocks import Block, SystemChange
from .codec import record

MARKER_TAGS = frozenset({"chat:reaction", "chat:reaction-remove", "chat:edited", "chat:deleted"})


@record("row")
@dataclass(frozen=True, slots=True)
class Row:
    """One row of a log.

    `turn` and `heard` are set on rows that a turn produced: the number of the agent's turn, and the
    log position up to which the request that led to this row had heard. `time` is in Unix seconds.
    """

    id: str
    participant: str
    content: tuple[Block, ...]
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    time: float = 0.0
    turn: int | None = None
    heard: int | None = None
    opening: str = ""


@record("placed")
@dataclass(frozen=True, slots=True)
class Placed:
    """A row at its position in a lineage."""

    position: int
    row: Row


def is_notice(row: Row) -> bool:
    """Whether the runtime itself wrote the row to an agent: `system` is exactly True (agents.md 3)."""
    return row.metadata.get("system") is True


def is_change(row: Row) -> bool:
    """Whether the row holds system changes and nothing else (context.md 4.0)."""
    return bool(row.content) and all(isinstance(block, SystemChange) for block in row.content)


def is_conversational(row: Row) -> bool:
    """Whether the row counts as something said to an agent (agents.md 3, invariant 3.3)."""
    if is_notice(row) or is_change(row):
        return False
    return MARKER_TAGS.isdisjoint(row.metadata.get("tags") or ())


def channel_of(row: Row) -> tuple[str, str] | None:
    """(server, channel) of a row that came from a channel, else None."""
    server, channel = row.metadata.get("serverId"), row.metadata.get("channelId")
    return (server, channel) if isinstance(server, str) and isinstance(channel, str) else None
