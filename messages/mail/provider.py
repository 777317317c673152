"""To a provider's gate: who may ask now, and a cooldown that all its agents share."""

from dataclasses import dataclass

from ..address import Address
from ..request import ErrorRecord


@dataclass(frozen=True, slots=True)
class Admit:
    """May the agent ask the provider; answered by Admitted(key), at once or when the cooldown is over."""

    agent: Address
    key: int


@dataclass(frozen=True, slots=True)
class Cooldown:
    """The provider asked everybody to wait `seconds`."""

    seconds: float
    error: ErrorRecord


@dataclass(frozen=True, slots=True)
class CooldownOver:
    """The cooldown's time is over."""

    until: float
