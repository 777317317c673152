"""Admission of a round's words in locus mode: which segments go out, as which outbox entries (prose 3, 5.3, 5.4).

A pure function of the round's blocks and the turn: it names every piece that is said, counted as suppressed, or
kept private. The agent stores the entries in the unit that ends the round; nothing is posted before.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from .blocks import Block, Text, ToolCall, ToolResult
from .places import Place
from .posts import LengthUnit, OutboxEntry, idempotency_key
from .prose.segments import Piece, segments
from .split import split
from .turns import Turn

SILENCING = frozenset({"skip_reply", "channel_publish", "send_message", "reply_message", "send_dm", "say", "whisper"})
EXPLICIT_SENDS = SILENCING - {"skip_reply"}


def bare_name(tool: str) -> str:
    """The part of a tool's name after the last `--`, where a server's prefix ends (prose 5.4)."""
    return tool.rsplit("--", 1)[-1]


def pieces(blocks: Sequence[Block]) -> list[Piece]:
    """The blocks as segments read them: text, what ends a run, and the rest (prose 3.1)."""
    out: list[Piece] = []
    for block in blocks:
        if isinstance(block, Text):
            out.append(("text", block.text))
        elif isinstance(block, (ToolCall, ToolResult)):
            out.append(("break", ""))
        else:
            out.append(("other", ""))
    return out


@dataclass(frozen=True, slots=True)
class Said:
    """What a round's words come to: texts for the locus, pieces counted without a post, whether it is private."""

    texts: tuple[str, ...]
    suppressed: int
    private: int
    silenced: bool


def admit(blocks: Sequence[Block], *, silenced: bool, has_locus: bool, private_think: bool, speaks: bool) -> Said:
    """The verdict over one round in locus mode (prose 5.3-5.5).

    `silenced`: by an earlier round of the turn. `private_think`: the policy says that a round with a call of the
    built-in `think` is private. `speaks` False: the turn was woken to be silent; its words are counted only.
    """
    names = [block.name for block in blocks if isinstance(block, ToolCall)]
    skips = any(bare_name(name) == "skip_reply" for name in names)
    silences = any(bare_name(name) in SILENCING for name in names)
    texts = tuple(s.text for s in segments(pieces(blocks)))
    now_silenced = silenced or silences
    if skips or (private_think and "think" in names):
        return Said((), 0, len(texts), now_silenced)
    if now_silenced or not has_locus or not speaks:
        return Said((), len(texts), 0, now_silenced)
    return Said(texts, 0, 0, now_silenced)


def entries(
    turn: Turn, place: Place, text: str, *, number: int, round_: int, ordinal: int | str, at: float,
    limit: int | None, unit: LengthUnit, call_id: str = "",
) -> tuple[OutboxEntry, ...]:
    """The outbox entries of one post, one per part that the platform's limit asks for (prose 5.2, 11.3).

    `at` in Unix seconds. Their keys are the same however often they are computed.
    """
    parts = split(text, limit, unit)
    return tuple(
        OutboxEntry(
            turn.agent, turn.incarnation, turn.number, number, index, len(parts), place.at, place.thread, part,
            idempotency_key(turn.agent, turn.incarnation, turn.number, round_, ordinal, index), at, call_id=call_id,
        )
        for index, part in enumerate(parts)
    )
