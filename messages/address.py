"""Addresses: what is kept and what travels in place of a live reference.

An address outlives the actor behind it: parking, a rebuild and a restart change the table in
`actors.dispatcher`, never an address held by somebody (design, "How actors run").
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Address:
    """Where mail goes: the actor's kind, its name, and the incarnation (0 where it has none)."""

    kind: str
    name: str
    incarnation: int = 0

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}" + (f"#{self.incarnation}" if self.incarnation else "")


@dataclass(frozen=True, slots=True)
class ReplyTo:
    """A reply address: where the answer goes, and a key that the asker chose to know it by."""

    address: Address
    key: Any = None


@dataclass(frozen=True, slots=True)
class Undelivered:
    """Mail that came back: its addressee has ended."""

    to: Address
    mail: object
    key: Any = None


@dataclass(frozen=True, slots=True)
class MailFailed:
    """Answer to a mail with a reply address whose handler raised (agents.md 19.15)."""

    to: Address
    mail: object
    error: str
    key: Any = None
