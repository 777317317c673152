"""What the author of a post that had to wait is told of it, and how much may wait (prose 11.3)."""

import itertools
from typing import Any

import pytest

from manyminds.actors.faults import Faults
from manyminds.actors.providers.scripted import Scripted, call, newest_results
from manyminds.messages.blocks import ToolResult, text_of
from manyminds.messages.posts import NotSent, Unknown
from manyminds.messages.rows import Row
from manyminds.storage import drafts, owing
from tests.actors.simulated import Platform, SimulatedHouse, variations
from tests.actors.speaking import Slow, ask, send, states, town

SURE = Faults(commit_refused=0.05, map_full=0.02, parked=0.2)
ROUGH = Faults(commit_refused=0.1, map_full=0.02, killed=0.04, parked=0.2)


def told(house: SimulatedHouse, event: str) -> list[Row]:
    """The notices of one event."""
    return [row for row in house.notices("outbox-notice") if row.metadata["event"] == event]


def events(house: SimulatedHouse) -> list[str]:
    """What the notices of posts say happened, in order."""
    return [str(row.metadata["event"]) for row in house.notices("outbox-notice")]


def kept(house: SimulatedHouse, agent: str = "ada") -> list[tuple[str, str, str]]:
    """An agent's drafts, newest first: text, reason, state."""
    with house.simulation.store.snapshot() as snap:
        return [(draft.text, draft.reason, draft.state) for draft in drafts.of_agent(snap, agent)]


def debts(house: SimulatedHouse, agent: str = "ada") -> list[Any]:
    """What an agent has still to be told."""
    with house.simulation.store.snapshot() as snap:
        return owing.all_of(snap, agent)


@pytest.mark.parametrize("explicit", [False, True])
def test_delayed_once_then_delivered_late(seeds: list[int], explicit: bool) -> None:
    """[prose 11.3] One "delayed", one "delivered late"; no marker, no draft. A send's result is its "delayed"."""
    for seed in seeds:
        for setting in variations(SURE):
            platform = Slow({"hi": [NotSent("down"), NotSent("still down"), 0.0]})
            model = Scripted([send("#a", "hi")], call("skip_reply")) if explicit else Scripted("hi")
            with town(seed, model, platform, **setting) as house:
                ask(house)
                house.finish()
                assert events(house) == (["delivered-late"] if explicit else ["delayed", "delivered-late"])
                assert "down" in text_of(told(house, "delivered-late")[0].content)
                assert (house.notices("discord-send-failed"), kept(house), debts(house)) == ([], [], [])
                assert [(post.attempt, post.delay_reason) for post in platform.calls] == [
                    (1, ""), (2, "down"), (3, "down"),
                ]
                assert len({(post.key, post.written_at) for post in platform.calls}) == 1


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("explicit", [False, True])
def test_given_up_with_the_whole_text_and_a_draft(explicit: bool, keeps: bool) -> None:
    """[prose 11.3] The text in full, and the draft that keeps it: held, or unconfirmed where it may be out."""
    words = "line one\n\n  line two"
    platform = Slow({words: Unknown("lost") if keeps else NotSent("down")}, keeps=keeps)
    model = Scripted([send("#a", words)], call("skip_reply")) if explicit else Scripted(words)
    with town(1, model, platform, keeps_keys=keeps) as house:
        ask(house)
        house.run()
        [notice] = told(house, "given-up")
        [(text, reason, state)] = kept(house)
        assert (text, reason, state) == (words, "publish-failed", "unconfirmed" if keeps else "held")
        said = text_of(notice.content)
        assert said.endswith(words)
        assert notice.metadata["draftId"] in said
        assert ("may or may not" in said) is keeps
        assert (house.notices("discord-send-failed"), debts(house)) == ([], [])


def test_told_once_whatever_dies(seeds: list[int]) -> None:
    """[prose 11.3; promise 2] Kills, refusals and crashes: each post is told late once, and nothing stays owed."""
    for seed in seeds:
        for setting in variations(ROUGH):
            platform = Slow({"one": [NotSent("down"), NotSent("down"), 0.0], "two": [NotSent("down"), 1.0]}, keeps=True)
            sends = [send("#a", "one"), send("#b", "two")]
            model = Scripted(otherwise=lambda request: "end" if newest_results(request) else sends)  # noqa: B023
            with town(seed, model, platform, keeps_keys=True, **setting) as house:
                ask(house)
                for crash in range(3):
                    for _ in range((seed * 7 + crash * 31) % 90):
                        house.simulation.step()
                    house.crash()
                house.finish()
                late = told(house, "delivered-late")
                waited = [
                    e for turn in range(1, house.last_turn("ada") + 1) for e in house.outbox("ada", turn) if e.delayed
                ]
                assert all(entry.state == "delivered" for entry in waited)
                said = {
                    b.call_id: text_of(b.content)
                    for row in house.log()
                    for b in row.content
                    if isinstance(b, ToolResult)
                }
                # What had not waited yet when its result was made is told by that alone.
                by_result = [e for e in waited if said.get(e.call_id, "").startswith("Delivered to")]
                assert len(late) == len(waited) - len(by_result)
                assert len({row.metadata["channelId"] for row in late}) == len(late)
                assert debts(house) == []
                assert {reason for _, reason, _ in kept(house)} <= {"explicit-send"}  # what stood beside the sends


