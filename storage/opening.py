"""Opening a store: on disk, or its twin in memory."""

from pathlib import Path

from .lmdb_store import MAP_LIMIT, MAP_SIZE, LmdbStore
from .memory import MemoryStore
from .writers import Writer


def open_store(
    folder: str | Path | None, *, map_size: int = MAP_SIZE, map_limit: int = MAP_LIMIT, sync: bool = True,
    writer: Writer | None = None,
) -> LmdbStore | MemoryStore:
    """The store in `folder`, made if it is missing; None: a store in memory, which lasts as long as the process.

    `map_size` and `map_limit` are bytes of address space, not of disk. `sync=False` leaves the time of writing to the
    operating system: safe when the process dies, not when the power goes.

    Raises StoreInUse (open already, here or elsewhere), StoreReadOnly, and NotAStore for a file, for a folder of
    something else and for a store of another format.
    """
    if folder is None:
        return MemoryStore(writer=writer)
    return LmdbStore(folder, map_size=map_size, map_limit=map_limit, sync=sync, writer=writer)
