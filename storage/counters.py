"""Counters: the last number given out, by kind and name. A counter outlives what it counted and never goes back.

The owner of the numbers counts in memory and writes the new value in the unit that uses it. Pure over a snapshot.
"""

from ..messages.codec import encode
from .keys import COUNTERS, key
from .snapshot import Snapshot
from .units import Op


def last(snapshot: Snapshot, kind: str, name: str) -> int:
    """The last number given out, 0 if none was."""
    return snapshot.read(COUNTERS, key(kind, name), int) or 0


def put(kind: str, name: str, value: int) -> Op:
    """Write that `value` was given out."""
    return COUNTERS, key(kind, name), encode(value)
