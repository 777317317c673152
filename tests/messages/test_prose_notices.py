"""What the gateway tells an agent: the facts of a bounce, a refused copy, the mode (prose 8.1, 9, 12)."""

import pytest

from manyminds.messages.prose import Bounce, ChannelEntry, Link, NewDraft, Unresolved
from manyminds.messages.prose.decisions import BounceReason
from manyminds.messages.prose_notices import PROSE_HELP, bounced, copy_refused, mode_changed
from manyminds.messages.registry import ProseMode

LINK = Link(1, 0)
DRAFT = NewDraft("d-abcde", "bounced", "hello", ">>#attic hello", "#attic")
NEAR = (ChannelEntry("c1", "irc", "#attica"), ChannelEntry("c2", "irc"))


def kept(reason: BounceReason = "unresolved", detail: Unresolved | None = None) -> Bounce:
    """A bounce whose words are a draft."""
    return Bounce(LINK, reason, "hello", DRAFT, DRAFT.id, detail)


@pytest.mark.parametrize(("mode", "prefix"), [("explicit", ">>"), ("hybrid", ">>>")])
def test_the_facts_of_a_bounce(mode: ProseMode, prefix: str) -> None:
    """[prose 8.1] Tag, length, draft, how to deliver it to a channel or a person, how to set it aside."""
    notice = bounced(kept(), mode, at_risk=False)
    words = notice.text.split("`")
    assert notice.text.startswith("[prose-routing] 5 characters were not delivered")
    assert "draft d-abcde" in notice.text
    assert f"{prefix}#channel {{{{unsent}}}}" in words
    assert f"{prefix}@name {{{{unsent}}}}" in words
    assert f"{prefix}skip_reply {{{{unsent}}}}" in words
    assert "resend" in notice.text
    assert ("prose_help" in notice.text) == (mode == "explicit")
    assert "may be out" not in notice.text
    assert (notice.metadata["system"], notice.metadata["kind"]) == (True, "prose-bounce")


@pytest.mark.parametrize(
    ("reason", "says"),
    [
        ("no-destination", "no destination was named"), ("unresolved", "no channel and no person"),
        ("resolver-error", "could not be looked up"), ("missing-target", "names no destination"),
        ("publish-failed", "was refused"),
    ],
)  # fmt: skip
def test_the_reason(reason: BounceReason, says: str) -> None:
    """[prose 8.1, 16.6] Each reason in words; for a resolver that raised a neutral one."""
    assert says in bounced(kept(reason), "explicit", at_risk=False).text


def test_the_candidates() -> None:
    """[prose 8.1, 4.5] What may have been meant, by label and id."""
    text = bounced(kept(detail=Unresolved("ambiguous", NEAR)), "explicit", at_risk=False).text
    assert "fits several; you may have meant #attica (c1), c2." in text


def test_words_that_could_not_be_kept() -> None:
    """[prose 8.1] They remain in history, and it is said; with no words there is nothing to say of them."""
    text = bounced(Bounce(LINK, "no-destination", "hello"), "explicit", at_risk=False).text
    assert "remains in this history" in text
    assert "{{unsent}}" not in text
    assert "history" not in bounced(Bounce(LINK, "unresolved", ""), "explicit", at_risk=False).text


def test_copied_words_at_risk() -> None:
    """[prose 8.1] The copied words may be out already; to send them again needs a confirmation."""
    text = bounced(kept(), "hybrid", at_risk=True).text
    assert "may be out already" in text
    assert "confirm" in text


@pytest.mark.parametrize(("state", "says"), [("in-flight", "on their way"), ("unconfirmed", "may be out")])
@pytest.mark.parametrize("mode", ["explicit", "hybrid"])
def test_a_refused_copy(mode: ProseMode, state: str, says: str) -> None:
    """[prose 9] Why nothing was sent, and how to; hybrid is held as after a failure, and that is said."""
    text = copy_refused("d-abcde", state, mode).text
    assert all(word in text for word in ("Nothing was sent", "d-abcde", says, "confirmDuplicate"))
    assert ("goes nowhere" in text) == (mode == "hybrid")


def test_modes() -> None:
    """[prose 12] Explicit and hybrid with their prefix and one example, explicit with its help; disabled is silent."""
    explicit, hybrid, locus = mode_changed("explicit"), mode_changed("hybrid"), mode_changed("locus")
    assert explicit is not None
    assert hybrid is not None
    assert locus is not None
    assert "`>>#channel hello`" in explicit.text
    assert "prose_help" in explicit.text
    assert "`>>>#channel hello`" in hybrid.text
    assert "only the words after it" in hybrid.text
    assert "by itself again" in locus.text
    assert mode_changed("disabled") is None


def test_the_help_says_the_syntax() -> None:
    """[prose 12] Channel, person, mark, private, resend, set aside, the quoted arrow."""
    forms = (
        ">>#channel words", ">>@name words", ">>#channel ! words", ">>skip_reply words", ">>#channel {{unsent}}",
        ">>skip_reply {{unsent}}", ">> before a space",
    )  # fmt: skip
    assert [form for form in forms if form not in PROSE_HELP] == []
