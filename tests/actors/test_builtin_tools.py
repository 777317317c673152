"""The tools that every agent has, through a whole house: what they do, and what their results say."""

import asyncio
import json
from typing import Any

import pytest

from manyminds.actors.faults import Faults
from manyminds.actors.providers.scripted import Answer, Scripted, call
from manyminds.actors.spec import Resident
from manyminds.messages.blocks import ToolResult, text_of
from manyminds.messages.places import ChannelRef
from manyminds.messages.registry import ChannelRecord
from manyminds.storage import registry
from tests.actors.simulated import SERVER, SimulatedHouse, variations

# No kills: a call that an agent was killed over is answered `interrupted`.
SURE = Faults(commit_refused=0.05, map_full=0.02, parked=0.2)
OTHER = "village"


def results(house: SimulatedHouse) -> list[tuple[str, bool]]:
    """The words of all tool results in the log, and whether each is an error."""
    blocks = [b for row in house.log() for b in row.content if isinstance(b, ToolResult)]
    return [(text_of(b.content), b.is_error) for b in blocks]


def town(seed: int, *replies: Answer, resident: Resident | None = None, **options: Any) -> SimulatedHouse:
    """A house whose one resident gives these replies; #a and #b are known, #a on two servers."""
    house = SimulatedHouse(seed, [resident or Resident("ada", "m")], Scripted(*replies, otherwise="end"), **options)
    house.register(server=OTHER)
    for server, channel in ((SERVER, "#b"), (SERVER, "#a"), (OTHER, "#a")):
        house.insist(house.message("hello", channel, server=server))
    return house


def asked(house: SimulatedHouse, channel: str = "#b") -> None:
    """One message to ada, and everything that follows."""
    house.insist(house.message("ada?", channel, to="ada"))
    house.finish()


def test_think_is_noted_and_posted_nowhere(seeds: list[int]) -> None:
    """[agents 10.5] Private: its thought is in no post; in the default policy the plain text beside it is spoken."""
    for seed in seeds:
        for setting in variations(SURE):
            with town(seed, ["aloud", call("think", thought="secret")], keeps_keys=True, **setting) as house:
                asked(house)
                assert results(house) == [("Noted.", False)]
                assert list(dict.fromkeys(house.platform.texts())) == ["aloud", "end"]


def test_a_private_think_keeps_its_round_private() -> None:
    """[prose 5.5] With the policy `private` the round of a think is not spoken; later ones are."""
    private = Resident("ada", "m", think_policy="private")
    with town(1, ["aside", call("think", thought="secret")], resident=private) as house:
        asked(house)
        assert house.platform.texts() == ["end"]
        [receipt] = house.notices("delivery-receipt")
        assert "1 piece(s) kept private" in text_of(receipt.content)


def test_skip_reply_ends_the_turn_silently(seeds: list[int]) -> None:
    """[agents 10.5; prose 5.6] What stood beside it stays private, no further request is made, the wake is settled."""
    for seed in seeds:
        for setting in variations(SURE):
            with town(seed, ["never mind", call("skip_reply", reason="no need")], **setting) as house:
                asked(house)
                assert house.platform.posts == []
                assert (house.turns(), house.pending(), house.last_turn("ada")) == ([], [], 1)
                assert [error for _, error in results(house)] == [False]
                assert "kept private" in text_of(house.notices("delivery-receipt")[0].content)


def test_channel_list(seeds: list[int]) -> None:
    """[agents 10.5] All channels: id, type, label, direction, open, desired, serverId."""
    with town(1, call("channel_list")) as house:
        house.write(registry.put_channel(ChannelRecord(ChannelRef(SERVER, "#c"), "group", "Tea", "tuned-out", "x")))
        asked(house)
        listed = json.loads(results(house)[0][0])
        assert [(c["serverId"], c["id"], c["type"], c["label"], c["open"], c["desired"]) for c in listed] == [
            (SERVER, "#a", "channel", "", True, "open"), (SERVER, "#b", "channel", "", True, "open"),
            (SERVER, "#c", "group", "Tea", False, "tuned-out"), (OTHER, "#a", "channel", "", True, "open"),
        ]
        assert {c["direction"] for c in listed} == {"both"}


@pytest.mark.parametrize("tool", ["channel_publish", "channel_open", "channel_close"])
def test_a_shared_id_is_refused_without_its_server(tool: str) -> None:
    """[agents 10.1, 10.6 of its invariants] Never guessed: nothing is posted or decided; the result names serverId."""
    content = {"content": "hi"} if tool == "channel_publish" else {}
    with town(1, call(tool, channelId="#a", **content)) as house:
        with house.simulation.store.snapshot() as snap:
            before = registry.channels(snap)
        asked(house)
        [(text, error)] = results(house)
        assert error
        assert all(word in text for word in ("serverId", SERVER, OTHER))
        with house.simulation.store.snapshot() as snap:
            assert registry.channels(snap) == before
        assert "hi" not in house.platform.texts()


