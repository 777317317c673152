"""Who is reading: the map may only grow, and the environment only close, while nobody reads.

LMDB leaves that to its user: a resize kills the snapshots that are open in the process, without a word.
Readers come and go freely; the writer waits for the last one to leave and lets no new one in meanwhile.
"""

import threading
from collections.abc import Generator
from contextlib import contextmanager


class Readers:
    """Counts open snapshots by thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._by_thread: dict[int, int] = {}
        self._closing = False

    @contextmanager
    def reading(self) -> Generator[None]:
        """Inside, nobody is `alone`. A thread that reads already is never kept waiting: it would wait for itself."""
        me = threading.get_ident()
        with self._changed:
            while self._closing and me not in self._by_thread:
                self._changed.wait()
            self._by_thread[me] = self._by_thread.get(me, 0) + 1
        try:
            yield
        finally:
            with self._changed:
                left = self._by_thread.pop(me) - 1
                if left:
                    self._by_thread[me] = left
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Generator[bool]:
        """Inside, nobody reads. Gives False, and no such promise, where this very thread has a snapshot open."""
        with self._changed:
            if threading.get_ident() in self._by_thread:
                yield False
                return
            self._closing = True
            try:
                while self._by_thread:
                    self._changed.wait()
                yield True
            finally:
                self._closing = False
                self._changed.notify_all()

    def reads_here(self) -> bool:
        """Whether this very thread has a snapshot open."""
        with self._changed:
            return threading.get_ident() in self._by_thread

    def count(self) -> int:
        """Snapshots open now."""
        with self._changed:
            return sum(self._by_thread.values())
