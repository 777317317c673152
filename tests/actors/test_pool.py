"""The pool of threads: order under load, jobs and their deadlines, timers, blocked workers, leaving."""

import asyncio
import gc
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, cast

import pykka
import pytest

from manyminds.actors import bridge, jobs
from manyminds.actors.dispatcher import Actor
from manyminds.actors.inbox import Inbox
from manyminds.actors.pool import Pool
from manyminds.actors.pykka_actor import PooledActor
from manyminds.actors.system import JobNotStarted, JobRefused
from manyminds.messages.address import Address
from manyminds.messages.errors import AskCycle, Failed
from manyminds.storage import MemoryStore
from tests.actors.mails import Break, Count, Counter, Result
from tests.actors.test_dispatcher import Stored

pytestmark = pytest.mark.pool
ONE = Address("counter", "one")
BOX = Address("box", "test")


@pytest.fixture
def pool() -> Iterator[Pool]:
    """A pool of two workers over a store in memory with a writer's thread."""
    store = MemoryStore()
    pool = Pool(store, workers=2)
    pool.start()
    yield pool
    assert pool.close(5.0)
    store.close()


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


class TestMail:
    @pytest.mark.parametrize("parks", [False, True])
    def test_every_mail_once_and_in_order(self, pool: Pool, parks: bool, amount: Callable[[int, int], int]) -> None:
        """[design, How actors run] 8 senders, 50 actors: nothing lost, doubled or overtaken, and one at a time.

        With `parks` every actor is parked whenever its inbox is empty.
        """
        rounds = amount(60, 2_000)
        seen: dict[str, list[tuple[int, int]]] = {str(n): [] for n in range(50)}
        running: dict[str, int] = dict.fromkeys(seen, 0)
        overlaps: list[str] = []

        class Checking(Actor):
            def receive(self, mail: object) -> bool:
                name = self.address.name
                running[name] += 1
                if running[name] != 1:
                    overlaps.append(name)
                seen[name].append(cast("tuple[int, int]", mail))
                running[name] -= 1
                return True

            def may_park(self) -> bool:
                return parks

        pool.register("check", Checking)
        addresses = [Address("check", name) for name in seen]

        def send(sender: int) -> None:
            for number in range(rounds):
                for address in addresses:
                    pool.tell(address, (sender, number))

        threads = [threading.Thread(target=send, args=(sender,)) for sender in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ends = time.monotonic() + 60
        total = 8 * rounds * len(seen)
        while sum(map(len, seen.values())) < total and time.monotonic() < ends:
            threading.Event().wait(0.005)
        assert overlaps == []
        for mails in seen.values():
            assert len(mails) == 8 * rounds
            for sender in range(8):
                assert [number for who, number in mails if who == sender] == list(range(rounds))
        assert (pool.statistics().parked > 0) == parks

    def test_an_ended_actor_leaves_nobody_waiting(self, pool: Pool, amount: Callable[[int, int], int]) -> None:
        """[design, Supervision] Ends racing with asks: every ask is answered, by the actor or with Failed."""
        pool.register("counter", Counter)
        answers: list[str] = []

        def ask(incarnation: int) -> None:
            for _ in range(20):
                try:
                    pool.ask(Address("counter", "one", incarnation), lambda reply: Count(1, reply), 20.0)
                    answers.append("answered")
                except Failed:
                    answers.append("failed")

        for incarnation in range(amount(10, 200)):
            pool.spawn(Address("counter", "one", incarnation))
            threads = [threading.Thread(target=ask, args=(incarnation,)) for _ in range(3)]
            for thread in threads:
                thread.start()
            pool.end(Address("counter", "one", incarnation))
            for thread in threads:
                thread.join()
        assert len(answers) == amount(10, 200) * 60
        assert "failed" in answers

    def test_s12_on_threads(self, pool: Pool, caplog: pytest.LogCaptureFixture) -> None:
        """[S12] The bad mail alone is lost, on threads as under simulation; the writer is a thread here."""
        kind: type[Stored] = type("Fresh", (Stored,), {"log": []})
        box = Mailbox(pool)
        pool.register("counter", kind)
        for number in range(1, 6):
            pool.tell(ONE, Break(ValueError("two")) if number == 2 else Count(number))
        # A third failure in a row would wait; two barriers follow each other at once.
        pool.commit((), [(BOX, "barrier")])
        box.wait(1)
        ends = time.monotonic() + 20
        while len(kind.log) < 6 and time.monotonic() < ends:
            threading.Event().wait(0.005)
        assert kind.log == ["loaded", 1, "loaded", 3, 4, 5]
        assert "counter:one raised on Break" in caplog.text

    @pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
    def test_no_exception_kills_a_worker(self, pool: Pool, error: BaseException) -> None:
        """[dispatcher] SystemExit in a handler ends neither the process nor a worker."""
        pool.register("counter", Counter)
        for number in range(5):
            pool.tell(Address("counter", str(number)), Break(error))
        assert pool.ask(ONE, lambda reply: Count(1, reply), 20.0) == (1,)
        assert pool.statistics().workers == 2

    def test_a_fault_of_the_runtime_costs_no_worker(self, pool: Pool, caplog: pytest.LogCaptureFixture) -> None:
        """[design, How actors run] A slice that raises is logged as critical; worker and inbox go on."""
        done = threading.Event()

        class Faulty(Inbox):
            def slice(self, limit: int) -> None:
                self.mails.popleft()()
                self.rest()

        inbox = Faulty(pool)
        inbox.rest()
        inbox.put(lambda: 1 / 0)
        inbox.put(done.set)
        assert done.wait(20)
        assert pool.statistics().workers == 2
        assert "ZeroDivisionError" in caplog.text

    def test_timers(self, pool: Pool) -> None:
        """[dispatcher] Timers come in the order of their times; a cancelled one never comes."""
        box = Mailbox(pool)
        pool.after(0.03, BOX, "second")
        pool.after(0.01, BOX, "first")
        pool.after(0.02, BOX, "never").cancel()
        pool.after(0.05, BOX, "third")
        assert box.wait(3) == ["first", "second", "third"]


class TestAsk:
    def test_timeout_and_failure(self, pool: Pool) -> None:
        """[design, Nothing blocks] An ask from outside always has a timeout; a raising handler is Failed."""
        pool.register("counter", Counter)
        with pytest.raises(TimeoutError):
            pool.ask(ONE, lambda _: Count(1), 0.02)
        with pytest.raises(Failed, match="ValueError: no"):
            pool.ask(ONE, lambda reply: Break(ValueError("no"), reply=reply), 20.0)

    def test_s25_a_cycle_of_asks_raises_at_once(self, pool: Pool) -> None:
        """[S25] A asks B while B asks A: AskCycle, long before the timeout; both are alive after it."""
        seen: list[tuple[str, ...]] = []

        class Asking(Counter):
            def count(self, mail: Count) -> None:
                other = Address("asking", "b" if self.address.name == "a" else "a")
                try:
                    self.system.ask(other, lambda reply: Count(1, reply), 60.0)
                except AskCycle as error:
                    seen.append(error.chain)
                super().count(mail)

        pool.register("asking", Asking)
        assert pool.ask(Address("asking", "a"), lambda reply: Count(1, reply), 30.0) == (1,)
        assert seen == [("asking:b", "asking:a", "asking:b")]
        assert pool.ask(Address("asking", "b"), lambda reply: Count(1, reply), 30.0)[0] == 1

    def test_s25_for_a_hosts_own_actors(self, pool: Pool) -> None:
        """[S25] Two pykka actors of the host that ask each other; and one that asks itself."""

        class Asking(PooledActor):
            def on_receive(self, message: Any) -> Any:
                return "leaf" if message is None else message[0].ask(message[1], timeout=60)

        a, b, c = (pool.start_actor(Asking) for _ in range(3))
        assert a.ask((b, (c, None)), timeout=30) == "leaf"
        for chain in ((b, (a, None)), (a, None), (b, (c, (a, None)))):
            with pytest.raises(AskCycle):
                a.ask(chain, timeout=30)
        assert a.ask((b, None), timeout=30) == "leaf"
        for ref in (a, b, c):
            ref.stop(timeout=30)

    def test_blocked_workers_are_replaced_and_counted(self, pool: Pool) -> None:
        """[design, Nothing blocks] 30 nested asks on two workers end; the extra workers leave again."""

        class Nested(PooledActor):
            def on_receive(self, message: int) -> Any:
                most.append(pool.statistics().blocked)
                if message == 0:
                    return 0
                child = Nested.start()
                answer: Any = child.ask(message - 1, timeout=60)
                child.stop(block=False)
                return 1 + answer

        most: list[int] = []
        first = pool.start_actor(Nested)
        assert first.ask(30, timeout=60) == 30
        first.stop(timeout=20)
        assert max(most) > 25
        assert pool.statistics().blocked == 0
        pool.register("counter", Counter)
        for number in range(100):
            pool.ask(Address("counter", str(number)), lambda reply: Count(1, reply), 20.0)
        assert pool.statistics().workers < 10

    def test_at_most_32_blocked_workers_are_replaced(self, pool: Pool) -> None:
        """[design, Nothing blocks] A deeper chain of asks meets its timeout; threads stay bounded."""

        class Nested(PooledActor):
            def on_receive(self, message: int) -> Any:
                most.append(pool.statistics().workers)
                if message == 0:
                    return 0
                child = Nested.start()
                children.append(child)
                return child.ask(message - 1, timeout=0.5)

        most: list[int] = []
        children: list[Any] = [pool.start_actor(Nested)]
        with pytest.raises(pykka.Timeout):
            children[0].ask(60, timeout=60)
        assert 30 < max(most) <= 2 + 32
        for child in children:
            child.stop(timeout=20)


class TestJobs:
    def test_results_and_errors_come_as_mail(self, pool: Pool) -> None:
        """[design, Nothing blocks] A job's end is mail; SystemExit in it is one end like others."""
        box = Mailbox(pool)

        def leave() -> None:
            raise SystemExit(1)

        pool.job("tool", lambda: 42, BOX, Result, name="a", deadline=30.0)
        assert box.wait(1) == [Result(42, None)]
        pool.job("tool", leave, BOX, Result, name="b")
        assert isinstance(box.wait(2)[1].error, SystemExit)

    def test_a_job_past_its_deadline_is_given_up_and_its_thread_replaced(
        self, pool: Pool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """[design, Nothing blocks] Given up by its deadline, counted, replaced; its late end is not reported."""
        monkeypatch.setattr(jobs, "MOST_THREADS", 1)
        box = Mailbox(pool)
        hang = threading.Event()
        pool.job("tool", hang.wait, BOX, Result, name="hangs", deadline=0.05)
        pool.job("tool", lambda: "next", BOX, Result, name="good")
        first, second = box.wait(2)
        assert (type(first.error), str(first.error)) == (TimeoutError, "'hangs' did not return within 0.05 s")
        assert second == Result("next", None)
        assert pool.statistics().given_up == 1
        pool.job("tool", hang.wait, BOX, Result, name="hangs", deadline=0.05)
        box.wait(3)
        # The one thread is given up again, with nothing waiting for it; the next call gets one all the same.
        pool.job("tool", lambda: "after", BOX, Result, name="good")
        assert box.wait(4)[3] == Result("after", None)
        hang.set()
        ends = time.monotonic() + 20
        while pool.statistics().given_up and time.monotonic() < ends:
            threading.Event().wait(0.005)
        assert pool.statistics().given_up == 0
        assert len(box.mails) == 4

    def test_a_job_that_never_got_a_thread_says_so(self, pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
        """[dispatcher] JobNotStarted is a TimeoutError: nothing of it happened, which a publisher must know."""
        monkeypatch.setattr(jobs, "MOST_THREADS", 1)
        box = Mailbox(pool)
        hang = threading.Event()
        pool.job("tool", hang.wait, BOX, Result, name="slow")
        pool.job("tool", lambda: "never", BOX, Result, name="starved", deadline=0.02)
        assert isinstance(box.wait(1)[0].error, JobNotStarted)
        assert isinstance(box.mails[0].error, TimeoutError)
        hang.set()
        assert box.wait(2)[1] == Result(True, None)

    def test_too_many_given_up_refuse_that_name_alone(self, pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
        """[design, Nothing blocks] At the limit of given-up threads new jobs of that name are refused, by name."""
        monkeypatch.setattr(jobs, "MOST_GIVEN_UP", 3)
        box = Mailbox(pool)
        hang = threading.Event()
        for _ in range(3):
            pool.job("tool", hang.wait, BOX, Result, name="hangs", deadline=0.02)
        box.wait(3)
        pool.job("tool", lambda: 1, BOX, Result, name="hangs")
        assert isinstance(box.wait(4)[3].error, JobRefused)
        assert "'hangs' was refused" in str(box.mails[3].error)
        pool.job("tool", lambda: 1, BOX, Result, name="other")
        assert box.wait(5)[4] == Result(1, None)
        hang.set()

    def test_a_cancelled_job_is_silent(self, pool: Pool) -> None:
        """[dispatcher] cancel() is idempotent; the end of the job is never told."""
        box = Mailbox(pool)
        hang, began = threading.Event(), threading.Event()

        def work() -> None:
            began.set()
            hang.wait()

        job = pool.job("tool", work, BOX, Result, name="slow")
        assert began.wait(20)
        job.cancel()
        job.cancel()
        hang.set()
        pool.job("tool", lambda: "last", BOX, Result, name="good")
        assert box.wait(1) == [Result("last", None)]


class TestCoroutines:
    def test_ends_come_as_mail(self, pool: Pool) -> None:
        """[design, Nothing blocks] Result, error and deadline of a coroutine as mail; a cancelled one is silent."""
        box = Mailbox(pool)

        async def work(value: Any) -> Any:
            await asyncio.sleep(0)
            if isinstance(value, Exception):
                raise value
            return value

        async def forever() -> None:
            await asyncio.get_running_loop().create_future()

        failure = ValueError("bad")
        pool.task(lambda: work(1), BOX, Result, name="a")
        assert box.wait(1) == [Result(1, None)]
        pool.task(lambda: work(failure), BOX, Result, name="b")
        assert box.wait(2)[1] == Result(None, failure)
        pool.task(forever, BOX, Result, name="c", deadline=0.02)
        assert isinstance(box.wait(3)[2].error, TimeoutError)
        pool.task(forever, BOX, Result, name="d").cancel()
        pool.task(lambda: work("last"), BOX, Result, name="e")
        assert box.wait(4)[3] == Result("last", None)

    def test_a_host_runs_its_own_on_its_own_loop(self, pool: Pool) -> None:
        """[design, Nothing blocks] A host's coroutine runs on the host's loop; a closed loop is an error mail."""
        box = Mailbox(pool)
        threads: list[int] = []

        async def work() -> str:
            threads.append(threading.get_ident())
            return "done"

        async def host() -> None:
            loop = asyncio.get_running_loop()
            pool.task(work, BOX, Result, name="host's", loop=loop)
            while not box.mails:
                await asyncio.sleep(0.001)

        asyncio.run(host())
        assert box.mails == [Result("done", None)]
        assert threads == [threading.get_ident()]
        closed = asyncio.new_event_loop()
        closed.close()
        pool.task(work, BOX, Result, name="too late", loop=closed)
        assert "'too late'" in str(box.wait(2)[1].error)


def test_s29_the_hosts_loop_is_never_held_up(pool: Pool) -> None:
    """[S29] 40 blocking jobs of 0.2 s and 40 asks awaited by bridge.wait: all at once, and the loop ticks on."""
    box = Mailbox(pool)
    pool.register("counter", Counter)
    never = threading.Event()

    async def host() -> tuple[float, float]:
        loop = asyncio.get_running_loop()
        gaps: list[float] = []

        async def tick() -> None:
            last = loop.time()
            while True:
                await asyncio.sleep(0.01)
                gaps.append(loop.time() - last)
                last = loop.time()

        ticking = asyncio.create_task(tick())
        began = loop.time()
        for number in range(40):
            pool.job("tool", lambda: never.wait(0.2), BOX, Result, name=f"slow {number}")
        asks = (
            bridge.wait(pool, Address("counter", str(n)), lambda reply: Count(1, reply), 20.0) for n in range(40)
        )
        assert await asyncio.gather(*asks) == [(1,)] * 40
        while len(box.mails) < 40:
            await asyncio.sleep(0.005)
        took = loop.time() - began
        ticking.cancel()
        return took, sorted(gaps)[-2]

    gc.collect()
    took, gap = asyncio.run(host())
    # One after the other they would take 8 s; the machine may be busy with other things.
    assert took < 4.0
    assert gap < 0.5


def test_the_switch_interval_is_the_hosts(pool: Pool) -> None:
    """[design, How actors run] Never set behind the host's back, and put back at close."""
    before = sys.getswitchinterval()
    store = MemoryStore()
    other = Pool(store, switch_interval=0.0005)
    assert sys.getswitchinterval() == before
    other.start()
    assert sys.getswitchinterval() == pytest.approx(0.0005)
    other.close()
    store.close()
    assert sys.getswitchinterval() == before


def test_closing_leaves_no_thread_and_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """[S23, S26] After close no thread of the pool is left, though coroutines and asks were open; nothing is logged."""

    async def forever() -> None:
        await asyncio.get_running_loop().create_future()

    before = set(threading.enumerate())
    store = MemoryStore()
    pool = Pool(store, name="closing")
    pool.start()
    box = Mailbox(pool)
    pool.task(forever, BOX, Result, name="open")
    pool.after(1000.0, BOX, "never")
    pool.tell(BOX, 1)
    box.wait(1)
    assert pool.close(10.0)
    store.close()
    assert [t for t in threading.enumerate() if t not in before and t.name.startswith("closing")] == []
    assert box.mails == [1]
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


NEVER_STOPPED = """
import threading
from manyminds.actors.pool import Pool
from manyminds.messages.address import Address
from manyminds.storage import MemoryStore
from tests.actors.mails import Count, Counter, Result
from tests.actors.test_pool import PooledActor

class Own(PooledActor):
    def on_receive(self, message): return message

pool = Pool(MemoryStore())
pool.start()
pool.register("counter", Counter)
print(pool.ask(Address("counter", "a"), lambda reply: Count(1, reply), 20.0), Own.start().ask(2, timeout=20))

async def forever():
    import asyncio
    await asyncio.sleep(1000)

pool.task(forever, Address("counter", "a"), Result, name="open")
pool.job("tool", threading.Event().wait, Address("counter", "a"), Result, name="hangs")
pool.after(1000.0, Address("counter", "a"), Count(2))
"""


@pytest.mark.process
def test_s27_a_program_that_never_stops_it_ends() -> None:
    """[S27] Import, start, never stop; main returns: the process exits, with 0, whatever still runs."""
    command = [sys.executable, "-c", NEVER_STOPPED]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.returncode) == ("(1,) 2\n", 0), done.stderr


