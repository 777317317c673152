"""Invitations: what stands below a message that addresses a resident from a closed channel (agents.md 10.8, prose 12).

It says where the message came from and what can be done; it opens nothing. Its target is one that the grammar reads as
one token and that resolves back to the very channel. Pure.
"""

from collections.abc import Sequence
from dataclasses import replace

from .blocks import Text
from .notices import named
from .prose.resolve import ChannelEntry, spelled
from .registry import ChannelRecord
from .rows import Row


def invited(row: Row, channel: ChannelRecord, entry: ChannelEntry, channels: Sequence[ChannelEntry]) -> Row:
    """The row with its invitation. `entry`: the channel as targets are resolved, among all `channels`."""
    target = spelled(entry, channels)
    stamp = {"channelId": channel.at.channel, "serverId": channel.at.server, **({"target": target} if target else {})}
    content, opening = row.content, row.opening
    if opening and not any(isinstance(block, Text) for block in content):
        # An opening stands before the first words, and these would be taken for the speaker's.
        content, opening = (Text(opening.rstrip()), *content), ""
    metadata = {**row.metadata, "channelInvitation": stamp}
    return replace(row, content=(*content, Text(_words(channel, target))), metadata=metadata, opening=opening)


def _words(channel: ChannelRecord, target: str | None) -> str:
    place, at = named(channel.at, channel.label), channel.at
    ids = f"channelId {at.channel!r} and serverId {at.server!r}"
    if target is None:
        answer = f"To answer there, call channel_publish with {ids}"
    else:
        answer = f"To answer there, name {target} as the destination, or call channel_publish with {ids}"
    return (
        f"[channel-invitation] This message addresses you from {place}, which is closed. {answer}; what you post there "
        "opens it. To hear what is said there, call channel_open. To leave it closed, do nothing."
    )
