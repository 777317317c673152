"""Where mail goes, and the two forms of what is told after a unit: addresses, operations, letters.

An address is made here and nowhere else, so that a name always means the same actor.
"""

from typing import Any, TypeAlias

from ..address import Address, ReplyTo
from ..places import ChannelRef

Ops: TypeAlias = tuple[tuple[str, bytes, bytes | None], ...]
Letters: TypeAlias = tuple[tuple[Address, Any], ...]

DIRECTORY = Address("directory", "main")
GATEWAY = Address("gateway", "main")
STOPPER = Address("stopper", "main")
TO_GATEWAY = ReplyTo(GATEWAY)


def room_address(name: str) -> Address:
    """Where the mail of a room goes."""
    return Address("room", name)


def agent_address(name: str, incarnation: int = 0) -> Address:
    """Where the mail of an agent goes."""
    return Address("agent", name, incarnation)


def provider_address(name: str) -> Address:
    """Where admission to a provider is asked for."""
    return Address("provider", name)


def channel_address(at: ChannelRef) -> Address:
    """Where the mail of a channel goes; the pair is kept apart by the length of its first part."""
    return Address("channel", f"{len(at.server)}:{at.server}:{at.channel}")


def channel_of_address(address: Address) -> ChannelRef:
    """The channel of `channel_address`."""
    size, rest = address.name.split(":", 1)
    return ChannelRef(rest[: int(size)], rest[int(size) + 1 :])
