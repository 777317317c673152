"""To the Stopper: the ordered way out."""

from dataclasses import dataclass

from ..address import Address, ReplyTo


@dataclass(frozen=True, slots=True)
class StopAll:
    """Close intake, end turns, let posts go; answered by Answer within `deadline` seconds."""

    agents: tuple[Address, ...]
    deadline: float
    reply: ReplyTo


@dataclass(frozen=True, slots=True)
class StopStep:
    """The stopper's timer: look again, or (`over`) the deadline has come."""

    over: bool
