"""Messages that come while a turn is alive: what hears them, when, and that nobody is woken for nothing."""

import asyncio
from typing import Any

from manyminds.actors.composer import Composer
from manyminds.actors.house import ROOM
from manyminds.actors.providers.scripted import Answer, Scripted, call, newest_results, newest_text, say
from manyminds.actors.spec import Resident
from manyminds.messages.blocks import Text
from manyminds.messages.errors import MapFull
from manyminds.messages.mail import Offer, room_address
from manyminds.messages.request import Request
from manyminds.messages.rows import Row
from manyminds.storage.keys import TURNS
from tests.actors.hearing import ended, first_heard, gave_up, holds, run_to_tool, shape, turn_numbers
from tests.actors.simulated import SimulatedHouse, variations


async def wait(minutes: float) -> str:
    """Wait."""
    await asyncio.sleep(minutes * 60)
    return "waited"


def slow(request: Request) -> Answer:
    """A model that takes ten seconds over each round."""
    return say(f"re: {newest_text(request)[-20:]}", delay=10.0)


def through_tool(request: Request) -> Answer:
    """A model that waits a minute in a tool, then answers."""
    return "done" if newest_results(request) else call("wait", minutes=1)


def begun(house: SimulatedHouse) -> bool:
    """Whether a turn has begun; one whose agent was rebuilt meanwhile is resumed, and says so."""
    return any(trace.name in ("inference:started", "inference:resumed") for trace in house.traces)


def test_its_own_wake_starts_a_turn_that_holds_it(seeds: list[int]) -> None:
    """[agents 4.1] A message that came in the middle of a turn is in the turn that its wake starts."""
    for seed in seeds:
        for setting in variations():
            model = Scripted(otherwise=slow)
            with SimulatedHouse(seed, [Resident("ada", "m")], model, **setting) as house:
                house.insist(house.message("one", to="ada"))
                house.run(until=lambda: bool(model.requests))  # noqa: B023
                house.insist(house.message("two", to="ada"))
                house.settle()
                if gave_up(house):
                    continue
                assert first_heard(house, "ada") == {"one": 1, "two": 2}
                assert turn_numbers(house, "ada") == [1, 2]
                assert holds(model.requests[-1], "two")
                assert house.pending() == []


def test_a_message_before_the_stream_is_deferred(seeds: list[int]) -> None:
    """[agents 4.2] It came between the turn's beginning and its request: it is in the next turn's, and in its log."""
    for seed in seeds:
        for setting in variations():
            model = Scripted(otherwise=slow)
            with SimulatedHouse(seed, [Resident("ada", "m")], model, **setting) as house:
                house.insist(house.message("one", to="ada"))
                house.run(until=lambda: begun(house))
                early = not model.requests
                house.insist(house.message("two", to="ada"))
                house.settle()
                if gave_up(house) or not early:
                    continue
                assert not holds(model.requests[0], "two")
                assert first_heard(house, "ada") == {"one": 1, "two": 2}
                assert [w for w in shape(house.log()) if not w.startswith("[")][:2] == ["one", "re: zoe: one"]


def skips_slowly(request: Request) -> Answer:
    """A turn that ends itself by `skip_reply` beside a slow tool; then an ordinary answer."""
    if holds(request, "two"):
        return "answered"
    return [call("wait", minutes=1), call("skip_reply")]


def test_what_an_ending_turn_never_saw_stands_behind_it(seeds: list[int]) -> None:
    """[agents 4.3] Stored at the boundary that ended a turn: after that turn's rows, and answered by its own wake."""
    for seed in seeds:
        for setting in variations():
            model = Scripted(otherwise=skips_slowly)
            with SimulatedHouse(seed, [Resident("ada", "m", tools=[wait])], model, **setting) as house:
                house.insist(house.message("one", to="ada"))
                run_to_tool(house)
                house.insist(house.message("two", to="ada"))
                house.settle()
                if gave_up(house):
                    continue
                spoken = [w for w in shape(house.log()) if not w.startswith("[")]
                if house.traced("inference:resumed"):
                    assert spoken.index("two") > spoken.index("results")
                    continue
                assert spoken == ["one", "calls", "results", "two", "answered"]
                assert [name for name, _ in ended(house)] == ["inference:turn_ended", "inference:completed"]
                assert house.platform.texts() == ["answered"]


def test_a_row_in_its_own_voice_waits_for_the_end_of_the_turn(seeds: list[int]) -> None:
    """[agents 4.4] Rows before it are heard at the boundary; it and what came behind it wait, in order."""
    for seed in seeds:
        for setting in variations():
            model = Scripted(otherwise=through_tool)
            with SimulatedHouse(seed, [Resident("ada", "m", tools=[wait])], model, **setting) as house:
                house.insist(house.message("one", to="ada"))
                run_to_tool(house)
                house.insist(house.message("before"))
                own = Row("own", "ada", (Text("as if said by ada"),))
                house.simulation.tell(room_address(ROOM), Offer(own, 1, own=True))
                house.insist(house.message("behind"))
                house.settle()
                if any(house.simulation.faults.drawn.values()):
                    continue
                spoken = [w for w in shape(house.log()) if not w.startswith("[")]
                assert spoken == ["one", "calls", "results", "before", "done", "as if said by ada", "behind"]
                assert first_heard(house, "ada") == {"one": 1, "before": 1}


