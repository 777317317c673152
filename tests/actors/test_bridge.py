"""The bridge between threads and event loops: the traps of pykka and asyncio that it owns."""

import asyncio
import threading
from typing import Any

import pytest

from manyminds.actors.bridge import DeltaBuffer, LoopFuture, LoopTask, call_in, wait
from manyminds.actors.system import JobNotStarted
from manyminds.messages.address import Address
from manyminds.messages.errors import Failed
from tests.actors.mails import Break, Collector, Count, Counter, simulation

ONE = Address("counter", "one")
BOX = Address("box", "test")


class TestLoopFuture:
    def test_a_thread_waits_for_it(self) -> None:
        """[design, Traps] One answer, given once; a second one is refused, not raised."""
        future: LoopFuture[int] = LoopFuture()
        threading.Thread(target=future.set, args=(1,)).start()
        assert future.result(20) == 1
        assert not future.set(2)
        assert not future.fail(ValueError())
        assert future.result(0) == 1

    def test_a_coroutine_waits_without_blocking_its_loop(self) -> None:
        """[design, Traps] `await` on a pykka future blocks the event loop; this one does not."""

        async def host() -> tuple[str, int]:
            future: LoopFuture[str] = LoopFuture()
            ticks = 0
            waiting = asyncio.ensure_future(_await(future))
            while ticks < 5:
                await asyncio.sleep(0)
                ticks += 1
            threading.Thread(target=future.set, args=("there",)).start()
            return await waiting, ticks

        assert asyncio.run(host()) == ("there", 5)

    def test_one_that_asyncio_cancelled_takes_no_answer_and_raises_nothing(self) -> None:
        """[design, Traps] Setting a future that asyncio cancelled raises in the actor; here it returns False."""
        future: LoopFuture[int] = LoopFuture()

        async def host() -> None:
            waiting = asyncio.ensure_future(_await(future))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting

        asyncio.run(host())
        assert future.done()
        assert not future.set(1)

    def test_a_loop_that_was_closed_is_contained(self, caplog: pytest.LogCaptureFixture) -> None:
        """[design, Traps] `call_soon_threadsafe` on a closed loop raises in the actor; here nothing does."""
        future: LoopFuture[int] = LoopFuture()
        loop = asyncio.new_event_loop()
        waiting = loop.create_task(_await(future))
        loop.run_until_complete(asyncio.sleep(0))
        waiting.cancel()
        loop.run_until_complete(asyncio.gather(waiting, return_exceptions=True))
        loop.close()
        assert not call_in(loop, lambda: None)
        again: LoopFuture[int] = LoopFuture()
        again._future.add_done_callback(lambda _: call_in(loop, lambda: None))
        assert again.set(1)
        assert caplog.records == []

    def test_a_coroutine_of_a_closed_loop_was_not_started(self) -> None:
        """[bridge; prose 11.1] Its end says that nothing of it ran: what it would have posted has not left."""
        loop = asyncio.new_event_loop()
        loop.close()
        ends: list[tuple[Any, BaseException | None]] = []
        task = LoopTask(loop, lambda: asyncio.sleep(0), lambda value, error: ends.append((value, error)), name="post")
        task.start()
        [(value, error)] = ends
        assert value is None
        assert isinstance(error, JobNotStarted)
        assert "event loop that it runs on is closed" in str(error)

    def test_an_error_is_raised_where_it_is_awaited(self) -> None:
        """[bridge] `fail` raises in the waiting thread or coroutine."""
        future: LoopFuture[int] = LoopFuture()
        assert future.fail(ValueError("no"))
        with pytest.raises(ValueError, match="no"):
            future.result(0)
        with pytest.raises(ValueError, match="no"):
            asyncio.run(_await(future))


async def _await(future: LoopFuture[Any]) -> Any:
    return await future


class TestWait:
    def test_answers_failures_and_timeouts(self) -> None:
        """[bridge] `await bridge.wait(...)` is an ask that does not block: answer, Failed, TimeoutError."""
        with simulation() as sim:
            sim.register("counter", Counter)
            assert sim.complete(wait(sim, ONE, lambda reply: Count(3, reply), 5.0)) == (3,)
            with pytest.raises(Failed, match="ValueError: no"):
                sim.complete(wait(sim, ONE, lambda reply: Break(ValueError("no"), reply=reply), 5.0))
            sim.end(ONE)
            with pytest.raises(Failed, match="has ended"):
                sim.complete(wait(sim, ONE, lambda reply: Count(3, reply), 5.0))
            began = sim.clock.now()
            with pytest.raises(TimeoutError, match="counter:two did not answer within 7 s"):
                sim.complete(wait(sim, Address("counter", "two"), lambda _: Count(3), 7.0))
            assert sim.clock.now() - began == pytest.approx(7.0)
            assert sim.waiting_now() == ()


class TestDeltaBuffer:
    def test_deltas_that_wait_are_merged_into_one_mail(self) -> None:
        """[design, Nothing blocks] Deltas of one stream that wait in a mailbox are merged, in order, none lost."""
        with simulation() as sim:
            got: list[Any] = []
            sim.register("box", lambda system, address: Collector(system, address, got))
            buffer: DeltaBuffer[int] = DeltaBuffer(sim, BOX, lambda: "deltas")
            for number in range(100):
                buffer.put(number)
            sim.run()
            assert got == ["deltas"]
            assert buffer.take() == list(range(100))
            assert buffer.take() == []
            buffer.put(100)
            sim.run()
            assert got == ["deltas", "deltas"]
            assert buffer.take() == [100]
