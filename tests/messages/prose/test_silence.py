"""Which calls keep a round's prose back (prose 5.4, 5.5)."""

import pytest

from manyminds.messages.prose import RoundCall, Verdict, bare_name, verdict


@pytest.mark.parametrize(
    ("name", "bare"),
    [("skip_reply", "skip_reply"), ("host--skip_reply", "skip_reply"), ("a--b--say", "say"), ("a-b", "a-b")],
)
def test_bare_name(name: str, bare: str) -> None:
    """The part after the last `--` [prose 5.4]."""
    assert bare_name(name) == bare


NOTHING, SENDS = Verdict(), Verdict(silences=True)
SKIPS = Verdict(private=True, silences=True, ends_turn=True)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (RoundCall("skip_reply"), SKIPS),
        (RoundCall("host--skip_reply"), SKIPS),
        (RoundCall("channel_publish"), SENDS),
        (RoundCall("chat--send_message"), SENDS),
        (RoundCall("reply_message"), SENDS),
        (RoundCall("send_dm"), SENDS),
        (RoundCall("say"), SENDS),
        (RoundCall("irc--whisper"), SENDS),
        (RoundCall("drafts", "resend"), SENDS),
        (RoundCall("drafts", "list"), NOTHING),
        (RoundCall("think"), NOTHING),
        (RoundCall("send_message_later"), NOTHING),
        (RoundCall("say--journal"), NOTHING),
    ],
)
def test_one_call(call: RoundCall, expected: Verdict) -> None:
    """Silencing tools by bare name; `think` is not one [prose 5.4]."""
    assert verdict([call]) == expected


@pytest.mark.parametrize(("name", "private"), [("think", True), ("x--think", False), ("Think", False)])
def test_private_think(name: str, private: bool) -> None:
    """The policy of the inference's start, and the tool named exactly `think` [prose 5.5]."""
    assert verdict([RoundCall(name)], think_is_private=True) == Verdict(private=private)
    assert verdict([RoundCall(name)], think_is_private=False) == NOTHING


def test_both_causes() -> None:
    """A send beside a private think still silences what follows [prose 5.4]."""
    calls = [RoundCall("think"), RoundCall("say")]
    assert verdict(calls, think_is_private=True) == Verdict(private=True, silences=True)
    assert verdict([]) == NOTHING
