"""Rounds with a script in them: its inner calls decide over the round's words, which wait for it (prose 13, gap 2)."""

import asyncio
from typing import Any

import pytest

from manyminds.actors.faults import Faults
from manyminds.actors.house import ROOM
from manyminds.actors.providers.scripted import Scripted, call, newest_results
from manyminds.actors.spec import Resident
from manyminds.actors.tools import InnerCallFailed, Tool, ToolContext, tool
from manyminds.messages.blocks import text_of
from manyminds.messages.drafts import Draft
from manyminds.messages.errors import InvalidSetting
from manyminds.messages.places import ChannelRef
from manyminds.messages.registry import ChannelRecord
from manyminds.storage import drafts, outbox, registry
from tests.actors.on_threads import message, runtime
from tests.actors.simulated import SimulatedHouse, variations
from tests.actors.speaking import Shown

ROUGH = Faults(commit_refused=0.08, map_full=0.02, killed=0.01, parked=0.2)
SEND = {"name": "channel_publish", "given": {"channelId": "#b", "content": "sent"}}
SKIP: dict[str, Any] = {"name": "skip_reply", "given": {}}
THINK = {"name": "think", "given": {"thought": "hm"}}


@tool(script=True)
async def program(context: ToolContext, calls: list[dict[str, Any]], minutes: float = 0.0) -> str:
    """Call these tools, one after the other, and wait a while."""
    said: list[str] = []
    for made in calls:
        try:
            said.append(await context.call(made["name"], **made["given"]))
        except InnerCallFailed as failed:
            said.append(f"failed: {failed}")
    await asyncio.sleep(minutes * 60)
    return " | ".join(said) or "nothing"


async def note(what: str) -> str:
    """Note something down."""
    return f"noted {what}"


def resident(mode: Any, **options: Any) -> Resident:
    """A resident that has a script."""
    return Resident("ada", "m", prose=mode, tools=[program, note], **options)


def scripted(text: str, *calls: Any, minutes: float = 0.0, then: Any = ()) -> Scripted:
    """A model that writes a text beside a script, and then this."""
    first: list[Any] = [text, call("program", calls=list(calls), minutes=minutes)]
    return Scripted(first, *then, otherwise=call("skip_reply"))


def town(seed: int, mode: Any, model: Scripted, *, options: Any = None, **setting: Any) -> SimulatedHouse:
    """A house that knows #a and #b."""
    house = SimulatedHouse(seed, [resident(mode, **(options or {}))], model, **setting)
    house.write(*(registry.put_channel(ChannelRecord(ChannelRef("town", name))) for name in ("#a", "#b")))
    return house


def posted(house: SimulatedHouse) -> list[tuple[str, str]]:
    """Channel and text of every post, in order."""
    return [(post.channel, post.text) for post in house.platform.posts]


def kept(house: SimulatedHouse) -> list[Draft]:
    """The agent's drafts."""
    with house.simulation.store.snapshot() as snap:
        return list(drafts.of_agent(snap, "ada"))


def states(house: SimulatedHouse) -> list[str]:
    """The states of the first turn's entries, by number."""
    return [entry.state for entry in house.outbox("ada", 1)]


CASES: list[tuple[str, str, Any, list[tuple[str, str]], list[str]]] = [
    # mode, text, inner calls, what is posted, the drafts' reasons
    ("explicit", ">>#a hello", (), [("#a", "hello")], []),
    ("explicit", ">>#a hello", (SKIP,), [], []),
    ("explicit", ">>#a hello", (SEND,), [("#b", "sent"), ("#a", "hello")], []),
    ("explicit", "to nobody", (), [], ["bounced"]),
    ("explicit", "to nobody", (SKIP,), [], []),
    ("explicit", ">>#nowhere hello", (SKIP,), [], []),
    ("hybrid", ">>>#b hello", (), [("#b", "hello")], []),
    ("hybrid", ">>>#b hello", (SEND,), [("#b", "sent")], ["explicit-send"]),
    ("hybrid", "plain", (SKIP,), [], []),
    ("locus", "plain", (), [("#a", "plain")], []),
    ("locus", "plain", (SEND,), [("#b", "sent")], ["explicit-send"]),
    ("locus", "plain", (SKIP,), [], []),
    ("disabled", "plain", (SEND,), [("#b", "sent")], []),
]


