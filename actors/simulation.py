"""The system without threads: everything is a step, and a seed picks the next one.

A step is one mail of a ready actor, one pass of the event loop, one job, or one commit of the writer. With
no step ready the clock jumps to the next timer. What happened is in `trace_log`, the same for the same seed
in every process (design, "Under `Simulation` nothing has a thread").
"""

import asyncio
import os
import random
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

from ..messages.address import Address
from ..messages.errors import Error, InvalidSetting, MapFull, StoreError
from ..storage.store import Store
from ..storage.units import Unit
from ..storage.writers import SteppedWriter
from .bridge import Finish, LoopTask
from .cells import Cell, Tenant
from .clock import VirtualClock
from .delivery import Delivery
from .faults import Faults, FaultSource, InjectedFault
from .inbox import Inbox, Waiting, here
from .system import Done, Mail, Statistics, Task
from .timers import Alarm, Timers, fire
from .virtual_loop import VirtualLoop
from .waits import waiting

T = TypeVar("T")
LIMIT = 1_000_000


class StillWaiting(Error):
    """Nothing is left to happen, and somebody waits."""

    def __init__(self, who: tuple[str, ...]) -> None:
        super().__init__("nothing is left to happen, but these wait: " + "; ".join(who))
        self.who = who


class TooManySteps(Error):
    """A run that did not come to its end within its limit of steps."""


class _Job:
    def __init__(self, kind: str, name: str, call: Callable[[], Any], finish: Finish) -> None:
        self.kind, self.name, self.call, self.finish = kind, name, call, finish
        self.over = False

    def cancel(self) -> None:
        """Never begins; nothing is reported."""
        self.over = True


def _stepped(store: Store) -> SteppedWriter:
    writer = store.writer
    if not isinstance(writer, SteppedWriter):
        raise InvalidSetting("a Simulation steps the store's writer: open the store with writer=SteppedWriter()")
    return writer


