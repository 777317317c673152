"""A room under load and under faults: bursts, repeats, echoes, strangers, and a handler that raises."""

import asyncio
import logging
import re
from itertools import pairwise
from typing import Any

import pytest

from manyminds.actors import house as houses
from manyminds.actors.agent import Agent
from manyminds.actors.faults import Faults
from manyminds.actors.providers.scripted import Answer, Scripted, newest_text
from manyminds.actors.room import Room
from manyminds.actors.spec import Resident
from manyminds.messages.blocks import text_of
from manyminds.messages.errors import Failed, StoreError
from manyminds.messages.mail import Offer, StreamNews
from manyminds.messages.places import ChannelRef
from manyminds.messages.posts import NotSent
from manyminds.messages.request import Request
from manyminds.storage import Unit, registry, seen
from manyminds.storage.keys import INBOX
from tests.actors.simulated import SERVER, Handed, SimulatedHouse, request_texts, variations

ADA = Resident("ada", "m")


def unquoted(request: Request) -> list[int]:
    """The numbers of the messages that no own turn of the request has quoted yet, in order."""
    said = {n for m in request.messages if m.role == "assistant" for n in re.findall(r"\d+", text_of(m.content))}
    heard = [re.findall(r"number (\d+)", text_of(m.content)) for m in request.messages if m.role == "user"]
    return [int(n) for found in heard for n in found if n not in said]


async def quote(request: Request) -> Answer:
    """The answer quotes what was not quoted yet; the later the message, the quicker it comes."""
    numbers = unquoted(request)
    await asyncio.sleep((20 - max(numbers)) / 1000)
    return " ".join(map(str, numbers))


def test_a_burst_is_answered_in_order(seeds: list[int]) -> None:
    """[S1] 20 messages in 1 ms: turns one at a time, each message newly heard in one turn, replies in order."""
    for seed in seeds:
        for settings in variations():
            model = Scripted(otherwise=quote)
            with SimulatedHouse(seed, [ADA], model, **settings) as house:
                house.simulation.advance(1.0)
                handed = [house.hand_in(house.message(f"number {n}", to="ada")) for n in range(20)]
                house.simulation.advance(0.001)
                house.run(until=lambda: all(h.answer is not None for h in handed))  # noqa: B023
                for again in handed:
                    house.insist(again.message)
                house.settle()
                quoted = [int(n) for text in house.platform.texts("#a") for n in text.split()]
                first_heard = re.findall(r"number (\d+)", " ".join(house.texts()))
                assert quoted == [int(n) for n in first_heard], (seed, settings)
                assert sorted(quoted) == list(range(20)), (seed, settings)
                if "faults" not in settings:
                    assert quoted == list(range(20)), (seed, settings)
                assert house.last_turn("ada") == len(house.platform.posts), (seed, settings)
                alive = 0
                for trace in house.traces:
                    alive += (trace.name == "inference:started") - (trace.name == "inference:completed")
                    assert alive <= 1
                assert house.pending() == []


def test_a_channel_is_known_from_its_first_message(seeds: list[int]) -> None:
    """[S6] [agents 10.1] It is registered once, with its label; the reply is posted there."""
    for seed in seeds:
        for settings in variations():
            with SimulatedHouse(seed, [ADA], Scripted(otherwise="welcome"), **settings) as house:
                house.insist(house.message("hello", "#new", label="The new one", to="ada"))
                house.insist(house.message("and again", "#new", label="The new one", to="ada"))
                house.settle()
                with house.simulation.store.snapshot() as snap:
                    known = registry.channels(snap)
                assert [(c.at, c.label) for c in known] == [(ChannelRef(SERVER, "#new"), "The new one")]
                assert set(house.platform.texts()) == set(house.platform.texts("#new")) == {"welcome"}
                if "faults" not in settings:
                    assert len(house.traced("channel-lazy-registered")) == 1


@pytest.mark.parametrize("reason", ["no right to write", ""])
def test_a_reply_that_cannot_be_posted_leaves_a_record(seeds: list[int], reason: str) -> None:
    """[S6; prose 11.3] Refused for good: a failure notice. No publisher: the receipt says it waits; then given up."""
    for seed in seeds if reason else seeds[:3]:  # six hours of tries are many steps
        for settings in variations():
            with SimulatedHouse(seed, [ADA], Scripted(otherwise="welcome"), register=False, **settings) as house:
                if reason:
                    house.register(lambda post: NotSent(reason, permanent=True))
                house.insist(house.message("hello", "#new", to="ada"))
                house.settle()
                failed = house.notices("discord-send-failed")
                if reason:
                    [marker] = failed
                    assert (marker.metadata["channelId"], marker.metadata["textLen"]) == ("#new", len("welcome"))
                    assert reason in text_of(marker.content)
                else:
                    assert failed == [], (seed, settings)
                    events = [row.metadata["event"] for row in house.notices("outbox-notice")]
                    assert events == ["delayed", "given-up"], (seed, settings)
                    waits = [text_of(row.content) for row in house.notices("delivery-receipt")]
                    assert any("waiting" in text for text in waits), (seed, settings)


