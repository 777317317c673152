"""Targets: the registry's channels as prose resolves them, and a person's name as a direct channel (prose 4.5).

Reads the store once a round, so that a round's targets are judged by one state of the registry. Decides nothing.
"""

from collections.abc import Callable

from ..messages.prose.resolve import ChannelEntry, Resolution, resolve
from ..messages.registry import ChannelRecord
from ..storage import registry
from .system import Store


def entry_of(known: ChannelRecord) -> ChannelEntry:
    """What resolving may know of a channel; a direct channel's label is its person's name."""
    person = known.label or known.at.channel if known.kind == "dm" else None
    return ChannelEntry(
        known.at.channel, known.at.server, known.label, known.at.channel, known.kind,
        known.at.channel if known.kind == "dm" else None, person,
    )


def channel_entries(store: Store) -> list[ChannelEntry]:
    """Every known channel."""
    with store.snapshot() as snap:
        return [entry_of(known) for known in registry.channels(snap)]


def resolver(store: Store) -> Callable[[str], Resolution]:
    """A resolver over the channels as they are now; it reads them when it is first asked."""
    known: list[ChannelEntry] = []

    def answer(token: str) -> Resolution:
        if not known:
            known.extend(channel_entries(store))
        return resolve(token, known)

    return answer
