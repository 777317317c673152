"""Drafts as values: their ids, what `{{unsent}}` stands for, and what an attempt makes of one (prose 9)."""

from dataclasses import replace

import pytest

from manyminds.messages.drafts import ALPHABET, Draft, draft_id, draft_of, retained_of, settled
from manyminds.messages.places import ChannelRef
from manyminds.messages.prose import NewDraft, Retained
from manyminds.messages.prose.decisions import DraftState

TEA = ChannelRef("irc", "#tea")
OPEN: list[DraftState] = ["held", "unconfirmed"]
OVER: list[DraftState] = ["delivered", "dismissed"]


def draft(number: int, state: DraftState = "held", reason: str = "bounced") -> Draft:
    """An agent's draft with this number."""
    return Draft("ada", number, f"d-{number}", reason, f"words {number}", "", None, state, 1, 0.0)  # type: ignore[arg-type]


def test_the_newest_bounce_is_what_unsent_stands_for() -> None:
    """[prose 9] The newest of reason `bounced`, whatever else was kept since."""
    kept = [draft(3, reason="publish-failed"), draft(2), draft(1)]
    assert retained_of(kept, ()) == Retained("d-2", "words 2")
    assert retained_of([draft(1, reason="no-destination")], ()) is None
    assert retained_of([], ()) is None


@pytest.mark.parametrize("state", OVER)
def test_an_older_bounce_does_not_come_back(state: DraftState) -> None:
    """[prose 9] Once the newest is delivered or dismissed there is nothing, even if older ones are open."""
    assert retained_of([draft(2, state), draft(1)], ()) is None


def test_its_state() -> None:
    """[prose 9] Unconfirmed and in flight are told apart from open; in flight goes before what the draft says."""
    assert retained_of([draft(1, "unconfirmed")], ()) == Retained("d-1", "words 1", "unconfirmed")
    assert retained_of([draft(1)], ("d-1",)) == Retained("d-1", "words 1", "in-flight")
    assert retained_of([draft(1)], ("d-2",)) == Retained("d-1", "words 1", "open")


@pytest.mark.parametrize("before", OPEN)
def test_a_confirmation_wins(before: DraftState) -> None:
    """[prose 9] A confirmed attempt wins over everything, and says where the words are."""
    after = settled(draft(1, before), "delivered", TEA, ["m1", "m2"])
    assert (after.state, after.sent_to, after.message_ids) == ("delivered", TEA, ("m1", "m2"))


@pytest.mark.parametrize("later", ["held", "unconfirmed", "dismissed"])
def test_nothing_takes_a_confirmation_back(later: DraftState) -> None:
    """[prose 9] A delivered draft stays delivered, and keeps its first receipt."""
    sure = settled(draft(1), "delivered", TEA, ["m1"])
    assert settled(sure, later) == sure
    assert settled(sure, "delivered", ChannelRef("irc", "#loft"), ["m2"]) == sure


def test_a_later_failure_clears_no_unknown() -> None:
    """[prose 9] What may be out stays so, however many later attempts definitely failed."""
    assert settled(draft(1, "unconfirmed"), "held") == draft(1, "unconfirmed")
    assert settled(draft(1), "unconfirmed") == draft(1, "unconfirmed")
    assert settled(draft(1, "unconfirmed"), "dismissed") == draft(1, "dismissed")


def test_ids() -> None:
    """[prose 9] `d-` and five signs without look-alikes, the same for the same place, unique for the agent."""
    first = draft_id("ada", 1, 1, ())
    assert first == draft_id("ada", 1, 1, ())
    assert len({first, draft_id("bob", 1, 1, ()), draft_id("ada", 2, 1, ()), draft_id("ada", 1, 2, ())}) == 4
    second = draft_id("ada", 1, 1, {first})
    assert second != first
    for found in (first, second):
        assert found.startswith("d-")
        assert len(found) == 7
        assert set(found[2:]) <= set(ALPHABET)
    assert not set("01ilo") & set(ALPHABET)


def test_the_words_are_byte_for_byte() -> None:
    """[prose 9] Untrimmed, with all that was written beside them."""
    new = NewDraft("d-x", "bounced", " a\r\n\n", ">>#attic  a\r\n\n", "#attic", "unconfirmed")
    made = draft_of(new, "ada", 4, 7, 2.5)
    assert (made.text, made.written, made.target) == (" a\r\n\n", ">>#attic  a\r\n\n", "#attic")
    assert (made.reason, made.state) == ("bounced", "unconfirmed")
    assert (made.agent, made.number, made.turn, made.at, made.is_open) == ("ada", 4, 7, 2.5, True)
    assert not replace(made, state="dismissed").is_open
