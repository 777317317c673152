"""Order of speech, and what becomes of posts that fail, hang or wait, through a whole house (prose 7, 11)."""

import asyncio
import itertools
from collections.abc import Mapping
from typing import Any

import pytest

from manyminds.actors.faults import Faults
from manyminds.actors.providers.scripted import Scripted, call, newest_results
from manyminds.actors.spec import Resident
from manyminds.messages.blocks import text_of
from manyminds.messages.mail import channel_address
from manyminds.messages.places import ChannelRef
from manyminds.messages.posts import NotSent, Post
from manyminds.messages.split import length
from tests.actors.simulated import SERVER, Platform, SimulatedHouse, variations

SURE = Faults(commit_refused=0.05, map_full=0.02, parked=0.2)
A = ChannelRef(SERVER, "#a")


class Slow(Platform):
    """A platform whose answers take as long as a test says, or fail as it says; every call is noted when it comes.

    `does`: text -> seconds, an exception, or a value to return; a list of these for one attempt after the other.
    """

    def __init__(self, does: Mapping[str, Any] | None = None, keeps: bool = False) -> None:
        super().__init__()
        self.does: dict[str, Any] = dict(does or {})
        self.calls: list[Post] = []
        self.keys: dict[str, str] = {}
        self.keeps = keeps

    async def __call__(self, post: Post) -> Any:
        """The publisher."""
        self.calls.append(post)
        does = self.does.get(post.text, 0.0)
        if isinstance(does, list):
            does = does.pop(0) if does else 0.0
        if isinstance(does, float):
            await asyncio.sleep(does)
            return self._stored(post)
        if does == "lost":
            self._stored(post)
            raise ConnectionError("the line went dead")
        if isinstance(does, Exception):
            raise does
        return does

    def _stored(self, post: Post) -> str:
        if not self.keeps or post.key not in self.keys:
            self.posts.append(post)
            self.keys[post.key] = f"p{len(self.posts)}"
        return self.keys[post.key]

    def called(self, channel: str | None = None) -> list[str]:
        """The texts of all attempts, in the order in which they were made."""
        return [post.text for post in self.calls if channel in (None, post.channel)]


def town(seed: int, model: Scripted, platform: Platform, *names: str, **options: Any) -> SimulatedHouse:
    """A house of these residents in which #a and #b are known."""
    residents = [Resident(name, "m") for name in names or ("ada",)]
    house = SimulatedHouse(seed, residents, model, platform=platform, **options)
    for channel in ("#a", "#b"):
        house.insist(house.message("hello", channel))
    return house


def send(channel: str, text: str) -> Any:
    """An explicit send."""
    return call("channel_publish", channelId=channel, content=text)


def ask(house: SimulatedHouse, channel: str = "#a", to: str = "ada", text: str = "hm?") -> None:
    """A message that wakes."""
    house.insist(house.message(text, channel, to=to))


def states(house: SimulatedHouse, turn: int = 1, agent: str = "ada") -> list[str]:
    """The states of a turn's posts, part by part."""
    return [entry.state for entry in house.outbox(agent, turn)]


# --- order within a turn and across turns


def test_the_posts_of_a_turn_go_one_after_the_other(seeds: list[int]) -> None:
    """[prose 7.1, 7.7] In order of admission, whatever each channel takes; none before its predecessor ends."""
    for seed in seeds:
        for setting in variations(SURE):
            platform = Slow({"one": 9.0, "two": 0.5, "three": 4.0, "four": 0.1})
            model = Scripted([send("#a", "one"), send("#b", "two"), send("#a", "three"), send("#b", "four")], "end")
            with town(seed, model, platform, **setting) as house:
                ask(house)
                house.settle()
                assert platform.called() == ["one", "two", "three", "four"]
                assert platform.texts() == ["one", "two", "three", "four"]