def test_a_store_that_fails_before_the_compile_leaks_no_token(seeds: list[int]) -> None:
    """[agents 4.5] Refused before the first request, a turn runs once the store takes it, and so does the next."""
    for seed in seeds:
        for setting in variations():
            model = Scripted(otherwise="yes")
            with SimulatedHouse(seed, [Resident("ada", "m")], model, **setting) as house:
                refused: list[int] = []
                faults = house.simulation.store.refuse

                def refuse(unit: Any) -> Exception | None:
                    if len(refused) < 3 and any(table == TURNS for table, _, _ in unit):  # noqa: B023
                        refused.append(1)  # noqa: B023
                        return MapFull("no room")
                    return faults(unit) if faults is not None else None  # noqa: B023

                house.simulation.store.refuse = refuse
                house.insist(house.message("one", to="ada"))
                house.settle()
                house.insist(house.message("two", to="ada"))
                house.settle()
                assert len(refused) == 3
                if not gave_up(house):
                    assert first_heard(house, "ada") == {"one": 1, "two": 2}
                    assert len(house.platform.posts) == 2


def test_a_compile_that_raises_leaks_no_token(seeds: list[int], monkeypatch: Any) -> None:
    """[agents 4.5] [S12] The handler raised: the turn is taken up again, and the next one runs."""
    real = Composer.step
    for seed in seeds:
        raised: list[int] = []

        def step(self: Composer) -> bool:
            if not raised:  # noqa: B023
                raised.append(1)  # noqa: B023
                raise RuntimeError("cannot be read")
            return real(self)

        monkeypatch.setattr(Composer, "step", step)
        model = Scripted(otherwise="yes")
        with SimulatedHouse(seed, [Resident("ada", "m")], model) as house:
            house.say("one", to="ada")
            house.run()
            house.say("two", to="ada")
            house.run()
            assert first_heard(house, "ada") == {"one": 1, "two": 2}
            assert len(house.platform.posts) == 2
            assert [turn for _, turn in ended(house)] == [1, 2]


def test_a_budget_restart_with_a_wake_is_the_restart(seeds: list[int]) -> None:
    """[agents 4.6] The same turn goes on in a new stream; the message is heard in it and starts no other."""
    for seed in seeds:
        for setting in variations():
            model = Scripted(otherwise=through_tool)
            resident = Resident("ada", "m", tools=[wait], max_stream_tokens=1)
            with SimulatedHouse(seed, [resident], model, **setting) as house:
                house.insist(house.message("one", to="ada"))
                run_to_tool(house)
                house.insist(house.message("two", author="yan", to="ada"))
                house.settle()
                if house.traced("inference:resumed"):
                    continue
                assert [trace["reason"] for trace in house.traced("inference:stream_restarted")] == ["context_budget"]
                assert len(house.traced("inference:started")) == 1
                assert first_heard(house, "ada", "yan") == {"two": 1}
                assert [turn for _, turn in ended(house)] == [1]
                assert house.pending() == []
                assert len(house.notices("delivery-receipt")) == 1


def test_an_addressed_channel_beats_a_newer_ambient_one(seeds: list[int]) -> None:
    """[agents 4.7] The author is the addressed message's, and so is the place."""
    for seed in seeds:
        for setting in variations():
            seen: list[tuple[str, str]] = []

            def answer(request: Request) -> Answer:
                seen.extend((t.author, t.locus.at.channel if t.locus else "") for t in house.turns())  # noqa: B023
                return say("yes", delay=10.0)

            model = Scripted(otherwise=answer)
            with SimulatedHouse(seed, [Resident("ada", "m")], model, wake_on="all", **setting) as house:
                house.insist(house.message("busy", "#c", "max"))
                house.run(until=lambda: bool(model.requests))  # noqa: B023
                house.insist(house.message("older ambient", "#b", "yan", at=1_700_000_001.0))
                house.insist(house.message("ada?", "#a", "zoe", to="ada", at=1_700_000_002.0))
                house.insist(house.message("newer ambient", "#b", "yan", at=1_700_000_003.0))
                house.settle()
                if gave_up(house):
                    continue
                assert seen[-1] == ("zoe", "#a")
                assert set(seen) == {("max", "#c"), ("zoe", "#a")}
                assert house.pending() == []


def test_waiting_wakes_starve_nobody_and_are_told_once_a_minute(seeds: list[int]) -> None:
    """[agents 4.9] A busy agent's wakes hold nobody up; a line tells of them at 30 s, and then once a minute."""
    for seed in seeds:
        for setting in variations():
            model = Scripted(otherwise="yes").always(say("late", delay=200.0), agent="ada")
            with SimulatedHouse(seed, [Resident("ada", "m"), Resident("bob", "m")], model, **setting) as house:
                house.insist(house.message("one", to="ada"))
                house.run(until=lambda: bool(model.requests))  # noqa: B023
                for number in range(5):
                    house.insist(house.message(f"more {number}", to="ada"))
                    house.insist(house.message(f"bob {number}", to="bob"))
                if setting.get("faults"):
                    house.simulation.faults.off()
                house.simulation.advance(25.0)
                assert not house.traced("inference:request_stale")
                assert len(house.platform.texts()) >= 1
                steps = len(house.simulation.trace_log)
                house.simulation.advance(100.0)
                told = house.traced("inference:request_stale")
                if not house.traced("inference:resumed"):
                    assert [trace["status"] for trace in told] == ["streaming", "streaming"]
                    assert told[1]["age"] - told[0]["age"] == 60.0
                assert len(house.simulation.trace_log) - steps < 200
                house.settle()
                assert house.pending() == []
