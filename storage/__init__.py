"""MEMORY: what lasts. Bytes on disk; knows messages, not actors."""

from ..messages.errors import MapFull, RecordSetAside, StoreError, StoreInUse, StoreReadOnly
from .folder import NotAStore
from .lmdb_store import LmdbStore
from .memory import MemoryStore
from .opening import open_store
from .snapshot import SetAside, Snapshot, SnapshotOver
from .store import Statistics, Store
from .units import BadUnit, Done, Op, Ops, Unit
from .writers import SteppedWriter, StoreClosed, ThreadedWriter, Writer

__all__ = [
    "BadUnit",
    "Done",
    "LmdbStore",
    "MapFull",
    "MemoryStore",
    "NotAStore",
    "Op",
    "Ops",
    "RecordSetAside",
    "SetAside",
    "Snapshot",
    "SnapshotOver",
    "Statistics",
    "SteppedWriter",
    "Store",
    "StoreClosed",
    "StoreError",
    "StoreInUse",
    "StoreReadOnly",
    "ThreadedWriter",
    "Unit",
    "Writer",
    "open_store",
]