def test_generation_waits_for_no_post(seeds: list[int]) -> None:
    """[prose 7.3] The next round is generated while the last one's words are still on their way."""
    for seed in seeds:
        platform = Slow({"one": 20.0})
        model = Scripted(["one", call("think", thought="hm")], "two")
        with town(seed, model, platform) as house:
            ask(house)
            house.run(lambda: len(model.rounds) == 2)  # noqa: B023
            assert platform.texts() == []
            house.run()
            assert platform.texts() == ["one", "two"]


def test_a_turn_never_waits_for_anothers_chain(seeds: list[int]) -> None:
    """[prose 7.5, 7.8] A post that hangs in #b does not keep the next turn's words from #a."""
    for seed in seeds:
        for setting in variations(SURE):
            platform = Slow({"old": 25.0})
            model = Scripted("old", "new")
            with town(seed, model, platform, **setting) as house:
                ask(house, "#b")
                house.run(lambda: platform.called() == ["old"])  # noqa: B023
                ask(house, "#a")
                house.settle()
                assert platform.texts() == ["new", "old"]


def test_two_agents_chains_are_independent(seeds: list[int]) -> None:
    """[prose 7.5] What one agent's chain waits for holds up no other agent."""
    for seed in seeds:
        for setting in variations(SURE):
            platform = Slow({"stuck": 20.0})
            model = Scripted().then([send("#b", "stuck"), send("#a", "after")], agent="ada").then("free", agent="bob")
            model.always("end", agent="ada")
            with town(seed, model, platform, "ada", "bob", **setting) as house:
                ask(house, "#b")
                house.run(lambda: "stuck" in platform.called())  # noqa: B023
                ask(house, "#a", "bob")
                house.settle()
                assert platform.texts()[:3] == ["free", "stuck", "after"]


def test_one_agents_posts_to_one_channel_keep_their_order_across_turns(seeds: list[int]) -> None:
    """[prose 7.7, 7.8] A later turn's post waits for an earlier turn's to its channel, let go or not."""
    for seed in seeds:
        for setting in variations(SURE):
            platform = Slow({"first": 20.0})
            # #a's post of turn 1 stands behind the slow one to #b; turn 2 says something in #a meanwhile.
            model = Scripted([send("#b", "first"), send("#a", "second")], "end", "third")
            with town(seed, model, platform, **setting) as house:
                ask(house, "#b")
                house.run(lambda: "first" in platform.called())  # noqa: B023
                house.cancel("ada")
                ask(house, "#a")
                house.settle()
                assert platform.called("#a")[0] == "second"
                assert platform.texts("#a") in (["second", "end"], ["second", "third"])


def test_a_post_that_never_settles_blocks_nothing_for_ever(seeds: list[int]) -> None:
    """[prose 7.8] After its deadline the outcome is unknown; chain, channel and later turns go on."""
    for seed in seeds:
        for setting in variations(SURE):
            platform = Slow({"hangs": 10_000.0})
            model = Scripted([send("#a", "hangs"), send("#b", "next")], "end", "later")
            with town(seed, model, platform, **setting) as house:
                ask(house)
                house.run(lambda: "hangs" in platform.called())  # noqa: B023
                began = house.simulation.clock.now()
                house.run(lambda: "next" in platform.called())  # noqa: B023
                assert house.simulation.clock.now() - began >= 30.0
                house.run(lambda: not house.turns())
                ask(house)
                house.run(lambda: "later" in platform.texts("#a"))  # noqa: B023
                assert house.simulation.clock.now() - began < 100.0
                assert platform.texts() == ["next", "later"]
                assert states(house)[:2] == ["unknown", "delivered"]
                house.settle()


