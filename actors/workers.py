"""Workers: the few shared daemon threads that run inboxes.

A ready inbox is taken from one queue and run for a slice. A worker that blocks in an ask is replaced while
it waits, up to a limit, so nested asks cannot starve the pool. Daemon threads: a program whose main
function returns ends, whatever is still running.
"""

import logging
import os
import queue
import threading

from .inbox import Inbox, Waiting, here
from .waits import waiting

_log = logging.getLogger(__name__)
SLICE = 64
MOST_BLOCKED = 32


def sensible_count() -> int:
    """Two at least, so one busy handler does not hold up the rest; more than four bring nothing."""
    return max(2, min(4, os.cpu_count() or 2))


class Workers:
    """A pool of worker threads; a `Scheduler`."""

    def __init__(self, count: int | None = None, name: str = "manyminds") -> None:
        self._count = count or sensible_count()
        self._name = name
        self._queue: queue.SimpleQueue[Inbox | None] = queue.SimpleQueue()
        self.ready = self._queue.put
        self._lock = threading.Lock()
        self._threads: set[threading.Thread] = set()
        self._surplus = 0
        self._replaced = 0
        self.blocked = 0
        self._closed = False

    def start(self) -> None:
        """Start the threads, once."""
        with self._lock:
            while len(self._threads) < self._count and not self._closed:
                self._start_one()

    def close(self, timeout: float) -> bool:
        """Stop after the slices that run now; False if a worker did not end within `timeout` seconds."""
        with self._lock:
            self._closed = True
            threads = [thread for thread in self._threads if thread is not threading.current_thread()]
            for _ in threads:
                self._queue.put(None)
        for thread in threads:
            thread.join(timeout / len(threads))
        return not any(thread.is_alive() for thread in threads)

    @property
    def alive(self) -> int:
        """How many worker threads there are."""
        return len(self._threads)

    @property
    def waiting(self) -> int:
        """How many inboxes wait for a worker, roughly."""
        return self._queue.qsize()

    def wait(self, wait: Waiting) -> bool:
        """Block this thread for an answer; a worker is replaced meanwhile. Raises AskCycle."""
        asker = here.inbox
        if asker is None:
            return wait.block(wait.timeout)
        with waiting(asker, wait.whom):
            if threading.current_thread() not in self._threads:
                return wait.block(wait.timeout)
            replaced = self._leave()
            try:
                return wait.block(wait.timeout)
            finally:
                self._return(replaced)

    def _leave(self) -> bool:
        with self._lock:
            self.blocked += 1
            if self._closed or self._replaced >= MOST_BLOCKED:
                return False
            self._replaced += 1
            if self._surplus:
                self._surplus -= 1
            else:
                self._start_one()
            return True

    def _return(self, replaced: bool) -> None:
        with self._lock:
            self.blocked -= 1
            if replaced:
                self._replaced -= 1
                self._surplus += 1

    def _start_one(self) -> None:
        thread = threading.Thread(target=self._work, name=f"{self._name}-worker", daemon=True)
        self._threads.add(thread)
        thread.start()

    def _work(self) -> None:
        get = self._queue.get
        while True:
            inbox = get()
            if inbox is None:
                break
            try:
                inbox.run(SLICE)
            except BaseException:
                # Every handler's error is dealt with in the slice; this is a fault of the runtime itself.
                _log.critical("the slice of %s raised; it goes on with its next mail", inbox, exc_info=True)
                inbox.rest()
            if self._surplus and self._retire():
                break
        with self._lock:
            self._threads.discard(threading.current_thread())

    def _retire(self) -> bool:
        with self._lock:
            if not self._surplus or self._closed:
                return False
            self._surplus -= 1
            return True
