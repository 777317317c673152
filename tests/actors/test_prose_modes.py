"""The four modes through a whole house: bounces and their drafts, the words of a cut round, what is shown while it is
written, and where every word of a round ends."""

from collections.abc import Callable
from typing import Any

from manyminds.actors.providers.scripted import Reply, Scripted, call, fail, newest_results, say
from manyminds.actors.spec import Resident
from manyminds.messages.blocks import text_of
from manyminds.messages.drafts import Draft
from manyminds.messages.places import ChannelRef
from manyminds.messages.posts import NotSent, Post, Unknown
from manyminds.messages.request import Request
from manyminds.storage import drafts
from tests.actors.simulated import Platform, SimulatedHouse
from tests.actors.speaking import Shown


def drafts_of(house: SimulatedHouse, agent: str = "ada") -> list[Draft]:
    """An agent's drafts, newest first."""
    with house.simulation.store.snapshot() as snap:
        return list(drafts.of_agent(snap, agent))


def known(house: SimulatedHouse, *channels: str) -> None:
    """Channels are known from their first message on."""
    for channel in channels:
        house.say("hello all", channel)
    house.run()


def explicit(*script: Any, **options: Any) -> tuple[Resident, Scripted]:
    """A resident in explicit mode and its script; a turn that it asks for beyond that is skipped."""
    return Resident("ada", "m", prose="explicit", **options), Scripted(*script, otherwise=call("skip_reply"))


def test_each_line_goes_where_it_says(seeds: list[int]) -> None:
    """[S4] [prose 4.1, 5.3] a:x, b:y, a:z, in that order; the prefix is in nobody's text, and stays in history."""
    for seed in seeds:
        ada, model = explicit(">>#a x\n>>#b y\n>>#a z")
        with SimulatedHouse(seed, [ada], model) as house:
            known(house, "#a", "#b")
            house.say("ada: speak", "#a", to="ada")
            house.run()
            posted = [(post.channel, post.text) for post in house.platform.posts]
            assert posted == [("#a", "x"), ("#b", "y"), ("#a", "z")]
            assert ">>#a x\n>>#b y\n>>#a z" in house.texts()


def test_a_bounce_is_kept_told_and_wakes_at_most_twice(seeds: list[int]) -> None:
    """[S5] [prose 8] Nothing is posted, a draft is kept, one notice a bounce; the third in a row wakes nobody."""
    for seed in seeds:
        ada = Resident("ada", "m", prose="explicit")
        model = Scripted(otherwise="nowhere to go")
        with SimulatedHouse(seed, [ada], model) as house:
            house.say("ada: speak", "#a", to="ada")
            house.run()
            assert house.platform.posts == []
            assert len(model.requests) == 3
            assert [draft.state for draft in drafts_of(house)] == ["held"] * 3
            notices = house.notices("prose-bounce")
            assert len(notices) == 3
            told = [text_of(row.content) for row in reversed(notices)]
            assert all(draft.id in text for draft, text in zip(drafts_of(house), told, strict=True))
            house.say("ada: again", "#a", to="ada")
            house.run()
            assert len(model.requests) == 6


def test_unsent_says_the_bounced_words_unchanged(seeds: list[int]) -> None:
    """[prose 4.4, 9] The bounce is heard in the same turn; `{{unsent}}` posts its words; the draft is delivered."""
    for seed in seeds:
        ada, model = explicit(["costs $1 & $&", call("think", thought="hm")], ">>#a {{unsent}}")
        with SimulatedHouse(seed, [ada], model) as house:
            known(house, "#a")
            house.say("ada: speak", "#a", to="ada")
            house.run()
            assert house.platform.texts() == ["costs $1 & $&"]
            assert any("[prose-routing]" in text_of(m.content) for m in model.requests[1].messages)
            (draft,) = drafts_of(house)
            assert (draft.state, draft.sent_to) == ("delivered", ChannelRef("town", "#a"))
            assert len(model.requests) == 2


