"""Which words of a round go out: admission in locus mode, and the outbox entries of a post."""

import pytest

from manyminds.messages.blocks import Block, Text, Thinking, ToolCall
from manyminds.messages.places import ChannelRef, Place
from manyminds.messages.speech import SILENCING, Said, admit, bare_name, entries, pieces
from manyminds.messages.turns import Turn

A = ChannelRef("irc", "#a")


def does(tool: str) -> ToolCall:
    """A call of a tool."""
    return ToolCall("c", tool, "{}")


def admitted(
    *blocks: Block, silenced: bool = False, locus: bool = True, think: bool = False, speaks: bool = True
) -> Said:
    """The verdict over a round."""
    return admit(blocks, silenced=silenced, has_locus=locus, private_think=think, speaks=speaks)


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


CASES: list[tuple[str, Said, Said]] = [
    ("words", admitted(Text("a")), Said(("a",), 0, 0, False)),
    ("none", admitted(), Said((), 0, 0, False)),
    ("blank words are none", admitted(Text(" \n")), Said((), 0, 0, False)),
    ("around a call", admitted(Text("a"), does("look"), Text("b")), Said(("a", "b"), 0, 0, False)),
    ("beside a send", admitted(Text("a"), does("channel_publish")), Said((), 1, 0, True)),
    ("beside a send of another server", admitted(Text("a"), does("irc--say")), Said((), 1, 0, True)),
    ("after a send of an earlier round", admitted(Text("a"), silenced=True), Said((), 1, 0, True)),
    ("beside skip_reply", admitted(Text("a"), does("skip_reply"), Text("b")), Said((), 0, 2, True)),
    ("beside skip_reply, silenced before",
     admitted(Text("a"), does("skip_reply"), silenced=True), Said((), 0, 1, True)),
    ("beside a private think", admitted(Text("a"), does("think"), think=True), Said((), 0, 1, False)),
    ("beside a public think", admitted(Text("a"), does("think")), Said(("a",), 0, 0, False)),
    ("another server's think is no think",
     admitted(Text("a"), does("x--think"), think=True), Said(("a",), 0, 0, False)),
    ("no channel", admitted(Text("a"), locus=False), Said((), 1, 0, False)),
    ("woken to be silent", admitted(Text("a"), speaks=False), Said((), 1, 0, False)),
    ("nothing to say, and a send", admitted(does("channel_publish")), Said((), 0, 0, True)),
]


@pytest.mark.parametrize(("what", "given", "verdict"), CASES, ids=[case[0] for case in CASES])
def test_admit(what: str, given: Said, verdict: Said) -> None:
    """[prose 5.3, 5.4, 5.5] Posted, counted as suppressed, or kept private; never silently lost."""
    assert given == verdict


@pytest.mark.parametrize("tool", sorted(SILENCING))
def test_what_silences(tool: str) -> None:
    """[prose 5.4] Each explicit send, and skip_reply, from its round on."""
    assert admitted(does(tool)).silenced
    assert admitted(does(f"server--{tool}")).silenced
    assert not admitted(does(f"{tool}_x")).silenced


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
