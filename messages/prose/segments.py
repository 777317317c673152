"""Segments: the runs of text of one round, between its tool blocks (prose 3).

Knows no block type: it takes pieces, pairs of (kind, text), so that stored blocks, streamed blocks and
test cases go through the same rule. Never looks at what the text says.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from .whitespace import NEWLINE, strip

PieceKind: TypeAlias = Literal["text", "break", "other"]
Piece: TypeAlias = tuple[PieceKind, str]

# The blocks that end a run; every other block that is not text neither ends nor separates one.
BREAKS: frozenset[str] = frozenset({"tool_use", "tool_result", "tool_attempt", "tool_notice"})


@dataclass(frozen=True, slots=True)
class Segment:
    """One run: `text` trimmed at both ends, for routing; `run` as written, for a held draft."""

    text: str
    run: str


def piece_kind(block_kind: str) -> PieceKind:
    """What a block of this kind does to a run (prose 3.1)."""
    if block_kind == "text":
        return "text"
    return "break" if block_kind in BREAKS else "other"


def segments(blocks: Iterable[Piece]) -> list[Segment]:
    """The segments of a round in order; a run that is all whitespace is dropped (prose 3.2, 3.3).

    A turn of text alone is one segment (prose 3.4), since nothing ends its run.
    """
    runs: list[list[str]] = [[]]
    for kind, text in blocks:
        if kind == "text":
            runs[-1].append(text)
        elif kind == "break":
            runs.append([])
    joined = (NEWLINE.join(run) for run in runs)
    return [Segment(text, run) for run in joined if (text := strip(run))]
