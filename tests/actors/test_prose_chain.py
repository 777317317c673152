"""The order of a turn's words over restarts, retries and posts that hang, in each mode (prose 14)."""

from typing import Any

import pytest

from manyminds.actors.providers.scripted import Answer, Scripted, call, fail
from manyminds.actors.spec import Resident
from manyminds.messages.places import ChannelRef
from manyminds.messages.registry import ChannelRecord
from manyminds.storage import registry
from tests.actors.simulated import SimulatedHouse
from tests.actors.speaking import Slow

THINK = call("think", thought="hm")
MODES = {"explicit": ">>#a ", "hybrid": ">>>#a ", "locus": ""}
pytestmark = pytest.mark.parametrize("mode", MODES)


def town(seed: int, mode: Any, platform: Slow, *replies: Answer, **options: Any) -> SimulatedHouse:
    """Ada in this mode, whose model says these and then skips."""
    ada = Resident("ada", "m", prose=mode, **options)
    house = SimulatedHouse(seed, [ada], Scripted(*replies, otherwise=call("skip_reply")), platform=platform)
    house.write(*(registry.put_channel(ChannelRecord(ChannelRef("town", name))) for name in ("#a", "#b")))
    return house


def test_a_resumed_stream_waits_for_the_first_post(mode: str, seeds: list[int]) -> None:
    """[prose 14, 7.3] The first post is held back and the resumed streams are done: nothing is out; then in order."""
    for seed in seeds:
        platform = Slow({"first": 25.0})
        first: list[Any] = [f"{MODES[mode]}first", THINK]
        with town(seed, mode, platform, first, ["second", THINK], "continued", max_stream_tokens=1) as house:
            house.say("ada: speak", "#a", to="ada")
            house.run(until=lambda: bool(house.traced("inference:completed")))
            assert len(house.traced("inference:stream_restarted")) == 2
            assert (platform.called(), platform.texts()) == (["first"], [])
            house.run()
            assert platform.called() == ["first", "second", "continued"]
            assert platform.texts("#a") == ["first", "second", "continued"]


def test_a_post_that_never_settles_stops_no_fresh_turn(mode: str, seeds: list[int]) -> None:
    """[prose 14, 7.5] A turn that queues nothing, restarts and then speaks elsewhere waits for nobody's old post."""
    for seed in seeds:
        platform = Slow({"hangs": 100_000.0})
        old, new = MODES[mode], MODES[mode].replace("#a", "#b")
        script: list[Any] = [f"{old}hangs", THINK, [f"{new}late", THINK], "more"]
        with town(seed, mode, platform, *script, max_stream_tokens=1) as house:
            house.say("ada: speak", "#a", to="ada")
            house.run(until=lambda: bool(house.traced("inference:completed")))
            house.run(until=lambda: not house.turns())
            began = house.simulation.clock.now()
            house.say("ada: again", "#b", to="ada")
            house.run(until=lambda: platform.texts("#b") == ["late", "more"])  # noqa: B023
            assert house.simulation.clock.now() - began < 10.0
            assert platform.texts("#a") == []


def test_a_replaced_stream_says_nothing_late(mode: str, seeds: list[int]) -> None:
    """[prose 14, 7.4] What a cut stream wrote is no link of the chain and moves nothing, however late it comes."""
    for seed in seeds:
        platform = Slow({"one": 12.0})
        away = MODES[mode].replace("#a", "#b")
        script: list[Any] = [
            [f"{MODES[mode]}one", THINK], fail("overloaded", f"{away}stray words", after=30), ["two", THINK],
        ]
        with town(seed, mode, platform, *script, "three", max_stream_tokens=1) as house:
            house.say("ada: speak", "#a", to="ada")
            house.run()
            assert platform.called() == ["one", "two", "three"]
            assert platform.texts("#a") == ["one", "two", "three"]