@pytest.mark.parametrize(("mode", "text", "calls", "said", "reasons"), CASES)
def test_inner_calls_count_like_top_level_ones(
    mode: str, text: str, calls: Any, said: list[tuple[str, str]], reasons: list[str], seeds: list[int]
) -> None:
    """[prose 13 gap 2] A send or `skip_reply` inside a script decides over the round's words; the rest is released."""
    for seed in seeds:
        with town(seed, mode, scripted(text, *calls)) as house:
            house.say("ada: speak", "#a", to="ada")
            house.run()
            assert posted(house) == said
            assert [draft.reason for draft in kept(house)] == reasons
            assert not set(states(house)) - {"delivered", "withheld"}
            assert house.turns(ROOM) == []
            assert len(house.notices("prose-bounce")) == reasons.count("bounced")


def test_nothing_of_the_round_is_out_before_the_verdict_and_nobody_waits_for_it(seeds: list[int]) -> None:
    """[prose 13 gap 2] Parked while the script runs; another's words pass it; released, it goes as it was frozen."""
    for seed in seeds:
        model = scripted(">>#hall early", minutes=1)
        model.then("from bob", agent="bob")
        house = SimulatedHouse(seed, [resident("explicit"), Resident("bob", "m")], model)
        hall = ChannelRecord(ChannelRef("town", "#a"), label="hall")
        house.write(registry.put_channel(hall))
        with house:
            house.say("ada: speak", "#a", to="ada")
            house.run(until=lambda: states(house) == ["parked"])  # noqa: B023
            house.say("bob: speak", "#a", to="bob")
            house.run(until=lambda: bool(house.platform.posts))  # noqa: B023
            assert (posted(house), states(house)) == ([("#a", "from bob")], ["parked"])
            # The name goes to another channel while the round waits: the post does not follow it.
            house.write(
                registry.put_channel(ChannelRecord(ChannelRef("town", "#a"), label="old hall")),
                registry.put_channel(ChannelRecord(ChannelRef("town", "#c"), label="hall")),
            )
            house.run()
            assert posted(house) == [("#a", "from bob"), ("#a", "early")]


@pytest.mark.parametrize("crash", [False, True])
def test_a_target_is_frozen_when_its_round_ends(crash: bool, seeds: list[int]) -> None:
    """[prose 13 gap 2, gap 4] A name that nobody had then still bounces, whoever has it by the verdict."""
    for seed in seeds:
        with town(seed, "explicit", scripted(">>#hall early\n>>#b there", minutes=1)) as house:
            house.say("ada: speak", "#a", to="ada")
            house.run(until=lambda: "parked" in states(house))
            house.write(registry.put_channel(ChannelRecord(ChannelRef("town", "#a"), label="hall")))
            if crash:
                house.crash()
            house.run()
            assert posted(house) == [("#b", "there")]
            assert [(draft.text, draft.reason) for draft in kept(house)] == [("early", "bounced")]


def test_a_script_that_ends_stops_what_it_left_running(seeds: list[int]) -> None:
    """[prose 13 gap 2] A call of its own that still runs is cancelled, and answered as one that came too late."""
    for seed in seeds:
        told: list[str] = []

        async def slow() -> str:
            """Take very long."""
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                told.append("cancelled")  # noqa: B023
                raise
            return "done"

        @tool(script=True)
        async def start(context: ToolContext) -> str:
            """Call something and do not wait for it."""

            async def ask() -> None:
                try:
                    await context.call("slow")
                except InnerCallFailed as failed:
                    told.append(str(failed))  # noqa: B023

            tasks.append(asyncio.get_running_loop().create_task(ask()))  # noqa: B023
            await asyncio.sleep(5)
            return "left"

        tasks: list[Any] = []
        with SimulatedHouse(
            seed, [Resident("ada", "m", tools=[start, slow])], Scripted(["plain", call("start")], "end")
        ) as house:
            began = house.simulation.clock.now()
            house.say("ada: speak", "#a", to="ada")
            house.run()
            assert house.platform.texts() == ["plain", "end"]
            assert house.simulation.clock.now() - began < 600
            assert "cancelled" in told
            assert any("answered already" in text for text in told)


def test_destination_mark_and_silence_are_the_verdicts(seeds: list[int]) -> None:
    """[prose 13 gap 2] The next round goes where the verdict left it: not at all after a skip, silent after a send."""
    for seed in seeds:
        with town(seed, "explicit", scripted(">>#b one", minutes=1, then=("two",))) as house:
            house.say("ada: speak", "#a", to="ada")
            house.run(until=lambda: "parked" in states(house))
            assert [turn.target for turn in house.turns()] == [None]
            house.run()
            assert posted(house) == [("#b", "one"), ("#b", "two")]
        with town(seed, "explicit", scripted(">>#b ! one", SKIP)) as house:
            house.say("ada: speak", "#a", to="ada")
            house.run()
            assert (posted(house), house.last_turn("ada")) == ([], 1)
        with town(seed, "locus", scripted("one", SEND, then=(["two", call("think", thought="hm")], "three"))) as house:
            house.say("ada: speak", "#a", to="ada")
            house.run()
            assert posted(house) == [("#b", "sent")]
            assert "3 piece(s)" in text_of(house.notices("delivery-receipt")[-1].content)


