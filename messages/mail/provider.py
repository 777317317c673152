"""To a provider's gate: who may ask now, what was used, and a cooldown that all its agents share."""

from dataclasses import dataclass

from ..address import Address
from ..request import ErrorRecord, Limits


@dataclass(frozen=True, slots=True)
class Admit:
    """May the agent ask the provider; answered by Admitted(key), at once or when cooldown and limits let it.

    `tokens`: the estimate of what it will use, 0 where nothing is known. `own`: the limits that the host set.
    """

    agent: Address
    key: int
    tokens: int = 0
    own: Limits | None = None


@dataclass(frozen=True, slots=True)
class GiveBack:
    """The agent asks the provider for nothing after all: what it asked for, or was admitted with, is free again."""

    agent: Address
    key: int
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Metered:
    """What a round has told of the limits: the provider's own word, or the tokens used beyond the estimate."""

    limits: Limits | None = None
    beyond: int = 0


@dataclass(frozen=True, slots=True)
class Cooldown:
    """The provider asked everybody to wait `seconds`."""

    seconds: float
    error: ErrorRecord


@dataclass(frozen=True, slots=True)
class CooldownOver:
    """The cooldown's time is over."""

    until: float


@dataclass(frozen=True, slots=True)
class Refilled:
    """The limits may let the next one in."""