def test_one_id_is_one_message(seeds: list[int]) -> None:
    """[S10] Delivered twice, in flight, later, and across restarts: one row, one turn; another channel's is another."""
    for seed in seeds:
        for settings in variations():
            with SimulatedHouse(seed, [ADA], Scripted(otherwise="yes"), **settings) as house:
                message = house.message("ada: hello", id="m1", to="ada")
                twins = [house.hand_in(message), house.hand_in(message), house.hand_in(message)]
                house.run(until=lambda: all(h.answer is not None for h in twins))  # noqa: B023
                if "faults" not in settings:
                    assert [h.accepted.duplicate for h in twins] == [False, True, True], (seed, settings)
                house.insist(message)
                for _ in range(2):
                    house.crash()
                    assert house.insist(message).duplicate, (seed, settings)
                house.settle()
                assert house.insist(message).duplicate
                assert house.texts().count("ada: hello") == 1, (seed, settings)
                assert house.last_turn("ada") == 1, (seed, settings)
                assert not house.insist(house.message("ada: hello", "#b", id="m1", to="ada")).duplicate
                house.settle()
                assert house.last_turn("ada") == 2


def test_a_twin_waits_for_the_first(seeds: list[int]) -> None:
    """[the host's API] A second call with an id in flight is answered when the first is on disk, or refused with it."""

    def refuse(unit: Unit) -> Exception | None:
        return StoreError("no") if any(table == INBOX for table, _, _ in unit) else None

    for seed in seeds:
        for settings in variations(Faults(parked=0.1)):
            with SimulatedHouse(seed, [ADA], Scripted(otherwise="yes"), **settings) as house:
                message = house.message("ada: hello", id="m1", to="ada")
                for refused in (True, False):
                    house.simulation.store.refuse = refuse if refused else None
                    twins = [house.hand_in(message) for _ in range(3)]
                    while any(h.answer is None for h in twins):
                        answered = sum(h.answer is not None for h in twins)
                        assert not answered or bool(house.waiting() or house.log()) != refused, (seed, settings)
                        house.simulation.step()
                    if refused:
                        assert all(h.answer and h.answer.error for h in twins), (seed, settings)
                        assert house.waiting() == []
                    else:
                        assert [h.accepted.duplicate for h in twins] == [False, True, True], (seed, settings)
                house.settle()
                assert house.last_turn("ada") == 1
                assert house.texts().count("ada: hello") == 1


def test_an_id_outlives_the_door(seeds: list[int]) -> None:
    """[S10] Directory and room are killed while messages are on their way: each is stored once, each call answered."""
    for seed in seeds:
        faults = Faults(killed=0.03, parked=0.1)
        with SimulatedHouse(seed, [ADA], Scripted(), park_rate=0.3, faults=faults) as house:
            messages = [house.message(f"number {n}", id=f"m{n % 4}") for n in range(4)]
            handed: list[Handed] = []
            for number in range(16):
                handed.append(house.hand_in(messages[number * 7 % 4]))
                for _ in range(number % 3):
                    house.simulation.step()
            house.run(until=lambda: all(h.answer is not None for h in handed))  # noqa: B023
            house.settle()
            assert sum(not h.accepted.duplicate for h in handed) <= 4, seed
            assert sorted(house.texts()) == [f"number {n}" for n in range(4)], seed


def test_ids_are_bounded_and_the_oldest_go_first(seeds: list[int]) -> None:
    """[S10] A channel keeps so many ids on disk and in memory; the oldest is forgotten first, also after a start."""
    bound = seen.BOUND
    place = ChannelRef(SERVER, "#a")
    for seed in seeds[:3]:
        with SimulatedHouse(seed, [ADA], Scripted(otherwise="yes")) as house:
            ids = seen.SeenIds(place, {})
            house.write(*(op for number in range(bound - 1) for op in ids.add(f"old{number}")))
            for number in range(3):  # the first fits, the next two push old0 and old1 out
                assert not house.say("ada: new", id=f"new{number}", to="ada").duplicate
            house.crash()
            with house.simulation.store.snapshot() as snap:
                kept = seen.load(snap, place)
                assert len(kept) == bound
                assert seen.last(snap, place) == "new2"
            assert house.say("ada: old", id="old2", to="ada").duplicate
            assert house.say("ada: new", id="new0", to="ada").duplicate
            assert not house.say("ada: old", id="old1", to="ada").duplicate
            with house.simulation.store.snapshot() as snap:
                assert len(seen.load(snap, place)) == bound
            house.settle()


def test_an_echo_of_our_own_words_starts_nothing(seeds: list[int]) -> None:
    """[S33] It is not stored, wakes nobody, not even whom it names; a real message of that id is still one."""
    for seed in seeds:
        for settings in variations():
            model = Scripted(otherwise="bob: have a look")
            with SimulatedHouse(seed, [ADA, Resident("bob", "m")], model, wake_on="all", **settings) as house:
                house.insist(house.message("ada: hello", to="ada"))
                house.run()
                echo = house.message("bob: have a look", author="ada", id="p1", to="bob", from_self=True)
                accepted = house.insist(echo)
                assert (accepted.routed, accepted.woken) == (False, ())
                house.settle()
                assert house.last_turn("bob") == 0
                assert house.texts().count("bob: have a look") == 1
                assert house.waiting() == []


