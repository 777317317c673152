"""Which wakes a turn takes, which it settles, and which are set aside."""

import asyncio
from typing import Any

from manyminds.actors.composer import Composer
from manyminds.actors.house import ROOM
from manyminds.actors.providers.scripted import Answer, Scripted, call, fail, newest_results, say
from manyminds.actors.spec import Resident
from manyminds.messages.blocks import ToolCall, text_of
from manyminds.messages.request import Request
from manyminds.storage import turns
from tests.actors.hearing import asked, ended, first_heard, gave_up, holds, rounds_since, run_to_tool, turn_numbers
from tests.actors.simulated import SimulatedHouse, request_texts, variations


async def wait(minutes: float) -> str:
    """Wait."""
    await asyncio.sleep(minutes * 60)
    return "waited"


def faulted(house: SimulatedHouse) -> bool:
    """Whether a fault may have cut a turn, so that it went another way than the one that is tested."""
    return any(house.simulation.faults.drawn[name] for name in ("killed", "commit_refused", "map_full"))


def slow(request: Request) -> Answer:
    """Ten seconds for each answer."""
    return say(f"re: {len(request.messages)}", delay=10.0)


def test_a_turn_takes_the_wakes_of_one_channel(seeds: list[int]) -> None:
    """[agents 19.8] The oldest addressed wake names it; other channels' questions get turns of their own, in order."""
    for seed in seeds:
        for setting in variations():
            taken: list[list[str]] = []

            def answer(request: Request) -> Answer:
                taken.extend([str(wake.channel) for wake in turn.wakes] for turn in house.turns())  # noqa: B023
                return slow(request)

            model = Scripted(otherwise=answer)
            with SimulatedHouse(seed, [Resident("ada", "m")], model, wake_on="all", **setting) as house:
                house.insist(house.message("first", "#z", to="ada"))
                house.run(until=lambda: bool(model.requests))  # noqa: B023
                house.insist(house.message("ambient", "#c"))
                house.insist(house.message("b?", "#b", to="ada"))
                house.insist(house.message("a?", "#a", to="ada"))
                house.insist(house.message("b again?", "#b", to="ada"))
                house.settle()
                if faulted(house):
                    continue
                assert taken == [["town/#z"], ["town/#c", "town/#b"], ["town/#a"]]
                assert [post.channel for post in house.platform.posts] == ["#z", "#b", "#a"]
                assert house.pending() == []


def test_disabled_takes_the_whole_batch(seeds: list[int]) -> None:
    """[agents 19.8] [agents 19.9] Where plain words go nowhere, one turn takes and settles all."""
    for seed in seeds:
        for setting in variations():
            model = Scripted(otherwise=slow)
            with SimulatedHouse(seed, [Resident("ada", "m", prose="disabled")], model, **setting) as house:
                house.insist(house.message("first", to="ada"))
                house.run(until=lambda: bool(model.requests))  # noqa: B023
                house.insist(house.message("b?", "#b", to="ada"))
                house.insist(house.message("a?", "#a", to="ada"))
                house.settle()
                if faulted(house):
                    continue
                assert turn_numbers(house, "ada") == [1, 2]
                assert first_heard(house, "ada") == {"first": 1, "b?": 2, "a?": 2}
                assert house.platform.posts == []
                assert house.pending() == []


def waits_once(request: Request) -> Answer:
    """Waits a minute, then answers in plain words."""
    return "an answer" if rounds_since(request) or newest_results(request) else call("wait", minutes=1)


def hear_at_boundary(house: SimulatedHouse, channel: str, **fields: Any) -> None:
    """A turn for `#a`, and a message that it hears at its boundary."""
    house.insist(house.message("one", "#a", to="ada"))
    run_to_tool(house)
    house.insist(house.message("two", channel, "max", **fields))
    house.settle()


