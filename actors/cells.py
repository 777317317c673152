"""Cells: the inbox of an address, whether or not its actor is built right now.

A cell outlives a rebuild: mail and stash stay, only the actor object is replaced. A closed cell (parked or
ended) gives its mail on through its keeper. One thread at a time runs a cell; it decides nothing about
supervision or parking itself.
"""

import logging
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from ..messages.address import Address
from .inbox import Inbox, Scheduler

_log = logging.getLogger(__name__)
OPEN, PARKED, ENDED = 0, 1, 2


class Tenant(Protocol):
    """An actor as its cell sees it."""

    address: Address

    @property
    def loading(self) -> bool:
        """Whether it puts mail aside for now."""
        ...

    def move_in(self, cell: "Cell") -> None:
        """Take the cell as the actor's inbox."""
        ...

    def starting(self) -> None:
        """First slice, before any mail."""
        ...

    def receive(self, mail: Any) -> bool:
        """Handle a mail; False if it was only put aside."""
        ...

    def may_park(self) -> bool:
        """Whether it wants to be parked now that its inbox is empty."""
        ...

    def busy(self) -> bool:
        """Whether it holds what is nowhere else, so that it must not be parked."""
        ...

    def parking(self) -> None:
        """It is about to be parked."""
        ...

    def replaced(self) -> None:
        """Another object takes over."""
        ...

    def ended(self) -> None:
        """Its address has ended for good."""
        ...


class Keeper(Protocol):
    """Who owns cells: builds their actors, answers for their failures, closes them."""

    def build(self, cell: "Cell") -> Tenant:
        """A new actor for the cell."""
        ...

    def failed(self, cell: "Cell", mail: Any, error: BaseException) -> float:
        """The actor, or its building (mail is None), raised. Seconds until it may be built anew."""
        ...

    def suspend(self, cell: "Cell", seconds: float) -> None:
        """Run the cell again after so long; nobody else runs it meanwhile."""
        ...

    def emptied(self, cell: "Cell", actor: Tenant) -> None:
        """No mail is left: park the cell or let it rest."""
        ...

    def forward(self, cell: "Cell") -> None:
        """A closed cell got mail: give it to who has the address now."""
        ...

    def bury(self, cell: "Cell") -> None:
        """The address has ended: let the actor go and answer what waits."""
        ...


class _Node(NamedTuple):
    keeper: int
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


class Cell(Inbox):
    """The inbox of one address."""

    __slots__ = ("actor", "address", "closed", "failures", "keeper", "stash", "suspended")

    def __init__(self, scheduler: Scheduler, keeper: Keeper, address: Address) -> None:
        super().__init__(scheduler)
        self.keeper = keeper
        self.address = address
        self.actor: Tenant | None = None
        self.stash: deque[Any] = deque()
        self.closed = OPEN
        self.failures = 0
        self.suspended = False

    @property
    def node(self) -> object:
        """The address stands for the cell, since parking replaces cells."""
        return _Node(id(self.keeper), self.address.kind, self.address.name)

    def put(self, mail: Any, /) -> None:
        """Append mail; a closed cell gives it on."""
        self.mails.append(mail)
        if self.closed:
            self.keeper.forward(self)
        elif self.token:
            self.wake()

    def put_first(self, mails: Sequence[Any]) -> None:
        """Put mail before all that waits; only by an actor that is being let go, for the next one."""
        self.mails.extendleft(reversed(mails))

    def unstash(self) -> None:
        """Put the stash back before the mail that came later."""
        while self.stash:
            self.mails.appendleft(self.stash.pop())

    def drain(self) -> list[Any]:
        """Take everything that waits, in order."""
        taken: list[Any] = []
        for waiting in (self.stash, self.mails):
            while waiting:
                taken.append(waiting.popleft())
        return taken

    def slice(self, limit: int) -> None:
        """Build the actor if there is none, then give it its mail. What comes last gives the cell away."""
        pause = 0.0
        if not self.closed:
            pause = self._build() if self.actor is None else 0.0
            if self.actor is not None:
                pause = self._deliver(self.actor, limit)
        if self.closed:
            self.keeper.bury(self)
        elif pause:
            self.keeper.suspend(self, pause)
        elif self.mails or self.actor is None:
            self.scheduler.ready(self)
        else:
            self.keeper.emptied(self, self.actor)

    def _build(self) -> float:
        try:
            actor = self.keeper.build(self)
            actor.move_in(self)
            self.actor = actor
            actor.starting()
        except BaseException as error:
            return self.lose(None, error)
        return 0.0

    def _deliver(self, actor: Tenant, limit: int) -> float:
        mails = self.mails
        while mails and limit and not self.closed:
            limit -= 1
            mail = mails.popleft()
            try:
                if actor.receive(mail):
                    self.failures = 0
            except BaseException as error:
                return self.lose(mail, error)
        return 0.0

    def lose(self, mail: Any, error: BaseException) -> float:
        """The actor raised: let it go. Seconds until it may be built anew."""
        self.let_go()
        self.failures += 1
        return self.keeper.failed(self, mail, error)

    def let_go(self) -> None:
        """Drop the actor; its mail stays for the next one."""
        actor, self.actor = self.actor, None
        if actor is None:
            return
        try:
            actor.replaced()
        except Exception:
            _log.exception("%s raised in replaced()", self.address)
