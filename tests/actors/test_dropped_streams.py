"""A round's coroutine whose loop goes away while the provider is inside its step."""

import asyncio
import gc
from collections.abc import AsyncIterator

import pytest

from manyminds.actors.providers.scripted import Scripted
from manyminds.actors.spec import Resident
from manyminds.messages.request import Event, Request
from tests.actors.simulated import SimulatedHouse


class Slow(Scripted):
    """A provider whose stream is long in coming."""

    begun = 0

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        """Play one round, late."""
        self.begun += 1
        await asyncio.sleep(500.0)
        async for event in super().stream(request):
            yield event


def test_a_stream_that_a_crash_drops_is_not_closed_while_it_runs(caplog: pytest.LogCaptureFixture) -> None:
    """[design, Simulation] No stray error: the generator is inside its step, so there is nothing to be closed."""
    model = Slow("hello")
    with SimulatedHouse(1, [Resident("ada", "m")], model) as house:
        house.insist(house.message("hm?", "#a", to="ada"))
        house.run(lambda: model.begun == 1)
        house.crash()
        gc.collect()
        assert "the provider raised" not in caplog.text
        house.run()
        assert model.begun == 2
