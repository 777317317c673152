"""A turn's words between its record, the pure gateway and the outbox (prose 5, 11.3).

Reads a turn's routing state out of its record and writes it back, cuts a round's blocks into pieces, and makes the
outbox entries of a post. Pure; the decisions themselves are in `prose`.
"""

from collections.abc import Sequence
from dataclasses import replace

from .blocks import Block, Text, ToolCall, ToolResult
from .places import Place
from .posts import LengthUnit, OutboxEntry, idempotency_key
from .prose.decisions import Post
from .prose.routing import Link, Retained, Routing
from .prose.segments import Piece
from .prose.silence import bare_name as bare_name
from .split import split
from .turns import Turn


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


def routing_of(turn: Turn, retained: Retained | None) -> Routing:
    """The turn's routing state. A turn that was woken to be silent is as disabled (prose 2)."""
    mode = "disabled" if turn.silent else turn.mode
    return Routing(
        mode, turn.locus, turn.target, turn.held, turn.moved_at, turn.silenced, turn.link_held, turn.continuation,
        turn.suppressed, turn.private, retained,
    )


def with_routing(turn: Turn, routing: Routing) -> Turn:
    """The turn's record with this routing state; the retained words are the agent's and stay with its drafts."""
    return replace(
        turn, target=routing.target, held=routing.held, moved_at=routing.moved_at, silenced=routing.silenced,
        link_held=routing.link_held, continuation=routing.continuation, suppressed=routing.suppressed,
        private=routing.kept_private,
    )


def entries(
    turn: Turn, place: Place, text: str, *, number: int, round_: int, ordinal: int | str, at: float,
    limit: int | None, unit: LengthUnit, call_id: str = "", post: Post | None = None,
) -> tuple[OutboxEntry, ...]:
    """The outbox entries of one post, one per part that the platform's limit asks for (prose 5.2, 11.3).

    `at` in Unix seconds. `post`: what admission decided, kept so that an outcome can be judged after a restart; None
    for an explicit send.
    Their keys are the same however often they are computed.
    """
    parts = split(text, limit, unit)
    made = [
        OutboxEntry(
            turn.agent, turn.incarnation, turn.number, number, index, len(parts), place.at, place.thread, part,
            idempotency_key(turn.agent, turn.incarnation, turn.number, round_, ordinal, index), at, call_id=call_id,
            whole=text if index == 0 and len(parts) > 1 else "",
        )
        for index, part in enumerate(parts)
    ]
    if post is None:
        return tuple(made)
    return tuple(
        replace(
            entry, written=post.written, prefixed=post.prefixed, target=post.target, copied=post.copied,
            wholly=post.wholly, link=post.link, holds=turn.mode == "hybrid",
        )
        for entry in made
    )


def words_of(parts: Sequence[OutboxEntry]) -> str:
    """The whole text of a post, byte for byte."""
    return parts[0].whole or "".join(part.text for part in parts)


def post_of(parts: Sequence[OutboxEntry]) -> Post | None:
    """What admission decided of a post, from its entries; None for an explicit send."""
    if not parts or parts[0].link is None:
        return None
    first = parts[0]
    place = Place(first.at, first.thread)
    return Post(
        first.link or Link(0, 0), place, words_of(parts), first.written, first.prefixed, first.target, first.copied,
        first.wholly,
    )
