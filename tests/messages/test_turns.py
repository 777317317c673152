"""Turn records come back from the disk as they were written."""

from dataclasses import replace

from manyminds.messages.blocks import Text, Thinking, ToolCall
from manyminds.messages.codec import decode, encode
from manyminds.messages.places import ChannelRef, Place
from manyminds.messages.turns import ExplicitSend, Round, Turn
from manyminds.messages.wakes import Answered, Wake

A = ChannelRef("irc", "#a")
BARE = Turn("shared", "ada", 1, 4, 1, "locus", 9.5, (), 3, 5, 2)
ROUND = Round(2, (Thinking("hm", "signed"), Text("words"), ToolCall("c1", "look", '{"a":1}')), 5, 2,
              (ExplicitSend("c1", 3),), True)
WAKE = Wake(2, "ada", "channel-message", 8.0, A, "t", True, "zoe", 2, 6, "m6")


def test_a_bare_record() -> None:
    """[design, turn record 1] What a turn's start writes."""
    assert decode(encode(BARE)) == BARE


def test_a_full_record() -> None:
    """[design, turn record 2] The round verbatim, its calls and their numbers, what it heard, and where words go."""
    full = replace(
        BARE, wakes=(WAKE,), locus=Place(A, "t"), author="zoe", silent=True, system_prompt="once", phase="closing",
        ending="cancelled", rounds=1, speech=4, attempt=2, silenced=True, sent_to=(A,), answered=(Answered(A, 2),),
        suppressed=1, private=2, calls=3, cuts=1, stopped=True, round=ROUND,
    )
    assert decode(encode(full)) == full
