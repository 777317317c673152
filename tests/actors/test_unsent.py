"""`{{unsent}}` through a whole house: words that are on their way, or may be out, are never copied (prose 4.4, 9)."""

from typing import Any

import pytest

from manyminds.actors.faults import Faults
from manyminds.actors.providers.scripted import Scripted, call
from manyminds.messages.blocks import text_of
from manyminds.messages.drafts import Draft
from manyminds.messages.posts import NotSent, Unknown
from manyminds.messages.registry import ProseMode
from manyminds.storage import drafts
from tests.actors.simulated import SimulatedHouse, variations
from tests.actors.speaking import Slow, ask, town
from tests.actors.test_outbox_notices import ROUGH

THINK = call("think", thought="hm")
PREFIX = {"explicit": ">>", "hybrid": ">>>"}


def drafts_of(house: SimulatedHouse) -> list[Draft]:
    """Ada's drafts, oldest first."""
    with house.simulation.store.snapshot() as snap:
        return list(reversed(list(drafts.of_agent(snap, "ada"))))


def refusals(house: SimulatedHouse) -> list[str]:
    """The notices that nothing was sent for what `{{unsent}}` stands for."""
    said = [text_of(row.content) for row in house.notices("prose-bounce")]
    return [text for text in said if "Nothing was sent" in text]


def bouncing(mode: ProseMode, *rounds: Any) -> Scripted:
    """A model that bounces `words` first, then makes these rounds."""
    bounce: list[Any] = ["words", THINK] if mode == "explicit" else [">>>#nowhere words", THINK]
    return Scripted(bounce, *rounds, otherwise=call("skip_reply"))


@pytest.mark.parametrize("mode", ["explicit", "hybrid"])
@pytest.mark.parametrize("first", ["queued", "unconfirmed"])
def test_what_is_out_or_may_be_is_not_copied(seeds: list[int], mode: ProseMode, first: str) -> None:
    """[prose 9] In flight (queued included) or unconfirmed: nothing sent, a notice says why; hybrid then holds."""
    for seed in seeds:
        for setting in variations(Faults(parked=0.3)):
            arrow = PREFIX[mode]
            answer: Any = [NotSent("down"), 0.0] if first == "queued" else Unknown("lost")
            platform = Slow({"words": answer})
            slow = call("wait")
            model = bouncing(
                mode, [f"{arrow}#a {{{{unsent}}}}", slow], [f"{arrow}#b again: {{{{unsent}}}}", THINK], "plain words",
            )
            with town(seed, model, platform, prose=mode, tools=[wait], **setting) as house:
                ask(house)
                house.finish()
                [refused] = refusals(house)
                [draft, *others] = drafts_of(house)
                assert draft.id in refused
                assert ("on their way" if first == "queued" else "may be out") in refused
                assert all(word in refused for word in ("drafts tool", "confirmDuplicate"))
                assert all("again" not in text for text in platform.called())
                if mode == "hybrid":
                    assert "goes nowhere until" in refused
                    assert "plain words" not in platform.texts()
                    assert "plain words" in [other.text for other in others]
                else:
                    assert platform.texts("#b") == ["plain words"]
                if first == "queued":
                    assert platform.texts().count("words") == 1
                    assert draft.state == "delivered"
                else:
                    assert draft.state == "unconfirmed"


async def wait() -> str:
    """Take a moment, in which posts come to their outcomes."""
    import asyncio

    await asyncio.sleep(5.0)
    return "done"


@pytest.mark.parametrize("mode", ["explicit", "hybrid"])
def test_what_is_in_flight_is_not_set_aside(seeds: list[int], mode: ProseMode) -> None:
    """[prose 9] `skip_reply {{unsent}}` while a copy waits is refused and says so; the copy goes out and settles it."""
    for seed in seeds:
        arrow = PREFIX[mode]
        platform = Slow({"words": [NotSent("down"), 0.0]})
        model = bouncing(
            mode, [f"{arrow}#a {{{{unsent}}}}", call("wait")], [f"{arrow}skip_reply {{{{unsent}}}}", THINK],
        )
        with town(seed, model, platform, prose=mode, tools=[wait]) as house:
            ask(house)
            house.run()
            assert len(refusals(house)) == 1
            [draft] = drafts_of(house)
            assert draft.state == "delivered"
            assert platform.texts() == ["words"]


def test_a_copy_that_ends_without_a_delivery_is_held_again(seeds: list[int]) -> None:
    """[prose 9, 11.3] Then `{{unsent}}` stands for it once more, over any kill and crash; it is said at most once."""
    said = 0
    for seed in seeds:
        for setting in variations(ROUGH):
            platform = Slow({"words": [NotSent("down"), NotSent("no", permanent=True), 0.0, 0.0]})
            model = bouncing("explicit", ">>#a {{unsent}}")
            with town(seed, model, platform, prose="explicit", **setting) as house:
                ask(house)
                house.finish()
                if house.notices("inference-failed") or platform.called() != ["words", "words"]:
                    continue  # a turn that was killed three times is set aside
                [draft] = drafts_of(house)
                # A channel that is killed once an attempt is on disk cannot know whether it left, and has said so.
                unsure = bool(house.notices("discord-send-failed"))
                assert (draft.text, draft.state) == ("words", "unconfirmed" if unsure else "held")
                if unsure:
                    continue
                model.then(">>#b {{unsent}}")
                ask(house)
                house.finish()
                assert platform.texts() == ["words"]
                assert [post.channel for post in platform.posts] == ["#b"]
                assert drafts_of(house)[0].state == "delivered"
                said += 1
    assert said >= len(seeds)
