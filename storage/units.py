"""Units: what the writer is given, and what it may hold.

A unit is a list of (table, key, value or nothing), applied whole or not at all and acknowledged once
(design, "What lasts"). Checked here before it reaches an engine, so that both engines refuse the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..messages.errors import StoreError
from .keys import LONGEST_KEY, TABLES

Op: TypeAlias = tuple[str, bytes, bytes | None]
Ops: TypeAlias = tuple[Op, ...]
Unit: TypeAlias = Sequence[Op]
Done: TypeAlias = Callable[[Exception | None], None]


class BadUnit(StoreError):
    """A unit that no store could apply: an unknown table, or a key of a wrong length."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A unit that was handed in and has no acknowledgement yet. `size` is in bytes."""

    ops: Ops
    done: Done
    size: int


def waiting(unit: Unit, done: Done) -> Waiting:
    """The unit, frozen and weighed."""
    ops = tuple(unit)
    return Waiting(ops, done, sum(len(key) + len(value or b"") for _, key, value in ops))


def fault_of(ops: Ops) -> BadUnit | None:
    """What makes the unit unusable, if anything does."""
    for table, key, value in ops:
        if table not in TABLES:
            return BadUnit(f"there is no table {table!r}; the tables are listed in manyminds.storage.keys")
        if not 0 < len(key) <= LONGEST_KEY:
            return BadUnit(f"a key of {len(key)} bytes; keys have 1 to {LONGEST_KEY}: make them with storage.keys")
        if not isinstance(key, bytes) or not isinstance(value, bytes | None):
            return BadUnit(f"{table}: keys and values are bytes; encode records with manyminds.messages.codec")
    return None
