"""Each gap of prose 13 and each weak point of 13.1 through a whole house, and what goes on with a turn (7.1)."""

import re
from pathlib import Path
from typing import Any

import pytest

from manyminds.actors.providers.scripted import Answer, Scripted, call, fail, say
from manyminds.actors.spec import Resident
from manyminds.messages.blocks import text_of
from manyminds.messages.places import ChannelRef, Place
from manyminds.messages.posts import NotSent
from manyminds.messages.registry import ChannelRecord
from manyminds.messages.rows import Row
from manyminds.storage import drafts, registry
from tests.actors.simulated import Platform, SimulatedHouse
from tests.actors.speaking import Shown, Slow, send

TESTS = Path(__file__).parent.parent
THINK = call("think", thought="hm")
SKIP = call("skip_reply")


def house_of(
    seed: int, mode: Any, model: Scripted, *, shown: Shown | None = None, platform: Platform | None = None,
    **options: Any,
) -> SimulatedHouse:
    """Ada in this mode, and #a and #b."""
    surface: dict[str, Any] = {"chunk": shown.chunk, "complete": shown.complete} if shown is not None else {}
    ada = Resident("ada", "m", prose=mode, **options)
    house = SimulatedHouse(seed, [ada], model, platform=platform, **surface)
    house.write(*(registry.put_channel(ChannelRecord(ChannelRef("town", name))) for name in ("#a", "#b")))
    return house


def script(*replies: Answer) -> Scripted:
    """A model that ends whatever else is asked of it."""
    return Scripted(*replies, otherwise=SKIP)


def speak(house: SimulatedHouse, channel: str = "#a", text: str = "ada: speak") -> None:
    """Wake ada and let everything happen."""
    house.say(text, channel, to="ada")
    house.run()


def posted(house: SimulatedHouse) -> list[tuple[str, str]]:
    """Channel and text of every post, in order."""
    return [(post.channel, post.text) for post in house.platform.posts]


def streamed(shown: Shown) -> dict[str, str]:
    """What each channel was shown."""
    found: dict[str, str] = {}
    for channel, text in shown.chunks:
        found[channel] = found.get(channel, "") + text
    return found


def kept(house: SimulatedHouse) -> list[tuple[str, str]]:
    """Words and state of every draft, newest first."""
    with house.simulation.store.snapshot() as snap:
        return [(draft.text, draft.state) for draft in drafts.of_agent(snap, "ada")]


def receipts(house: SimulatedHouse) -> list[str]:
    """The words of every receipt."""
    notices: list[Row] = house.notices("delivery-receipt")
    return [text_of(row.content) for row in notices]


# --- the gaps


@pytest.mark.parametrize(
    ("mode", "first", "second", "said"),
    [
        ("explicit", ">>#b slow", "to nobody", []),
        ("explicit", ">>#b slow", [">>#a new", THINK], [("#a", "new"), ("#a", "more")]),
        ("hybrid", ">>>#b slow", ["new", THINK], [("#a", "new"), ("#a", "more")]),
        ("hybrid", ">>>#b slow", [">>>#a new", THINK], [("#a", "new"), ("#a", "more")]),
    ],
)
def test_an_old_turns_post_cannot_touch_the_next_turn(
    mode: str, first: str, second: Answer, said: list[tuple[str, str]], seeds: list[int]
) -> None:
    """[prose 13 gap 3] Its failure comes while the next turn speaks: that one's words go on as they were admitted."""
    for seed in seeds:
        platform = Slow({"slow": (20.0, NotSent("no", permanent=True)), "new": 4.0})
        with house_of(seed, mode, script(first, second, "more"), platform=platform) as house:
            house.say("ada: speak", "#a", to="ada")
            house.run(until=lambda: bool(house.traced("inference:completed")))
            house.run(until=lambda: not house.turns())
            speak(house)
            assert posted(house) == said
            assert ("slow", "held") in kept(house)


def test_a_name_that_moves_while_the_round_is_written(seeds: list[int]) -> None:
    """[prose 13 gap 4] The stream resolved it first: the post goes to the same channel, whatever is called so now."""
    for seed in seeds:
        shown = Shown()
        model = Scripted(say(">>#hall all of it goes here", delay=1.0, gap=1.0, chunk=6))
        with house_of(seed, "explicit", model, shown=shown) as house:
            house.write(registry.put_channel(ChannelRecord(ChannelRef("town", "#a"), label="hall")))
            house.say("ada: speak", "#b", to="ada")
            house.run(until=lambda: bool(shown.chunks))  # noqa: B023
            house.write(
                registry.put_channel(ChannelRecord(ChannelRef("town", "#a"), label="old")),
                registry.put_channel(ChannelRecord(ChannelRef("town", "#b"), label="hall")),
            )
            house.run()
            assert posted(house) == [("#a", "all of it goes here")]
            assert streamed(shown) == {"#a": "all of it goes here"}