def test_a_turn_ends_without_its_words_after_a_while(seeds: list[int]) -> None:
    """[prose 7.8] The turn's end waits at most 15 s for its own chain; the receipt then says what is known."""
    for seed in seeds:
        platform = Slow({"slow": 25.0})
        with town(seed, Scripted("slow"), platform) as house:
            ask(house)
            house.run(lambda: bool(house.traced("inference:completed")))
            began = house.simulation.clock.now()
            house.run(lambda: not house.turns())
            assert house.simulation.clock.now() - began == pytest.approx(15.0)
            house.run()
            [receipt] = house.notices("delivery-receipt")
            assert "still on its way" in text_of(receipt.content)
            assert states(house) == ["delivered"]
            assert house.notices("discord-send-failed") == []


# --- deadlines, late confirmations (7.8)


def test_a_late_confirmation_corrects_the_outbox_and_sends_nothing(seeds: list[int]) -> None:
    """[prose 7.8] Without keys: unknown at the deadline, told as such, then delivered in the outbox; one call."""
    for seed in seeds:
        for setting in variations(SURE):
            platform = Slow({"late": 100.0})
            with town(seed, Scripted("late"), platform, **setting) as house:
                ask(house)
                house.run(lambda: bool(house.notices("discord-send-failed")))
                assert states(house) == ["unknown"]
                assert "may or may not" in text_of(house.notices("discord-send-failed")[0].content)
                house.settle()
                assert states(house) == ["delivered"]
                assert platform.called() == ["late"]
                assert len(house.notices("discord-send-failed")) == 1


def test_a_late_confirmation_ends_the_wait_where_keys_are_kept(seeds: list[int]) -> None:
    """[prose 7.8] With keys: queued at the deadline; the confirmation ends the wait; the next goes at once."""
    for seed in seeds:
        for setting in variations(SURE):
            platform = Slow({"late": 50.0}, keeps=True)
            with town(seed, Scripted("late", "next"), platform, keeps_keys=True, **setting) as house:
                ask(house)
                house.run(lambda: "queued" in states(house))
                ask(house)
                began = house.simulation.clock.now()
                house.run(lambda: "next" in platform.texts())  # noqa: B023
                assert house.simulation.clock.now() - began < 25.0
                house.settle()
                assert states(house) + states(house, 2) == ["delivered", "delivered"]
                assert platform.called() == ["late", "next"]
                assert house.notices("discord-send-failed") == []


def test_a_confirmation_during_a_retry_stands(seeds: list[int]) -> None:
    """[prose 7.8] What the retry comes to does not take back that the first attempt was confirmed."""
    for seed in seeds:
        for second in (NotSent("down"), NotSent("no", permanent=True), 20.0, RuntimeError("lost")):
            platform = Slow({"late": [95.0, second]}, keeps=True)
            with town(seed, Scripted("late"), platform, keeps_keys=True) as house:
                ask(house)
                house.run()
                assert states(house) == ["delivered"]
                assert len(platform.posts) == 1
                assert len(platform.calls) == 2


# --- S7, S8


def test_a_timeout_after_the_platform_stored_it(seeds: list[int]) -> None:
    """[S7] With keys sent again under the same key and shown once; without, never again, and told."""
    for seed in seeds:
        for setting in variations(SURE):
            for keeps in (True, False):
                platform = Slow({"hi": ["lost", 0.0]}, keeps=keeps)
                with town(seed, Scripted("hi"), platform, keeps_keys=keeps, **setting) as house:
                    ask(house)
                    house.settle()
                    assert platform.texts() == ["hi"]
                    assert len({post.key for post in platform.calls}) == 1
                    assert [post.attempt for post in platform.calls] == ([1, 2] if keeps else [1])
                    assert states(house) == (["delivered"] if keeps else ["unknown"])
                    markers = house.notices("discord-send-failed")
                    assert len(markers) == (0 if keeps else 1)
                    assert all("may or may not have been posted" in text_of(row.content) for row in markers)


