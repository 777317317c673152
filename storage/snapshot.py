"""Snapshots: one consistent reading of the store, alive inside its `with` only.

A record that is torn or of another version is named once, in the log and in the store's list, and passed
over; nobody guesses at it (design, "What lasts": codec). Reads only.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, overload

from ..messages.codec import decode
from ..messages.errors import RecordSetAside, StoreError

logger = logging.getLogger(__name__)
T = TypeVar("T")


class SnapshotOver(StoreError):
    """A snapshot was read after its `with` had ended."""

    def __init__(self) -> None:
        super().__init__("this snapshot is over; read what you need inside its `with`, into a list or a dict")


class View(Protocol):
    """What an engine offers to read by."""

    def get(self, table: str, key: bytes) -> bytes | None:
        """The value, or None."""
        ...

    def scan(self, table: str, start: bytes, stop: bytes, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        """Every (key, value) with start <= key < stop, in order of the key."""
        ...


@dataclass(frozen=True, slots=True)
class SetAside:
    """A record that could not be read: where it is, and why."""

    table: str
    key: bytes
    reason: str


class Snapshot:
    """One reading of the whole store. Values are bytes (`get`, `scan`) or decoded records (`read`, `records`)."""

    __slots__ = ("_aside", "_view")

    def __init__(self, view: View, aside: Callable[[SetAside], None]) -> None:
        self._view = view
        self._aside = aside

    def get(self, table: str, key: bytes) -> bytes | None:
        """The bytes under a key, or None."""
        return self._view.get(table, key)

    def scan(self, table: str, start: bytes, stop: bytes, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        """Every (key, bytes) with start <= key < stop, in order of the key, or backwards."""
        return self._view.scan(table, start, stop, reverse)

    @overload
    def read(self, table: str, key: bytes) -> Any: ...
    @overload
    def read(self, table: str, key: bytes, kind: type[T]) -> T | None: ...

    def read(self, table: str, key: bytes, kind: type[Any] = object) -> Any:
        """The record under a key, or None where there is none or it was set aside.

        With `kind`, a record of another class is set aside too.
        """
        data = self._view.get(table, key)
        return None if data is None else next(self._decoded(table, key, data, kind), None)

    @overload
    def records(self, table: str, start: bytes, stop: bytes, *, reverse: bool = False) -> Iterator[tuple[bytes, Any]]:
        ...
    @overload
    def records(
        self, table: str, start: bytes, stop: bytes, kind: type[T], *, reverse: bool = False
    ) -> Iterator[tuple[bytes, T]]: ...

    def records(
        self, table: str, start: bytes, stop: bytes, kind: type[Any] = object, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, Any]]:
        """Every (key, record) with start <= key < stop; what is set aside is passed over."""
        for key, data in self._view.scan(table, start, stop, reverse):
            for value in self._decoded(table, key, data, kind):
                yield key, value

    def set_aside(self, table: str, key: bytes, reason: str) -> None:
        """Name a record that cannot be used, for a reason that only its reader sees."""
        self._aside(SetAside(table, key, reason))

    def _decoded(self, table: str, key: bytes, data: bytes, kind: type[Any]) -> Iterator[Any]:
        # Yields nothing where the record was set aside, since None is a value too.
        try:
            value = decode(data)
        except RecordSetAside as exc:
            self.set_aside(table, key, str(exc))
            return
        if isinstance(value, kind):
            yield value
        else:
            self.set_aside(table, key, f"holds a {type(value).__name__} where a {kind.__name__} belongs")


class SetAsideList:
    """The records that were set aside, each named once, the newest thousand."""

    def __init__(self, most: int = 1_000) -> None:
        self._most = most
        self._found: dict[tuple[str, bytes], SetAside] = {}

    def __call__(self, found: SetAside) -> None:
        """Name a record, in the log too if it is a new one."""
        where = (found.table, found.key)
        if where in self._found:
            return
        self._found[where] = found
        if len(self._found) > self._most:
            self._found.pop(next(iter(self._found)), None)
        logger.warning("record set aside: table %s, key %s: %s", found.table, found.key.hex(), found.reason)

    def all(self) -> list[SetAside]:
        """Those named so far, oldest first."""
        return list(self._found.values())
