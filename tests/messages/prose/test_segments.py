"""Segments of a round (prose 3)."""

import pytest

from manyminds.messages.prose import Piece, Segment, piece_kind, segments

TEXT, BREAK, OTHER = "text", "break", "other"


def test_a_tool_block_ends_a_run() -> None:
    """Text before and after a tool block are two segments [prose 3.1]."""
    blocks: list[Piece] = [("text", "a"), ("break", ""), ("text", "b")]
    assert [s.text for s in segments(blocks)] == ["a", "b"]


def test_other_blocks_neither_end_nor_separate() -> None:
    """Thinking between two text blocks leaves one run, joined with one newline [prose 3.1, 3.2]."""
    blocks: list[Piece] = [("text", "a"), ("other", "hmm"), ("text", "b")]
    assert segments(blocks) == [Segment("a\nb", "a\nb")]


def test_trimmed_for_routing_and_whole_for_a_draft() -> None:
    """The text is trimmed with the whole set, the run is not; inner whitespace stays [prose 3.3]."""
    assert segments([("text", "\ufeff\n a\n\n b \u2003\n")]) == [Segment("a\n\n b", "\ufeff\n a\n\n b \u2003\n")]


def test_a_next_line_character_is_not_trimmed() -> None:
    """U+0085 is text [prose 1, 3.3]."""
    assert segments([("text", "\u0085a")]) == [Segment("\u0085a", "\u0085a")]


def test_blank_runs_are_dropped() -> None:
    """A run that is all whitespace is no segment [prose 3.2]."""
    assert segments([("text", " "), ("text", "\u00a0"), ("break", ""), ("text", "")]) == []


def test_text_alone_is_one_segment() -> None:
    """A turn of text alone is one segment, its blocks joined with a newline [prose 3.4]."""
    assert [s.text for s in segments([("text", "a "), ("text", ""), ("text", " b")])] == ["a \n\n b"]


@pytest.mark.parametrize(
    ("block", "kind"),
    [
        ("text", TEXT), ("tool_use", BREAK), ("tool_result", BREAK), ("tool_attempt", BREAK), ("tool_notice", BREAK),
        ("thinking", OTHER), ("redacted_thinking", OTHER), ("image", OTHER),
    ],
)  # fmt: skip
def test_what_a_block_does(block: str, kind: str) -> None:
    """Only tool blocks end a run [prose 3.1]."""
    assert piece_kind(block) == kind
