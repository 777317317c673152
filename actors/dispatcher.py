"""Actors with an address: the base classes of everything that acts.

An `Actor` handles typed mail, one at a time, on shared workers; it is built from the store whenever mail
meets no live one. `StoredActor` waits, before its first mail, until what a predecessor sent to the writer
is in the store. Handlers never block and never hold a reference to another actor.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar, cast

from pykka import messages
from pykka._envelope import Envelope

from ..messages.address import Address
from .cells import Cell
from .pykka_actor import SPECIAL, PooledActor, PooledRef, StopFlag, unwrap
from .system import Mail, System

_log = logging.getLogger(__name__)
A = TypeVar("A", bound="Actor")
M = TypeVar("M")
_Handler = Callable[[Any, Any], None]


def handles(mail: type[M]) -> Callable[[Callable[[A, M], None]], Callable[[A, M], None]]:
    """Method decorator: this method handles mail of exactly this type. May be stacked."""

    def mark(method: Callable[[A, M], None]) -> Callable[[A, M], None]:
        known: tuple[type, ...] = getattr(method, "__handles__", ())
        cast(Any, method).__handles__ = (*known, mail)
        return method

    return mark


class Actor(PooledActor):
    """Base class of the runtime's actors: `system` and `address`, and one method per type of mail."""

    _handlers: ClassVar[Mapping[type, _Handler]] = MappingProxyType({})

    def __init__(self, system: System, address: Address) -> None:
        self.system = system
        self.address = address

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        named = {
            mail: name
            for ancestor in reversed(cls.__mro__)
            for name, member in vars(ancestor).items()
            for mail in getattr(member, "__handles__", ())
        }
        cls._handlers = MappingProxyType({mail: getattr(cls, name) for mail, name in named.items()})

    def __str__(self) -> str:
        return str(self.address)

    # To be overridden.

    def starting(self) -> None:
        """First slice of a newly built actor, before any mail; may read the store."""

    def may_park(self) -> bool:
        """Asked when the inbox is empty: whether to be parked now, that is dropped and rebuilt by the next mail."""
        return False

    def busy(self) -> bool:
        """Whether it holds what is nowhere else (a turn that runs); such an actor is not parked, whatever happens."""
        return False

    def parking(self) -> None:
        """About to be parked; no mail follows."""

    def replaced(self) -> None:
        """It raised and another object takes over: stop what it started; its mail stays."""

    def ended(self) -> None:
        """Its address has ended for good; no mail follows."""

    def leave(self, *mails: Mail) -> None:
        """For `replaced()`: mail for who takes over, before all that waits already."""
        self.cell.put_first(mails)

    # For its cell.

    @property
    def loading(self) -> bool:
        """Whether mail is being put aside."""
        return False

    @property
    def cell(self) -> Cell:
        """Its inbox, and the mail that was put aside."""
        return cast(Cell, self.actor_inbox)

    def move_in(self, cell: Cell) -> None:
        """Take the cell as the inbox."""
        self.actor_inbox = cell
        self.actor_stopped = cast(Any, StopFlag())
        self._actor_ref = PooledRef(self)

    def receive(self, mail: Mail) -> bool:
        """Give a mail to its method; False if it was only put aside."""
        handler = self._handlers.get(type(mail))
        if handler is not None:
            handler(self, mail)
            return True
        return self._receive_other(mail)

    def _receive_other(self, mail: Any) -> bool:
        if type(mail) is Envelope or type(mail) in SPECIAL:
            self._receive_pykka(mail)
        else:
            _log.warning("%s got %s, which it does not handle", self.address, type(mail).__name__)
        return True

    def _receive_pykka(self, mail: Any) -> None:
        """A message through a pykka ref or proxy of this actor."""
        mail, reply = unwrap(mail)
        if isinstance(mail, messages._ActorStop):
            self.system.end(self.address)
            answer = None
        elif reply is None:
            answer = self._handle_receive(mail)
        else:
            try:
                answer = self._handle_receive(mail)
            except Exception:
                reply.set_exception()
                return
        if reply is not None:
            reply.set(answer)

    def on_receive(self, message: Any) -> Any:
        """Mail that came through a pykka ref."""
        return self.receive(message) and None


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """The barrier of one load was acknowledged; equal only to itself."""


class StoredActor(Actor):
    """An actor whose state is in the store.

    In its first slice it commits an empty unit and puts mail aside, in order, until that is acknowledged:
    then every unit that a predecessor sent is in the store. `loaded()` reads it, then the mail is handled.
    """

    _barrier: Loaded | None = None

    def starting(self) -> None:
        """Begin to load."""
        self.reload()

    def reload(self) -> None:
        """Load again, for instance after a refused unit; mail waits meanwhile."""
        barrier = self._barrier = Loaded()
        letter = (self.address, barrier)
        # A refused barrier has waited for its order all the same.
        self.system.commit((), (letter,), lambda _: (letter,))

    def loaded(self) -> None:
        """Everything a predecessor sent is in the store: read it."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it is loaded")

    @property
    def loading(self) -> bool:
        """Whether mail is being put aside."""
        return self._barrier is not None

    def receive(self, mail: Mail) -> bool:
        """Put mail aside while loading, else give it to its method."""
        if type(mail) is Loaded:
            if mail is self._barrier:
                self._barrier = None
                self.loaded()
                if self._barrier is None:
                    self.cell.unstash()
            return False
        if self._barrier is not None:
            self.cell.stash.append(mail)
            return False
        return super().receive(mail)