class Simulation(Delivery):
    """`System` in one thread, driven by its test.

    `seed` decides every choice. `park_rate`: chance that an idle actor is parked though it did not ask for
    it. `failures`: what handlers raised. Use as a context manager so that a failure names its seed.
    """

    clock: VirtualClock

    def __init__(
        self, store: Store, seed: int | str, *, park_rate: float = 0.0, faults: Faults | None = None,
        start_at: float = 1_700_000_000.0,
    ) -> None:
        super().__init__(store, VirtualClock(start_at), random.Random(f"{seed}/actors"))
        self._writer = _stepped(store)
        self.seed = seed
        self.trace_log: list[str] = []
        self.failures: list[tuple[Address, str, BaseException]] = []
        self.faults = FaultSource(faults or Faults(), random.Random(f"{seed}/faults"))
        self._steps = random.Random(f"{seed}/steps")
        self._park_rate = park_rate
        self._ready: list[Inbox] = []
        self._timers = Timers()
        self._jobs: list[_Job] = []
        self._tasks: dict[LoopTask, None] = {}
        self._loop = VirtualLoop(self.clock)
        self._dying = False
        self._refuse_by_fault()

    # Running.

    def start(self) -> None:
        """Nothing has to be started."""

    def close(self, deadline: float = 5.0) -> bool:
        """Drop everything; always quiet."""
        self._drop()
        self._loop.close()
        self.traces.close()
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is not None:
            self._sign(error)
        self.close()

    def run(self, until: Callable[[], bool] | None = None, limit: int = LIMIT) -> None:
        """Take steps, jumping the clock, until `until()` holds, or until nothing is left.

        Raises StillWaiting if somebody waits then (or `until` never held), TooManySteps past `limit` steps.
        """
        for _ in range(limit):
            if until is not None and until():
                return
            if not self.step() and not self._jump():
                waiters = self.waiting_now()
                if until is not None:
                    waiters = (*waiters, "run(until=...), whose condition does not hold")
                if waiters:
                    raise self._sign(StillWaiting(waiters))
                return
        raise self._sign(TooManySteps(f"the run did not end within {limit} steps; the last: {self.trace_log[-5:]}"))

    def step(self) -> bool:
        """Take one step that is ready now; False if none is."""
        self._fire_due()
        jobs = len(self._jobs)
        choices = len(self._ready) + jobs + self._loop.has_work() + self._writer.pending()
        if not choices:
            return False
        pick = self._steps.randrange(choices)
        if pick < len(self._ready):
            self._step_inbox(self._ready.pop(pick))
        elif (pick := pick - len(self._ready)) < jobs:
            self._step_job(self._jobs.pop(pick))
        elif pick == jobs and self._loop.has_work():
            self.trace_log.append("loop")
            self._loop.one_pass()
        else:
            self.trace_log.append("commit")
            self._writer.step()
        return True

    def settle(self, limit: int = LIMIT) -> None:
        """Take every step that is ready without moving the clock."""
        for _ in range(limit):
            if not self.step():
                return
        raise self._sign(TooManySteps(f"did not settle within {limit} steps; the last: {self.trace_log[-5:]}"))

    def complete(self, coroutine: Coroutine[Any, Any, T], limit: int = LIMIT) -> T:
        """Run a coroutine of the test in the virtual loop to its end, with everybody else; its result."""
        task = self._loop.create_task(coroutine)
        self.run(task.done, limit)
        return task.result()

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass, taking every step that falls due on the way."""
        ends = self.clock.now() + seconds
        while True:
            self.settle()
            at = self._next_at()
            if at is None or at > ends:
                break
            self.clock.move_to(at)
        self.clock.move_to(ends)
        self.settle()

    def crash(self) -> None:
        """Drop actors, loop, jobs and uncommitted units, and open the store anew; builders stay."""
        self.trace_log.append("crash")
        self._drop()
        self._loop.close()
        self._writer.drop()
        self.store = self.store.reopen()
        self._writer = _stepped(self.store)
        self._loop = VirtualLoop(self.clock)
        self._refuse_by_fault()

    def kill(self, address: Address) -> None:
        """Let an actor go, as an exception in it would; its mail stays for the next one."""
        cell = self._cells.get((address.kind, address.name))
        if cell is not None and cell.actor is not None:
            self._let_go(cell)
            cell.wake()

    def waiting_now(self) -> tuple[str, ...]:
        """Who waits for something that no step will bring."""
        waiters = [f"the answer to {name}" for name in self._replies]
        waiters += [f"the coroutine {task.name!r}" for task in self._tasks if not task.over]
        for cell in self._cells.values():
            if cell.actor is not None and cell.actor.loading:
                waiters.append(f"{cell.address} while loading, with {len(cell.stash)} mails put aside")
        return tuple(waiters)

    # What the system does.

    def tell(self, to: Address, mail: Mail) -> None:
        """As on threads; what coroutines say while a crash closes them is heard by nobody."""
        if not self._dying:
            super().tell(to, mail)

    def ready(self, inbox: Inbox, /) -> None:
        """Make a slice of the inbox one of the next steps."""
        self._ready.append(inbox)

    def wait(self, wait: Waiting) -> bool:
        """Take steps until the answer is there: the asked actor's first, then anybody's."""
        with waiting(here.inbox, wait.whom):
            ends = None if wait.timeout is None else self.clock.now() + wait.timeout
            asker, here.inbox = here.inbox, None
            try:
                while not wait.over():
                    if not self._step_for(wait.whom) and not self._jump(ends):
                        return False
            finally:
                here.inbox = asker
        return True

    def call_later(self, seconds: float, action: Callable[[], None], name: str) -> Alarm:
        """Call `action` when the clock is `seconds` further."""
        alarm = Alarm(self.clock.now() + max(0.0, seconds), action, name)
        self._timers.add(alarm)
        return alarm

    def job(
        self, kind: str, call: Callable[[], T], to: Address, done: Done[T], *, name: str, deadline: float | None = None
    ) -> Task:
        """The call runs whole in a step of its own; no deadline can pass meanwhile."""
        job = _Job(kind, name, call, lambda value, error: self.tell(to, done(value, error)))
        self._jobs.append(job)
        return job

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
        """Run a coroutine in the virtual loop, whatever `loop` says: nothing has a thread here."""
        task = LoopTask(
            self._loop, make, lambda value, error: self.tell(to, done(value, error)),
            name=name, deadline=deadline, left=self._task_left,
        )
        self._tasks[task] = None
        task.start()
        return task

    @property
    def loop(self) -> VirtualLoop:
        """The virtual loop."""
        return self._loop

    def fault(self, name: str) -> bool:
        """Whether to fail here on purpose, by the rate of that kind."""
        return self.faults.draw(name)

    def failed(self, cell: Cell, mail: Any, error: BaseException) -> float:
        """As on threads, and kept in `failures`."""
        self.failures.append((cell.address, "" if mail is None else type(mail).__name__, error))
        return super().failed(cell, mail, error)

    def parks(self, cell: Cell, actor: Tenant) -> bool:
        """As on threads, and now and then an idle actor that did not ask for it."""
        if super().parks(cell, actor):
            return True
        if actor.loading or actor.busy():
            return False
        by_rate = self._park_rate > 0 and self._steps.random() < self._park_rate
        return by_rate or self.faults.draw("parked")

    def statistics(self) -> Statistics:
        """Counts of what lives and waits."""
        return Statistics(
            actors=len(self._cells), parked=self.parked, ready=len(self._ready), timers=len(self._timers),
            jobs=len(self._jobs), tasks=len(self._tasks), rebuilt=self.rebuilt, ended=self.buried,
        )

    # Steps.

    def _step_inbox(self, inbox: Inbox) -> None:
        mail = inbox.mails[0] if inbox.mails else None
        what = "start" if mail is None else type(mail).__name__
        if isinstance(inbox, Cell) and inbox.actor is not None and self.faults.draw("killed"):
            self._let_go(inbox)
            self._ready.append(inbox)
            return
        name = str(inbox.address) if isinstance(inbox, Cell) else type(inbox).__name__
        self.trace_log.append(f"{name} {what}")
        inbox.run(1)

    def _let_go(self, cell: Cell) -> None:
        self.trace_log.append(f"kill {cell.address}")
        cell.let_go()

    def _step_job(self, job: _Job) -> None:
        if job.over:
            return
        job.over = True
        self.trace_log.append(f"job {job.kind} {job.name}")
        if self.faults.draw("job_raises"):
            job.finish(None, InjectedFault(f"the simulation made {job.name!r} raise"))
            return
        try:
            value = job.call()
        except BaseException as error:
            job.finish(None, error)
            return
        job.finish(value, None)

    def _step_for(self, whom: Inbox | None) -> bool:
        if whom is not None and whom in self._ready:
            self._fire_due()
            self._ready.remove(whom)
            self._step_inbox(whom)
            return True
        return self.step()

    def _fire_due(self) -> None:
        while (alarm := self._timers.pop_due(self.clock.now())) is not None:
            self.trace_log.append(f"timer {alarm.name}")
            fire(alarm)

    def _jump(self, latest: float | None = None) -> bool:
        """Move the clock to the next timer; False if there is none, or none until `latest`."""
        at = self._next_at()
        if at is None or (latest is not None and at > latest):
            if latest is not None:
                self.clock.move_to(latest)
            return False
        self.clock.move_to(at)
        return True

    def _next_at(self) -> float | None:
        times = [at for at in (self._timers.next_at(), self._loop.next_at()) if at is not None]
        return min(times, default=None)

    # Crashes and faults.

    def _drop(self) -> None:
        for cell in self._cells.values():
            # What an old coroutine still tells goes nowhere.
            cell.actor = None
        self._cells.clear()
        self._ended.clear()
        self._replies.clear()
        self._ready.clear()
        self._timers.clear()
        self._jobs.clear()
        tasks, self._tasks = self._tasks, {}
        self._close_coroutines(list(tasks))

    def _close_coroutines(self, tasks: list[LoopTask]) -> None:
        # Closed first, so that their async generators are not finalised in it.
        self._loop.close()
        self._dying = True
        for task in tasks:
            task.abandon()
        self._dying = False
        # Their finally blocks may have started something; a dead process does nothing.
        self._jobs.clear()
        self._timers.clear()

    def _task_left(self, task: LoopTask) -> None:
        self._tasks.pop(task, None)

    def _refuse_by_fault(self) -> None:
        if self.faults.may("map_full") or self.faults.may("commit_refused"):
            self.store.refuse = self._refusal

    def _refusal(self, unit: Unit) -> Exception | None:
        if not unit:
            return None
        if self.faults.draw("map_full"):
            return MapFull("the simulation says that the map is full")
        if self.faults.draw("commit_refused"):
            return StoreError("the simulation refused this unit")
        return None

    def _sign(self, error: BaseException) -> Any:
        note = f"simulation seed {self.seed!r}, PYTHONHASHSEED={os.environ.get('PYTHONHASHSEED', 'random')}"
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)
        return error
