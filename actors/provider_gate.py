"""ProviderGate: who may ask a provider now. One per provider, shared by all its agents (agents.md 6.1).

Owns the cooldown that one agent's failure imposes on all: admission is asked for by mail and answered when the time is
over, so nobody polls and no worker waits. Holds nothing that must survive; a restart forgets a cooldown.
"""

from ..messages.address import Address
from ..messages.mail import Admit, Admitted, Answer, AskState, Cooldown, CooldownOver
from ..messages.request import ErrorRecord
from .dispatcher import Actor, handles
from .system import System


class ProviderGate(Actor):
    """The actor of one provider's admission."""

    def __init__(self, system: System, address: Address) -> None:
        super().__init__(system, address)
        self.until = 0.0
        self.cause: ErrorRecord | None = None
        self.waiting: dict[Address, int] = {}

    def busy(self) -> bool:
        """A cooldown, and who waits for its end, are known only here."""
        return bool(self.waiting) or self.system.clock.now() < self.until

    def replaced(self) -> None:
        """Another object takes over: it keeps the cooldown, and those who wait go on waiting."""
        left = self.until - self.system.clock.now()
        if left > 0.0 and self.cause is not None:
            self.system.tell(self.address, Cooldown(left, self.cause))
        for agent, key in self.waiting.items():
            self.system.tell(self.address, Admit(agent, key))

    @handles(Admit)
    def admit(self, mail: Admit) -> None:
        """Admit the agent now, or when the cooldown is over; a newer request of one agent replaces its older."""
        if self.system.clock.now() >= self.until:
            self.system.tell(mail.agent, Admitted(mail.key))
        else:
            self.waiting[mail.agent] = mail.key

    @handles(Cooldown)
    def cooldown(self, mail: Cooldown) -> None:
        """Nobody asks the provider for so many seconds."""
        until = self.system.clock.now() + mail.seconds
        if until <= self.until:
            return
        self.until, self.cause = until, mail.error
        self.system.trace("provider:cooldown", provider=self.address.name, seconds=mail.seconds, error=mail.error.text)
        self.system.after(mail.seconds, self.address, CooldownOver(until))

    @handles(CooldownOver)
    def over(self, mail: CooldownOver) -> None:
        """The cooldown's time is over: admit those who wait, in the order in which they asked."""
        if mail.until < self.until:
            return
        waiting, self.waiting = self.waiting, {}
        for agent, key in waiting.items():
            self.system.tell(agent, Admitted(key))

    @handles(AskState)
    def ask_state(self, mail: AskState) -> None:
        """Say how long the cooldown lasts, and who waits."""
        left = max(0.0, self.until - self.system.clock.now())
        state = {"cooldown": left, "waiting": [a.name for a in self.waiting]}
        self.system.tell(mail.reply.address, Answer(state, mail.reply.key))
