"""Calls of a host's tools: what a model is told of one that was late, and of one whose own code ran out of time."""

import asyncio
from typing import Any

import pytest

from manyminds.actors.providers.scripted import Scripted, call, newest_results
from manyminds.actors.spec import Resident
from manyminds.messages.blocks import text_of
from tests.actors.simulated import SimulatedHouse


async def slow(minutes: float) -> str:
    """Take so long."""
    await asyncio.sleep(minutes * 60)
    return "done"


async def cut_off() -> str:
    """Fail as a connection does that has a timeout of its own."""
    raise TimeoutError("the server is slow")


def cut_off_at_once() -> str:
    """The same on a thread."""
    raise TimeoutError("the server is slow")


LATE = "slow did not answer within 90 s; it may still take effect"


@pytest.mark.parametrize(
    ("tool", "arguments", "told", "is_error", "seconds"),
    [
        (slow, {"minutes": 1}, "done", False, 60),
        (slow, {"minutes": 2}, LATE, True, 90),
        (cut_off, {}, "cut_off raised TimeoutError: the server is slow", True, 0),
        (cut_off_at_once, {}, "cut_off_at_once raised TimeoutError: the server is slow", True, 0),
    ],
)
def test_a_call_past_its_deadline_says_so(
    tool: Any, arguments: dict[str, Any], told: str, is_error: bool, seconds: float, seeds: list[int]
) -> None:
    """[design, Nothing blocks] A tool past its deadline gives a result that says so, and only such a one does."""
    for seed in seeds:
        for park_rate in (0.0, 1 / 3):
            model = Scripted(call(tool.__name__, **arguments), otherwise="yes")
            resident = Resident("ada", "m", tools=[tool], tool_deadline=90)
            with SimulatedHouse(seed, [resident], model, park_rate=park_rate) as house:
                began = house.simulation.clock.now()
                house.insist(house.message("ada: go", to="ada"))
                house.settle()
                results = newest_results(model.requests[1])
                assert [(text_of(r.content), r.is_error) for r in results] == [(told, is_error)], (seed, park_rate)
                assert began + seconds <= house.platform.posts[0].written_at <= began + seconds + 30
