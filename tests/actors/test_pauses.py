"""A turn that the model's server pauses: what it has said goes back as it is, and its pieces are one answer."""

from typing import Any

import pytest

from manyminds.actors.pauses import MOST_PAUSES
from manyminds.actors.providers.scripted import Scripted, call, fail, say, think
from manyminds.actors.spec import Resident
from manyminds.messages.blocks import Opaque, Text, ToolResult, text_of
from manyminds.messages.request import Limit, Limits, Msg
from tests.actors.hearing import ended
from tests.actors.simulated import SimulatedHouse, request_texts
from tests.actors.speaking import Shown

SEARCH = Opaque('{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}')
FOUND = Opaque('{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}')
PARKED = pytest.mark.parametrize("park_rate", [0.0, 1 / 3])


def paused(*content: Any, reason: str = "pause_turn", **options: Any) -> Any:
    """A round that the server paused."""
    return say(*content, stop_reason=reason, **options)


def look(ran: list[str]) -> Any:
    """A tool that notes its calls."""

    def look(at: str) -> str:
        """Look.

        Args:
            at: Where.
        """
        ran.append(at)
        return f"a tree at {at}"

    return look


@PARKED
@pytest.mark.parametrize("reason", ["pause_turn", "compaction"])
def test_a_paused_answer_goes_back_as_it_is(reason: str, park_rate: float, seeds: list[int]) -> None:
    """[providers 2.2] Each request is the first one and all that was said so far, verbatim, with nothing put between,
    not even what was heard meanwhile; the answer is posted and stored as one.
    """
    for seed in seeds:
        model = Scripted(
            paused(think("hm"), "one ", SEARCH, reason=reason), paused(FOUND, reason=reason, delay=5.0), "two",
            otherwise="and more",
        )
        with SimulatedHouse(seed, [Resident("ada", "m")], model, park_rate=park_rate) as house:
            house.say("hm?", to="ada")
            house.run(lambda: len(model.requests) == 2)  # noqa: B023
            house.say("something else", author="max", to="ada")
            house.settle()
            first, second, third, later = model.requests
            said = (think("hm"), Text("one "), SEARCH)
            assert second.messages == (*first.messages, Msg("assistant", said))
            assert third.messages == (*first.messages, Msg("assistant", (*said, FOUND)))
            whole = (*said, FOUND, Text("two"))
            assert later.messages[: len(first.messages) + 1] == (*first.messages, Msg("assistant", whole))
            assert request_texts(later)[-1].endswith("something else")
            assert next(row.content for row in house.log() if row.participant == "ada") == whole
            assert len(house.traced("inference:completed")) == 2
            assert house.platform.posts[0].text.split() == ["one", "two"]


@PARKED
def test_it_is_said_as_if_it_had_not_been_paused(park_rate: float, seeds: list[int]) -> None:
    """[prose 6] Live text and posts of the pieces are those of the same answer in one piece."""
    pieces: tuple[Any, ...] = (think("hm"), "One.\n\nTwo", SEARCH, FOUND, "three.")
    for seed in seeds:
        outcomes: list[Any] = []
        for replies in ([say(*pieces)], [paused(*pieces[:3]), paused(pieces[3]), say(*pieces[4:])]):
            shown = Shown()
            with SimulatedHouse(
                seed, [Resident("ada", "m")], Scripted(*replies), chunk=shown.chunk, complete=shown.complete,
                park_rate=park_rate,
            ) as house:
                house.say("hm?", to="ada")
                house.settle()
                outcomes.append((house.platform.texts(), "".join(text for _, text in shown.chunks), shown.ends))
        assert outcomes[0] == outcomes[1], seed
        assert "".join(outcomes[0][0][-1:]).endswith("three.")


@PARKED
def test_a_pause_in_a_round_with_calls(park_rate: float, seeds: list[int]) -> None:
    """[providers 2.2] Before the call and after its results alike: one assistant turn, one run of the tool."""
    for seed in seeds:
        ran: list[str] = []
        model = Scripted(
            paused("Wait.", SEARCH), say(FOUND, call("look", at="hill")), paused("So", SEARCH), say(FOUND, "done")
        )
        ada = Resident("ada", "m", tools=[look(ran)])
        with SimulatedHouse(seed, [ada], model, park_rate=park_rate) as house:
            house.say("hm?", to="ada")
            house.settle()
            first, second, third, fourth = model.requests
            assert second.messages == (*first.messages, Msg("assistant", (Text("Wait."), SEARCH)))
            head, spoken, results = third.messages[: len(first.messages)], *third.messages[len(first.messages) :]
            assert head == first.messages
            assert (spoken.role, spoken.content[:3]) == ("assistant", (Text("Wait."), SEARCH, FOUND))
            assert [block.name for block in spoken.content[3:]] == ["look"]  # type: ignore[union-attr]
            assert [type(block) for block in results.content] == [ToolResult]
            assert fourth.messages == (*third.messages, Msg("assistant", (Text("So"), SEARCH)))
            assert ran == ["hill"]
            assert [name for name, _ in ended(house)] == ["inference:completed"]
            assert house.platform.texts() == ["Wait.", "So\ndone"]


