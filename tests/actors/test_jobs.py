"""Blocking calls and coroutines beside the pool: ends as mail, deadlines, a host's loop that is never held up."""

import asyncio
import gc
import threading
import time
from typing import Any

import pytest

from manyminds.actors import bridge, jobs
from manyminds.actors.pool import Pool
from manyminds.actors.system import JobGivenUp, JobNotStarted, JobRefused
from manyminds.messages.address import Address
from tests.actors.mails import Count, Counter, Mailbox, Result

pytestmark = pytest.mark.pool
ONE = Address("counter", "one")
BOX = Address("box", "test")


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
        assert (type(first.error), str(first.error)) == (JobGivenUp, "'hangs' did not return within 0.05 s")
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