@pytest.mark.parametrize("server", [SERVER, OTHER])
def test_a_shared_id_with_its_server(server: str) -> None:
    """[agents 10.5] With serverId it goes to that server's channel and no other."""
    with town(1, call("channel_publish", channelId="#a", serverId=server, content="hi")) as house:
        asked(house)
        assert [(post.server, post.channel) for post in house.platform.posts] == [(server, "#a")]


def test_channel_publish_without_a_channel_takes_the_speech_route(seeds: list[int]) -> None:
    """[agents 10.5] No channel: the turn's locus; the result is the post's outcome; plain text is silent."""
    for seed in seeds:
        for setting in variations(SURE):
            with town(seed, ["beside", call("channel_publish", content="hi")], keeps_keys=True, **setting) as house:
                asked(house)
                assert {(post.channel, post.text) for post in house.platform.posts} == {("#b", "hi")}
                [(text, error)] = results(house)
                assert (text.startswith(("Delivered to town/#b", "Waiting", "The message")), error) == (True, False)
                assert "2 piece(s) of plain text not posted" in text_of(house.notices("delivery-receipt")[0].content)


def test_a_turn_without_a_channel_publishes_nothing() -> None:
    """[agents 10.6; 10.9 of its invariants] No route is no route: a send must name a channel."""
    silent = Resident("ada", "m", prose="disabled")
    with town(1, ["plain", call("channel_publish", content="hi")], resident=silent) as house:
        asked(house)
        assert house.platform.posts == []
        [(text, error)] = results(house)
        assert error
        assert "channelId" in text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"content": "hi", "channelId": "#nowhere"}, "channel_list"),
        ({"content": " \n ", "channelId": "#b"}, "empty"),
        ({"channelId": "#b"}, "content"),
        ({"content": 5, "channelId": "#b"}, "content"),
        ({"content": "hi", "channelId": "#b", "loud": True}, "loud"),
    ],
)
def test_a_bad_send_says_what_was_expected(arguments: dict[str, Any], says: str) -> None:
    """[issue: tools] A bad call gets an error result that says what was expected; nothing is posted."""
    with town(1, call("channel_publish", **arguments)) as house:
        asked(house)
        [(text, error)] = results(house)
        assert error
        assert says in text
        assert "hi" not in house.platform.texts()


def test_channel_open_moves_the_locus_and_says_so(seeds: list[int]) -> None:
    """[agents 10.4, 10.6; prose 16.5] No notice; the plain text of later rounds goes there; also over a restart."""
    for seed in seeds:
        for setting in variations(SURE):
            opened = call("channel_open", channelId="#a", serverId=OTHER)
            with town(seed, ["here", opened], "there", keeps_keys=True, **setting) as house:
                asked(house)
                said = [(post.server, post.channel, post.text) for post in house.platform.posts]
                [(text, error)] = results(house)
                assert not error
                assert text == f"{OTHER}/#a is open; plain text of this turn goes there from here on."
                assert list(dict.fromkeys(said))[:1] == [(SERVER, "#b", "here")]
                assert {place[:2] for place in said[1:] if place[2] != "here"} == {(OTHER, "#a")}
                assert house.notices("routing-notice") == []


def test_a_locus_that_was_moved_by_an_opening_outlives_a_crash() -> None:
    """[design, turn record] The stored result of channel_open says where the words go; after a restart they do."""

    async def slow() -> str:
        """Take long."""
        await asyncio.sleep(50.0)
        return "done"

    resident = Resident("ada", "m", tools=[slow])
    opened = call("channel_open", channelId="#a", serverId=OTHER)
    with town(1, ["here", opened, call("slow")], "there", resident=resident) as house:
        house.say("ada?", "#b", to="ada")
        house.simulation.advance(5.0)
        house.crash()
        house.run()
        said = [(post.server, post.channel, post.text) for post in house.platform.posts]
        assert said == [(SERVER, "#b", "here"), (OTHER, "#a", "there")]
        assert [text.split(":")[0].split(" is ")[0] for text, _ in results(house)] == [f"{OTHER}/#a", "interrupted"]


def test_an_opening_that_fails_moves_nothing() -> None:
    """[agents 10.5] Failed: an error that says it stays selected for opening; the locus stays."""

    def stuck(server: str, channel: str) -> None:
        raise RuntimeError("the door is stuck")

    with town(1, call("channel_open", channelId="#c"), "here") as house:
        attic = ChannelRecord(ChannelRef(SERVER, "#c"), desired="closed", source="agent-tool")
        house.write(registry.put_channel(attic))
        house.register(open=stuck)
        asked(house)
        [(text, error)] = results(house)
        assert error
        assert "the door is stuck" in text
        assert "stays selected to be opened" in text
        assert [(post.channel, post.text) for post in house.platform.posts] == [("#b", "here")]


def test_a_close_that_fails_says_so() -> None:
    """[agents 10.3] The intent is kept, and the words are right."""

    def stuck(server: str, channel: str) -> None:
        raise RuntimeError("the door is stuck")

    with town(1, call("channel_close", channelId="#b"), close=stuck) as house:
        house.register(close=stuck)
        asked(house)
        assert results(house)[0][0] == (
            "The channel could not be closed now: the door is stuck. It stays selected to be closed."
        )
