"""How a turn ends: each way once, with its calls answered, and the agent free for the next one."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from manyminds.actors.providers.scripted import Answer, Scripted, call, fail, newest_results, say
from manyminds.actors.spec import Resident
from manyminds.actors.turn_end import CHAIN_DEADLINE
from manyminds.messages.blocks import ToolResult, text_of
from manyminds.messages.posts import Post
from manyminds.messages.request import Request
from manyminds.storage import registry
from tests.actors.hearing import (
    asked,
    ended,
    first_heard,
    holds,
    rounds_since,
    run_to_tool,
    shape,
    turn_numbers,
)
from tests.actors.simulated import SimulatedHouse, variations


async def dig(minutes: float) -> str:
    """Dig."""
    await asyncio.sleep(minutes * 60)
    return "dug"


def digger(request: Request) -> Answer:
    """What each message asks for: a way to end the turn."""
    if rounds_since(request):
        return "dug enough"
    words = asked(request)
    if "skip" in words:
        return [call("dig", minutes=0), call("skip_reply")]
    if "dig" in words:
        return ["I dig.", call("dig", minutes=60)]
    return fail("auth") if "fail" in words else f"re: {words[-5:]}"


ENDS = {
    "say": "inference:completed", "skip": "inference:turn_ended", "dig": "inference:aborted",
    "fail": "inference:exhausted",
}


@pytest.mark.parametrize("words", list(ENDS))
def test_each_exit_is_told_once_and_leaves_the_agent_free(words: str, seeds: list[int]) -> None:
    """[agents 5.3] [agents 4.5] One terminal for each turn that began, on every exit; the next turn runs."""
    for seed in seeds:
        for setting in variations():
            model = Scripted(otherwise=digger)
            with SimulatedHouse(seed, [Resident("ada", "m", tools=[dig])], model, **setting) as house:
                house.insist(house.message(f"{words} 1", to="ada"))
                if words == "dig":
                    run_to_tool(house)
                    house.cancel("ada")
                house.settle()
                house.insist(house.message("hello", to="ada"))
                house.settle()
                told = ended(house)
                assert Counter(turn for _, turn in told) == {1: 1, 2: 1}
                assert len(house.traced("inference:started")) <= 2
                if not house.traced("inference:resumed"):
                    assert told == [(ENDS[words], 1), ("inference:completed", 2)]
                assert house.turns() == []
                assert house.pending() == []


def test_cancel_while_a_tool_runs(seeds: list[int]) -> None:
    """[S13] [agents 5.5] The turn ends in under a second, its call answered as cancelled; the next turn works."""
    for seed in seeds:
        for setting in variations():
            model = Scripted(otherwise=digger)
            with SimulatedHouse(seed, [Resident("ada", "m", tools=[dig])], model, **setting) as house:
                house.insist(house.message("dig", to="ada"))
                if not run_to_tool(house):
                    continue
                house.simulation.faults.off()
                began = house.simulation.clock.now()
                assert house.cancel("ada")
                house.run(until=lambda: bool(ended(house)) and not house.turns())
                assert house.simulation.clock.now() - began < 1.0
                results = [b for row in house.log() for b in row.content if isinstance(b, ToolResult)]
                assert len(results) == 1
                if not house.traced("inference:resumed"):
                    assert results[0].is_error
                    assert text_of(results[0].content).startswith("cancelled")
                    assert shape(house.log())[:4] == ["dig", "I dig.", "results", "[turn-interrupted]"]
                house.say("hello", to="ada")
                house.run()
                assert house.platform.texts()[-1] == "re: hello"
                assert first_heard(house, "ada") == {"dig": 1, "hello": 2}
                assert house.turns() == []


def test_a_cancelled_stream_and_one_that_waits(seeds: list[int]) -> None:
    """[agents 5.5] A turn that is being written or waits for a retry ends at once too; nothing of it is posted."""
    for seed in seeds:
        for reply in (say("much to say", delay=1.0, gap=60.0, chunk=4), fail("overloaded")):
            model = Scripted(reply, otherwise="hello yourself")
            with SimulatedHouse(seed, [Resident("ada", "m")], model) as house:
                house.say("one", to="ada")
                house.run(until=lambda: bool(model.requests))  # noqa: B023
                house.simulation.settle()
                assert house.cancel("ada")
                house.say("two", to="ada")
                house.run()
                assert [name for name, _ in ended(house)] == ["inference:aborted", "inference:completed"]
                assert house.platform.texts() == ["hello yourself"]
                assert not house.cancel("ada")


def test_an_ended_turn_counts_its_usage_once_and_waits_only_for_its_chain(seeds: list[int]) -> None:
    """[agents 5.7] One end and one usage a round; the agent is free when its chain has ended, or at its deadline."""
    for seed in seeds:
        for setting in variations():
            async def publish(post: Post) -> Any:
                if post.text == "I look.":
                    await asyncio.sleep(25.0)
                house.platform.posts.append(post)
                return "p"

            def answer(request: Request) -> Answer:
                if holds(request, "two"):
                    return "two it is"
                return "skipped" if newest_results(request) else ["I look.", call("dig", minutes=0)]

            model = Scripted(otherwise=answer)
            with SimulatedHouse(
                seed, [Resident("ada", "m", tools=[dig])], model, register=False, **setting
            ) as house:
                house.register(publish)
                house.insist(house.message("one", to="ada"))
                house.run(until=lambda: bool(ended(house)))
                began = house.simulation.clock.now()
                house.insist(house.message("two", "#b", to="ada"))
                house.run(until=lambda: len(ended(house)) > 1)
                took = house.simulation.clock.now() - began
                house.settle()
                if any(house.simulation.faults.drawn.values()):
                    continue
                assert CHAIN_DEADLINE - 0.1 <= took < CHAIN_DEADLINE + 1.0
                assert len(house.traced("inference:usage")) == len(model.requests) == 3
                assert "two it is" in house.platform.texts("#b")


def test_skip_reply_is_an_end_with_its_usage(seeds: list[int]) -> None:
    """[agents 5.7] A turn that a result ended: one terminal, usage once, nothing posted, free at once."""
    for seed in seeds:
        for setting in variations():
            model = Scripted(otherwise=digger)
            with SimulatedHouse(seed, [Resident("ada", "m", tools=[dig])], model, **setting) as house:
                house.insist(house.message("skip", to="ada"))
                house.settle()
                assert [turn for _, turn in ended(house)] == [1]
                if not house.traced("inference:resumed"):
                    assert len(house.traced("inference:usage")) == 1
                assert house.platform.posts == []
                assert house.turns() == []


def streak(house: SimulatedHouse) -> object:
    """How many turns in a row have failed, as stored."""
    with house.simulation.store.snapshot() as snap:
        return registry.setting(snap, "streak:ada") or 0


def test_a_stop_by_a_user_leaves_the_failure_streak(seeds: list[int]) -> None:
    """[agents 5.9] Two failures, a cancel, a failure: the third in a row; an answer sets it back."""
    for seed in seeds:
        for setting in variations():
            model = Scripted(otherwise=digger)
            with SimulatedHouse(seed, [Resident("ada", "m", tools=[dig])], model, **setting) as house:
                for _ in range(2):
                    house.insist(house.message("fail", to="ada"))
                    house.settle()
                assert streak(house) == 2
                house.insist(house.message("dig", to="ada"))
                house.run(until=lambda: bool(house.traced("tool:started")) or len(ended(house)) > 2)
                house.cancel("ada")
                house.settle()
                if house.traced("inference:resumed"):
                    continue
                assert streak(house) == 2
                house.insist(house.message("fail", to="ada"))
                house.settle()
                assert streak(house) == 3
                assert text_of(house.notices("inference-failed")[-1].content).count("3 failed turns") == 1
                house.insist(house.message("hello", to="ada"))
                house.settle()
                assert streak(house) == 0
                assert turn_numbers(house, "ada")[-1] == 5