@pytest.mark.parametrize(
    ("calls", "said", "ends"),
    [((), [("#a", "plain")], False), ((THINK,), [("#a", "plain")], False), ((SEND,), [("#b", "sent")], False),
     ((SKIP,), [], True)],
)
def test_a_script_that_a_crash_cuts(calls: Any, said: list[tuple[str, str]], ends: bool, seeds: list[int]) -> None:
    """[prose 13 gap 2] The round's words are released, unless a send or `skip_reply` inside it was recorded."""
    for seed in seeds:
        model = scripted("plain", *calls, minutes=5)
        with town(seed, "locus", model) as house:
            house.say("ada: speak", "#a", to="ada")
            answered = len(calls)
            house.run(until=lambda: len(house.traced("tool:completed")) >= answered and "parked" in states(house))  # noqa: B023
            house.crash()
            house.run()
            assert posted(house) == said
            assert "parked" not in states(house)
            assert house.turns(ROOM) == []
            assert len(model.requests) == (1 if ends else 2)
            assert not any("on its way" in text_of(row.content) for row in house.notices("delivery-receipt"))
            if not ends:
                assert "interrupted" in text_of(newest_results(model.requests[1])[0].content)


def test_a_script_that_is_cancelled_or_takes_too_long(seeds: list[int]) -> None:
    """[prose 13 gap 2] Like one that a crash cut: its result says so, its words go."""
    for seed in seeds:
        with town(seed, "locus", scripted("plain", minutes=5)) as house:
            house.say("ada: speak", "#a", to="ada")
            house.run(until=lambda: "parked" in states(house))
            assert house.cancel("ada")
            house.run()
            assert (posted(house), house.turns(ROOM)) == ([("#a", "plain")], [])
        model = scripted("plain", minutes=600)
        with town(seed, "locus", model) as house:
            house.say("ada: speak", "#a", to="ada")
            house.run()
            assert (posted(house), house.turns(ROOM)) == ([("#a", "plain")], [])
            assert "did not answer" in text_of(newest_results(model.requests[1])[0].content)


def test_what_is_shown_follows_the_verdict(seeds: list[int]) -> None:
    """[prose 13 gap 1, gap 2] A strict surface is shown a round only then; `complete` carries what was released."""
    for seed in seeds:
        for calls, carried in (((), "plain"), ((SKIP,), "")):
            for strict in (True, False):
                shown = Shown()
                model = scripted("plain", *calls, minutes=1)
                with town(
                    seed, "locus", model, chunk=shown.chunk, complete=shown.complete, strict=strict
                ) as house:
                    house.say("ada: speak", "#a", to="ada")
                    house.run(until=lambda: "parked" in states(house))
                    house.simulation.advance(1.0)
                    assert bool(shown.chunks) is not strict
                    house.run()
                    assert shown.ends == ([("#a", carried)] if carried or not strict else [])


def test_words_that_were_kept_are_taken_along_once(seeds: list[int]) -> None:
    """[prose 4.4, 9, 13 gap 2] A parked post holds its draft; withheld, the draft is there as before."""
    for seed in seeds:
        for calls, state in (((), "delivered"), ((SKIP,), "held")):
            model = Scripted(
                ["lost", call("think", thought="hm")],
                [">>#a {{unsent}}", call("program", calls=[*calls, {"name": "drafts", "given": {"action": "list"}}])],
                otherwise=call("skip_reply"),
            )
            with town(seed, "explicit", model) as house:
                house.say("ada: speak", "#a", to="ada")
                house.run()
                assert [draft.state for draft in kept(house)] == [state]
                assert posted(house) == ([("#a", "lost")] if state == "delivered" else [])


def test_a_resend_inside_a_script(seeds: list[int]) -> None:
    """[prose 5.4, 9, 13 gap 2] `drafts` resends from a script; the round beside it is silenced by it."""
    for seed in seeds:
        def answer(_request: Any) -> Any:
            ids = [draft.id for draft in kept(house)]
            given = {"action": "resend", "ids": ids, "channelId": "#b"}
            return ["beside", call("program", calls=[{"name": "drafts", "given": given}])]

        model = Scripted(
            [">>>#nowhere lost", call("think", thought="hm")], answer, otherwise=call("skip_reply")
        )
        with town(seed, "hybrid", model) as house:
            house.say("ada: speak", "#a", to="ada")
            house.run()
            assert posted(house) == [("#b", "lost")]
            assert sorted(draft.state for draft in kept(house)) == ["delivered", "held"]