class TouchyRoom(Room):
    """A room whose handler raises on one message."""

    def offer(self, mail: Offer) -> None:
        """Raise on message 2."""
        if "number 2" in text_of(mail.row.content):
            raise ZeroDivisionError("on purpose")
        super().offer(mail)


def test_a_raising_handler_costs_one_message(
    seeds: list[int], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """[S12] Message 2 of 5: its host is told, the log names room and message, and 1, 3, 4, 5 are handled."""
    monkeypatch.setattr(houses, "Room", TouchyRoom)
    for seed in seeds:
        for settings in variations():
            caplog.clear()
            model = Scripted(otherwise=newest_text)
            house = SimulatedHouse(seed, [ADA], model, **settings)
            with house, caplog.at_level(logging.ERROR):
                messages = [house.message(f"number {n}", id=f"id{n}", to="ada") for n in range(1, 6)]
                handed = [house.hand_in(message) for message in messages]
                house.run(until=lambda: all(h.answer is not None for h in handed))  # noqa: B023
                answer = handed[1].answer
                assert answer is not None
                assert isinstance(answer.error, Failed), (seed, settings)
                lines = [r for r in caplog.records if "Offer" in r.getMessage() and r.exc_info]
                assert lines, (seed, settings)
                for word in ("room:shared", "id2"):
                    assert word in lines[0].getMessage(), (seed, settings)
                for number in (0, 2, 3, 4):
                    house.insist(messages[number])
                house.settle()
                rows = [text for text in house.texts() if re.fullmatch(r"number \d", text)]
                assert sorted(rows) == ["number 1", "number 3", "number 4", "number 5"], (seed, settings)
                assert all(any(f"number {n}" in post for post in house.platform.texts()) for n in (1, 3, 4, 5))


class TouchyAgent(Agent):
    """An agent whose handler raises, for ever or a few times, when its stream speaks."""

    raises = 0

    def stream_news(self, mail: StreamNews) -> None:
        """Raise, or do what an agent does."""
        if type(self).raises:
            type(self).raises -= 1
            raise ZeroDivisionError("on purpose")
        super().stream_news(mail)


@pytest.mark.parametrize("times", [1, 2, 1000])
def test_an_agent_is_rebuilt_a_bounded_number_of_times(
    seeds: list[int], monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """[S12] [agents 19.15] Rebuilt; a turn that cut three starts short is given up, and the others go on."""
    monkeypatch.setattr(houses, "Agent", TouchyAgent)
    for seed in seeds[:4]:
        for settings in variations():
            TouchyAgent.raises = times
            with SimulatedHouse(seed, [ADA], Scripted(otherwise="yes"), **settings) as house:
                house.insist(house.message("number 1", to="ada"))
                house.settle()
                raised = [failure for failure in house.simulation.failures if failure[1] == "StreamNews"]
                assert 1 <= len(raised) <= min(times, 4), (seed, settings)
                TouchyAgent.raises = 0
                assert house.turns() == []
                if times == 1000:
                    assert len(house.notices("inference-failed")) == 1, (seed, settings)
                    assert house.platform.texts() == []
                house.insist(house.message("number 2", to="ada"))
                house.settle()
                assert house.platform.texts()[-1:] == ["yes"], (seed, settings)
                assert "zoe: number 2" in heard_last(house)
                assert house.pending() == []


def heard_last(house: SimulatedHouse) -> list[str]:
    """The texts of the last request that the house's model was sent."""
    model: Any = house.house.specs["ada"].provider
    return request_texts(model.requests[-1])


def test_failures_of_building_grow_the_delay(
    seeds: list[int], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """[S12] An actor that raises whatever it is given is rebuilt more and more slowly, then ended with a line."""

    class HopelessRoom(Room):
        """A room that cannot be loaded."""

        def loaded(self) -> None:
            raise ZeroDivisionError("on purpose")

    monkeypatch.setattr(houses, "Room", HopelessRoom)
    for seed in seeds[:4]:
        caplog.clear()
        with SimulatedHouse(seed, [ADA], Scripted(otherwise="yes")) as house, caplog.at_level(logging.ERROR):
            handed = house.hand_in(house.message("number 1", to="ada"))
            house.run(until=lambda: handed.answer is not None)  # noqa: B023
            assert handed.answer is not None
            assert isinstance(handed.answer.error, Failed)
            said = "\n".join(record.getMessage() for record in caplog.records)
            delays = [float(found) for found in re.findall(r"room:shared raised.* in ([\d.]+) s", said)]
            assert len(delays) == 10
            assert all(before < after for before, after in pairwise(delays))
            assert "room:shared raised on Loaded; it is ended" in said
            assert any("actor-ended" in str(fields) for fields in house.traced("operator"))
