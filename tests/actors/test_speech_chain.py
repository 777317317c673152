"""Order of speech: within a turn, across turns, past deadlines and over rebuilt actors (prose 7)."""

import pytest

from manyminds.actors.faults import Faults
from manyminds.actors.providers.scripted import Scripted, call, newest_results
from manyminds.messages.blocks import text_of
from manyminds.messages.mail import channel_address
from manyminds.messages.places import ChannelRef
from manyminds.messages.posts import NotSent
from tests.actors.simulated import SERVER, variations
from tests.actors.speaking import Slow, ask, send, states, town

SURE = Faults(commit_refused=0.05, map_full=0.02, parked=0.2)
A = ChannelRef(SERVER, "#a")


# --- order within a turn and across turns


def test_the_posts_of_a_turn_go_one_after_the_other(seeds: list[int]) -> None:
    """[prose 7.1, 7.7] In order of admission, whatever each channel takes; none before its predecessor ends."""
    for seed in seeds:
        for setting in variations(SURE):
            platform = Slow({"one": 9.0, "two": 0.5, "three": 4.0, "four": 0.1})
            model = Scripted([send("#a", "one"), send("#b", "two"), send("#a", "three"), send("#b", "four")], "end")
            with town(seed, model, platform, **setting) as house:
                ask(house)
                house.finish()
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
                house.finish()
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
                house.finish()
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
                house.finish()
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
                house.finish()


def test_a_queued_post_is_out_of_its_chain_after_a_crash_too(seeds: list[int]) -> None:
    """[prose 7.4; design, "The way of a message"] Kept for later releases the chain, also in a chain read anew."""
    for seed in seeds:
        for setting in variations(SURE):
            platform = Slow({"down": [NotSent("down")] * 3})
            model = Scripted([send("#a", "down"), send("#b", "next")], otherwise="end")
            with town(seed, model, platform, **setting) as house:
                ask(house)
                house.run(lambda: states(house)[:1] == ["queued"])
                at = house.simulation.clock.now()
                house.crash()
                house.run(lambda: "next" in platform.texts("#b"))  # noqa: B023
                assert "down" not in platform.texts("#a"), (seed, setting)
                assert house.simulation.clock.now() < at + 60.0, (seed, setting)
                house.finish()
                assert (platform.texts("#a").count("down"), platform.texts("#b")) == (1, ["next"]), (seed, setting)


@pytest.mark.parametrize(("keeps", "calls", "end"), [(False, 1, "unknown"), (True, 2, "delivered")])
def test_what_may_have_left_at_a_crash(keeps: bool, calls: int, end: str, seeds: list[int]) -> None:
    """[prose 11.1; S9] A crash during the attempt: sent again only to a server that keeps keys, under the same key."""
    for seed in seeds:
        for setting in variations(SURE):
            platform = Slow({"words": 2.0}, keeps=keeps)
            with town(seed, Scripted("words", otherwise="end"), platform, keeps_keys=keeps, **setting) as house:
                ask(house)
                house.run(lambda: platform.called("#a") == ["words"])  # noqa: B023
                assert states(house) == ["sending"], (seed, setting)
                house.crash()
                house.finish()
                assert platform.called("#a") == ["words"] * calls, (seed, setting)
                assert len({post.key for post in platform.calls}) == 1, (seed, setting)
                assert states(house) == [end], (seed, setting)


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


@pytest.mark.parametrize(
    ("late", "keeps", "calls", "end"),
    [
        (NotSent("late"), False, 1, "unknown"), (ConnectionError("late"), False, 1, "unknown"),
        (None, False, 1, "unknown"), (NotSent("late", permanent=True), True, 2, "delivered"),
    ],
    ids=str,
)
def test_what_fails_late_changes_nothing(late: object, keeps: bool, calls: int, end: str, seeds: list[int]) -> None:
    """[prose 11.1, 11.3] An answer past the deadline that confirms nothing is passed over: nothing is sent for it."""
    for seed in seeds:
        for setting in variations(SURE):
            platform = Slow({"words": [(45.0, late)]}, keeps=keeps)
            with town(seed, Scripted("words", otherwise="end"), platform, keeps_keys=keeps, **setting) as house:
                ask(house)
                house.finish()
                assert platform.called("#a") == ["words"] * calls, (seed, setting)
                assert states(house) == [end], (seed, setting)


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
                house.finish()
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
                house.finish()
                assert states(house) + states(house, 2) == ["delivered", "delivered"]
                assert platform.called() == ["late", "next"]
                assert house.notices("discord-send-failed") == []


def test_a_confirmation_during_a_retry_stands(seeds: list[int]) -> None:
    """[prose 7.8] What the retry comes to does not take back that the first attempt was confirmed."""
    for seed in seeds:
        for second in (NotSent("down"), NotSent("no", permanent=True), 0.0, RuntimeError("lost")):
            platform = Slow({"late": [95.0, (20.0, second)]}, keeps=True)
            with town(seed, Scripted("late"), platform, keeps_keys=True) as house:
                ask(house)
                house.run()
                assert states(house) == ["delivered"]
                assert len(platform.posts) == 1
                assert len(platform.calls) == 2


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


def test_a_channel_that_is_killed_at_any_step_of_a_post(seeds: list[int]) -> None:
    """[design, "Every actor can be rebuilt"; prose 11.3] Its successor goes on from there: one attempt, confirmed.

    Also between the record of an attempt and its leaving, and with a commit that was refused.
    """
    for seed in seeds:
        for steps in range(seed % 4, 40, 4):
            for refused in (0.0, 0.3):
                platform = Slow({"one": 3.0})
                with town(seed, Scripted("one"), platform, faults=Faults(commit_refused=refused)) as house:
                    ask(house)
                    house.run(lambda: bool(states(house)))
                    for _ in range(steps):
                        house.simulation.step()
                    house.simulation.kill(channel_address(A))
                    house.run()
                    assert (platform.called(), states(house)) == (["one"], ["delivered"]), (seed, steps, refused)


def test_an_answer_of_a_rebuilt_channel_settles_no_other_post(seeds: list[int]) -> None:
    """[prose 7.8] What comes late for a post, to a channel built anew since, is not taken for another's."""
    for seed in seeds:
        platform = Slow({"first": 60.0, "second": (25.0, NotSent("no", permanent=True))})
        with town(seed, Scripted("first", "second"), platform) as house:
            ask(house)
            house.run(lambda: states(house) == ["unknown"])
            house.simulation.kill(channel_address(A))
            house.simulation.advance(10.0)
            ask(house)
            house.run()
            assert states(house) + states(house, 2) == ["delivered", "failed"]
            assert platform.texts() == ["first"]


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
                    house.finish()
                    keys = [post.key for post in platform.posts]
                    assert len(keys) == len(set(keys))
                    order = [text for text in platform.texts("#a") if text in ("one", "two")]
                    assert order in ([], ["one"], ["two"], ["one", "two"])
                    assert order == ["one", "two"] or not keeps or house.notices("inference-failed")
                    assert (house.turns(), house.pending()) == ([], [])
                    ended = [e for turn in (1, 2) for e in house.outbox("ada", turn)]
                    assert all(entry.ended for entry in ended)
