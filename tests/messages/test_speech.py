"""A turn's words between its record, the gateway and the outbox."""

from dataclasses import replace

import pytest

from manyminds.messages.blocks import Text, Thinking, ToolCall
from manyminds.messages.places import ChannelRef, Place
from manyminds.messages.prose import Link, Post, Routing
from manyminds.messages.speech import bare_name, entries, pieces, post_of, routing_of, with_routing
from manyminds.messages.turns import Turn

A = ChannelRef("irc", "#a")


def does(tool: str) -> ToolCall:
    """A call of a tool."""
    return ToolCall("c", tool, "{}")


@pytest.mark.parametrize(
    ("tool", "bare"),
    [
        ("skip_reply", "skip_reply"), ("irc--say", "say"), ("a--b--send_dm", "send_dm"), ("a-b", "a-b"),
        ("--say", "say"), ("say--", ""), ("", ""),
    ],
)
def test_bare_name(tool: str, bare: str) -> None:
    """[prose 5.4] What is after the last `--`."""
    assert bare_name(tool) == bare


def test_pieces() -> None:
    """[prose 3.1] Calls and results end a run of text; thinking does not."""
    blocks = (Text("a"), Thinking("hm", "s"), Text("b"), does("x"))
    assert pieces(blocks) == [("text", "a"), ("other", ""), ("text", "b"), ("break", "")]


def turn() -> Turn:
    """A turn of ada's."""
    return Turn("shared", "ada", 2, 7, 1, "locus", 0.0, (), 0, 0, 0)


def test_one_entry_where_it_fits() -> None:
    """[prose 5.2] Its place, its number in the chain, and a key that is the same however often it is computed."""
    place = Place(A, "t")
    made, again = (
        entries(turn(), place, "hello", number=3, round_=1, ordinal=0, at=5.0, limit=100, unit="chars") for _ in "ab"
    )
    assert made == again
    (entry,) = made
    assert (entry.agent, entry.incarnation, entry.turn, entry.number, entry.part, entry.parts) == ("ada", 2, 7, 3, 0, 1)
    assert (entry.at, entry.thread, entry.text, entry.written_at, entry.state) == (A, "t", "hello", 5.0, "admitted")


def test_an_entry_for_each_part() -> None:
    """[prose 11.3] [S31] Parts in order, none over the limit, each with a key of its own."""
    made = entries(turn(), Place(A), "aaaa bbbb cccc", number=1, round_=1, ordinal=0, at=0.0, limit=5, unit="chars")
    assert [(e.part, e.parts) for e in made] == [(0, 3), (1, 3), (2, 3)]
    assert [e.text.strip() for e in made] == ["aaaa", "bbbb", "cccc"]
    assert len({e.key for e in made}) == 3


def test_keys_tell_rounds_and_envelopes_apart() -> None:
    """[prose 5.2] The same words again are another post."""
    def key(round_: int, ordinal: int | str) -> str:
        (entry,) = entries(
            turn(), Place(A), "x", number=1, round_=round_, ordinal=ordinal, at=0.0, limit=None, unit="chars"
        )
        return entry.key

    assert len({key(1, 0), key(1, 1), key(2, 0), key(1, "call")}) == 4


def test_a_post_is_read_back_from_its_entries() -> None:
    """[prose 5.2] What admission decided survives a restart, however the words were split."""
    post = Post(Link(2, 1), Place(A, "t"), "aaaa bbbb", ">>#a aaaa bbbb", True, "#a", "d-1", True)
    for limit in (None, 5):
        made = entries(
            turn(), post.place, post.text, number=1, round_=2, ordinal=1, at=0.0, limit=limit, unit="chars", post=post
        )
        assert post_of(made) == post
    plain = entries(turn(), Place(A), "x", number=1, round_=1, ordinal="c", at=0.0, limit=None, unit="chars")
    assert post_of(plain) is None
    assert post_of(()) is None


def test_the_routing_state_is_the_records() -> None:
    """[prose 5.1] Written into the turn's record and read back; a silent turn is as disabled."""
    state = Routing(
        "hybrid", None, Place(A), None, Link(1, 0), True, True, True, suppressed=2, kept_private=3,
    )
    written = with_routing(replace(turn(), mode="hybrid"), state)
    assert routing_of(written, None) == state
    assert routing_of(replace(written, silent=True), None).mode == "disabled"
