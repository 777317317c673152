"""The streams of one turn: what a later round adds, what a restart keeps, and that nothing old changes anything."""

import asyncio
from dataclasses import replace

from manyminds.actors.composer import Composer
from manyminds.actors.house import ROOM
from manyminds.actors.providers.scripted import Answer, Scripted, call, newest_results, say
from manyminds.actors.spec import Resident
from manyminds.messages.blocks import Text, ToolResult, text_of
from manyminds.messages.mail import (
    Admitted,
    BoundaryDone,
    CompileSlice,
    Decided,
    NothingToDo,
    ResultStored,
    Retry,
    RoundStored,
    SendAgain,
    StreamLost,
    StreamNews,
    ToolDone,
    TurnBegun,
    TurnClosed,
    TurnFinished,
    agent_address,
)
from manyminds.messages.request import Request
from manyminds.storage import turns
from tests.actors.hearing import ended, first_heard, rounds_since, run_to_tool, shape
from tests.actors.simulated import SimulatedHouse, request_texts, variations


async def look(minutes: float) -> str:
    """Look around."""
    await asyncio.sleep(minutes * 60)
    return f"saw {minutes}"


def looker(rounds: int) -> Scripted:
    """A model that says something and looks around for so many rounds, then ends."""

    def answer(request: Request) -> Answer:
        done = rounds_since(request)
        if done >= rounds:
            return f"end {done}"
        return [f"say {done}", call("look", minutes=1), call("look", minutes=0)]

    return Scripted(otherwise=answer)


def test_a_later_round_is_what_a_compile_would_give(seeds: list[int]) -> None:
    """[agents 5.2] Each request is its predecessor and what is new; a compile at its watermark gives the same bytes."""
    for seed in seeds:
        for setting in variations():
            model = looker(3)
            compiled: list[object] = []
            inner = model.stream

            def stream(request: Request) -> object:
                with house.simulation.store.snapshot() as snap:
                    turn = turns.get(snap, ROOM, "ada")
                assert turn is not None
                composer = Composer(
                    house.simulation.store, house.house.specs["ada"], turn.branch, turn.watermark
                )
                while not composer.step():
                    pass
                compiled.append(composer.messages())  # noqa: B023
                return inner(request)  # noqa: B023

            model.stream = stream  # type: ignore[method-assign, assignment]
            with SimulatedHouse(seed, [Resident("ada", "m", tools=[look])], model, **setting) as house:
                house.insist(house.message("one", to="ada"))
                for number in range(2):
                    house.run(until=lambda: len(model.requests) > number)  # noqa: B023
                    house.insist(house.message(f"more {number}", author="max"))
                house.settle()
                assert [request.messages for request in model.requests] == compiled
                for before, after in zip(model.requests, model.requests[1:], strict=False):
                    assert after.messages[: len(before.messages)] == before.messages


def old_mail(house: SimulatedHouse, turn_number: int) -> list[object]:
    """Mail of streams, rounds and turns that are over, as it may still be on its way."""
    with house.simulation.store.snapshot() as snap:
        turn = turns.get(snap, ROOM, "ada")
    assert turn is not None
    result = ToolResult("call_old", (Text("old"),))
    past = replace(turn, number=turn_number - 1, phase="closing")
    return [
        StreamNews(1), StreamLost(1, "cut"), Admitted(1), CompileSlice(1), Retry(turn_number, 9),
        RoundStored(turn_number, 7), RoundStored(turn_number - 1, 1), ResultStored(turn_number, 7, "call_old"),
        ToolDone(turn_number, 7, "call_old", result), ToolDone(turn_number - 1, 1, "call_old", result),
        BoundaryDone(replace(turn, rounds=turn.rounds + 5), ()), BoundaryDone(past, ()), TurnClosed(past, False),
        TurnFinished(turn_number - 1, True), NothingToDo(), TurnBegun(past), SendAgain(turn_number - 1, None),
    ]


def tell_old(house: SimulatedHouse, late: bool) -> None:
    """Tell it, while the second turn is alive."""
    if late and house.turns():
        for mail in old_mail(house, 2):
            house.simulation.tell(agent_address("ada"), mail)


def test_late_mail_of_what_is_over_changes_nothing(seeds: list[int]) -> None:
    """[agents 5.4] [agents 5.1] Whatever comes from an older stream, round or turn, and whenever."""
    for seed in seeds:
        for setting in variations():
            shapes: list[list[str]] = []
            for late in (False, True):
                model = looker(2)
                with SimulatedHouse(seed, [Resident("ada", "m", tools=[look])], model, **setting) as house:
                    house.insist(house.message("first", to="ada"))
                    house.settle()
                    house.insist(house.message("second", to="ada"))
                    rounds, tools = len(model.requests), len(house.traced("tool:started"))
                    for more in (1, 2):
                        house.run(until=lambda: len(model.requests) >= rounds + more)  # noqa: B023
                        tell_old(house, late)
                        house.run(
                            until=lambda: len(house.traced("tool:started")) > tools or len(ended(house)) > 1  # noqa: B023
                        )
                        tell_old(house, late)
                    house.run()
                    assert [turn for _, turn in ended(house)] == [1, 2]
                    assert house.turns() == []
                    assert house.simulation.failures == []
                    shapes.append(sorted(shape(house.log())))
            assert shapes[0] == shapes[1]