def test_the_drafts_tool(seeds: list[int]) -> None:
    """[prose 9] List, resend to a channel, dismiss; a delivered one is not sent again, a foreign id is named."""
    for seed in seeds:
        answers: list[str] = []
        kept: list[str] = []

        def answer(request: Request) -> Reply:
            answers.extend(text_of(result.content) for result in newest_results(request))  # noqa: B023
            return script.pop(0)() if script else say(call("skip_reply"))  # noqa: B023

        def resend(*ids: str) -> Reply:
            return say(call("drafts", action="resend", ids=list(ids), channelId="#a"))

        script = [
            lambda: say("one"), lambda: say(call("drafts", action="list")), lambda: resend(kept[0]),  # noqa: B023
            lambda: resend(kept[0]), lambda: resend("d-zzzzz"),  # noqa: B023
            lambda: say(call("drafts", action="dismiss", ids=kept)),  # noqa: B023
        ]
        ada = Resident("ada", "m", prose="explicit")
        with SimulatedHouse(seed, [ada], Scripted().always(answer)) as house:
            known(house, "#a")
            house.say("ada: speak", "#a", to="ada")
            house.run(until=lambda: bool(drafts_of(house)))
            kept.append(drafts_of(house)[0].id)
            house.run()
            assert house.platform.texts() == ["one"]
            assert f"{kept[0]} [held, bounced]" in answers[0]
            assert answers[1].startswith(f"{kept[0]}: delivered to town/#a")
            assert "delivered before" in answers[2]
            assert "no draft d-zzzzz" in answers[3]


def test_hybrid_holds_after_a_failure_and_frees_after_a_success(seeds: list[int]) -> None:
    """[prose 5.3] A named post is refused: bounce and hold; unprefixed words are kept; the next named post frees."""
    for seed in seeds:
        platform = Platform()
        platform.answer = lambda post: NotSent("no", True) if post.text == "x" else _take(platform, post)  # noqa: B023
        ada = Resident("ada", "m", prose="hybrid")
        model = Scripted([">>>#b x", call("think", thought="a")], ["plain", call("think", thought="b")], ">>>#b y\nz",
                         otherwise=call("skip_reply"))
        with SimulatedHouse(seed, [ada], model, platform=platform) as house:
            known(house, "#a", "#b")
            house.say("ada: speak", "#a", to="ada")
            house.run()
            assert house.platform.texts() == ["y\nz"]
            assert {(draft.text, draft.reason) for draft in drafts_of(house)} == {
                ("x", "bounced"), ("plain", "no-destination"),
            }


def _take(platform: Platform, post: Post) -> str:
    platform.posts.append(post)
    return f"p{len(platform.posts)}"


def test_a_failed_post_of_explicit_mode_keeps_its_words(seeds: list[int]) -> None:
    """[prose 13.1 weak point 1] Refused: a marker that names the draft, no bounce; unknown: an unconfirmed draft."""
    for seed in seeds:
        for answer, state in ((NotSent("no", True), "held"), (Unknown("lost"), "unconfirmed")):
            platform = Platform(answer=always(answer))
            ada, model = explicit(">>#a hello")
            with SimulatedHouse(seed, [ada], model, platform=platform) as house:
                known(house, "#a")
                house.say("ada: speak", "#a", to="ada")
                house.run()
                (draft,) = drafts_of(house)
                assert (draft.text, draft.reason, draft.state) == ("hello", "publish-failed", state)
                (marker,) = house.notices("discord-send-failed")
                assert draft.id in text_of(marker.content)
                assert house.notices("prose-bounce") == []


def always(answer: Any) -> Callable[[Post], Any]:
    """A publisher that answers this."""
    return lambda _post: answer


def test_complete_carries_admitted_text_only(seeds: list[int]) -> None:
    """[prose 13 gap 1] A private round was shown while it was written; every channel is closed, with no text of it."""
    for seed in seeds:
        shown = Shown()
        ada = Resident("ada", "m")
        with SimulatedHouse(
            seed, [ada], Scripted(["secret", call("skip_reply")]), chunk=shown.chunk, complete=shown.complete
        ) as house:
            house.say("ada: speak", "#a", to="ada")
            house.run()
            assert "".join(text for _, text in shown.chunks) == "secret"
            assert shown.ends == [("#a", "")]
            assert house.platform.posts == []


