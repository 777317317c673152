"""The store on disk: one LMDB environment in one folder.

One environment a process, opened here and nowhere else; the writer has the only write transaction. The map is
sparse and large, and grows between transactions when it is full, up to a limit. A record is never half written: LMDB
commits a transaction whole, whatever ends the process.
"""

import logging
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lmdb

from ..messages.codec import decode, encode, record
from ..messages.errors import MapFull, RecordSetAside
from .folder import DATA_FILE, FolderLock, NotAStore
from .keys import META, TABLES, WRITTEN_ONCE
from .lmdb_faults import STEP, named, refuse_cut
from .snapshot import SnapshotOver, View
from .store import GroupedStore
from .units import Ops
from .writers import ThreadedWriter, Writer

logger = logging.getLogger(__name__)
FORMAT = 1
MAP_SIZE = 64 * 1024**3
MAP_LIMIT = 1024**4
RESERVE = 16 * STEP
"""Bytes past the limit that deletions may use: a full map could not be emptied without, since LMDB copies on write."""

_STAMP = b"format"


@record("store")
@dataclass(frozen=True, slots=True)
class Stamp:
    """What says that an environment is ours, and in which format its tables are."""

    format: int


class LmdbView:
    """What a snapshot of the environment reads, until it is over."""

    __slots__ = ("_tables", "_txn", "over")

    def __init__(self, txn: "lmdb.Transaction[bytes]", tables: dict[str, Any]) -> None:
        self._txn = txn
        self._tables = tables
        self.over = False

    def get(self, table: str, key: bytes) -> bytes | None:
        """See `View`."""
        if self.over:
            raise SnapshotOver
        return self._txn.get(key, db=self._tables[table])

    def scan(self, table: str, start: bytes, stop: bytes, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        """See `View`."""
        if self.over:
            raise SnapshotOver
        with self._txn.cursor(db=self._tables[table]) as cursor:
            found = _before(cursor, stop) if reverse else cursor.set_range(start)
            items = cursor.iterprev() if reverse else cursor.iternext()
            for key, value in items if found else ():
                if not start <= key < stop:
                    return
                yield key, value
                if self.over:
                    raise SnapshotOver


def _before(cursor: "lmdb.Cursor[bytes]", stop: bytes) -> bool:
    return cursor.prev() if cursor.set_range(stop) else cursor.last()


class LmdbStore(GroupedStore):
    """A store in a folder. See `open_store` for the errors that opening raises."""

    def __init__(
        self, folder: str | Path, *, map_size: int = MAP_SIZE, map_limit: int = MAP_LIMIT, sync: bool = True,
        writer: Writer | None = None,
    ) -> None:
        self.folder = Path(folder).absolute()
        self._sync = sync
        self._map_size = _whole(map_size)
        self._map_limit = max(_whole(map_limit), self._map_size)
        self._lock = FolderLock(self.folder)
        self._lock.take()
        try:
            self._env = self._opened()
            self._tables = self._stamped()
        except BaseException:
            self._lock.release()
            raise
        super().__init__(writer or ThreadedWriter())

    def reopen(self, writer: Writer | None = None) -> "LmdbStore":
        """See `Store`."""
        self._end(forget=True)
        return LmdbStore(
            self.folder, map_size=self._map_size, map_limit=self._map_limit, sync=self._sync,
            writer=writer or self.writer.fresh(),
        )

    def _opened(self) -> lmdb.Environment:
        try:
            env = lmdb.open(
                str(self.folder), map_size=self._map_size, max_dbs=64, max_readers=1024, mode=0o600, sync=self._sync,
                metasync=self._sync, max_spare_txns=16,
            )
        except (lmdb.InvalidError, lmdb.CorruptedError, lmdb.VersionMismatchError) as exc:
            raise NotAStore(f"{self.folder / DATA_FILE} is not a store, or is damaged ({exc}); left as it is") from exc
        except lmdb.Error as exc:
            raise named(exc, self.folder) from exc
        env.reader_check()
        return env

    def _stamped(self) -> dict[str, Any]:
        try:
            refuse_cut(self._env, self.folder)
            if self._env.stat()["entries"]:
                self._check_stamp()
            # Tables and stamp in one transaction: a kill leaves an environment with nothing in it, or a store.
            with self._env.begin(write=True) as txn:
                tables: dict[str, Any] = {name: self._env.open_db(name.encode(), txn) for name in sorted(TABLES)}
                txn.put(_STAMP, encode(Stamp(FORMAT)), db=tables[META], overwrite=False)
        except lmdb.Error as exc:
            self._env.close()
            raise named(exc, self.folder) from exc
        except BaseException:
            self._env.close()
            raise
        return tables

    def _check_stamp(self) -> None:
        stamp: Any = None
        try:
            meta = self._env.open_db(META.encode(), create=False)
            with self._env.begin(db=meta) as txn:
                stamp = decode(txn.get(_STAMP) or b"")
        except (lmdb.NotFoundError, lmdb.IncompatibleError, RecordSetAside):
            pass
        if not isinstance(stamp, Stamp):
            raise NotAStore(f"{self.folder} holds the LMDB environment of another program; name another folder")
        if stamp.format != FORMAT:
            raise NotAStore(f"{self.folder} is a store of format {stamp.format}; this version reads format {FORMAT}")

    def _apply(self, units: Sequence[Ops]) -> None:
        while True:
            try:
                self._write(units)
            except lmdb.MapFullError as exc:
                if not self._grow(units):
                    raise MapFull(
                        f"the map of {self.folder} is full at {self._map_size} bytes; nothing of the unit was written: "
                        "prune the store, or open it with a larger map_limit"
                    ) from exc
            except lmdb.Error as exc:
                raise named(exc, self.folder) from exc
            else:
                return

    def _write(self, units: Sequence[Ops]) -> None:
        with self._env.begin(write=True) as txn:
            for ops in units:
                for table, key, value in ops:
                    if value is None:
                        txn.delete(key, db=self._tables[table])
                    else:
                        txn.put(key, value, db=self._tables[table], overwrite=table not in WRITTEN_ONCE)

    def _grow(self, units: Sequence[Ops]) -> bool:
        freeing = all(value is None for ops in units for _, _, value in ops)
        limit = self._map_limit + (RESERVE if freeing else 0)
        size = min(_whole(self._map_size * 2), limit) if not freeing else min(self._map_size + STEP, limit)
        if size <= self._map_size:
            return False
        with self._gate.alone() as alone:
            if not alone:
                return False
            self._env.set_mapsize(size)
        logger.info("the map of %s grew from %d to %d bytes", self.folder, self._map_size, size)
        self._map_size = size
        return True

    @contextmanager
    def _view(self) -> Generator[View]:
        with self._env.begin(buffers=False) as txn:
            view = LmdbView(txn, self._tables)
            try:
                yield view
            finally:
                view.over = True

    def _space(self) -> tuple[int, int]:
        info = self._env.info()
        return (info["last_pgno"] + 1) * self._env.stat()["psize"], info["map_size"]

    def _shut(self) -> None:
        if not self._sync:
            self._env.sync(True)
        self._env.close()
        self._lock.release()


def _whole(size: int) -> int:
    return max(STEP, -(-size // STEP) * STEP)