def test_hybrids_preview_leaves_a_withheld_rounds_target(seeds: list[int]) -> None:
    """[prose 13 gap 5] The round after a private one is shown where it will be posted."""
    for seed in seeds:
        shown = Shown()
        model = script([">>>#b aside", THINK], "plain")
        with house_of(seed, "hybrid", model, shown=shown, think_policy="private") as house:
            speak(house)
            assert posted(house) == [("#a", "plain")]
            assert sorted(shown.ends) == [("#a", "plain"), ("#b", "")]


@pytest.mark.parametrize(
    ("first", "said", "ends"),
    [
        (">>>#b first", [("#b", "first"), ("#b", "second")], [("#b", "first"), ("#b", "second")]),
        (">>>skip_reply first", [], []),
    ],
)
def test_a_resumed_hybrid_stream_goes_on_where_the_turn_is(
    first: str, said: list[tuple[str, str]], ends: list[tuple[str, str]], seeds: list[int]
) -> None:
    """[prose 13 gap 6] [prose 13 gap 7] The replaced stream is completed; its successor has sticky target and hold."""
    for seed in seeds:
        shown = Shown()
        model = script([first, THINK], "second")
        with house_of(seed, "hybrid", model, shown=shown, max_stream_tokens=1) as house:
            speak(house)
            assert len(house.traced("inference:stream_restarted")) == 1
            assert (posted(house), shown.ends) == (said, ends)


def test_an_error_retry_is_the_same_turn(seeds: list[int]) -> None:
    """[prose 13 gap 8] Destination and deliveries stay: the rounds that were delivered are not said again."""
    for seed in seeds:
        model = script([">>#b one", THINK], fail("overloaded", "tw", after=2), "two")
        with house_of(seed, "explicit", model) as house:
            speak(house)
            assert posted(house) == [("#b", "one"), ("#b", "two")]
            assert house.last_turn("ada") == 1
            assert len(receipts(house)) == 1


def test_a_turn_that_skip_reply_ends_keeps_what_was_sent_on_purpose(seeds: list[int]) -> None:
    """[prose 13 gap 9] Every adapter call is one round (providers.md 2.2), so that each round has its own text and
    there is no other path: what was said before stands, and what stands beside `skip_reply` alone is private."""
    for seed in seeds:
        model = script([">>#b on purpose", THINK], [">>#b not this", SKIP])
        with house_of(seed, "explicit", model) as house:
            speak(house)
            assert posted(house) == [("#b", "on purpose")]
            assert len(model.requests) == 2
            assert "kept private" in receipts(house)[0]


# --- the weak points


def test_what_stands_in_the_words_means_nothing(seeds: list[int]) -> None:
    """[prose 13.1 weak point 2] [prose 13.1 weak point 3] `$&` is said as it is, also after the copy bounced too."""
    for seed in seeds:
        words = "costs $1 & $& $$ \\1"
        model = script([words, THINK], [">>#nowhere {{unsent}}", THINK], ">>#a {{unsent}}")
        with house_of(seed, "explicit", model) as house:
            speak(house)
            assert posted(house) == [("#a", words)]
            assert kept(house) == [(words, "delivered")]


def test_a_mark_does_not_outlive_its_turn(seeds: list[int]) -> None:
    """[prose 13.1 weak point 4] Asked for in a turn that `skip_reply` ended: neither now nor after the next turn."""
    for seed in seeds:
        model = script([">>>#a ! x", THINK], SKIP, "plain")
        with house_of(seed, "hybrid", model) as house:
            speak(house)
            assert house.last_turn("ada") == 1
            speak(house)
            assert (house.last_turn("ada"), posted(house)) == (2, [("#a", "x"), ("#a", "plain")])