@pytest.mark.parametrize("why", ["not sent", "not connected"])
def test_a_channel_that_is_down_keeps_its_order(seeds: list[int], why: str) -> None:
    """[S8; prose 11.3] Three posts queue, then a fourth; the channel returns: 1, 2, 3, 4; the other was not held up."""
    for seed in seeds:
        for setting in variations(SURE):
            platform = Slow()
            down = {"now": True}

            async def publish(post: Post) -> Any:
                if post.channel == "#a" and down["now"]:  # noqa: B023
                    platform.calls.append(post)  # noqa: B023
                    raise NotSent(why)
                return await platform(post)  # noqa: B023

            model = Scripted("1", "2", "other", "3", "4")
            with town(seed, model, Platform(), **setting) as house:
                house.register(publish)
                for channel in ("#a", "#a", "#b", "#a"):
                    ask(house, channel)
                    before = house.last_turn("ada")
                    house.run(lambda: house.last_turn("ada") > before and not house.turns())  # noqa: B023
                assert platform.texts() == ["other"]
                ask(house, "#a")
                house.run(lambda: house.last_turn("ada") == 5 and not house.turns())
                down["now"] = False
                house.register(publish)
                house.settle()
                assert platform.texts() == ["other", "1", "2", "3", "4"]
                assert house.notices("discord-send-failed") == []
                waiting = [row for row in house.notices("delivery-receipt") if "is waiting" in text_of(row.content)]
                assert len(waiting) == 4


def test_only_the_head_is_tried_and_ever_more_slowly() -> None:
    """[prose 11.3] 60 s doubling to 15 min; what stands behind is not tried; after 6 h it is given up and told."""
    platform = Slow({"one": NotSent("down"), "two": NotSent("down")})
    times: list[float] = []
    with town(1, Scripted("one", "two"), platform) as house:

        async def publish(post: Post) -> Any:
            times.append(house.simulation.clock.now())
            return await platform(post)

        house.register(publish)
        ask(house)
        house.run(lambda: not house.turns() and bool(times))
        ask(house)
        house.run()
        gaps = [round(later - earlier) for earlier, later in itertools.pairwise(times[:7])]
        assert gaps == [60, 120, 240, 480, 900, 900]
        assert platform.called()[:24] == ["one"] * 24
        assert states(house) + states(house, 2) == ["expired", "expired"]
        assert len(house.notices("discord-send-failed")) == 2
        assert all("6 hours" in text_of(row.content) for row in house.notices("discord-send-failed"))


def test_no_publisher_yet(seeds: list[int]) -> None:
    """[prose 11.3; S6] Words for a server that is not registered wait, and leave when it is."""
    for seed in seeds:
        for setting in variations(SURE):
            platform = Slow()
            with town(seed, Scripted("hello"), platform, register=False, **setting) as house:
                ask(house)
                house.run(lambda: house.last_turn("ada") == 1 and not house.turns())
                assert states(house) == ["queued"]
                house.register()
                house.settle()
                assert platform.texts() == ["hello"]


# --- rebuilt in the middle


def test_a_channel_that_is_killed_in_the_middle(seeds: list[int]) -> None:
    """[design, "Every actor can be rebuilt"; prose 11.3] Killed while a post is out: its answer is waited for."""
    for seed in seeds:
        for keeps in (True, False):
            platform = Slow({"one": 3.0}, keeps=keeps)
            model = Scripted([send("#a", "one"), send("#a", "two"), send("#b", "three")], "end")
            with town(seed, model, platform, keeps_keys=keeps) as house:
                ask(house)
                house.run(lambda: platform.called() == ["one"])  # noqa: B023
                house.simulation.kill(channel_address(A))
                house.run()
                assert platform.texts() == ["one", "two", "three"]
                assert platform.called() == ["one", "two", "three"]
                assert states(house)[0] == "delivered"
                assert (house.turns(), house.pending()) == ([], [])


