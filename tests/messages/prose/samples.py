"""Places and states that the prose tests begin from."""

from manyminds.messages.places import ChannelRef, Place
from manyminds.messages.prose import Retained, fresh_turn


def at(channel: str) -> Place:
    """The place of a channel."""
    return Place(ChannelRef("", channel))


A, B, HOME = at("a"), at("b"), at("home")
EXPLICIT = fresh_turn("explicit")
HYBRID = fresh_turn("hybrid", HOME)
LOCUS = fresh_turn("locus", HOME)
DISABLED = fresh_turn("disabled", HOME)
OLD = Retained("d-old", "old words")