def test_what_a_script_cannot_call(seeds: list[int]) -> None:
    """[prose 13 gap 2] No such tool, bad arguments, another script: each is answered, and the script goes on."""
    for seed in seeds:
        model = scripted(
            "", {"name": "nothing", "given": {}}, {"name": "note", "given": {"which": 1}},
            {"name": "program", "given": {"calls": []}}, {"name": "note", "given": {"what": "this"}},
        )
        with town(seed, "locus", model) as house:
            house.say("ada: speak", "#a", to="ada")
            house.run()
            answers = text_of(newest_results(model.requests[1])[0].content).split(" | ")
            assert ["no tool" in answers[0], "not run" in answers[1], "cannot call another" in answers[2]] == [True] * 3
            assert answers[3] == "noted this"


def test_a_background_script_never_counts(seeds: list[int]) -> None:
    """[prose 13 gap 2] What goes on after its call was answered calls nothing any more."""
    for seed in seeds:
        late: list[str] = []

        @tool(script=True)
        async def start(context: ToolContext) -> str:
            """Go on in the background."""

            async def later() -> None:
                await asyncio.sleep(1)
                try:
                    await context.call("skip_reply")
                except InnerCallFailed as failed:
                    late.append(str(failed))  # noqa: B023

            tasks.append(asyncio.get_running_loop().create_task(later()))  # noqa: B023
            return "started"

        tasks: list[Any] = []
        model = Scripted(["plain", call("start")], ["more", call("look")], otherwise="end")

        async def look() -> str:
            """Wait."""
            await asyncio.sleep(5)
            return "done"

        with SimulatedHouse(seed, [Resident("ada", "m", tools=[start, look])], model) as house:
            house.say("ada: speak", "#a", to="ada")
            house.run()
            assert house.platform.texts() == ["plain", "more", "end"]
            assert len(late) == 1
            assert "answered already" in late[0]


@pytest.mark.pool
def test_a_script_on_real_threads() -> None:
    """[prose 13 gap 2] Its calls cross from the event loop to the agent and back: it sends, notes, and is answered."""
    ada = Resident("ada", "m", prose="explicit", tools=[program, note])
    model = scripted(">>#a hello", SEND, {"name": "note", "given": {"what": "this"}}, then=("two",))
    with runtime(model, residents=[ada]) as (opened, board):
        opened.receive(message("hello b", "#b"))
        opened.receive(message("ada: speak", to="ada"))
        assert [(post.channel, post.text) for post in (board.next(), board.next(), board.next())] == [
            ("#b", "sent"), ("#a", "hello"), ("#a", "two"),
        ]
        assert "noted this" in text_of(newest_results(model.requests[1])[0].content)


def test_a_script_is_async_and_alone_may_call() -> None:
    """[prose 13 gap 2] A plain function cannot wait for its calls; a tool that is no script cannot make any."""

    @tool(script=True)
    def plain() -> str:
        """Plain."""
        return ""

    with pytest.raises(InvalidSetting, match="async def"):
        Tool.of(plain)
    context = ToolContext("ada", 1, "c1")
    with pytest.raises(InnerCallFailed, match="script=True"):
        asyncio.run(context.call("think", thought="hm"))


def test_refusals_kills_and_crashes_park_nothing_for_ever(seeds: list[int]) -> None:
    """[prose 13 gap 2; S9] Whatever fails: each word is posted once, kept, or withheld by the verdict; none is left."""
    for seed in seeds:
        for setting in variations(ROUGH):
            for mode, text in (("locus", "plain"), ("hybrid", ">>>#a plain"), ("explicit", ">>#a plain")):
                for calls in ((), (SEND,), (SKIP,)):
                    model = Scripted(otherwise=call("skip_reply")).then(
                        [text, call("program", calls=list(calls), minutes=0.1)]
                    )
                    with town(seed, mode, model, **setting) as house:
                        house.insist(house.message("ada: speak", "#a", to="ada"))
                        for _ in range(seed % 60):
                            house.simulation.step()
                        house.crash()
                        house.finish()
                        assert (house.turns(ROOM), house.pending(ROOM)) == ([], [])
                        with house.simulation.store.snapshot() as snap:
                            assert list(outbox.unfinished(snap)) == []
                        texts = house.platform.texts()
                        assert texts.count("plain") <= 1
                        assert texts.count("sent") <= 1
                        if SKIP in calls and "withheld" in states(house):
                            assert "plain" not in texts
