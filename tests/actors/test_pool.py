"""The pool of threads: order under load, asks and blocked workers, timers, leaving."""

import asyncio
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, cast

import pykka
import pytest

from manyminds.actors.dispatcher import Actor
from manyminds.actors.inbox import Inbox
from manyminds.actors.pool import Pool
from manyminds.actors.pykka_actor import PooledActor
from manyminds.messages.address import Address
from manyminds.messages.errors import AskCycle, Failed
from manyminds.storage import MemoryStore
from tests.actors.mails import Break, Count, Counter, Mailbox, Result, Stored

pytestmark = pytest.mark.pool
ONE = Address("counter", "one")
BOX = Address("box", "test")


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
from manyminds.actors.pykka_actor import PooledActor

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
