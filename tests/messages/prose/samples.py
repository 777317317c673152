"""Places, states and one round of text: what the prose tests begin from."""

from itertools import count

from manyminds.messages.places import ChannelRef, Place
from manyminds.messages.prose import (
    Admission,
    Decision,
    Link,
    Piece,
    Resolution,
    Resolved,
    Retained,
    RoundTargets,
    Routing,
    Unresolved,
    Verdict,
    admit,
    freeze,
    fresh_turn,
    segments,
)


def at(channel: str) -> Place:
    """The place of a channel."""
    return Place(ChannelRef("", channel))


A, B, HOME = at("a"), at("b"), at("home")
EXPLICIT = fresh_turn("explicit")
HYBRID = fresh_turn("hybrid", HOME)
LOCUS = fresh_turn("locus", HOME)
DISABLED = fresh_turn("disabled", HOME)
OLD = Retained("d-old", "old words")
NEAR = Unresolved("no-match")
NORMAL, PRIVATE, SENT = Verdict(), Verdict(private=True), Verdict(silences=True)


def registry(token: str) -> Resolution:
    """`#a` and `#b` are channels, `#broken` makes it raise."""
    if token == "#broken":
        raise RuntimeError(token)
    return Resolved(token[1:]) if token in ("#a", "#b") else NEAR


def admitted(routing: Routing, *texts: str, found: Verdict = NORMAL) -> Admission:
    """Round 1 of these segments; new drafts are d-1, d-2, ..."""
    blocks: list[Piece] = []
    for text in texts:
        blocks.append(("text", text))
        blocks.append(("break", ""))
    frozen = freeze(routing.mode, segments(blocks), RoundTargets(registry))
    numbers = count(1)
    return admit(routing, 1, frozen, found, lambda: f"d-{next(numbers)}")


def decided(routing: Routing, *texts: str, found: Verdict = NORMAL) -> list[Decision]:
    """What is to be done with that round."""
    return list(admitted(routing, *texts, found=found).decisions)


def link(ordinal: int) -> Link:
    """A place in the chain of round 1."""
    return Link(1, ordinal)
