"""What a stream has streamed, envelope by envelope, and what its `complete` notices carry (prose 6.5, 13 gap 1).

The router writes pieces; at each round's verdict those of admitted envelopes are merged. Ordinals are
admission's, so a piece and its envelope find each other by number. Never decides what is admitted.
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import Final

from ..places import Place

# The ordinal of whitespace that belongs to no envelope.
BLANK_PIECE: Final = -1


@dataclass(slots=True)
class StreamedPiece:
    """What one envelope streamed: its ordinal in the round, where to, and the text in parts."""

    ordinal: int
    place: Place
    parts: list[str] = field(default_factory=list[str])

    @property
    def text(self) -> str:
        """The streamed text."""
        return "".join(self.parts)


class Pieces:
    """The pieces of one stream, in the order they were streamed. Written by the router alone.

    `ordinal` counts the envelopes of the round as admission does: a lead of whitespace alone is none.
    `begun` says that the current one has words or a prefix.
    """

    __slots__ = ("_pieces", "_round_start", "begun", "ordinal")

    def __init__(self) -> None:
        self._pieces: list[StreamedPiece] = []
        self.begin_round()

    def begin_round(self) -> None:
        """The next round counts its envelopes from 0."""
        self.ordinal = 0
        self.begun = False
        self._round_start = len(self._pieces)

    def turn(self, begun: bool) -> None:
        """The current envelope is over; what was streamed before any word of one belongs to none."""
        if self.begun:
            self.ordinal += 1
        elif len(self._pieces) > self._round_start and self._pieces[-1].ordinal == self.ordinal:
            self._pieces[-1].ordinal = BLANK_PIECE
        self.begun = begun

    def write_to(self, place: Place | None) -> list[str]:
        """The list that takes what the current envelope streams to this place."""
        if place is None:
            return []
        piece = StreamedPiece(self.ordinal, place)
        self._pieces.append(piece)
        return piece.parts

    def of_round(self) -> list[StreamedPiece]:
        """What this round streamed."""
        return [piece for piece in self._pieces[self._round_start :] if piece.parts]

    def by_place(self) -> dict[Place, str]:
        """Everything streamed, by place, in order of first emission."""
        return joined(self._pieces)

    def drop_round(self) -> None:
        """Forget what this round streamed, and what it counted."""
        del self._pieces[self._round_start :]
        self.begin_round()

    def drop_all(self) -> None:
        """Forget everything."""
        self._pieces.clear()
        self.begin_round()


class StreamedText:
    """The text that the `complete` notices of one inferenceId carry: that of admitted envelopes.

    A channel that got chunks and nothing admitted is there with the empty text, so that it is closed.
    """

    __slots__ = ("_admitted", "_chunked")

    def __init__(self) -> None:
        self._chunked: dict[Place, str] = {}
        self._admitted: dict[tuple[int, int], list[StreamedPiece]] = {}

    def merge(self, round_: int, pieces: Iterable[StreamedPiece], admitted: Container[int]) -> None:
        """A round's verdict: keep what the admitted ordinals streamed (none of an abandoned round)."""
        for piece in pieces:
            self._chunked.setdefault(piece.place, "")
            if piece.ordinal in admitted:
                self._admitted.setdefault((round_, piece.ordinal), []).append(piece)

    def withdraw(self, round_: int, ordinal: int) -> None:
        """A post has failed or was withheld before `complete` was sent: its text is not carried."""
        self._admitted.pop((round_, ordinal), None)

    def complete(self) -> dict[Place, str]:
        """The text of each chunked place, by rounds and envelopes."""
        kept = (piece for _, pieces in sorted(self._admitted.items()) for piece in pieces)
        return {**self._chunked, **joined(kept)}


def joined(pieces: Iterable[StreamedPiece]) -> dict[Place, str]:
    """The text of the pieces by place, in order."""
    parts: dict[Place, list[str]] = {}
    for piece in pieces:
        if piece.parts:
            parts.setdefault(piece.place, []).extend(piece.parts)
    return {place: "".join(texts) for place, texts in parts.items()}
