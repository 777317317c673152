"""What a host hands in and what it is told: Incoming and Accepted (the way in).

Checked here, once, before anything is stored: bad input gets a named error that says what was expected.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast, get_args

from .blocks import Image
from .errors import InvalidMessage
from .places import ChannelRef

ChannelKind: TypeAlias = Literal["channel", "dm", "group"]


@dataclass(frozen=True, slots=True)
class Author:
    """Who wrote a message: the platform's id and the name people see."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Incoming:
    """A message from a chat platform.

    `id`: the platform's message id; the same id twice in one channel is one message. `mentions`: names of
    residents (or their nicks, as the host maps them) that the message addresses. `reply_to`: the
    platform id of the message it answers. `at`: Unix seconds, None for now. `from_self`: an echo of our own words.
    """

    server: str
    channel: str
    author: Author
    text: str
    id: str | None = None
    kind: ChannelKind = "channel"
    mentions: tuple[str, ...] = ()
    label: str | None = None
    thread: str | None = None
    reply_to: str | None = None
    attachments: tuple[Image, ...] = ()
    tags: tuple[str, ...] = ()
    at: float | None = None
    from_self: bool = False

    @property
    def place(self) -> ChannelRef:
        """The channel's identity."""
        return ChannelRef(self.server, self.channel)

    def size(self) -> int:
        """Bytes that the message takes in an inbox, for its bound."""
        return len(self.text.encode("utf-8", "surrogatepass")) + sum(len(a.data) for a in self.attachments) + 200


@dataclass(frozen=True, slots=True)
class Accepted:
    """The message is durable. `routed` False: no rule took it and nothing was stored (agents.md 19.12)."""

    duplicate: bool
    routed: bool
    woken: tuple[str, ...]


def _text(name: str, value: Any, empty: bool = False) -> str:
    if not isinstance(value, str):
        raise InvalidMessage(f"Incoming.{name} must be a str, not {type(value).__name__}")
    if not empty and not value.strip():
        raise InvalidMessage(f"Incoming.{name} must not be empty")
    return value


def _strings(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, (tuple, list)):
        raise InvalidMessage(f"Incoming.{name} must be a tuple of str, not {type(value).__name__}")
    items = tuple(cast("list[Any]", value))
    return tuple(_text(name, item) for item in items)


def check_incoming(message: Incoming) -> Incoming:
    """The message with its sequences as tuples.

    Raises InvalidMessage, naming the field and what it should hold, for anything that cannot be stored.
    """
    if not isinstance(message, Incoming):
        raise InvalidMessage(f"receive() takes an Incoming, not {type(message).__name__}")
    for name in ("server", "channel"):
        _text(name, getattr(message, name))
    if not isinstance(message.author, Author):
        raise InvalidMessage("Incoming.author must be an Author(id, name)")
    _text("author.id", message.author.id)
    _text("author.name", message.author.name)
    _text("text", message.text, empty=True)
    for name in ("id", "label", "thread", "reply_to"):
        if getattr(message, name) is not None:
            _text(name, getattr(message, name))
    if message.kind not in get_args(ChannelKind):
        raise InvalidMessage(f"Incoming.kind must be one of {', '.join(get_args(ChannelKind))}")
    if message.at is not None and (not isinstance(message.at, (int, float)) or not math.isfinite(message.at)):
        raise InvalidMessage("Incoming.at must be Unix seconds (a finite number) or None for now")
    if not isinstance(message.attachments, (tuple, list)):
        raise InvalidMessage(f"Incoming.attachments must be a tuple of Image, not {type(message.attachments).__name__}")
    attachments = tuple(message.attachments)
    if any(not isinstance(a, Image) or not a.data for a in attachments):
        raise InvalidMessage("Incoming.attachments must hold Image blocks with data")
    if not message.text.strip() and not attachments:
        raise InvalidMessage("Incoming.text must not be empty where there are no attachments")
    return Incoming(
        message.server, message.channel, message.author, message.text, message.id, message.kind,
        _strings("mentions", message.mentions), message.label, message.thread, message.reply_to, attachments,
        _strings("tags", message.tags), None if message.at is None else float(message.at), bool(message.from_self),
    )
