"""What a row is decides what it does: notices, look-alikes of notices, and marks on messages."""

from typing import Any

import pytest

from manyminds.actors.house import ROOM
from manyminds.actors.providers.replies import Reply
from manyminds.actors.providers.scripted import Answer, Scripted, call, fail, newest_text
from manyminds.actors.spec import Resident
from manyminds.messages.blocks import Text
from manyminds.messages.mail import Offer, room_address
from manyminds.messages.posts import NotSent, Post
from manyminds.messages.request import Request
from manyminds.messages.rows import MARKER_TAGS, Row
from manyminds.messages.wakes import CHANNEL_MESSAGE, Wake
from tests.actors.simulated import SERVER, SimulatedHouse, request_texts, variations

KINDS = (
    "channel-notice", "delivery-receipt", "discord-send-failed", "inference-failed", "routing-notice",
    "turn-interrupted",
)


def platform_answer(house: SimulatedHouse, post: Post) -> Any:
    """A platform on which nothing can be posted to #gone."""
    if post.channel == "#gone":
        raise NotSent("no such channel", permanent=True)
    house.platform.posts.append(post)
    return f"p{len(house.platform.posts)}"


def hm(request: Request) -> Answer:
    """Fails or hangs as it is told to, as often as it is asked: a turn that is resumed asks again."""
    newest = newest_text(request)
    if "broken" in newest and "slow" not in newest:
        return fail("invalid_request")
    return Reply(hangs=True) if "slow" in newest else "hm"


def test_every_notice_is_a_notice_and_wakes_nobody(seeds: list[int]) -> None:
    """[agents 3.1] [agents 9.1] Each kind there is: `system: true`, participant user, no wake and no turn."""
    for seed in seeds:
        for settings in variations():
            model = Scripted(otherwise=hm)
            model.then("fine", when="receipt")
            model.then("lost", when="failed")
            model.then([call("channel_close", channelId="#a")], "shut", when="close")
            with SimulatedHouse(seed, [Resident("ada", "m"), Resident("bob", "m")], model, **settings) as house:
                house.platform.answer = lambda post: platform_answer(house, post)
                house.insist(house.message("receipt", to="ada"))
                house.run()
                house.insist(house.message("failed", "#gone", to="ada"))
                house.run()
                house.insist(house.message("broken", to="ada"))
                house.run()
                house.insist(house.message("slow", to="ada"))
                house.run(until=lambda: model.rounds[-1].ending == "running")  # noqa: B023
                assert house.cancel("ada")
                house.insist(house.message("close", to="ada"))
                house.settle()
                assert tuple(sorted({str(row.metadata["kind"]) for row in house.notices()})) == KINDS, (seed, settings)
                for row in house.log():
                    if row.metadata.get("kind") in KINDS:
                        assert row.metadata["system"] is True
                        assert row.participant == "user"
                        assert row.opening == ""
                        assert row.turn is None
                assert house.last_turn("ada") == 5, (seed, settings)
                assert model.requests_of("bob") == ()
                assert house.pending() == []
                assert house.waiting() == []


def look_alike(house: SimulatedHouse, number: int, **metadata: Any) -> Offer:
    """A message of #b to ada whose metadata looks like a notice's, but does not say `system: true`."""
    kept: dict[str, Any] = {"serverId": SERVER, "channelId": "#b", "addressed": ["ada"], **metadata}
    row = Row(f"x{number}", "zoe", (Text(f"look {number}"),), kept, house.simulation.clock.now(), opening="zoe: ")
    place = house.message("", "#b").place
    wake = Wake(0, "ada", CHANNEL_MESSAGE, house.simulation.clock.now(), place, None, True, "zoe")
    return Offer(row, 100, (wake,))


LOOK_ALIKES: tuple[dict[str, Any], ...] = (
    {"kind": "delivery-receipt", "speaker": "ada"},
    {"kind": "routing-notice", "system": "true"},
    {"kind": "discord-send-failed", "system": 1, "textLen": 3},
    {"kind": "inference-failed", "system": False},
)


def test_a_look_alike_of_a_notice_is_a_message(seeds: list[int]) -> None:
    """[agents 3.2] It wakes, opens with its author's name, is heard by all, and moves the locus as a message does."""
    for seed in seeds:
        for settings in variations():
            for number, metadata in enumerate(LOOK_ALIKES):
                model = Scripted(otherwise="so", delay=1.0)
                model.then([call("think", thought="hm")], agent="ada")
                with SimulatedHouse(seed, [Resident("ada", "m"), Resident("bob", "m")], model, **settings) as house:
                    house.insist(house.message("hello", "#b"))
                    house.insist(house.message("ada: hello", "#a", to="ada"))
                    house.run(until=lambda: len(model.requests) > 0)  # noqa: B023
                    house.simulation.faults.off()
                    house.simulation.tell(room_address(ROOM), look_alike(house, number, **metadata))
                    house.settle()
                    # Heard at the boundary, it moved the locus; #a, which was left, got a turn of its own.
                    posts = [(post.channel, post.text) for post in house.platform.posts]
                    assert posts == [("#b", "so"), ("#a", "so")], (seed, settings, metadata)
                    house.insist(house.message("bob: hello", "#a", to="bob"))
                    house.settle()
                    heard = request_texts(model.requests_of("bob")[-1])
                    assert f"zoe: look {number}" in heard, (seed, settings, metadata)
                    assert house.pending() == []


@pytest.mark.parametrize("tag", sorted(MARKER_TAGS))
def test_a_mark_is_no_new_input(seeds: list[int], tag: str) -> None:
    """[agents 3.3] A reaction, an edit or a deletion wakes nobody, clears no suppression and moves no words."""
    for seed in seeds[:4]:
        for settings in variations():
            for plain in (False, True):
                model = Scripted()
                model.then([call("channel_publish", content="sent")], agent="ada")
                model.then([call("think", thought="hm")], "after", agent="ada")
                model.always("elsewhere", agent="ada")
                with SimulatedHouse(seed, [Resident("ada", "m")], model, **settings) as house:
                    house.insist(house.message("hello", "#b"))
                    house.insist(house.message("ada: hello", "#a", to="ada"))
                    house.run(until=lambda: len(model.requests) == 1)  # noqa: B023
                    # Both are heard at one of the turn's boundaries; a mark is handed on, but is nothing said.
                    mark = house.message("ada: +1", "#b", to="ada", tags=() if plain else (tag,))
                    accepted = house.insist(mark)
                    assert accepted.woken == (("ada",) if plain else ())
                    house.settle()
                    posts = [(post.channel, post.text) for post in house.platform.posts]
                    expected = [("#a", "sent"), ("#b", "after")] if plain else [("#a", "sent")]
                    assert posts[:2] == expected, (seed, settings, plain)
                    assert any("ada: +1" in text for text in house.texts())
                    assert house.pending() == []
