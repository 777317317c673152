"""The store in memory: the public twin of `LmdbStore`, for tests and the simulation.

Same units, same order, same refusals, same snapshots; what is committed survives `reopen`, as a file would.
Tables are sorted chunks that are never changed once they are published, so a snapshot is a reference and no
reader is in a commit's way.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from .keys import TABLES, WRITTEN_ONCE
from .snapshot import SnapshotOver, View
from .store import GroupedStore
from .units import Ops
from .writers import ThreadedWriter, Writer

CHUNK = 256


@dataclass(slots=True)
class Chunk:
    """Part of a table: keys in order, and their values."""

    keys: list[bytes] = field(default_factory=list[bytes])
    values: list[bytes] = field(default_factory=list[bytes])


@dataclass(slots=True)
class Table:
    """Chunks in order of their keys, and the first key of each. At least one chunk, whose first key is empty."""

    firsts: list[bytes] = field(default_factory=lambda: [b""])
    chunks: list[Chunk] = field(default_factory=lambda: [Chunk()])
    size: int = 0

    def get(self, key: bytes) -> bytes | None:
        """The value, or None."""
        chunk = self.chunks[bisect_right(self.firsts, key) - 1]
        at = bisect_left(chunk.keys, key)
        return chunk.values[at] if at < len(chunk.keys) and chunk.keys[at] == key else None

    def scan(self, start: bytes, stop: bytes, reverse: bool) -> Iterator[tuple[bytes, bytes]]:
        """Every (key, value) with start <= key < stop."""
        low = bisect_right(self.firsts, start) - 1
        high = bisect_left(self.firsts, stop)
        chunks = self.chunks[max(low, 0):high]
        for chunk in reversed(chunks) if reverse else chunks:
            span = range(bisect_left(chunk.keys, start), bisect_left(chunk.keys, stop))
            for at in reversed(span) if reverse else span:
                yield chunk.keys[at], chunk.values[at]


class Draft:
    """A table in the making: chunks are copied when they are first written to."""

    def __init__(self, table: Table) -> None:
        self.table = Table(list(table.firsts), list(table.chunks), table.size)
        self._own: set[int] = set()

    def put(self, key: bytes, value: bytes | None, once: bool) -> None:
        """Write, or delete where `value` is None; with `once`, leave what is there."""
        which = bisect_right(self.table.firsts, key) - 1
        chunk = self._writable(which)
        at = bisect_left(chunk.keys, key)
        found = at < len(chunk.keys) and chunk.keys[at] == key
        if found and (value is None or not once):
            self.table.size -= len(key) + len(chunk.values[at])
            del chunk.keys[at], chunk.values[at]
        if value is not None and not (found and once):
            self.table.size += len(key) + len(value)
            chunk.keys.insert(at, key)
            chunk.values.insert(at, value)
        self._balance(which, chunk)

    def _writable(self, which: int) -> Chunk:
        chunk = self.table.chunks[which]
        if id(chunk) not in self._own:
            chunk = Chunk(list(chunk.keys), list(chunk.values))
            self.table.chunks[which] = chunk
            self._own.add(id(chunk))
        return chunk

    def _balance(self, which: int, chunk: Chunk) -> None:
        if len(chunk.keys) > 2 * CHUNK:
            upper = Chunk(chunk.keys[CHUNK:], chunk.values[CHUNK:])
            del chunk.keys[CHUNK:], chunk.values[CHUNK:]
            self.table.chunks.insert(which + 1, upper)
            self.table.firsts.insert(which + 1, upper.keys[0])
            self._own.add(id(upper))
        elif not chunk.keys and which > 0:
            del self.table.chunks[which], self.table.firsts[which]


@dataclass(slots=True)
class MemoryView:
    """What a snapshot of the twin reads, until it is `over`."""

    tables: dict[str, Table]
    over: bool = False

    def get(self, table: str, key: bytes) -> bytes | None:
        """See `View`."""
        if self.over:
            raise SnapshotOver
        return self.tables[table].get(key)

    def scan(self, table: str, start: bytes, stop: bytes, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        """See `View`."""
        for item in self.tables[table].scan(start, stop, reverse):
            if self.over:
                raise SnapshotOver
            yield item
        if self.over:
            raise SnapshotOver


class MemoryStore(GroupedStore):
    """A store without a file."""

    def __init__(self, *, writer: Writer | None = None) -> None:
        self._tables = {name: Table() for name in sorted(TABLES)}
        super().__init__(writer or ThreadedWriter())

    def reopen(self, writer: Writer | None = None) -> "MemoryStore":
        """See `Store`."""
        self._end(forget=True)
        again = MemoryStore(writer=writer or self.writer.fresh())
        again._tables = self._tables
        return again

    def _apply(self, units: Sequence[Ops]) -> None:
        drafts: dict[str, Draft] = {}
        for ops in units:
            for table, key, value in ops:
                if table not in drafts:
                    drafts[table] = Draft(self._tables[table])
                drafts[table].put(key, value, table in WRITTEN_ONCE)
        self._tables = self._tables | {name: draft.table for name, draft in drafts.items()}

    @contextmanager
    def _view(self) -> Generator[View]:
        view = MemoryView(self._tables)
        try:
            yield view
        finally:
            view.over = True

    def _space(self) -> tuple[int, int]:
        return sum(table.size for table in self._tables.values()), 0

    def _shut(self) -> None:
        pass
