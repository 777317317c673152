"""ProviderGate: who may ask a provider now. One per provider, shared by all its agents (agents.md 6.1).

Owns the cooldown that one agent's failure imposes on all, and the provider's limits, requests and tokens a minute:
the host's own, and what the answers' heads say. Admission is asked for by mail and answered in the order in which it
was asked for, when both let it, so nobody polls and no worker waits. Holds nothing that must survive; a restart
forgets a cooldown.
"""

from ..messages.address import Address
from ..messages.mail import Admit, Admitted, Answer, AskState, Cooldown, CooldownOver, GiveBack, Metered, Refilled
from ..messages.request import ErrorRecord, Limit, Limits
from .dispatcher import Actor, handles
from .system import System
from .token_bucket import Bucket

LEAST_WAIT = 0.001


class ProviderGate(Actor):
    """The actor of one provider's admission."""

    def __init__(self, system: System, address: Address) -> None:
        super().__init__(system, address)
        self.until = 0.0
        self.cause: ErrorRecord | None = None
        self.waiting: dict[Address, Admit] = {}
        self.requests: Bucket | None = None
        self.tokens: Bucket | None = None
        self.told = False
        self._own: Limits | None = None
        self._refill_asked = False

    def busy(self) -> bool:
        """A cooldown, limits that are used, and who waits, are known only here; so is the host's own limit.

        What an answer used comes after the answer, when the bucket may be full: it must find the limit it counts for.
        """
        now = self.system.clock.now()
        used = any(bucket is not None and not bucket.full(now) for bucket in (self.requests, self.tokens))
        return bool(self.waiting) or now < self.until or used or self._own is not None

    def replaced(self) -> None:
        """Another object takes over: it keeps the cooldown, and those who wait go on waiting."""
        left = self.until - self.system.clock.now()
        held = [Cooldown(left, self.cause)] if left > 0.0 and self.cause is not None else []
        self.leave(*held, *self.waiting.values())

    @handles(Admit)
    def admit(self, mail: Admit) -> None:
        """Admit the agent now, or when it may be; a newer request of one agent replaces its older, in its place."""
        if mail.own is not None and self._own != mail.own:
            self._own = mail.own
            self._feed(mail.own)
        self.waiting[mail.agent] = mail
        self._let_in()

    def _let_in(self) -> None:
        """Admit those who wait, in the order in which they asked, as far as cooldown and limits go."""
        now = self.system.clock.now()
        while self.waiting and now >= self.until:
            agent, first = next(iter(self.waiting.items()))
            wait = self._wait(first, now)
            if wait > 0.0:
                self._refill_in(wait)
                return
            del self.waiting[agent]
            self._use(1, first.tokens, now)
            self.system.tell(agent, Admitted(first.key))

    def _wait(self, mail: Admit, now: float) -> float:
        costs = ((self.requests, 1), (self.tokens, mail.tokens))
        return max(bucket.wait(cost, now) if bucket is not None else 0.0 for bucket, cost in costs)

    def _use(self, requests: int, tokens: int, now: float) -> None:
        for bucket, cost in ((self.requests, requests), (self.tokens, tokens)):
            if bucket is not None:
                bucket.use(cost, now)

    def _refill_in(self, seconds: float) -> None:
        if self._refill_asked:
            return
        self._refill_asked = True
        self.system.trace("provider:limited", provider=self.address.name, seconds=seconds, waiting=len(self.waiting))
        self.system.after(max(seconds, LEAST_WAIT), self.address, Refilled())

    @handles(Refilled)
    def refilled(self, mail: Refilled) -> None:
        """Time has passed: see whom it lets in."""
        self._refill_asked = False
        self._let_in()

    @handles(GiveBack)
    def given_back(self, mail: GiveBack) -> None:
        """No request comes of it: it waits no more, or what it was counted for is free."""
        waits = self.waiting.get(mail.agent)
        if waits is not None and waits.key == mail.key:
            del self.waiting[mail.agent]
        else:
            self._use(-1, -mail.tokens, self.system.clock.now())
        self._let_in()

    @handles(Metered)
    def metered(self, mail: Metered) -> None:
        """What an answer has told: the provider's word goes before the count of what was used."""
        now = self.system.clock.now()
        if mail.limits is not None:
            self.told = self.told or mail.limits.tokens is not None
            self._feed(mail.limits)
        elif not self.told:
            self._use(0, mail.beyond, now)
        self._let_in()

    def _feed(self, limits: Limits) -> None:
        own, now = self._own or Limits(), self.system.clock.now()
        self.requests = _fed(self.requests, limits.requests, own.requests, now)
        self.tokens = _fed(self.tokens, limits.tokens, own.tokens, now)

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
        """The cooldown's time is over: admit those who wait."""
        if mail.until >= self.until:
            self.until = min(self.until, self.system.clock.now())
            self._let_in()

    @handles(AskState)
    def ask_state(self, mail: AskState) -> None:
        """Say how long the cooldown lasts, who waits, and what the limits leave (None: no limit is known)."""
        now = self.system.clock.now()
        state = {
            "cooldown": max(0.0, self.until - now), "waiting": [a.name for a in self.waiting],
            "requests": None if self.requests is None else self.requests.level(now),
            "tokens": None if self.tokens is None else self.tokens.level(now),
        }
        self.system.tell(mail.reply.address, Answer(state, mail.reply.key))


def _fed(bucket: Bucket | None, stated: Limit | None, own: Limit | None, now: float) -> Bucket | None:
    """The bucket after a statement; the host's own limit caps what the provider would allow."""
    if stated is None:
        return bucket
    if own is not None and own.per_minute < stated.per_minute:
        left = min(stated.left, own.per_minute)
        stated = Limit(own.per_minute, left, (own.per_minute - left) / stated.per_second)
    if bucket is None:
        return Bucket(stated, now)
    bucket.feed(stated, now)
    return bucket
