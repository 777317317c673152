"""Places: where words come from and go to. Identity is always the pair (server, channel) (agents.md 10.1)."""

from dataclasses import dataclass

from .codec import record


@record("channel")
@dataclass(frozen=True, slots=True, order=True)
class ChannelRef:
    """A channel: the same id on two servers is two channels."""

    server: str
    channel: str

    def __str__(self) -> str:
        return f"{self.server}/{self.channel}"


@record("place")
@dataclass(frozen=True, slots=True)
class Place:
    """A channel and, where the surface has them, a thread in it. A locus is a Place."""

    at: ChannelRef
    thread: str | None = None