def test_what_was_heard_and_answered_starts_no_second_turn(seeds: list[int]) -> None:
    """[agents 19.9] Its channel was the place when the turn ended: a message of the same channel, or of a re-pin."""
    for seed in seeds:
        for setting in variations():
            for channel in ("#a", "#b"):
                model = Scripted(otherwise=waits_once)
                with SimulatedHouse(seed, [Resident("ada", "m", tools=[wait])], model, **setting) as house:
                    hear_at_boundary(house, channel, to="ada")
                    if faulted(house):
                        continue
                    assert first_heard(house, "ada", "max") == {"two": 1}
                    assert house.platform.texts(channel) == ["an answer"]
                    # The first channel was left by the re-pin before anything was said there.
                    assert len(ended(house)) == (1 if channel == "#a" else 2)
                    assert house.pending() == []


def test_a_channel_that_was_left_gets_a_turn_with_a_notice(seeds: list[int]) -> None:
    """[agents 19.9] A question whose channel a re-pin left: its own turn, which begins with where plain words go."""
    for seed in seeds:
        for setting in variations():
            model = Scripted(otherwise=waits_once)
            with SimulatedHouse(seed, [Resident("ada", "m", tools=[wait])], model, **setting) as house:
                hear_at_boundary(house, "#b", to="ada")
                if faulted(house):
                    continue
                moved, back = house.notices("routing-notice")
                assert "town/#b" in text_of(moved.content)
                assert "town/#a" in text_of(back.content)
                assert holds(model.requests[-1], text_of(back.content))
                assert house.platform.texts("#b") == ["an answer"]
                assert house.platform.texts("#a") == ["an answer"]


def test_an_envelope_for_its_channel_settles_it(seeds: list[int]) -> None:
    """[agents 19.9] A send into its channel, in a round whose request held it, settles; one from before does not."""

    def sends(request: Request) -> Answer:
        sent = any(isinstance(b, ToolCall) and b.name == "channel_publish" for m in request.messages for b in m.content)
        if holds(request, "two") and not sent:
            return [call("channel_publish", content="for b", channelId="#b"), call("skip_reply")]
        return waits_once(request)

    for seed in seeds:
        for setting in variations():
            model = Scripted(otherwise=sends)
            with SimulatedHouse(seed, [Resident("ada", "m", tools=[wait])], model, **setting) as house:
                hear_at_boundary(house, "#b", to="ada")
                if faulted(house):
                    continue
                assert house.platform.texts("#b") == ["for b"]
                assert len(ended(house)) == 2
                assert turn_numbers(house, "ada") == [1, 2]
                assert house.pending() == []


def test_ambient_wakes_are_settled_by_the_turn_that_heard_them(seeds: list[int]) -> None:
    """[agents 19.9] Whatever channel they came from: they start no second turn."""
    for seed in seeds:
        for setting in variations():
            model = Scripted(otherwise=waits_once)
            resident = Resident("ada", "m", tools=[wait])
            with SimulatedHouse(seed, [resident], model, wake_on="all", **setting) as house:
                hear_at_boundary(house, "#b")
                if faulted(house):
                    continue
                assert len(ended(house)) == 1
                assert first_heard(house, "ada", "max") == {"two": 1}
                assert house.pending() == []


def test_a_cancelled_turn_settles_what_it_took_and_no_more(seeds: list[int]) -> None:
    """[agents 19.9] Its own question is not asked again; one that it heard later keeps its wake."""

    def answer(request: Request) -> Answer:
        if "two" in asked(request, "max") and any("[turn-interrupted]" in text for text in request_texts(request)):
            return "for two"
        return call("wait", minutes=1)

    for seed in seeds:
        for setting in variations():
            model = Scripted(otherwise=answer)
            with SimulatedHouse(seed, [Resident("ada", "m", tools=[wait])], model, **setting) as house:
                house.insist(house.message("one", "#a", to="ada"))
                run_to_tool(house)
                house.insist(house.message("two", "#a", "max", to="ada"))
                house.run(until=lambda: any("two" in asked(request, "max") for request in model.requests))  # noqa: B023
                house.simulation.faults.off()
                house.cancel("ada")
                house.settle()
                if faulted(house):
                    continue
                assert [name for name, _ in ended(house)] == ["inference:aborted", "inference:completed"]
                assert house.platform.texts() == ["for two"]
                assert house.pending() == []


