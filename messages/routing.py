"""Who is woken by a message, and how its row opens (agents.md 1.2, 2.5, 4.6).

Pure functions of the message and the registry; the Directory calls them. A message that wakes nobody is
still stored and heard by the next turn.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from .blocks import Block, Text
from .incoming import Incoming
from .registry import AgentRecord
from .rows import MARKER_TAGS, Row
from .wakes import CHANNEL_MESSAGE, Wake

WakeOn: TypeAlias = Literal["addressed", "all"]


@dataclass(frozen=True, slots=True)
class Woken:
    """An agent that a message wakes, and whether the message is addressed to it."""

    agent: str
    addressed: bool


def addressees(message: Incoming, agents: Sequence[AgentRecord], replied_to: str | None) -> tuple[str, ...]:
    """The agents a message is addressed to: mentioned, replied to, or all readers of a direct message.

    A direct message that names somebody is addressed to those named only (agents.md 1.2, 5.3).
    """
    wanted = {name.casefold() for name in message.mentions}
    named = tuple(
        a.name for a in agents
        if a.name == replied_to or wanted & {n.casefold() for n in (a.name, *a.self_participants)}
    )
    if named or message.kind != "dm":
        return named
    return tuple(a.name for a in agents if a.roles.receives_untargeted)


def who_is_woken(
    message: Incoming, agents: Sequence[AgentRecord], wake_on: WakeOn, replied_to: str | None = None
) -> tuple[Woken, ...]:
    """The agents that a channel message wakes, in the order of `agents` (agents.md 1.2).

    Until a gate decides, the verdict is: direct, addressed or mentioned messages trigger, others are stored and
    wake nobody; `wake_on="all"` wakes every agent that receives what names nobody. A reaction, an edit or
    a deletion wakes nobody.
    """
    if message.from_self or not MARKER_TAGS.isdisjoint(message.tags):
        return ()
    named = addressees(message, agents, replied_to)
    if named:
        return tuple(Woken(name, True) for name in named)
    if wake_on == "all":
        return tuple(Woken(a.name, False) for a in agents if a.roles.receives_untargeted)
    return ()


def shown_label(label: str, kind: str) -> str:
    """A channel's name as people read it, on one line; `#` stands before a public channel's."""
    name = _one_line(label)
    return name if kind != "channel" or name.startswith("#") else f"#{name}"


def _one_line(name: str) -> str:
    # A name is shown at the start of somebody's words: a line break in it could forge another speaker.
    return " ".join(name.split()) or "?"


def speaker(message: Incoming, voices: Collection[str]) -> str:
    """The author's name as a participant; one that an agent of the room bears is told apart by the author's id.

    Else a person of that name would speak with the agent's voice in its requests (agents.md 2.3).
    """
    name = _one_line(message.author.name)
    if name.casefold() not in {voice.casefold() for voice in voices}:
        return name
    return f"{name} ({_one_line(message.author.id)})"


def opening(message: Incoming, several_channels: bool, voices: Collection[str] = ()) -> str:
    """How the row's first words open in a request; fixed when stored (agents.md 2.5)."""
    name = speaker(message, voices)
    label = shown_label(message.label or message.channel, message.kind)
    return f"{name} in {label}: " if several_channels else f"{name}: "


def message_row(
    message: Incoming, at: float, addressed: Sequence[str], several_channels: bool, voices: Collection[str] = ()
) -> Row:
    """The row of a message; its id and number are given by the room that stores it. `voices`: the agents' names."""
    content: tuple[Block, ...] = (*([Text(message.text)] if message.text else []), *message.attachments)
    metadata: dict[str, Any] = {
        "serverId": message.server,
        "channelId": message.channel,
        "channel_type": message.kind,
        "author": {"id": message.author.id, "name": message.author.name},
        "addressed": list(addressed),
    }
    optional = {
        "messageId": message.id, "threadId": message.thread, "replyTo": message.reply_to, "label": message.label,
        "tags": list(message.tags), "mentions": list(message.mentions),
    }
    metadata.update({key: value for key, value in optional.items() if value})
    when = message.at if message.at is not None else at
    said = opening(message, several_channels, voices)
    return Row("", speaker(message, voices), content, metadata, when, opening=said)


def message_wakes(message: Incoming, at: float, woken: Sequence[Woken]) -> tuple[Wake, ...]:
    """The wakes to be written with the message; the room numbers them."""
    when = message.at if message.at is not None else at
    return tuple(
        Wake(0, w.agent, CHANNEL_MESSAGE, when, message.place, message.thread, w.addressed, message.author.name)
        for w in woken
    )
