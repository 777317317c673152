"""Delivery: the one table address -> cell, and what both systems do with it.

Owns who lives, who has ended, how each kind is built, and the reply addresses of waits. A sender never
learns whether an actor was parked, rebuilt or has moved. `Pool` and `Simulation` add threads or steps;
nothing here waits (design, "Addresses", "Supervision").
"""

import itertools
import logging
import random
import threading
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any, TypeVar, cast

from ..messages.address import Address, MailFailed, ReplyTo, Undelivered
from ..messages.errors import NotRouted
from ..storage.operator_log import OperatorLog
from .bridge import unwrapped
from .cells import ENDED, PARKED, Cell, Tenant
from .inbox import Inbox, Waiting, here
from .pykka_actor import PooledActor, refuse
from .pykka_future import Timeout, asked
from .supervision import MOST_REBUILDS, described, log_failure, rebuild_delay
from .system import Builder, Clock, Letter, Mail, Store, System, Unit, operator_line
from .timers import Alarm
from .traces import Trace, TraceBus
from .waits import check

_log = logging.getLogger(__name__)
REMEMBERED = 256
REPLY = "reply"
P = TypeVar("P", bound=PooledActor)
_Key = tuple[str, str]


class Delivery:
    """The part of a `System` that is the same with threads and without."""

    def __init__(self, store: Store, clock: Clock, source: random.Random) -> None:
        self.store = store
        self.operator_log: OperatorLog | None = None
        self.clock = clock
        self.random = source
        self.traces = TraceBus()
        self.rebuilt = self.parked = self.buried = 0
        self._cells: dict[_Key, Cell] = {}
        self._ended: dict[str, dict[str, int]] = {}
        self._builders: dict[str, Builder] = {}
        self._replies: dict[str, Callable[[Any], object]] = {}
        self._reply_numbers = itertools.count(1)
        self._stream_ids = itertools.count(1)
        # One lock for opening and closing cells; a tell to a living actor does not take it.
        self._lock = threading.RLock()

    # What a system adds.

    def ready(self, inbox: Inbox, /) -> None:
        """Run a slice of this inbox soon."""
        raise NotImplementedError

    def wait(self, wait: Waiting) -> bool:
        """Wait for an answer; False on timeout."""
        raise NotImplementedError

    def call_later(self, seconds: float, action: Callable[[], None], name: str) -> Alarm:
        """Call `action` in `seconds` of the clock."""
        raise NotImplementedError

    # Mail.

    def tell(self, to: Address, mail: Mail) -> None:
        """Put mail into the inbox of `to`, building its actor if none lives. Never raises, never blocks."""
        cell = self._cells.get((to.kind, to.name))
        if cell is not None and to.incarnation <= cell.address.incarnation:
            cell.put(mail)
        elif to.kind == REPLY:
            self._answer(to, mail)
        elif not self._open(to, (mail,)):
            self._undelivered(to, mail)

    def after(self, seconds: float, to: Address, mail: Mail) -> Alarm:
        """Tell `mail` to `to` in `seconds` of the clock."""
        return self.call_later(seconds, lambda: self.tell(to, mail), f"{type(mail).__name__} for {to}")

    def commit(
        self,
        unit: Unit,
        then: Sequence[Letter] = (),
        failed: Callable[[Exception], Sequence[Letter]] | None = None,
    ) -> None:
        """Write a unit; tell `then` once it is durable, or `failed(exc)` when it was refused."""

        def acknowledged(error: Exception | None) -> None:
            letters = then
            if error is not None:
                if failed is None:
                    _log.error("a unit of %d records was refused: %s", len(unit), error)
                letters = () if failed is None else failed(error)
            for to, mail in letters:
                self.tell(to, mail)

        try:
            self.store.submit(unit, acknowledged)
        except Exception as error:
            acknowledged(error)

    def ask(self, to: Address, make: Callable[[ReplyTo], Mail], timeout: float) -> Any:
        """Tell `make(reply)` to `to` and wait for the answer; see `System.ask`."""
        self.spawn(to)
        whom = self._cells.get((to.kind, to.name))
        check(here.inbox, whom)
        future = asked(whom, self)
        reply = self.open_reply(future.set)
        try:
            self.tell(to, make(ReplyTo(reply)))
            answer = future.get(timeout=timeout)
        except Timeout:
            raise TimeoutError(f"{to} did not answer within {timeout:g} s") from None
        finally:
            self.close_reply(reply)
        return unwrapped(to, answer)

    def open_reply(self, resolve: Callable[[Any], object]) -> Address:
        """An address whose one mail is given to `resolve`."""
        name = str(next(self._reply_numbers))
        self._replies[name] = resolve
        return Address(REPLY, name)

    def close_reply(self, address: Address) -> None:
        """Forget a reply address; a late answer is dropped."""
        self._replies.pop(address.name, None)

    def _answer(self, to: Address, mail: Mail) -> None:
        resolve = self._replies.pop(to.name, None)
        if resolve is None:
            return
        try:
            resolve(mail)
        except Exception:
            _log.exception("an answer (%s) could not be handed over", type(mail).__name__)

    def _undelivered(self, to: Address, mail: Mail) -> None:
        reply = getattr(mail, "reply", None)
        if isinstance(reply, ReplyTo):
            self.tell(reply.address, Undelivered(to, mail, reply.key))
        else:
            refuse(mail, str(to))

    # Life.

    def register(self, kind: str, build: Builder) -> None:
        """Say how an address of `kind` without a live actor is built, in its first slice."""
        self._builders[kind] = build

    def spawn(self, address: Address) -> None:
        """Make sure that the actor lives; a higher incarnation lifts an earlier end."""
        cell = self._cells.get((address.kind, address.name))
        if cell is None or address.incarnation > cell.address.incarnation:
            self._open(address, ())

    def end(self, address: Address) -> None:
        """End the actor for good; mail that waits and later mail is answered Undelivered."""
        with self._lock:
            cell = self._cells.get((address.kind, address.name))
            if cell is not None and address.incarnation < cell.address.incarnation:
                # An earlier incarnation was meant; the living one goes on.
                return
            self._remember_end(address)
            if cell is not None:
                self._close(cell)

    def start_actor(self, kind: type[P], *args: Any, **kwargs: Any) -> Any:
        """Start a host's own pykka actor on this system; returns its ref. It is not in the table."""
        before, here.inbox = here.inbox, Inbox(self)
        try:
            return kind.start(*args, **kwargs)
        finally:
            here.inbox = before

    def lives(self, address: Address) -> bool:
        """Whether the address has a cell now."""
        return (address.kind, address.name) in self._cells

    def _close(self, cell: Cell) -> None:
        del self._cells[(cell.address.kind, cell.address.name)]
        cell.closed = ENDED
        self.buried += 1
        if cell.suspended or cell.take_token():
            cell.suspended = False
            self.ready(cell)

    def _remember_end(self, address: Address) -> None:
        ended = self._ended.setdefault(address.kind, {})
        ended.pop(address.name, None)
        ended[address.name] = address.incarnation
        if len(ended) > REMEMBERED:
            del ended[next(iter(ended))]

    def _open(self, to: Address, mails: Sequence[Mail]) -> bool:
        """Give the mails to the cell of `to`, a new one if need be; False if it has ended."""
        with self._lock:
            cell = self._cells.get((to.kind, to.name))
            if cell is not None:
                if to.incarnation > cell.address.incarnation:
                    cell.address = to
                for mail in mails:
                    cell.put(mail)
                return True
            ended = self._ended.get(to.kind, {})
            if ended.get(to.name, to.incarnation - 1) >= to.incarnation:
                return False
            if to.kind not in self._builders:
                _log.error("no builder is registered for %r; %s was not reached", to.kind, to)
                return False
            ended.pop(to.name, None)
            cell = Cell(self, self, to)
            cell.mails.extend(mails)
            # Published only when it holds what came first, so that later senders come later.
            self._cells[(to.kind, to.name)] = cell
        self.ready(cell)
        return True

    # What a cell asks of its keeper.

    def build(self, cell: Cell) -> Tenant:
        """A new actor for the cell, by its kind's builder."""
        return cast(Tenant, self._builders[cell.address.kind](cast(System, self), cell.address))

    def failed(self, cell: Cell, mail: Any, error: BaseException) -> float:
        """Log, answer, and say when the actor is built anew; past the limit it is ended."""
        delay = None if mail is None and isinstance(error, NotRouted) else rebuild_delay(cell.failures)
        log_failure(cell.address, mail, error, delay)
        reply = getattr(mail, "reply", None)
        if isinstance(reply, ReplyTo):
            self.tell(reply.address, MailFailed(cell.address, mail, described(error), reply.key))
        if delay is not None:
            self.rebuilt += 1
            return delay
        if not isinstance(error, NotRouted):
            text = f"{cell.address} raised {MOST_REBUILDS + 1} times in a row and was ended; see the log, then restart"
            operator_line(cast(System, self), "actor-ended", text, address=str(cell.address))
        if not cell.closed:
            self.end(cell.address)
        return 0.0

    def suspend(self, cell: Cell, seconds: float) -> None:
        """Run the cell again after so long; nobody else runs it meanwhile."""
        with self._lock:
            if cell.closed:
                self.ready(cell)
                return
            cell.suspended = True
        self.call_later(seconds, lambda: self._resume(cell), f"rebuild of {cell.address}")

    def _resume(self, cell: Cell) -> None:
        with self._lock:
            if not cell.suspended:
                return
            cell.suspended = False
        self.ready(cell)

    def emptied(self, cell: Cell, actor: Tenant) -> None:
        """No mail is left: park the cell if its actor may be parked, else let it rest."""
        try:
            parks = self.parks(cell, actor)
            if parks:
                actor.parking()
        except BaseException as error:
            self.suspend(cell, cell.lose(None, error))
            return
        if parks:
            self._park(cell)
            return
        cell.rest()
        # It may have been ended between the last look and the token.
        if cell.closed and cell.take_token():
            self.bury(cell)

    def parks(self, cell: Cell, actor: Tenant) -> bool:
        """Whether to park the actor, whose inbox is empty."""
        return not actor.loading and not actor.busy() and actor.may_park()

    def _park(self, cell: Cell) -> None:
        with self._lock:
            if cell.closed:
                self.ready(cell)
                return
            self.parked += 1
            cell.closed = PARKED
            cell.actor = None
            del self._cells[(cell.address.kind, cell.address.name)]
            self._move(cell)

    def forward(self, cell: Cell) -> None:
        """A closed cell got mail: give it to who has the address now, or back."""
        with self._lock:
            if cell.closed == PARKED:
                self._move(cell)
                return
        for mail in cell.drain():
            self._undelivered(cell.address, mail)

    def _move(self, cell: Cell) -> None:
        mails = cell.drain()
        if mails and not self._open(cell.address, mails):
            for mail in mails:
                self._undelivered(cell.address, mail)

    def bury(self, cell: Cell) -> None:
        """The address has ended: let the actor go and answer what waits."""
        actor, cell.actor = cell.actor, None
        if actor is not None:
            try:
                actor.ended()
            except Exception:
                _log.exception("%s raised in ended()", cell.address)
        self.forward(cell)

    # Small things.

    def stream_id(self) -> int:
        """The next stream id."""
        return next(self._stream_ids)

    def fault(self, name: str) -> bool:
        """Never, outside a simulation."""
        return False

    def trace(self, name: str, **fields: Any) -> None:
        """Tell a trace. Never raises."""
        if self.traces.listening:
            self.traces.tell(Trace(name, self.clock.now(), MappingProxyType(fields)))