def test_retrying_can_be_turned_off(seeds: list[int]) -> None:
    """[prose 11.3] Then what was not sent has failed: a marker and a draft at once, and nothing waits."""
    for seed in seeds:
        platform = Slow({"hi": NotSent("down")})
        with town(seed, Scripted("hi", "on"), platform, retries=False) as house:
            ask(house)
            house.run()
            assert states(house) == ["failed"]
            assert platform.called() == ["hi"]
            assert kept(house) == [("hi", "publish-failed", "held")]
            assert len(house.notices("discord-send-failed")) == 1
            assert events(house) == []
            ask(house)
            house.run()
            assert platform.texts() == ["on"]


def test_a_queued_hybrid_post_is_accepted(seeds: list[int]) -> None:
    """[prose 11.3] No bounce and no hold: unprefixed words go on; what it comes to later holds nothing either."""
    for seed in seeds:
        for answer in (NotSent("down"), [NotSent("down"), NotSent("no", permanent=True)]):
            platform = Slow({"x": answer})
            model = Scripted([">>>#b x", call("think", thought="a")], "on we go", otherwise=call("skip_reply"))
            with town(seed, model, platform, prose="hybrid") as house:
                ask(house)
                house.run(lambda: house.last_turn("ada") == 1 and not house.turns())
                assert house.notices("prose-bounce") == []
                assert states(house) == ["queued", "queued"]
                house.run()
                assert house.notices("prose-bounce") == []
                assert "on we go" in platform.texts("#b")
                assert kept(house) == [("x", "publish-failed", "held")]
                assert events(house).count("given-up") == 1


# --- how much may wait


def filled(house: SimulatedHouse, agent: str, turns: int) -> None:
    """An agent's turns, one after the other."""
    for _ in range(turns):
        before = house.last_turn(agent)
        ask(house, to=agent)
        house.run(lambda: house.last_turn(agent) > before and not house.turns())  # noqa: B023
    house.simulation.advance(1.0)  # what is given up is told through the inbox


def sending(model: Scripted, name: str, turns: int, each: int) -> None:
    """An agent whose turns send numbered messages."""
    count = itertools.count(1)
    for _ in range(turns):
        model.then([send("#a", f"{name}-{next(count)}") for _ in range(each)], call("skip_reply"), agent=name)


def test_fifty_of_an_agent_may_wait(seeds: list[int]) -> None:
    """[prose 11.3] The oldest are given up first: a draft and a notice each; the others leave in their order."""
    for seed in seeds[:3]:
        down = {"now": True}
        platform = Platform()

        def answer(post: Any, platform: Platform = platform, down: dict[str, bool] = down) -> Any:
            if down["now"]:
                return NotSent("down")
            platform.posts.append(post)
            return f"p{len(platform.posts)}"

        platform.answer = answer
        model = Scripted()
        sending(model, "ada", 6, 10)
        with town(seed, model, platform) as house:
            filled(house, "ada", 6)
            assert [text for text, _, _ in reversed(kept(house))] == [f"ada-{n}" for n in range(1, 11)]
            assert len(told(house, "given-up")) == 10
            assert all("50" in text_of(row.content) for row in told(house, "given-up"))
            down["now"] = False
            house.finish()
            assert platform.texts() == [f"ada-{n}" for n in range(11, 61)]
            assert {state for _, _, state in kept(house)} == {"held"}
            assert debts(house) == []


def test_two_hundred_may_wait_in_all() -> None:
    """[prose 11.3] Over all agents, the oldest first, whoever's it is."""
    names = [f"a{n}" for n in range(5)]
    model = Scripted()
    for name in names:
        sending(model, name, 3, 15)
    platform = Platform(answer=lambda post: NotSent("down"))
    with town(1, model, platform, *names) as house:
        for name in names:
            filled(house, name, 3)
        waiting = [
            e.text for name in names for turn in (1, 2, 3) for e in house.outbox(name, turn) if e.state == "queued"
        ]
        assert len(waiting) == 200
        gone = [text for name in names for text, _, _ in reversed(kept(house, name))]
        assert gone == [f"a0-{n}" for n in range(1, 26)]
        assert len(told(house, "given-up")) == 25


# --- what a crash cuts


