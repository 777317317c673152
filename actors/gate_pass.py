"""GatePass: one agent's leave to ask its provider, from the question at the gate to the request that uses it.

A plain object on the agent's desk, since a turn may use what the agent asked for before it. One is held at a time; what
comes to no request is given back, so that it costs the provider's limits nothing. Knows the gate by its address alone.
"""

from ..messages.address import Address
from ..messages.mail import Admit, Admitted, GiveBack, provider_address
from ..messages.request import Limits, Usage
from .providers.provider import Provider
from .system import System

NOTHING_YET = Usage()


class GatePass:
    """The leave that an agent has asked for or holds."""

    def __init__(self, system: System, agent: Address, provider: Provider) -> None:
        self._system = system
        self._agent = agent
        self._provider = provider
        self._asked: Admit | None = None

    def ask(self, last: Usage = NOTHING_YET) -> None:
        """Ask the gate. The next request holds what the `last` one did and what was answered."""
        self.give_back()
        key = self._system.stream_id()
        self._asked = Admit(self._agent, key, counted(last), limits_of(self._provider))
        self._tell(self._asked)

    def is_for(self, mail: Admitted) -> bool:
        """Whether it answers the question that is open; one that was given back is open no more."""
        return self._asked is not None and self._asked.key == mail.key

    def used(self) -> None:
        """A request has gone out with it."""
        self._asked = None

    def give_back(self) -> None:
        """No request comes of it, whether the gate has answered or not."""
        if self._asked is not None:
            self._tell(GiveBack(self._agent, self._asked.key, self._asked.tokens))
            self._asked = None

    def _tell(self, mail: Admit | GiveBack) -> None:
        self._system.tell(provider_address(self._provider.name), mail)


def limits_of(provider: Provider) -> Limits | None:
    """The limits that the host set on its provider, if it is one that has such."""
    own = getattr(provider, "own_limits", None)
    return own if isinstance(own, Limits) else None


def counted(usage: Usage) -> int:
    """What counts against a limit: a cache read does not (anthropic), and is the smaller part elsewhere."""
    return usage.fresh + usage.written + usage.output
