"""The system as an actor sees it: protocols only, and the operator line.

An actor gets a `System` and its own `Address` and nothing else. `Pool` runs actors on threads, `Simulation`
runs them step by step; an actor cannot tell which. Holds no state and starts nothing.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from ..messages.address import Address, ReplyTo
from ..messages.errors import Error
from ..storage.operator_log import OperatorLog
from ..storage.store import Store
from ..storage.units import Op, Unit

__all__ = [
    "Address", "Builder", "Clock", "Done", "JobNotStarted", "JobRefused", "Letter", "Living", "Mail", "Op", "ReplyTo",
    "Statistics", "Store", "System", "Task", "Timer", "Unit", "operator_line",
]

Mail: TypeAlias = object
Letter: TypeAlias = tuple[Address, Mail]
T = TypeVar("T")

_operator_log = logging.getLogger("manyminds.operator")


class JobRefused(Error):
    """A tool or server whose earlier jobs hang in too many threads; the job was not started."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name!r} was refused: too many of its earlier calls passed their deadline and still hold a thread; "
            f"make it return (a timeout of its own) or restart the process"
        )
        self.name = name


class JobGivenUp(Error, TimeoutError):
    """A job or coroutine that had not ended at its deadline; it may still take effect.

    Not any TimeoutError: a host's own code raises those too, long before.
    """

    def __init__(self, name: str, seconds: float) -> None:
        super().__init__(f"{name!r} did not return within {seconds:g} s")


class JobNotStarted(Error, TimeoutError):
    """A job that never ran: its deadline passed while it waited for a thread, or its event loop is closed."""

    def __init__(self, name: str, why: str = "its deadline came before a thread was free") -> None:
        super().__init__(f"{name!r} was not started: {why}")


class Clock(Protocol):
    """The source of time."""

    def now(self) -> float:
        """Unix seconds; never goes back."""
        ...


class Timer(Protocol):
    """A mail that will be told later."""

    def cancel(self) -> None:
        """Do not tell it; nothing happens if it was told already."""
        ...


class Task(Protocol):
    """A job or a coroutine that runs for an actor."""

    def cancel(self) -> None:
        """Stop it if it can be stopped; its `done` mail is never sent. Idempotent."""
        ...


class Living(Protocol):
    """An actor that a builder made, as the address table knows it."""

    address: Address


Builder: TypeAlias = "Callable[[System, Address], Living]"
Done: TypeAlias = Callable[[T | None, BaseException | None], Mail]


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts of a running system, for health() and tests."""

    actors: int = 0
    parked: int = 0
    ready: int = 0
    workers: int = 0
    blocked: int = 0
    timers: int = 0
    jobs: int = 0
    tasks: int = 0
    given_up: int = 0
    rebuilt: int = 0
    ended: int = 0


class System(Protocol):
    """Everything an actor may do to the world (design, "How actors run")."""

    random: random.Random
    store: Store
    operator_log: OperatorLog | None

    @property
    def clock(self) -> Clock:
        """The source of time."""
        ...

    def tell(self, to: Address, mail: Mail) -> None:
        """Put mail into the inbox of `to`, building its actor if none lives. Never raises, never blocks."""
        ...

    def after(self, seconds: float, to: Address, mail: Mail) -> Timer:
        """Tell `mail` to `to` in `seconds` of the clock."""
        ...

    def commit(
        self,
        unit: Unit,
        then: Sequence[Letter] = (),
        failed: Callable[[Exception], Sequence[Letter]] | None = None,
    ) -> None:
        """Write a unit; its letters are told in order once it is durable.

        On refusal those of `failed(exc)` are told instead (default: the refusal is logged). An empty unit is
        a barrier: it is acknowledged in its order.
        """
        ...

    def job(
        self,
        kind: str,
        call: Callable[[], T],
        to: Address,
        done: Done[T],
        *,
        name: str,
        deadline: float | None = None,
    ) -> Task:
        """Run a blocking function on the pool `kind`; `done(result, None)` or `done(None, error)` comes as mail.

        `deadline`: seconds from now. Past it the job is given up and `done(None, JobGivenUp)` is told;
        JobNotStarted (a TimeoutError) if it had not begun. Past the limit of given-up threads, jobs of `name`
        answer JobRefused.
        """
        ...

    def task(
        self,
        make: Callable[[], Coroutine[Any, Any, T]],
        to: Address,
        done: Done[T],
        *,
        name: str,
        deadline: float | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> Task:
        """Run a coroutine on the runtime's loop, or on the host's `loop`; its result comes as mail.

        `deadline`: seconds from now; past it the coroutine is cancelled and `done(None, JobGivenUp)` is told.
        """
        ...

    def register(self, kind: str, build: Builder) -> None:
        """Say how an address of `kind` without a live actor is built, in its first slice."""
        ...

    def spawn(self, address: Address) -> None:
        """Make sure that the actor lives, as a tell would; a higher incarnation lifts an earlier end."""
        ...

    def end(self, address: Address) -> None:
        """End the actor for good: mail that waits and later mail is answered Undelivered."""
        ...

    def stream_id(self) -> int:
        """The next stream id; counts up for the life of the system."""
        ...

    def fault(self, name: str) -> bool:
        """Whether to fail here on purpose; always False outside a simulation with that rate."""
        ...

    def trace(self, name: str, **fields: Any) -> None:
        """Tell a trace. Never raises."""
        ...

    def ask(self, to: Address, make: Callable[[ReplyTo], Mail], timeout: float) -> Any:
        """Tell `make(reply)` to `to` and wait for the answer told to that reply address.

        Raises TimeoutError, `Failed` when the handler raised or the actor has ended, and AskCycle at once
        where the wait would close a cycle.
        """
        ...

    def open_reply(self, resolve: Callable[[Any], object]) -> Address:
        """An address whose one mail is given to `resolve`, in the teller's thread."""
        ...

    def close_reply(self, address: Address) -> None:
        """Forget a reply address; a late answer is dropped."""
        ...

    def statistics(self) -> Statistics:
        """Counts of what lives and waits."""
        ...


def operator_line(system: System, kind: str, text: str, **fields: Any) -> None:
    """Tell the operator: a trace `operator`, a WARNING on `manyminds.operator`, an entry of the operator log.

    Fields are plain values; `agent` names the agent concerned (agents.md 15). Never raises.
    """
    system.trace("operator", kind=kind, text=text, **fields)
    _operator_log.warning("%s: %s", kind, text, extra={"operator": {"kind": kind, **fields}})
    if system.operator_log is not None:
        agent = fields.pop("agent", None)
        system.operator_log.write(
            kind, system.clock.now(), agent=None if agent is None else str(agent), note=text, params=fields or None
        )