def test_what_a_crash_cuts_is_kept_and_told_once(seeds: list[int]) -> None:
    """[prose 5.2, 9, 11.3] Without keys: each post is delivered, or an unconfirmed or held draft that is told once."""
    for seed in seeds:
        for mode in ("explicit", "hybrid", "locus"):
            for setting in variations(ROUGH):
                prefix = {"explicit": ">>", "hybrid": ">>>", "locus": ""}[mode]
                platform = Slow({"one": (2.0, "lost"), "two": 1.0, "three": (1.0, NotSent("no", permanent=True))})
                if prefix:
                    text = "\n".join(f"{prefix}#{channel} {word}" for channel, word in
                                     (("a", "one"), ("b", "two"), ("a", "three")))
                    model = Scripted(text, otherwise=call("skip_reply"))
                else:
                    model = Scripted(["one", call("think", thought="a")], ["two", call("think", thought="b")], "three",
                                     otherwise=call("skip_reply"))
                with town(seed, model, platform, prose=mode, **setting) as house:
                    ask(house)
                    for crash in range(2):
                        for _ in range(20 + (seed * 7 + crash * 31) % 70):
                            house.simulation.step()
                        house.crash()
                    house.finish()
                    assert (house.turns(), debts(house)) == ([], [])
                    assert len({post.key for post in platform.posts}) == len(platform.posts)
                    _check_all_told(house, "faults" not in setting)


def _check_all_told(house: SimulatedHouse, exact: bool) -> None:
    """Each post that did not arrive has one draft, and a notice that names it; one, if `exact`.

    Where actors die in between, its outcome and its being kept may each be told.
    """
    with house.simulation.store.snapshot() as snap:
        known = list(drafts.of_agent(snap, "ada"))
    said = [text_of(row.content) for row in house.notices() if row.metadata["kind"] != "delivery-receipt"]
    entries = [e for turn in range(1, house.last_turn("ada") + 1) for e in house.outbox("ada", turn)]
    for entry in entries:
        mine = [draft for draft in known if (draft.turn, draft.post) == (entry.turn, entry.number)]
        if entry.state == "delivered":
            assert [draft.state for draft in mine] in ([], ["delivered"]), entry
            continue
        assert entry.state in ("unknown", "failed", "withheld"), entry
        if entry.state == "withheld":
            continue
        [draft] = mine
        assert draft.state == ("unconfirmed" if entry.state == "unknown" else "held"), entry
        tellings = sum(draft.id in text for text in said)
        assert tellings == 1 if exact else tellings >= 1, (entry, said)


# --- that a draft is kept


def ids(house: SimulatedHouse) -> dict[str, str]:
    """The ids of ada's drafts, by their text."""
    with house.simulation.store.snapshot() as snap:
        return {draft.text: draft.id for draft in drafts.of_agent(snap, "ada")}


def test_the_receipt_names_what_was_held_back(seeds: list[int]) -> None:
    """[prose 11.2, 5.4] Words beside a send become a draft, which the turn's receipt names; no second notice does."""
    for seed in seeds:
        for setting in variations(ROUGH):
            platform = Slow(keeps=True)
            model = Scripted(["beside", send("#b", "out")], otherwise=call("skip_reply"))
            with town(seed, model, platform, keeps_keys=True, **setting) as house:
                ask(house)
                house.finish()
                ask(house)
                house.finish()
                for text, found in ids(house).items():
                    named = [row for row in house.notices() if found in text_of(row.content)]
                    assert [row.metadata["kind"] for row in named] == ["delivery-receipt"], text
                assert debts(house) == []


def test_a_draft_that_no_receipt_names_is_told_at_the_next_turn(seeds: list[int]) -> None:
    """[prose 9] Held back after the turn was over: one notice at the next turn's start, once, over any crash."""
    for seed in seeds:
        for setting in variations(SURE):
            platform = Slow({"x": (25.0, NotSent("no", permanent=True))})
            model = Scripted([">>>#b x", call("think", thought="a")], "plain", otherwise=call("skip_reply"))
            with town(seed, model, platform, prose="hybrid", **setting) as house:
                ask(house)
                house.finish()
                assert platform.called() == ["x"]
                assert set(ids(house)) == {"x", "plain"}
                assert house.notices("drafts-kept") == []
                house.crash()
                for _ in range(2):
                    ask(house)
                    house.finish()
                [notice] = house.notices("drafts-kept")
                assert ids(house)["plain"] in text_of(notice.content)
                assert "faults" in setting or ids(house)["x"] not in text_of(notice.content)
                heard = [text_of(message.content) for message in model.requests[2].messages]
                assert text_of(notice.content) in heard
                assert debts(house) == []


def test_what_is_held_back_is_written_until_the_store_takes_it(seeds: list[int]) -> None:
    """[prose 5.3; promise 2] A store that refuses often: the words are kept, and the chain goes on behind them."""
    for seed in seeds:
        for setting in variations(Faults(commit_refused=0.4)):
            platform = Slow({"x": (5.0, NotSent("no", permanent=True))})
            think = call("think", thought="hm")
            rounds: list[Any] = [[">>>#b x", think], ["plain", think], ">>>#a last"]
            model = Scripted(*rounds, otherwise=call("skip_reply"))
            with town(seed, model, platform, prose="hybrid", **setting) as house:
                ask(house)
                house.run()
                if house.notices("inference-failed") or "plain" not in [e.text for e in house.outbox("ada", 1)]:
                    continue  # a round was refused too often, or admitted when the failure was known already
                assert states(house) == ["failed", "withheld", "delivered"]
                assert sorted(ids(house)) == ["plain", "x"]
                # A draft that was named while its unit was refused may be named once more at the next turn's start.
                assert all(what == "draft" for _, _, _, what in debts(house))