@pytest.mark.parametrize("mode", ["locus", "hybrid"])
def test_silence_outlives_a_restart(mode: str, seeds: list[int]) -> None:
    """[prose 13.1 weak point 5] A send silences the turn, not the stream: after a budget restart nothing is said."""
    for seed in seeds:
        model = script([send("#b", "sent")], ["plain", THINK], "more")
        with house_of(seed, mode, model, max_stream_tokens=1) as house:
            speak(house)
            assert len(house.traced("inference:stream_restarted")) == 2
            assert posted(house) == [("#b", "sent")]
            assert sorted(kept(house)) == [("more", "held"), ("plain", "held")]


def test_the_preview_shows_the_words_that_are_copied(seeds: list[int]) -> None:
    """[prose 13.1 weak point 6] The token is never shown: what it stands for is, whatever the chunks."""
    for seed in seeds:
        for chunk in (1, 5, 64):
            shown = Shown()
            model = Scripted(["lost words", THINK], ">>#a {{unsent}} again", otherwise=SKIP, chunk=chunk)
            with house_of(seed, "explicit", model, shown=shown) as house:
                speak(house)
                assert posted(house) == [("#a", "lost words again")]
                assert streamed(shown) == {"#a": "lost words again"}


def test_a_retry_keeps_what_was_accepted_before(seeds: list[int]) -> None:
    """[prose 13.1 weak point 7] The cut attempt takes no earlier round from what `complete` carries."""
    for seed in seeds:
        shown = Shown()
        model = script([">>#a one", THINK], fail("overloaded", "half", after=4), "two")
        with house_of(seed, "explicit", model, shown=shown) as house:
            speak(house)
            assert "".join(text for _, text in shown.ends) == "onetwo"
            assert {channel for channel, _ in shown.ends} == {"#a"}


def test_a_correction_in_the_turn_wakes_nobody(seeds: list[int]) -> None:
    """[prose 13.1 weak point 8] The bounce was heard and its words were said: no wake after the turn."""
    for seed in seeds:
        for second in (">>#a {{unsent}}", ">>skip_reply {{unsent}}"):
            model = script(["lost", THINK], second)
            with house_of(seed, "explicit", model) as house:
                speak(house)
                assert (house.last_turn("ada"), len(model.requests)) == (1, 2)


def test_a_new_message_sets_the_streak_back(seeds: list[int]) -> None:
    """[prose 13.1 weak point 9] Three turns of bounces for each message: itself and two wakes, every time anew."""
    for seed in seeds:
        model = Scripted(otherwise="nowhere to go")
        with house_of(seed, "explicit", model) as house:
            for count in (3, 6):
                speak(house)
                assert len(model.requests) == count


@pytest.mark.parametrize("ended", [">>skip_reply x", ">>#nowhere x"])
def test_a_second_segment_is_shown_where_it_goes(ended: str, seeds: list[int]) -> None:
    """[prose 13.1 weak point 10] Behind a tool block inside a round the destination is the last that resolved."""
    for seed in seeds:
        shown = Shown()
        model = script([f">>#b one\n{ended}", THINK, "two"])
        with house_of(seed, "explicit", model, shown=shown) as house:
            speak(house)
            assert posted(house) == [("#b", "one"), ("#b", "two")]
            assert "".join(streamed(shown)["#b"].split()) == "onetwo"


def test_the_stream_follows_a_new_locus(seeds: list[int]) -> None:
    """[prose 13.1 weak point 11] The next round is shown in the channel that was opened, where it is posted."""
    for seed in seeds:
        shown = Shown()
        model = script(["here", call("channel_open", channelId="#b")], "there")
        with house_of(seed, "locus", model, shown=shown) as house:
            speak(house)
            assert posted(house) == [("#a", "here"), ("#b", "there")]
            assert streamed(shown) == {"#a": "here", "#b": "there"}


def test_typing_of_another_agent_goes_on(seeds: list[int]) -> None:
    """[prose 13.1 weak point 12] One agent's turn ends in a channel; who types there meanwhile goes on typing."""
    for seed in seeds:
        shown: list[tuple[str, bool]] = []

        async def typing(_server: str, _channel: str, _thread: str | None, on: bool, author: str) -> None:
            shown.append((author, on))  # noqa: B023

        model = Scripted().then(say("slow", delay=30.0), agent="ada").then("quick", agent="bob")
        residents = [Resident("ada", "m"), Resident("bob", "m")]
        with SimulatedHouse(seed, residents, model, typing=typing) as house:
            house.say("ada: speak", "#a", to="ada")
            house.say("bob: speak", "#a", to="bob")
            house.run(until=lambda: ("bob", False) in shown)  # noqa: B023
            assert ("ada", False) not in shown
            house.run()
            assert ("ada", False) in shown


