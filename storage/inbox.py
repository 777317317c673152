"""The inbox: what a room accepted and has not moved into its log yet, in order of arrival.

Written in one unit with the wakes that an entry causes, before anybody is woken; a drain removes a prefix in the
unit that appends it to the log (design, "What lasts"). Numbers go up and are never used twice. Pure over a snapshot.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from ..messages.codec import encode, record
from ..messages.rows import Row
from . import blobs, counters
from .keys import INBOX, LAST, between, key, under
from .snapshot import Snapshot
from .units import Op, Ops

_NUMBERS = "inbox"


@record("inbox-entry")
@dataclass(frozen=True, slots=True)
class InboxEntry:
    """A message that waits: its number, its row, and the bytes that it takes of the inbox's bound."""

    number: int
    row: Row
    size: int


def put(room: str, entry: InboxEntry) -> Ops:
    """Accept an entry; its number becomes the room's last. Large blocks become blobs beside it."""
    row, ops = blobs.lift(entry.row)
    stored = InboxEntry(entry.number, row, entry.size)
    return (
        *ops,
        (INBOX, key(room, entry.number), encode(stored)),
        counters.put(_NUMBERS, room, entry.number),
    )


def waiting(snapshot: Snapshot, room: str, after: int = 0, limit: int | None = None) -> Iterator[InboxEntry]:
    """Entries with numbers above `after`, in order of arrival, at most `limit`.

    Large blocks are stubs, which the log takes as they are; `log.resolve` fills a row in.
    """
    found = snapshot.records(INBOX, *between((room,), after, LAST), InboxEntry)
    return islice((entry for _, entry in found), limit)


def remove(room: str, number: int) -> Op:
    """Take an entry out: it went into the log in this very unit."""
    return INBOX, key(room, number), None


def last_number(snapshot: Snapshot, room: str) -> int:
    """The highest number that was ever given out, 0 if none; it stays when the inbox is empty."""
    return counters.last(snapshot, _NUMBERS, room)


def set_last_number(room: str, number: int) -> Op:
    """Give a number out without an entry, for a wake that stands for no message."""
    return counters.put(_NUMBERS, room, number)


def totals(snapshot: Snapshot, room: str) -> tuple[int, int]:
    """(messages, bytes) that wait."""
    sizes = [entry.size for _, entry in snapshot.records(INBOX, *under(room), InboxEntry)]
    return len(sizes), sum(sizes)
