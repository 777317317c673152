"""To the Directory: what a host hands in, and who lives. Its answers are here too."""

from dataclasses import dataclass
from typing import Any

from ..address import ReplyTo
from ..incoming import Accepted, Incoming
from ..registry import AgentRecord
from .addresses import Ops


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
    """A room's answer to an Offer, with the key of its `reply`: it is on disk, or the error."""

    ticket: Any
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
