"""Seen: platform ids per channel, so that one message delivered twice is one message, across restarts too.

Bounded per channel, the oldest going first (S10). The owner of the channel's intake holds a `SeenIds` and
decides in memory; the unit that accepts the message remembers its id.
"""

from ..messages.codec import encode
from ..messages.places import ChannelRef
from .keys import SEEN, SEEN_IDS, key, number, under
from .snapshot import Snapshot
from .units import Ops

BOUND = 10_000


def known(snapshot: Snapshot, ref: ChannelRef, platform_id: str) -> bool:
    """Whether the id is remembered."""
    return snapshot.get(SEEN_IDS, key(ref.server, ref.channel, platform_id)) is not None


def last(snapshot: Snapshot, ref: ChannelRef) -> str | None:
    """The id that was remembered last, for an adapter that asks where to go on."""
    newest = snapshot.records(SEEN, *under(ref.server, ref.channel), str, reverse=True)
    return next((platform_id for _, platform_id in newest), None)


def load(snapshot: Snapshot, ref: ChannelRef, bound: int = BOUND) -> "SeenIds":
    """What is remembered of one channel."""
    found = snapshot.records(SEEN, *under(ref.server, ref.channel), str)
    return SeenIds(ref, {platform_id: number(at) for at, platform_id in found}, bound)


class SeenIds:
    """The ids of one channel, oldest first, and the writes that remember one more. Not for two threads at once."""

    def __init__(self, ref: ChannelRef, numbers: dict[str, int], bound: int = BOUND) -> None:
        self.ref = ref
        self.bound = bound
        self._numbers = numbers
        self._last = max(numbers.values(), default=0)

    def __contains__(self, platform_id: str) -> bool:
        return platform_id in self._numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def last(self) -> str | None:
        """The id that was added last."""
        return next(reversed(self._numbers), None)

    def add(self, platform_id: str) -> Ops:
        """Remember an id; the oldest are forgotten past the bound. An id that is known keeps its place: no writes."""
        if platform_id in self._numbers:
            return ()
        self._last += 1
        self._numbers[platform_id] = self._last
        put = (
            (SEEN, self._key(self._last), encode(platform_id)),
            (SEEN_IDS, self._key(platform_id), encode(self._last)),
        )
        return put + self._overflow()

    def discard(self, platform_id: str) -> None:
        """Take back an `add` whose unit was refused."""
        self._numbers.pop(platform_id, None)

    def _overflow(self) -> Ops:
        ops: Ops = ()
        while len(self._numbers) > self.bound:
            oldest = next(iter(self._numbers))
            ops += ((SEEN, self._key(self._numbers.pop(oldest)), None), (SEEN_IDS, self._key(oldest), None))
        return ops

    def _key(self, part: str | int) -> bytes:
        return key(self.ref.server, self.ref.channel, part)
