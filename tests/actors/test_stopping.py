"""A stop in the middle of everything: turns end or are cut by the deadline; what is queued runs after a start."""

import asyncio
from typing import Any

from manyminds.actors.providers.scripted import Answer, Scripted, call
from manyminds.actors.spec import Resident
from manyminds.messages.blocks import ToolResult, text_of
from manyminds.messages.errors import RuntimeClosed
from manyminds.messages.mail import STOPPER, StopAll, agent_address
from manyminds.messages.request import Request
from tests.actors.hearing import ended, first_heard, rounds_since
from tests.actors.simulated import SimulatedHouse, variations

NAMES = ("ada", "bob", "eve")
DEADLINE = 10.0


async def wait(minutes: float) -> str:
    """Wait."""
    await asyncio.sleep(minutes * 60)
    return "waited"


def stop(house: SimulatedHouse) -> float:
    """Stop as a runtime does; how long it took, by the clock."""
    began = house.simulation.clock.now()
    agents = tuple(agent_address(name) for name in NAMES)
    try:
        house.simulation.ask(STOPPER, lambda reply: StopAll(agents, DEADLINE, reply), DEADLINE + 1.0)
    except TimeoutError:
        # Where the stopper itself was killed the runtime is closed as it is.
        assert house.simulation.faults.drawn["killed"]
    return house.simulation.clock.now() - began


def town(seed: int, minutes: float, setting: dict[str, Any]) -> SimulatedHouse:
    """Three residents whose tool takes so long, each in a turn."""

    def answer(request: Request) -> Answer:
        return f"{request.agent} is done" if rounds_since(request) else call("wait", minutes=minutes)

    model = Scripted(otherwise=answer)
    residents = [Resident(name, "m", tools=[wait]) for name in NAMES]
    return SimulatedHouse(seed, residents, model, **setting)


def begin(house: SimulatedHouse) -> None:
    """Three turns in flight, and five messages queued."""
    for name in NAMES:
        house.insist(house.message(f"{name} one", f"#{name}", to=name))
    house.run(until=lambda: all(any(turn.agent == name for turn in house.turns()) for name in NAMES))
    for number in range(5):
        name = NAMES[number % 3]
        house.insist(house.message(f"queued {number}", f"#{name}", to=name))


def check_restart(house: SimulatedHouse) -> None:
    """The next start runs what was cut and what was queued; nothing counts as a crash."""
    house.crash()
    house.settle()
    assert house.turns() == []
    assert house.pending() == []
    assert house.waiting() == []
    assert house.notices("inference-failed") == []
    heard = [set(first_heard(house, name)) for name in NAMES]
    for index, name in enumerate(NAMES):
        assert {f"{name} one", f"queued {index}"} <= heard[index]
    assert {"queued 3"} <= heard[0]
    assert {"queued 4"} <= heard[1]


def test_turns_past_the_deadline_are_cut_and_resumed(seeds: list[int]) -> None:
    """[S26] Answered by the deadline and a second; records stay, their calls read `interrupted`, all queued runs."""
    for seed in seeds:
        for setting in variations():
            house = town(seed, 100.0, setting)
            with house:
                begin(house)
                assert stop(house) <= DEADLINE + 1.0
                if not any(house.simulation.faults.drawn.values()):
                    refused = house.hand_in(house.message("late", to="ada"))
                    house.run(until=lambda: refused.answer is not None)  # noqa: B023
                    assert refused.answer is not None
                    assert isinstance(refused.answer.error, RuntimeClosed)
                    assert [(turn.stopped, turn.cuts) for turn in house.turns()] == [(True, 0)] * 3
                before = len(house.traces)
                check_restart(house)
                results = [b for row in house.log() for b in row.content if isinstance(b, ToolResult)]
                assert results
                if not any(house.simulation.faults.drawn.values()):
                    assert [text_of(r.content).split(":")[0] for r in results[:3]] == ["interrupted"] * 3
                    resumed = [t.fields["cuts"] for t in house.traces[before:] if t.name == "inference:resumed"]
                    assert resumed == [0, 0, 0]


def test_turns_that_end_in_time_end(seeds: list[int]) -> None:
    """[S26] A tool of three seconds ends, what it heard is done too, and the stop does not wait for its deadline."""
    for seed in seeds:
        for setting in variations():
            house = town(seed, 0.05, setting)
            with house:
                begin(house)
                took = stop(house)
                if not any(house.simulation.faults.drawn.values()):
                    assert took < DEADLINE
                    assert house.turns() == []
                    assert {turn for name in NAMES for _, turn in ended(house, name)} == {1}
                    assert len(house.platform.posts) == 3
                check_restart(house)