def test_a_strict_stream_shows_only_what_is_posted(seeds: list[int]) -> None:
    """[prose 13 gap 1] [prose 13 gap 2] A round is buffered until its verdict."""
    for seed in seeds:
        shown = Shown()
        model = Scripted(["secret", call("skip_reply")], "open")
        with SimulatedHouse(
            seed, [Resident("ada", "m")], model, chunk=shown.chunk, complete=shown.complete, strict=True
        ) as house:
            for _ in range(2):
                house.say("ada: speak", "#a", to="ada")
                house.run()
            assert shown.chunks == [("#a", "open")]
            assert shown.ends == [("#a", "open")]


def test_a_replaced_stream_closes_its_channels(seeds: list[int]) -> None:
    """[prose 13 gap 6] [prose 13 gap 7] A budget restart completes the old stream; the new one goes on where it was."""
    for seed in seeds:
        shown = Shown()
        ada, model = explicit([">>#a first", call("think", thought="hm")], "second", max_stream_tokens=1)
        with SimulatedHouse(seed, [ada], model, chunk=shown.chunk, complete=shown.complete) as house:
            known(house, "#a")
            house.say("ada: speak", "#a", to="ada")
            house.run()
            assert house.platform.texts() == ["first", "second"]
            assert shown.ends == [("#a", "first"), ("#a", "second")]


def test_a_cut_round_is_stored_as_it_was_shown(seeds: list[int]) -> None:
    """[agents 19.13] Exhausted after its text was shown: stored, interrupted, never posted; a retried one is not."""
    for seed in seeds:
        for reply in (fail("auth", "half a sen", after=10), fail("overloaded", "half a sen", after=10)):
            shown = Shown()
            model = Scripted(reply, otherwise="whole")
            with SimulatedHouse(
                seed, [Resident("ada", "m")], model, chunk=shown.chunk, complete=shown.complete
            ) as house:
                house.say("ada: speak", "#a", to="ada")
                house.run()
                cut = [row for row in house.log() if row.metadata.get("interrupted") is True]
                if len(model.requests) == 1:
                    assert [text_of(row.content) for row in cut] == ["half a sen"]
                    assert shown.ends == [("#a", "half a sen")]
                    assert house.platform.posts == []
                else:
                    assert cut == []
                    assert house.platform.texts() == ["whole"]


def test_an_imitated_call_is_contained(seeds: list[int]) -> None:
    """[prose 12] The wrapper guard: not said, not kept as words; one line says that nothing was called."""
    for seed in seeds:
        for text in (
            '<tool_call>{"name": "think", "arguments": {}}</tool_call>', '```json\n{"name":"think","input":{}}\n```',
        ):
            ada = Resident("ada", "m", wrapper_guard=True)
            with SimulatedHouse(seed, [ada], Scripted(text, "I can think().")) as house:
                for _ in range(2):
                    house.say("ada: speak", "#a", to="ada")
                    house.run()
                assert house.platform.texts() == ["I can think()."]
                assert len(house.notices("tool-wrapper-prose-contained")) == 1
                assert text not in house.texts()


def test_a_refused_batch_is_withheld_and_asked_once_more(seeds: list[int]) -> None:
    """[agents 6.4] [prose 13 gap 8] Nothing of a refused attempt is shown or said; a second refusal ends the turn."""
    for seed in seeds:
        for refusals, said in ((1, ["fine"]), (2, [])):
            shown = Shown()
            refused = [say("never", stop_reason="refusal")] * refusals
            model = Scripted(call("think", thought="a secret"), *refused, otherwise="fine")
            ada = Resident("ada", "m", result_guard=True)
            with SimulatedHouse(seed, [ada], model, chunk=shown.chunk, complete=shown.complete) as house:
                house.say("ada: speak", "#a", to="ada")
                house.run()
                assert house.platform.texts() == said
                assert "never" not in "".join(text for _, text in shown.chunks)
                assert len(model.requests) == 3
                assert any("withheld" in str(message) for message in model.requests[2].messages)


def test_a_mode_is_announced_once(seeds: list[int]) -> None:
    """[prose 12] At the first turn in another mode, and not again after a restart."""
    for seed in seeds:
        ada, model = explicit(call("skip_reply"), call("skip_reply"))
        with SimulatedHouse(seed, [ada], model) as house:
            for _ in range(2):
                house.say("ada: speak", "#a", to="ada")
                house.run()
                house.crash()
            house.run()
            assert len(house.notices("prose-routing-primer")) == 1
