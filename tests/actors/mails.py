"""Mail and actors that the tests of this folder share."""

import threading
from dataclasses import dataclass
from typing import Any

from manyminds.actors.dispatcher import Actor, StoredActor, handles
from manyminds.actors.pool import Pool
from manyminds.actors.simulation import Simulation
from manyminds.actors.system import System
from manyminds.messages.address import Address, ReplyTo
from manyminds.storage import MemoryStore, SteppedWriter


@dataclass(frozen=True, slots=True)
class Count:
    """Count one more; `reply` is told all numbers so far."""

    number: int
    reply: ReplyTo | None = None


@dataclass(frozen=True, slots=True)
class Break:
    """Raise."""

    error: BaseException
    agent: str = ""
    turn: int = 0
    room: str = ""
    id: str = ""
    reply: ReplyTo | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """How a job or a coroutine ended."""

    value: Any
    error: BaseException | None


class Counter(Actor):
    """Keeps the numbers it was told, in memory; `built` counts its builds."""

    built = 0

    def __init__(self, system: System, address: Address) -> None:
        super().__init__(system, address)
        type(self).built += 1
        self.numbers: list[int] = []

    @handles(Count)
    def count(self, mail: Count) -> None:
        """Keep the number, and tell all of them."""
        self.numbers.append(mail.number)
        if mail.reply is not None:
            self.system.tell(mail.reply.address, tuple(self.numbers))

    @handles(Break)
    def fail(self, mail: Break) -> None:
        """Raise what the mail holds."""
        raise mail.error


class Collector(Actor):
    """Hands every mail of the listed types to a list of the test's."""

    def __init__(self, system: System, address: Address, into: list[Any]) -> None:
        super().__init__(system, address)
        self.into = into

    def receive(self, mail: object) -> bool:
        """Keep it."""
        self.into.append(mail)
        return True


def simulation(seed: int | str = 1, **options: Any) -> Simulation:
    """A simulation over a store in memory."""
    return Simulation(MemoryStore(writer=SteppedWriter()), seed, **options)


def with_box(sim: Simulation) -> list[Any]:
    """Register a kind `box` that keeps what it is told; the list that it keeps it in."""
    got: list[Any] = []
    sim.register("box", lambda system, address: Collector(system, address, got))
    return got


def fresh_counter() -> type[Counter]:
    """A counter with a count of builds of its own."""
    return type("FreshCounter", (Counter,), {"built": 0})


class Stored(StoredActor):
    """Remembers, in memory, what it was told since it was loaded; `log` outlives it."""

    log: list[Any] = []  # noqa: RUF012

    def loaded(self) -> None:
        self.log.append("loaded")

    @handles(Count)
    def count(self, mail: Count) -> None:
        self.log.append(mail.number)

    @handles(Break)
    def fail(self, mail: Break) -> None:
        raise mail.error


def fresh_stored() -> type[Stored]:
    """A stored actor with a log of its own."""
    return type("FreshStored", (Stored,), {"log": []})


class Mailbox:
    """Mail for the test, which may wait for so many."""

    def __init__(self, pool: Pool) -> None:
        self.mails: list[Any] = []
        self._changed = threading.Condition()
        inbox = self

        class Box(Actor):
            def receive(self, mail: object) -> bool:
                with inbox._changed:
                    inbox.mails.append(mail)
                    inbox._changed.notify()
                return True

        pool.register("box", Box)

    def wait(self, count: int, timeout: float = 20.0) -> list[Any]:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.mails) >= count, timeout), self.mails
            return self.mails
