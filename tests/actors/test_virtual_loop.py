"""The event loop of a simulation: coroutines in no time, and no sockets."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tenacity import AsyncRetrying, stop_after_attempt, wait_fixed

from manyminds.actors.virtual_loop import NoSockets
from manyminds.messages.address import Address
from tests.actors.mails import Collector, Result, simulation, with_box

ONE = Address("counter", "one")
BOX = Address("box", "test")


class TestLoop:
    def test_coroutines_run_on_the_virtual_clock(self) -> None:
        """[design, Simulation] asyncio.timeout, async generators and tenacity run unchanged, in no time at all."""
        tried: list[float] = []

        async def numbers() -> AsyncIterator[int]:
            for number in range(3):
                await asyncio.sleep(100.0)
                yield number

        async def work() -> tuple[list[int], str]:
            async for attempt in AsyncRetrying(wait=wait_fixed(50.0), stop=stop_after_attempt(3)):
                with attempt:
                    tried.append(asyncio.get_running_loop().time())
                    if len(tried) < 3:
                        raise OSError
            try:
                async with asyncio.timeout(250.0):
                    return [number async for number in numbers()], "in time"
            except TimeoutError:
                return [number async for number in numbers()], "late"

        with simulation() as sim:
            began = sim.clock.now()
            assert sim.complete(work()) == ([0, 1, 2], "late")
            assert [at - began for at in tried] == [0.0, 50.0, 100.0]
            assert sim.clock.now() - began == 650.0

    def test_results_errors_and_deadlines_come_as_mail(self) -> None:
        """[design, Nothing blocks in a handler] A coroutine's end is mail: result, error, or the deadline's."""

        async def after(seconds: float, value: Any) -> Any:
            await asyncio.sleep(seconds)
            if isinstance(value, Exception):
                raise value
            return value

        with simulation() as sim:
            got = with_box(sim)
            failure = ValueError("bad")
            sim.task(lambda: after(1, "one"), BOX, Result, name="good")
            sim.task(lambda: after(2, failure), BOX, Result, name="bad")
            sim.task(lambda: after(99, "never"), BOX, Result, name="slow", deadline=3)
            sim.task(lambda: after(4, "never"), BOX, Result, name="cancelled").cancel()
            later = sim.task(lambda: after(5, "never"), BOX, Result, name="cancelled later")
            sim.after(1.5, Address("counter", "x"), 1)
            sim.register("counter", lambda system, address: Collector(system, address, []))
            sim.run(lambda: len(got) == 1)
            later.cancel()
            later.cancel()
            sim.run()
            assert got[:2] == [Result("one", None), Result(None, failure)]
            assert isinstance(got[2].error, TimeoutError)
            assert len(got) == 3
            assert sim.statistics().tasks == 0

    def test_a_coroutine_that_ignores_its_deadline_is_reported_all_the_same(self) -> None:
        """[dispatcher] Nobody waits for ever on a coroutine that swallows its cancellation."""

        async def deaf() -> str:
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                await asyncio.sleep(1000)
            return "at last"

        with simulation() as sim:
            got = with_box(sim)
            began = sim.clock.now()
            sim.task(deaf, BOX, Result, name="deaf", deadline=3)
            sim.run(lambda: bool(got))
            assert sim.clock.now() - began == 3
            sim.run()
            assert len(got) == 1

    def test_a_socket_is_an_error(self) -> None:
        """[design, Simulation] Opening a socket in the virtual loop is an error that says so."""

        async def connect() -> None:
            await asyncio.open_connection("127.0.0.1", 9)

        with simulation() as sim, pytest.raises(NoSockets, match="create_connection"):
            sim.complete(connect())

    def test_threads_of_the_loop_run_in_place(self) -> None:
        """[design, Simulation] asyncio.to_thread runs its function whole, in a pass of the loop."""

        async def work() -> int:
            return await asyncio.to_thread(lambda: 40 + 2)

        with simulation() as sim:
            assert sim.complete(work()) == 42