def test_an_agent_that_was_rebuilt_hears_nothing_of_its_old_stream(seeds: list[int]) -> None:
    """[agents 5.4] The replaced object's stream is stopped; one answer is stored and one is posted."""
    for seed in seeds:
        model = Scripted(otherwise=say("the answer in many words", delay=1.0, gap=1.0, chunk=4))
        with SimulatedHouse(seed, [Resident("ada", "m")], model, park_rate=seed % 2 / 3) as house:
            house.say("one", to="ada")
            house.run(until=lambda: bool(model.requests))  # noqa: B023
            house.simulation.advance(3.0)
            rebuild(house)
            house.run()
            assert [done.ending for done in model.rounds] == ["cancelled", "done"]
            assert house.platform.texts() == ["the answer in many words"]
            assert [turn for _, turn in ended(house)] == [1]


def rebuild(house: SimulatedHouse) -> None:
    """Mail that its handler raises on."""
    house.simulation.tell(agent_address("ada"), Decided(None, "broken", key=None))


def test_a_budget_restart_is_the_same_turn(seeds: list[int]) -> None:
    """[agents 5.5] [agents 5.6] One checkpoint, one receipt, the same place, words in order; a restart per boundary."""
    for seed in seeds:
        for setting in variations():
            model = looker(3)
            seen: list[tuple[int, str, int]] = []
            resident = Resident("ada", "m", tools=[look], max_stream_tokens=1)
            with SimulatedHouse(seed, [resident], model, **setting) as house:
                house.insist(house.message("one", to="ada"))
                for number in range(3):
                    house.run(until=lambda: len(model.requests) > number)  # noqa: B023
                    seen += [(t.checkpoint, str(t.locus), t.number) for t in house.turns()]
                    house.insist(house.message(f"elsewhere {number}", "#b", "max"))
                house.settle()
                assert len(set(seen)) == 1
                words = ["say 0", "say 1", "say 2", "end 3"]
                posted = house.platform.texts()
                assert posted == [word for word in words if word in posted]
                # A channel that was killed in the middle of a post says that it may have arrived.
                assert len(posted) + len(house.notices("discord-send-failed")) == len(words)
                assert {post.channel for post in house.platform.posts} == {"#a"}
                assert len(house.notices("delivery-receipt")) == 1
                assert [turn for _, turn in ended(house)] == [1]
                if not house.traced("inference:resumed"):
                    assert len(house.traced("inference:stream_restarted")) == 3
                    assert len(model.requests) == 4


def test_no_restart_before_a_usage_report(seeds: list[int]) -> None:
    """[agents 5.6] A stream that was just opened has used nothing: a limit below any request stops no turn."""
    for seed in seeds:
        model = looker(2)
        resident = Resident("ada", "m", tools=[look], max_stream_tokens=1)
        with SimulatedHouse(seed, [resident], model) as house:
            house.say("one", to="ada")
            house.run()
            assert len(model.requests) == 3
            house.say("two", to="ada")
            house.run(until=lambda: len(model.requests) == 4)  # noqa: B023
            assert len(house.traced("inference:stream_restarted")) == 2


def publisher(request: Request) -> Answer:
    """Sends into another channel, waits, then speaks plainly, twice."""
    texts = " ".join(request_texts(request))
    rounds = sum(message.role == "assistant" for message in request.messages)
    if rounds == 0:
        return ["beside", call("channel_publish", content="sent", channelId="#b"), call("look", minutes=1)]
    if rounds == 1:
        return ["plain", call("look", minutes=1)]
    assert "sent" in texts or newest_results(request)
    return "last"


def test_what_ends_the_silence_after_an_explicit_send(seeds: list[int]) -> None:
    """[agents 5.8] New conversation does; a reaction, an edit and a notice do not. What is left out is counted."""
    cases: list[tuple[dict[str, object], list[str]]] = [
        ({}, []), ({"tags": ("chat:reaction",)}, []), ({"tags": ("chat:edited",)}, []),
        ({"text": "well?"}, ["plain", "last"]), ({"text": "you?", "to": "ada"}, ["plain", "last"]),
    ]
    for seed in seeds:
        for setting in variations():
            for fields, plain in cases:
                model = Scripted(otherwise=publisher)
                with SimulatedHouse(seed, [Resident("ada", "m", tools=[look])], model, **setting) as house:
                    house.insist(house.message("hi b", "#b"))
                    house.insist(house.message("one", to="ada"))
                    run_to_tool(house)
                    if fields:
                        given = {"text": "+1", **fields}
                        house.insist(house.message(**given))  # type: ignore[arg-type]
                    house.settle()
                    if any(house.simulation.faults.drawn[name] for name in ("killed", "commit_refused", "map_full")):
                        continue
                    assert house.platform.texts("#b") == ["sent"]
                    assert house.platform.texts("#a") == plain
                    note = text_of(house.notices("delivery-receipt")[-1].content)
                    assert f"{3 - len(plain)} piece(s)" in note
                    assert first_heard(house, "ada")["one"] == 1
