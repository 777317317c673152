"""What becomes of posts that fail, are lost, wait for their channel or are too long (prose 11)."""

import itertools
from typing import Any

import pytest

from manyminds.actors.faults import Faults
from manyminds.actors.providers.scripted import Scripted
from manyminds.messages.blocks import text_of
from manyminds.messages.posts import NotSent, Post
from manyminds.messages.split import length
from tests.actors.simulated import Platform, variations
from tests.actors.speaking import Slow, ask, states, town

SURE = Faults(commit_refused=0.05, map_full=0.02, parked=0.2)


# --- S7, S8


def test_a_timeout_after_the_platform_stored_it(seeds: list[int]) -> None:
    """[S7] With keys sent again under the same key and shown once; without, never again, and told."""
    for seed in seeds:
        for setting in variations(SURE):
            for keeps in (True, False):
                platform = Slow({"hi": ["lost", 0.0]}, keeps=keeps)
                with town(seed, Scripted("hi"), platform, keeps_keys=keeps, **setting) as house:
                    ask(house)
                    house.finish()
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
                house.finish()
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
        assert house.notices("discord-send-failed") == []
        given_up = [row for row in house.notices("outbox-notice") if row.metadata["event"] == "given-up"]
        assert len(given_up) == 2
        assert all("6 hours" in text_of(row.content) for row in given_up)


def test_an_attempt_is_on_disk_before_it_leaves(seeds: list[int]) -> None:
    """[prose 11.3] What the publisher is given is `sending` in the outbox, with this attempt, whatever was refused."""
    for seed in seeds:
        for setting in variations(Faults(commit_refused=0.3, parked=0.2)):
            platform = Slow({"one": [NotSent("down"), NotSent("down"), 0.0]})
            with town(seed, Scripted("one"), platform, **setting) as house:
                noted: list[tuple[str, int]] = []

                async def publish(post: Post) -> Any:
                    [entry] = house.outbox("ada", 1)
                    noted.append((entry.state, len(entry.attempts) - post.attempt))  # noqa: B023
                    return await platform(post)  # noqa: B023

                house.register(publish)
                ask(house)
                house.finish()
                assert noted == [("sending", 0)] * 3
                assert [post.attempt for post in platform.calls] == [1, 2, 3]


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
                house.finish()
                assert platform.texts() == ["hello"]


def test_a_server_that_nobody_posts_to_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """[the host's API] A mistyped server says what there is and what to call; a host still starting, nothing."""
    with town(1, Scripted("hello", otherwise="again"), Slow(), register=False) as house:
        ask(house)
        house.run(lambda: house.last_turn("ada") == 1 and not house.turns())
        assert [r for r in caplog.records if r.levelname == "WARNING"] == []
        house.register(server="tonw")
        house.insist(house.message("ada: more", channel="#b", to="ada"))
        house.run(lambda: house.last_turn("ada") == 2 and not house.turns())
        said = [record.getMessage() for record in caplog.records if "town/#b" in record.getMessage()]
        assert said == [(
            "a post to town/#b waits: no publisher is registered for server 'town' (there are: 'tonw'); "
            "register one with runtime.publisher('town')"
        )]


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
                house.finish()
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
