"""Writers: when what was handed in is committed.

A store is given its writer from outside: `ThreadedWriter` commits on a thread of its own as soon as it can,
`SteppedWriter` when it is told to. Both take all that has gathered into one commit, up to a bound, and
never wait for more to come (design, "What lasts": group commit). Neither knows what a commit does.
"""

import atexit
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from ..messages.errors import StoreError
from .units import Waiting

MOST_UNITS = 1_000
MOST_BYTES = 4 * 1024 * 1024

Commit: TypeAlias = Callable[[Sequence[Waiting]], None]


class StoreClosed(StoreError):
    """The store was closed; the unit was not applied."""

    def __init__(self) -> None:
        super().__init__("the store is closed; open it again with open_store()")


class Writer(Protocol):
    """What a store asks of its writer. All methods may be called from any thread."""

    def start(self, commit: Commit) -> None:
        """Begin; `commit` takes a batch, acknowledges every unit of it and never raises."""
        ...

    def submit(self, item: Waiting) -> bool:
        """Take a unit, in the order given. False if the writer is closed."""
        ...

    def waiting(self) -> int:
        """How many units are not acknowledged yet."""
        ...

    def drop(self) -> int:
        """Forget what is not committed, unacknowledged, as a crash would, and go on; how many units that were."""
        ...

    def close(self, forget: bool = False) -> None:
        """Commit what has gathered, or forget it, and take nothing more."""
        ...

    def fresh(self) -> "Writer":
        """A new, unstarted writer of the same kind."""
        ...


def take(queue: deque[Waiting], most_units: int, most_bytes: int) -> list[Waiting]:
    """The next batch, taken off the queue. A unit is never split, so one large unit is a batch of its own."""
    batch: list[Waiting] = []
    size = 0
    while queue and len(batch) < most_units and (not batch or size + queue[0].size <= most_bytes):
        item = queue.popleft()
        size += item.size
        batch.append(item)
    return batch


class SteppedWriter:
    """Commits when it is told to: one `step` is one batch. For tests and for the simulation."""

    def __init__(self, most_units: int = MOST_UNITS, most_bytes: int = MOST_BYTES) -> None:
        self._bounds = (most_units, most_bytes)
        self._queue: deque[Waiting] = deque()
        self._commit: Commit | None = None
        self._closed = False

    def start(self, commit: Commit) -> None:
        """See `Writer`. Raises StoreError for a writer that has a store already."""
        if self._commit is not None:
            raise StoreError("this writer serves a store already; give each store one of its own")
        self._commit = commit

    def submit(self, item: Waiting) -> bool:
        """See `Writer`."""
        if self._closed:
            return False
        self._queue.append(item)
        return True

    def waiting(self) -> int:
        """See `Writer`."""
        return len(self._queue)

    def pending(self) -> bool:
        """Whether a step would commit anything."""
        return bool(self._queue)

    def step(self) -> int:
        """Commit what has gathered, up to the bound; how many units that were."""
        batch = take(self._queue, *self._bounds)
        if batch and self._commit is not None:
            self._commit(batch)
        return len(batch)

    def drop(self) -> int:
        """See `Writer`."""
        dropped = len(self._queue)
        self._queue.clear()
        return dropped

    def close(self, forget: bool = False) -> None:
        """See `Writer`."""
        if forget:
            self.drop()
        while self.step():
            pass
        self._closed = True

    def fresh(self) -> "SteppedWriter":
        """See `Writer`."""
        return SteppedWriter(*self._bounds)


class ThreadedWriter:
    """Commits on a daemon thread of its own; what gathered while one commit ran is the next one.

    The interpreter's exit closes a writer that nobody closed, so that what was handed in is committed.
    """

    def __init__(self, most_units: int = MOST_UNITS, most_bytes: int = MOST_BYTES) -> None:
        self._bounds = (most_units, most_bytes)
        self._queue: deque[Waiting] = deque()
        self._changed = threading.Condition(threading.Lock())
        self._commit: Commit | None = None
        self._thread: threading.Thread | None = None
        self._taken = 0
        self._closed = False

    def start(self, commit: Commit) -> None:
        """See `Writer`. Raises StoreError for a writer that has a store already."""
        if self._thread is not None:
            raise StoreError("this writer serves a store already; give each store one of its own")
        self._commit = commit
        self._thread = threading.Thread(target=self._run, name="manyminds-writer", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def submit(self, item: Waiting) -> bool:
        """See `Writer`."""
        with self._changed:
            if self._closed:
                return False
            self._queue.append(item)
            self._changed.notify()
        return True

    def waiting(self) -> int:
        """See `Writer`."""
        return len(self._queue) + self._taken

    def drop(self) -> int:
        """See `Writer`. A commit that has begun is finished and acknowledged."""
        with self._changed:
            dropped = len(self._queue)
            self._queue.clear()
            return dropped

    def close(self, forget: bool = False) -> None:
        """See `Writer`. Raises StoreError if called from an acknowledgement, which would wait for itself."""
        if threading.current_thread() is self._thread:
            raise StoreError("a store cannot be closed from an acknowledgement; close it from another thread")
        with self._changed:
            self._closed = True
            if forget:
                self._queue.clear()
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()
            atexit.unregister(self.close)

    def fresh(self) -> "ThreadedWriter":
        """See `Writer`."""
        return ThreadedWriter(*self._bounds)

    def _run(self) -> None:
        while batch := self._next():
            if self._commit is not None:
                self._commit(batch)
            self._taken = 0

    def _next(self) -> list[Waiting]:
        with self._changed:
            while not self._queue and not self._closed:
                self._changed.wait()
            batch = take(self._queue, *self._bounds)
            self._taken = len(batch)
            return batch