def test_kills_anywhere_lose_and_double_nothing(seeds: list[int]) -> None:
    """[design, "Every actor can be rebuilt"; S9] Kills, refusals and a crash: each key once, in order, all told."""
    rough = Faults(commit_refused=0.1, map_full=0.02, killed=0.04, parked=0.2)
    for seed in seeds:
        for keeps in (True, False):
            for setting in variations(rough):
                platform = Slow({"one": 2.0, "two": [NotSent("down"), 1.0]}, keeps=keeps)
                sends = [send("#a", "one"), send("#a", "two"), send("#b", "three")]
                model = Scripted(otherwise=lambda request: "end" if newest_results(request) else sends)  # noqa: B023
                with town(seed, model, platform, keeps_keys=keeps, **setting) as house:
                    ask(house)
                    for _ in range(seed % 80):
                        house.simulation.step()
                    house.crash()
                    house.settle()
                    keys = [post.key for post in platform.posts]
                    assert len(keys) == len(set(keys))
                    order = [text for text in platform.texts("#a") if text in ("one", "two")]
                    assert order in ([], ["one"], ["two"], ["one", "two"])
                    assert order == ["one", "two"] or not keeps or house.notices("inference-failed")
                    assert (house.turns(), house.pending()) == ([], [])
                    ended = [e for turn in (1, 2) for e in house.outbox("ada", turn)]
                    assert all(entry.ended for entry in ended)


# --- S31


CODE = "\n".join(f"print({n}, '{'🙂' * 6}')" for n in range(200))
LONG_TEXT = f"Look:\n\n```python\n{CODE}\n```\n\nThat is all."


@pytest.mark.parametrize(("limit", "unit"), [(2000, "chars"), (512, "bytes"), (900, "utf16")])
def test_a_long_post_leaves_in_parts(limit: int, unit: Any) -> None:
    """[S31] In order, none over the limit in the platform's unit, fences closed and opened again, one receipt."""
    platform = Slow()
    with town(1, Scripted(LONG_TEXT), platform, limit=limit, unit=unit) as house:
        ask(house)
        house.run()
        texts = platform.texts()
        assert len(texts) > 1
        assert all(length(text, unit) <= limit for text in texts)
        assert all(text.count("```") % 2 == 0 for text in texts)
        assert [line for text in texts for line in text.splitlines() if line.startswith("print")] == [
            line for line in LONG_TEXT.splitlines() if line.startswith("print")
        ]
        assert len({post.key for post in platform.posts}) == len(texts)
        assert len(house.notices("delivery-receipt")) == 1


def test_a_part_that_failed_is_retried_without_its_predecessors(seeds: list[int]) -> None:
    """[S31] Part 2 fails: it alone is sent again, then part 3; part 1 is not repeated; others wait behind."""
    for seed in seeds:
        for setting in variations(SURE):
            parts = ["x" * 9, "y" * 9, "z" * 9]
            platform = Slow({parts[1]: [NotSent("down"), 0.0]})
            model = Scripted(" ".join(parts), "later")
            with town(seed, model, platform, limit=10, **setting) as house:
                ask(house)
                house.run(lambda: "queued" in states(house))
                assert platform.texts() == parts[:1]
                ask(house)
                house.settle()
                assert platform.texts() == [*parts, "later"]
                assert platform.called() == [parts[0], parts[1], parts[1], parts[2], "later"]
                assert len({post.key for post in platform.calls}) == 4


def test_a_part_that_is_lost_ends_its_post() -> None:
    """[S31; agents 10.7] Part 2 unknown: part 3 is not sent; the agent hears how far it came."""
    parts = ["x" * 9, "y" * 9, "z" * 9]
    platform = Slow({parts[1]: RuntimeError("lost")})
    with town(1, Scripted(" ".join(parts)), platform, limit=10) as house:
        ask(house)
        house.run()
        assert platform.called() == parts[:2]
        assert states(house) == ["delivered", "unknown", "failed"]
        [marker] = house.notices("discord-send-failed")
        assert "1 of 3 parts arrived" in text_of(marker.content)
        assert "may or may not have been posted" in text_of(marker.content)

