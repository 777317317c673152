"""Calls of a host's tools: what a model is told of one that was late, and of one whose own code ran out of time."""

import asyncio
from typing import Any

import pytest

from manyminds.actors.calls import GIVEN_UP
from manyminds.actors.house import ROOM
from manyminds.actors.providers.scripted import Scripted, call, newest_results
from manyminds.actors.spec import Resident
from manyminds.messages.blocks import Text, ToolResult, text_of
from manyminds.messages.mail import ToolDone, agent_address
from manyminds.messages.places import ChannelRef, Place
from manyminds.storage import turns
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


def noter(ran: list[str]) -> Any:
    """A tool that counts its runs."""

    async def note(word: str, minutes: float = 0.0) -> str:
        """Note a word."""
        ran.append(word)
        await asyncio.sleep(minutes * 60)
        return f"noted {word}"

    return note


def test_a_stored_result_stands_after_a_crash(seeds: list[int]) -> None:
    """[design, turn record] What had answered keeps its words and runs no second time; only the open call is cut."""
    for seed in seeds:
        for park_rate in (0.0, 1 / 3):
            ran: list[str] = []
            model = Scripted([call("note", word="quick"), call("note", word="slow", minutes=1)], otherwise="yes")
            resident = Resident("ada", "m", tools=[noter(ran)])
            with SimulatedHouse(seed, [resident], model, park_rate=park_rate) as house:
                house.insist(house.message("ada: go", to="ada"))
                house.run(lambda: len(results_on_disk(house)) == 1 and len(ran) == 2)  # noqa: B023
                house.crash()
                house.finish()
                told = [text_of(result.content) for result in newest_results(model.requests[1])]
                assert told == ["noted quick", GIVEN_UP["interrupted"]], (seed, park_rate)
                assert sorted(ran) == ["quick", "slow"], (seed, park_rate)


def test_a_stored_result_that_ends_the_turn_ends_it_after_a_crash(seeds: list[int]) -> None:
    """[design, turn record] The turn is not asked for another round: skip_reply had answered before the crash."""
    for seed in seeds:
        for park_rate in (0.0, 1 / 3):
            ran: list[str] = []
            model = Scripted([call("skip_reply"), call("note", word="slow", minutes=1)], otherwise="yes")
            resident = Resident("ada", "m", tools=[noter(ran)])
            with SimulatedHouse(seed, [resident], model, park_rate=park_rate) as house:
                house.insist(house.message("ada: go", to="ada"))
                house.run(lambda: len(results_on_disk(house)) == 1 and ran == ["slow"])  # noqa: B023
                house.crash()
                house.finish()
                assert (len(model.requests), house.platform.texts()) == (1, []), (seed, park_rate)
                assert (house.turns(), house.pending(), ran) == ([], [], ["slow"]), (seed, park_rate)


def test_a_second_answer_to_a_call_changes_nothing(seeds: list[int]) -> None:
    """[design, turn record] The first answer stands, on disk and in the request; a later one moves nothing else."""
    for seed in seeds:
        for park_rate in (0.0, 1 / 3):
            ran: list[str] = []
            model = Scripted([call("note", word="quick"), call("note", word="slow", minutes=1)], otherwise="yes")
            resident = Resident("ada", "m", tools=[noter(ran)])
            with SimulatedHouse(seed, [resident], model, park_rate=park_rate) as house:
                house.insist(house.message("ada: go", to="ada"))
                house.run(lambda: len(results_on_disk(house)) == 1 and len(ran) == 2)  # noqa: B023
                before = results_on_disk(house)
                again = ToolResult(next(iter(before)), (Text("something else"),), True)
                opened = Place(ChannelRef("town", "#b"))
                house.simulation.tell(agent_address("ada"), ToolDone(1, 1, again.call_id, again, True, opened))
                house.run(lambda: bool(house.traced("tool:result_dropped")))
                house.simulation.settle()
                assert results_on_disk(house) == before, (seed, park_rate)
                house.settle()
                told = [(text_of(result.content), result.is_error) for result in newest_results(model.requests[1])]
                assert told == [("noted quick", False), ("noted slow", False)], (seed, park_rate)
                assert [post.channel for post in house.platform.posts] == ["#a"], (seed, park_rate)


def results_on_disk(house: SimulatedHouse) -> dict[str, Any]:
    """The results that the store holds of the first round of ada's first turn."""
    with house.simulation.store.snapshot() as snap:
        return turns.results(snap, ROOM, "ada", 1, 1)
