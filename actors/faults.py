"""Faults: what a simulation lets go wrong, by rate, drawn from its seed.

A rate is the chance of one occasion, 0 to 1. An occasion whose rate is 0 draws nothing, so that adding a
kind of fault does not change the runs of those who do not ask for it. Off outside a simulation.
"""

import dataclasses
import random
from dataclasses import dataclass

from ..messages.errors import InvalidSetting


@dataclass(frozen=True, slots=True)
class Faults:
    """Rates of faults (design, "Under `Simulation`")."""

    commit_refused: float = 0.0
    map_full: float = 0.0
    job_raises: float = 0.0
    killed: float = 0.0
    parked: float = 0.0
    stream_cut: float = 0.0
    outcome_unknown: float = 0.0

    def __post_init__(self) -> None:
        for each in dataclasses.fields(self):
            rate = getattr(self, each.name)
            if not 0.0 <= rate <= 1.0:
                raise InvalidSetting(f"the fault rate {each.name} is {rate!r}; give a number from 0 to 1")


class InjectedFault(Exception):
    """A failure that the simulation made; never raised outside one."""


class FaultSource:
    """Draws faults and counts them. `off()` stops all, for the end of a test."""

    def __init__(self, faults: Faults, source: random.Random) -> None:
        self._rates = {each.name: float(getattr(faults, each.name)) for each in dataclasses.fields(faults)}
        self._source = source
        self.drawn: dict[str, int] = dict.fromkeys(self._rates, 0)

    def draw(self, name: str) -> bool:
        """Whether to fail now; KeyError for a kind that `Faults` does not have."""
        rate = self._rates[name]
        if rate <= 0.0 or self._source.random() >= rate:
            return False
        self.drawn[name] += 1
        return True

    def may(self, name: str) -> bool:
        """Whether that kind has a rate at all."""
        return self._rates[name] > 0.0

    def off(self) -> None:
        """No more faults."""
        self._rates = dict.fromkeys(self._rates, 0.0)
