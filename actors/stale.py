"""StaleWatch: says that wakes of an agent have waited for long because it is busy, once a minute (agents.md 4.3).

Owned by the Agent, which tells it when a wake begins to wait and when none does. Watches only; it starts no turn.
"""

import logging
from collections.abc import Callable

from ..messages.address import Address
from ..messages.mail import StaleLook
from ..storage import wakes
from .system import System, Timer

_log = logging.getLogger(__name__)
STALE_AFTER = 30.0
AT_MOST_EVERY = 60.0
BUSY = {"streaming": "streaming", "tools": "waiting_for_tools"}


class StaleWatch:
    """The watch over one agent's waiting wakes. `busy`: how the agent is busy, asked when it is said."""

    def __init__(self, system: System, address: Address, room: str, busy: Callable[[], str]) -> None:
        self._system = system
        self._address = address
        self._room = room
        self._busy = busy
        self._since = 0.0
        self._quiet_until = 0.0
        self._timer: Timer | None = None

    def waits(self) -> None:
        """A wake may wait from now on; whether one does is looked up when it is time."""
        if self._timer is None:
            self._since = self._system.clock.now()
            self._look_in(max(STALE_AFTER, self._quiet_until - self._since))

    def over(self) -> None:
        """None waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def look(self) -> None:
        """The time is over: say so, and look again in a minute."""
        if self._timer is None:
            return
        with self._system.store.snapshot() as snap:
            if not wakes.pending(snap, self._room, self._address.name):
                self._timer = None
                return
        now = self._system.clock.now()
        age, status = now - self._since, self._busy()
        self._system.trace("inference:request_stale", agentName=self._address.name, status=status, age=age)
        _log.warning("wakes of %s have waited for %.0f s (%s)", self._address.name, age, status)
        self._quiet_until = now + AT_MOST_EVERY
        self._look_in(AT_MOST_EVERY)

    def _look_in(self, seconds: float) -> None:
        self._timer = self._system.after(seconds, self._address, StaleLook())


def busy_as(phase: str) -> str:
    """The status text of a turn in this phase; a token held without a stream is `idle+turn-alive` (agents.md 4.3)."""
    return BUSY.get(phase, "idle+turn-alive")
