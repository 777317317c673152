"""Scenarios of the prose gateway through a whole house: S4, S5, and a cut that ends the turn (agents.md 19.13)."""

from typing import Any

import pytest

from manyminds.actors.providers.scripted import Scripted, call, fail, say, think
from manyminds.actors.spec import Resident
from manyminds.messages.blocks import Text, text_of
from manyminds.messages.places import ChannelRef
from manyminds.messages.prose import without_whitespace
from manyminds.messages.registry import ChannelRecord
from manyminds.messages.rows import Row
from manyminds.storage import drafts, registry
from tests.actors.simulated import SimulatedHouse
from tests.actors.speaking import Shown

SPOKEN = ">>#a x\n>>#b y\n>>#a z"
CUTS: list[Any] = [1, *([at, len(SPOKEN) - at] for at in range(1, len(SPOKEN)))]


def channels(house: SimulatedHouse, **labels: str) -> None:
    """These channels are known, by these labels."""
    house.write(*(registry.put_channel(ChannelRecord(ChannelRef("town", f"#{c}"), label=labels[c])) for c in labels))


@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_the_same_at_every_cut(cut: Any) -> None:
    """[S4] Posts a:x, b:y, a:z in that order; what is streamed is per channel what is delivered, in order."""
    shown = Shown()
    ada = Resident("ada", "m", prose="explicit")
    model = Scripted(say(SPOKEN, chunk=cut, gap=0.1), otherwise=call("skip_reply"))
    with SimulatedHouse(1, [ada], model, chunk=shown.chunk, complete=shown.complete) as house:
        channels(house, a="#a", b="#b")
        house.say("ada: speak", "#a", to="ada")
        house.run()
        posted = [(post.channel, post.text) for post in house.platform.posts]
        assert posted == [("#a", "x"), ("#b", "y"), ("#a", "z")]
        for streamed in (shown.chunks, shown.ends):
            texts = {at: "".join(text for to, text in streamed if to == at) for at in ("#a", "#b")}
            assert {at: without_whitespace(text) for at, text in texts.items()} == {"#a": "xz", "#b": "y"}
        assert sorted(at for at, _ in shown.ends) == ["#a", "#b"]


@pytest.mark.parametrize(
    ("written", "kept", "told"),
    [
        (">>#nowhere some words", "some words", "no channel and no person"),
        (">>twin some words", "some words", "fits several; you may have meant twin (#b), twin (#c)"),
        ("some words\n>>skip_reply and more", "some words", "no destination was named"),
    ],
    ids=["unknown", "ambiguous", "before the first prefix"],
)
def test_words_without_a_place(written: str, kept: str, told: str, seeds: list[int]) -> None:
    """[S5] Nothing is posted; the draft is kept; one notice a bounce; at most two wakes in a row."""
    for seed in seeds:
        ada = Resident("ada", "m", prose="explicit")
        model = Scripted(otherwise=written)
        with SimulatedHouse(seed, [ada], model) as house:
            channels(house, a="#a", b="twin", c="twin")
            for asked in (1, 2):
                house.say("ada: speak", "#a", to="ada")
                house.run()
                assert house.platform.posts == []
                assert len(model.requests) == 3 * asked
                with house.simulation.store.snapshot() as snap:
                    found = list(drafts.of_agent(snap, "ada"))
                assert [(d.text, d.reason, d.state) for d in found] == [(kept, "bounced", "held")] * 3 * asked
                notices = [text_of(row.content) for row in house.notices("prose-bounce")]
                assert len(notices) == 3 * asked
                assert all(told in text for text in notices)


# -- a cut that ends the turn


def cut_rows(house: SimulatedHouse) -> list[Row]:
    """The rows of rounds that were cut."""
    return [row for row in house.log() if row.metadata.get("interrupted") is True]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("ends", ["cancelled", "exhausted"])
def test_a_cut_that_ends_the_turn(ends: str, strict: bool, seeds: list[int]) -> None:
    """[agents 19.13] Stored as the text that was shown, interrupted, without thinking and calls; never posted.

    `complete` carries it. A strict surface was shown nothing, and nothing is stored.
    """
    for seed in seeds:
        shown = Shown()
        blocks = (think("hm"), "some words that take a while", call("think", thought="hm"))
        # The exhausting failure comes after 15 deltas, within the words; the cancel when some were shown.
        reply = say(*blocks) if ends == "cancelled" else fail("auth", *blocks, after=15)
        model = Scripted(reply, otherwise=call("skip_reply"), chunk=1, gap=1.0)
        with SimulatedHouse(
            seed, [Resident("ada", "m")], model, chunk=shown.chunk, complete=shown.complete, strict=strict
        ) as house:
            house.say("ada: speak", "#a", to="ada")
            if ends == "cancelled":
                house.simulation.advance(10.0)
                assert house.cancel("ada")
            house.run()
            text = "".join(text for _, text in shown.chunks)
            assert [done.ending for done in model.rounds] == ["cancelled" if ends == "cancelled" else "failed"]
            assert house.platform.posts == []
            if strict:
                assert (shown.chunks, shown.ends, cut_rows(house)) == ([], [], [])
                continue
            assert text
            assert "some words that take a while".startswith(text)
            assert text != "some words that take a while"
            assert shown.ends == [("#a", text)]
            [row] = cut_rows(house)
            assert row.content == (Text(text),)
            house.say("ada: and now?", "#a", to="ada")
            house.run()
            assert house.platform.posts == []


def test_nothing_shown_is_nothing_stored(seeds: list[int]) -> None:
    """[agents 19.13] Where no surface shows what is written, a cut round leaves nothing."""
    for seed in seeds:
        model = Scripted(fail("auth", "some words", after=5), otherwise=call("skip_reply"))
        with SimulatedHouse(seed, [Resident("ada", "m")], model) as house:
            house.say("ada: speak", "#a", to="ada")
            house.run()
            assert cut_rows(house) == []
            assert house.platform.posts == []
