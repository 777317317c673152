"""Small makers of records for the tests of this folder."""

from manyminds.messages.blocks import Image, Text
from manyminds.messages.places import ChannelRef
from manyminds.messages.posts import OutboxEntry, PostState
from manyminds.messages.registry import AgentRecord, Roles
from manyminds.messages.rows import Row
from manyminds.messages.turns import Turn
from manyminds.messages.wakes import Wake
from manyminds.storage.inbox import InboxEntry

HERE = ChannelRef("irc", "#here")


def entry(number: int, text: str = "hello", size: int = 10, data: bytes = b"") -> InboxEntry:
    """A message that waits."""
    content = (Text(text), Image("image/png", data)) if data else (Text(text),)
    return InboxEntry(number, Row(f"m{number}", "ann", content), size)


def wake(agent: str, number: int) -> Wake:
    """A wake of one message."""
    return Wake(number, agent, "channel-message", 5.0, HERE, None, True, "ann", number, number, f"m{number}")


def turn(room: str, agent: str, number: int) -> Turn:
    """A turn that has begun."""
    return Turn(room, agent, 1, number, 1, "locus", 5.0, (wake(agent, 1),), 3, 4, 5)


def post(
    number: int, *, agent: str = "mira", turn: int = 1, part: int = 0, at: ChannelRef = HERE, written_at: float = 5.0,
    state: PostState = "admitted", message_id: str = "",
) -> OutboxEntry:
    """A part of a post."""
    return OutboxEntry(
        agent, 1, turn, number, part, 1, at, None, f"words {number}", f"k{number}", written_at, state,
        message_id=message_id,
    )


def agent(name: str, *, incarnation: int = 1, ended_at: float | None = None) -> AgentRecord:
    """An agent that lives, or has ended."""
    return AgentRecord(name, "resident", "model", "room", incarnation, Roles(), ended_at=ended_at)
