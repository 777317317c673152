"""A stop in the middle of everything: turns end or are cut by the deadline; what is queued runs after a start."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from manyminds.actors.providers.scripted import Answer, Scripted, call
from manyminds.actors.spec import Resident
from manyminds.messages.address import ReplyTo
from manyminds.messages.blocks import ToolResult, text_of
from manyminds.messages.errors import RuntimeClosed
from manyminds.messages.mail import (
    DIRECTORY,
    GATEWAY,
    STOPPER,
    AskState,
    Cooldown,
    StopAll,
    StopTurns,
    agent_address,
    provider_address,
)
from manyminds.messages.posts import NotSent, Post
from manyminds.messages.request import ErrorRecord, Request
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


# --- a stop by its parts


def hangs(*seconds: float) -> Callable[[Post], Awaitable[str]]:
    """A publisher whose attempts take so long, one after the other; one of no time at all has not sent."""
    left = list(seconds)

    async def publish(post: Post) -> str:
        takes = left.pop(0)
        if not takes:
            raise NotSent("the line is down")
        await asyncio.sleep(takes)
        return "m1"

    return publish


def posting(seed: int, park_rate: float, *seconds: float) -> SimulatedHouse:
    """Three residents; ada has said something, her turn is over, and her last attempt is on its way or waits."""
    model = Scripted(otherwise=lambda request: call("wait", minutes=100.0) if request.agent == "bob" else "hi")
    residents = [Resident(name, "m", tools=[wait]) for name in NAMES]
    house = SimulatedHouse(seed, residents, model, park_rate=park_rate, register=False)
    house.register(hangs(*seconds))
    house.insist(house.message("hm?", to="ada"))
    state = "sending" if seconds[-1] else "queued"

    def out() -> bool:
        posts = house.outbox("ada", 1)
        return [(p.state, len(p.attempts)) for p in posts] == [(state, len(seconds))] and not house.turns()

    house.run(until=out)
    return house


def ask_to_stop(house: SimulatedHouse) -> list[Any]:
    """Ask for a stop and let it begin; where its answer will be."""
    answers: list[Any] = []
    reply = ReplyTo(house.simulation.open_reply(answers.append))
    house.simulation.tell(STOPPER, StopAll(tuple(agent_address(name) for name in NAMES), DEADLINE, reply))
    house.simulation.settle()
    return answers


@pytest.mark.parametrize("park_rate", [0.0, 1 / 3])
@pytest.mark.parametrize("attempts", [(20.0,), (0.0, 5.0)], ids=["first", "again"])
def test_a_post_that_is_out_is_waited_for(attempts: tuple[float, ...], park_rate: float, seeds: list[int]) -> None:
    """[S26] The stop ends when the post has its outcome; so does an attempt to send what had to wait before."""
    for seed in seeds:
        with posting(seed, park_rate, *attempts) as house:
            assert house.simulation.ask(GATEWAY, AskState, 5.0).value == {"posts": {"ada": 1}, "waiting": {}}
            assert 0.0 < stop(house) < DEADLINE
            (entry,) = house.outbox("ada", 1)
            took = house.simulation.clock.now() - entry.attempts[-1].at
            assert (entry.state, attempts[-1] <= took <= attempts[-1] + 0.1) == ("delivered", True)


@pytest.mark.parametrize("park_rate", [0.0, 1 / 3])
@pytest.mark.parametrize("in_a_turn", [False, True])
def test_a_post_is_not_waited_for_past_the_deadline(in_a_turn: bool, park_rate: float, seeds: list[int]) -> None:
    """[S26] The deadline ends the wait for a post, with no grace; so it does where it cuts a turn as well."""
    for seed in seeds:
        with posting(seed, park_rate, 29.0) as house:
            if in_a_turn:
                house.insist(house.message("bob: go", "#b", to="bob"))
                house.run(until=lambda: bool(house.traced("tool:started")))
            assert stop(house) == pytest.approx(DEADLINE, abs=0.01)
            assert [entry.state for entry in house.outbox("ada", 1)] == ["sending"]
            assert [turn.stopped for turn in house.turns()] == [True] * in_a_turn


@pytest.mark.parametrize("park_rate", [0.0, 1 / 3])
def test_what_is_queued_stays_on_disk(park_rate: float, seeds: list[int]) -> None:
    """[S26] A post that waits for its channel holds no stop up; the next start has it."""
    for seed in seeds:
        with posting(seed, park_rate, 0.0) as house:
            assert house.simulation.ask(GATEWAY, AskState, 5.0).value == {"posts": {}, "waiting": {"ada": 1}}
            assert stop(house) <= 0.2
            assert [entry.state for entry in house.outbox("ada", 1)] == ["queued"]
            house.crash()
            house.register()
            house.settle()
            assert house.platform.texts() == ["hi"]


def test_a_directory_that_is_built_anew_stays_closed(seeds: list[int]) -> None:
    """[S26] Nothing is taken in during a stop, whatever becomes of the actor that was told so."""
    for seed in seeds:
        for park_rate in (0.0, 1 / 3):
            with town(seed, 100.0, {"park_rate": park_rate}) as house:
                begin(house)
                ask_to_stop(house)
                for number in range(3):
                    house.simulation.kill(DIRECTORY)
                    late = house.hand_in(house.message(f"late {number}", to="ada"))
                    house.run(until=lambda: late.answer is not None)  # noqa: B023
                    assert late.answer is not None
                    assert isinstance(late.answer.error, RuntimeClosed)
                check_restart(house)
                assert not [text for text in house.texts() if "late" in text]


def stopped_bob(house: SimulatedHouse) -> None:
    """Bob is told to stop before the intake is closed, so that a message can still come for him."""
    reply = ReplyTo(house.simulation.open_reply(lambda _: None), agent_address("bob"))
    house.simulation.tell(agent_address("bob"), StopTurns(False, reply))
    house.simulation.settle()


@pytest.mark.parametrize("park_rate", [0.0, 1 / 3])
def test_no_turn_begins_during_a_stop(park_rate: float, seeds: list[int]) -> None:
    """[S26] Not by a wake that comes, not by an admission that was asked for, and not in an agent that is built anew.

    Who stops does not even stand at its provider's gate, before those whose turns still have rounds to go.
    """
    for seed in seeds:
        for before in (False, True):
            with town(seed, 0.05, {"park_rate": park_rate}) as house:
                gate = provider_address("scripted")
                house.simulation.tell(gate, Cooldown(5.0, ErrorRecord("rate_limit", "slow down")))
                if before:
                    house.insist(house.message("bob one", "#bob", to="bob"))
                stopped_bob(house)
                if not before:
                    house.insist(house.message("bob one", "#bob", to="bob"))
                    house.simulation.settle()
                    assert house.simulation.ask(gate, AskState, 5.0).value["waiting"] == []
                house.simulation.advance(6.0)
                for _ in range(2):
                    house.simulation.kill(agent_address("bob"))
                    house.simulation.advance(1.0)
                stop(house)
                assert (house.last_turn("bob"), len(house.pending())) == (0, 1)
                house.crash()
                house.settle()
                assert house.platform.texts() == ["bob is done"]


@pytest.mark.parametrize("park_rate", [0.0, 1 / 3])
def test_an_agent_that_is_built_anew_still_stops(park_rate: float, seeds: list[int]) -> None:
    """[S26] Its turn ends and it says so, before the deadline; its next wakes wait for the next start."""
    for seed in seeds:
        with town(seed, 0.05, {"park_rate": park_rate}) as house:
            begin(house)
            began = house.simulation.clock.now()
            answers = ask_to_stop(house)
            for name in NAMES:
                house.simulation.kill(agent_address(name))
            house.run(until=lambda: bool(answers))  # noqa: B023
            assert house.simulation.clock.now() - began < DEADLINE
            assert house.turns() == []
            assert {turn for name in NAMES for _, turn in ended(house, name)} == {1}
            check_restart(house)