def test_explicit_mode_has_a_receipt(seeds: list[int]) -> None:
    """[prose 13.1 weak point 13] One for the turn: where its words went."""
    for seed in seeds:
        with house_of(seed, "explicit", script([">>#a one", THINK], ">>#b two")) as house:
            speak(house)
            [receipt] = receipts(house)
            assert receipt.startswith("[delivered]")
            assert receipt.index("#a") < receipt.index("#b")


def test_each_gap_and_weak_point_has_a_test_that_names_it() -> None:
    """[issue 5, done when 3] All nine gaps of prose 13 and all thirteen weak points of 13.1, each in a docstring."""
    named: set[str] = set()
    for path in TESTS.rglob("test_*.py"):
        for rules in re.findall(r"def test_\w+\((?:[^\"]|\"(?!\"\"))*?\"\"\"(.*?)\"\"\"", path.read_text(), re.DOTALL):
            named.update(re.findall(r"\[prose 13 (gap \d)\]", rules))
            named.update(re.findall(r"\[prose 13\.1 (weak point \d+)\]", rules))
    wanted = [*(f"gap {number}" for number in range(1, 10)), *(f"weak point {number}" for number in range(1, 14))]
    assert [name for name in wanted if name not in named] == []


# --- resumes or starts afresh (7.1)

RESUMES: dict[str, tuple[Any, dict[str, Any]]] = {
    "context budget": ([THINK], {"max_stream_tokens": 1}),
    "guard retry": (say("never", stop_reason="refusal"), {"result_guard": True}),
    "error retry": (fail("overloaded", "x", after=1), {}),
    "timeout retry": (fail("network", "", after=0), {}),
}
AFRESH = ("message", "bounce", "mark", "refusal")


@pytest.mark.parametrize("mode", ["explicit", "hybrid"])
@pytest.mark.parametrize("cause", RESUMES)
def test_what_goes_on_with_a_turn(cause: str, mode: str, seeds: list[int]) -> None:
    """[prose 7.1] [prose 13 gap 8] The same record: its number, destination, deliveries and one receipt."""
    arrow = {"explicit": ">>", "hybrid": ">>>"}[mode]
    again, options = RESUMES[cause]
    for seed in seeds:
        model = script([f"{arrow}#b one", THINK], again, "two")
        with house_of(seed, mode, model, **options) as house:
            house.say("ada: speak", "#a", to="ada")
            house.run(until=lambda: len(model.requests) >= 3)  # noqa: B023
            assert [(turn.number, turn.target) for turn in house.turns()] == [(1, Place(ChannelRef("town", "#b")))]
            house.run()
            assert posted(house) == [("#b", "one"), ("#b", "two")]
            assert (house.last_turn("ada"), len(receipts(house))) == (1, 1)


@pytest.mark.parametrize("mode", ["explicit", "hybrid"])
@pytest.mark.parametrize("cause", AFRESH)
def test_what_begins_a_turn_afresh(cause: str, mode: str, seeds: list[int]) -> None:
    """[prose 7.1, 5.1] Another number, and nothing of the last turn's state: no target, hold, mark or silence."""
    arrow = {"explicit": ">>", "hybrid": ">>>"}[mode]
    last: dict[str, Answer] = {
        "message": f"{arrow}#b one", "bounce": f"{arrow}#b one\n{arrow}#nowhere x", "mark": f"{arrow}#b ! one",
        "refusal": say("never", stop_reason="refusal"),
    }
    for seed in seeds:
        model = Scripted([f"{arrow}#b one", THINK], last[cause], say(SKIP, delay=1.0), otherwise=SKIP)
        with house_of(seed, mode, model) as house:
            house.say("ada: speak", "#a", to="ada")
            house.run(until=lambda: (len(model.requests) >= 2 and not house.turns()) or len(model.requests) >= 3)  # noqa: B023
            if cause in ("message", "refusal"):
                house.say("ada: again", "#a", to="ada")
            house.run(until=lambda: len(model.requests) >= 3)  # noqa: B023
            [turn] = house.turns()
            assert turn.number == 2
            assert (turn.target, turn.held, turn.silenced, turn.continuation) == (None, None, False, False)
            assert (turn.suppressed, turn.private, turn.events) == (0, 0, ())
            house.run()