def test_a_turn_that_is_paused_for_ever_is_given_up(seeds: list[int]) -> None:
    """[providers 2.2] [agents 19.13] An error that says so, not a loop; what was shown stands as shown."""
    for seed in seeds:
        shown = Shown()
        model = Scripted(otherwise=paused("a"))
        with SimulatedHouse(
            seed, [Resident("ada", "m")], model, chunk=shown.chunk, complete=shown.complete
        ) as house:
            house.say("hm?", to="ada")
            house.settle()
            assert len(model.requests) == MOST_PAUSES + 1
            (end,) = house.traced("inference:exhausted")
            assert end["errorType"] == "server"
            assert f"paused a turn {MOST_PAUSES + 1} times" in end["error"]
            assert house.platform.posts == []
            cut = [text_of(row.content) for row in house.log() if row.metadata.get("interrupted") is True]
            assert cut == ["\n".join("a" * (MOST_PAUSES + 1))]
            assert shown.ends == [("#a", cut[0])]


@PARKED
def test_a_failure_after_a_pause_begins_anew(park_rate: float, seeds: list[int]) -> None:
    """[agents 6.1] The retry is the first request again; what the given-up attempt had said is nowhere."""
    for seed in seeds:
        model = Scripted(paused("one"), fail("server"), paused("two"), "three")
        with SimulatedHouse(seed, [Resident("ada", "m")], model, park_rate=park_rate) as house:
            house.say("hm?", to="ada")
            house.settle()
            first, second, third, fourth = model.requests
            assert second.messages == (*first.messages, Msg("assistant", (Text("one"),)))
            assert third.messages == first.messages
            assert fourth.messages == (*first.messages, Msg("assistant", (Text("two"),)))
            assert house.platform.texts() == ["two\nthree"]


class Limited(Scripted):
    """One request a minute."""

    own_limits = Limits(Limit(1, 1))


@PARKED
def test_a_paused_turn_that_is_cancelled_as_it_waits(park_rate: float, seeds: list[int]) -> None:
    """[agents 19.13] Between its pieces nothing streams, and still what was shown stands as shown."""
    for seed in seeds:
        shown = Shown()
        model = Limited(paused("half a sen"), otherwise="never")
        with SimulatedHouse(
            seed, [Resident("ada", "m")], model, chunk=shown.chunk, complete=shown.complete, park_rate=park_rate
        ) as house:
            house.say("hm?", to="ada")
            house.run(lambda: bool(house.traced("provider:limited")))
            assert house.cancel("ada")
            house.settle()
            cut = [text_of(row.content) for row in house.log() if row.metadata.get("interrupted") is True]
            assert cut == ["half a sen"]
            assert shown.ends == [("#a", "half a sen")]
            assert house.platform.posts == []
            assert len(model.requests) == 1


@PARKED
def test_a_refusal_after_a_pause_leaves_nothing(park_rate: float, seeds: list[int]) -> None:
    """[providers 2.2] The model refuses the whole answer: no part of it is stored or posted."""
    for seed in seeds:
        shown = Shown()
        model = Scripted(paused("half a sen"), say(stop_reason="refusal"))
        with SimulatedHouse(
            seed, [Resident("ada", "m")], model, chunk=shown.chunk, complete=shown.complete, park_rate=park_rate
        ) as house:
            house.say("hm?", to="ada")
            house.settle()
            assert [end["errorType"] for end in house.traced("inference:exhausted")] == ["refusal"]
            assert "half" not in " ".join(house.texts())
            assert house.platform.posts == []


@PARKED
def test_a_crash_within_a_paused_turn(park_rate: float, seeds: list[int]) -> None:
    """[agents, crash] Nothing of a pause is on disk: the turn asks anew and answers once."""
    for seed in seeds:
        model = Scripted(paused("one"), say("lost", delay=5.0), otherwise="whole")
        with SimulatedHouse(seed, [Resident("ada", "m")], model, park_rate=park_rate) as house:
            house.say("hm?", to="ada")
            house.run(lambda: len(model.requests) == 2)  # noqa: B023
            house.crash()
            house.settle()
            assert model.requests[2].messages == model.requests[0].messages
            assert house.platform.texts() == ["whole"]


@PARKED
def test_a_guarded_refusal_after_a_pause_asks_anew(park_rate: float, seeds: list[int]) -> None:
    """[agents 6.4] The request with the withheld results holds nothing of the answer that was refused."""
    for seed in seeds:
        model = Scripted(call("think", thought="hm"), paused("never"), say(stop_reason="refusal"), otherwise="fine")
        ada = Resident("ada", "m", result_guard=True)
        with SimulatedHouse(seed, [ada], model, park_rate=park_rate) as house:
            house.say("hm?", to="ada")
            house.settle()
            assert model.requests[2].messages[-1] == Msg("assistant", (Text("never"),))
            assert "never" not in " ".join(request_texts(model.requests[3]))
            assert house.platform.texts() == ["fine"]