def test_an_exhausted_turn_settles_what_it_took(seeds: list[int]) -> None:
    """[agents 19.9] The notice says so; the next message finds the agent well, and the failed one asks nobody again."""
    for seed in seeds:
        for setting in variations():
            model = Scripted(fail("auth"), otherwise="well")
            with SimulatedHouse(seed, [Resident("ada", "m")], model, **setting) as house:
                house.insist(house.message("one", to="ada"))
                house.settle()
                assert house.pending() == []
                house.insist(house.message("two", to="ada"))
                house.settle()
                if not faulted(house):
                    assert house.platform.texts() == ["well"]
                    assert len(house.notices("inference-failed")) == 1


def test_three_starts_cut_short_set_a_wake_aside(seeds: list[int]) -> None:
    """[agents 19.15] A turn that ends the process three times is given up with an operator line; others go on."""
    for seed in seeds:
        for setting in variations():
            model = Scripted(otherwise=waits_once)
            with SimulatedHouse(seed, [Resident("ada", "m")], model, **setting) as house:
                house.insist(house.message("poison", "#a", to="ada"))
                house.insist(house.message("well", "#b", to="ada"))
                starts = 0
                while not gave_up(house):
                    house.run(until=lambda: len(model.requests) > starts or gave_up(house))  # noqa: B023
                    starts = len(model.requests)
                    if not gave_up(house):
                        house.crash()
                if not faulted(house):
                    assert starts == 3
                house.settle()
                lines = [trace for trace in house.traced("operator") if trace["kind"] == "wake-set-aside"]
                assert [line["agent"] for line in lines] == ["ada"]
                assert len(house.notices("inference-failed")) == 1
                assert house.turns() == []
                assert house.pending() == []
                assert house.platform.texts("#a") == []
                assert house.platform.texts("#b") == ["an answer"]


def test_a_handler_that_always_raises_is_no_end(seeds: list[int], monkeypatch: Any) -> None:
    """[agents 19.15] [S12] What raises at one message is given up after three starts, and the next is answered."""
    real = Composer.messages

    def messages(self: Composer) -> Any:
        made = real(self)
        last = [text_of(m.content) for m in made if text_of(m.content).startswith("zoe")][-1]
        if "poison" in last:
            raise RuntimeError("cannot be compiled")
        return made

    monkeypatch.setattr(Composer, "messages", messages)
    for seed in seeds:
        model = Scripted(otherwise="yes")
        with SimulatedHouse(seed, [Resident("ada", "m")], model) as house:
            house.say("poison", "#a", to="ada")
            house.run()
            house.say("hello", "#a", to="ada")
            house.run()
            assert house.platform.texts() == ["yes"]
            assert len(house.notices("inference-failed")) == 1
            assert [trace["kind"] for trace in house.traced("operator")] == ["wake-set-aside"]
            assert house.turns() == []


def test_a_completed_turn_sets_the_count_back(seeds: list[int]) -> None:
    """[agents 19.15] Two cut starts and an answer, again and again: nothing is given up."""
    for seed in seeds:
        model = Scripted(otherwise=slow)
        with SimulatedHouse(seed, [Resident("ada", "m")], model) as house:
            for number in range(3):
                house.say(f"n{number}", to="ada")
                for _ in range(2):
                    begun = len(model.requests)
                    house.run(until=lambda: len(model.requests) > begun)  # noqa: B023
                    with house.simulation.store.snapshot() as snap:
                        turn = turns.get(snap, ROOM, "ada")
                    assert turn is not None
                    assert turn.cuts < 3
                    house.crash()
                house.run()
            assert not gave_up(house)
            assert len(house.platform.posts) == 3
