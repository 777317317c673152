"""The runtime's own event loop, in a daemon thread of its own, started at the first coroutine.

Model streams and async tools run here. Closing cancels what runs, waits for it as long as the deadline
allows, and closes the loop.
"""

import asyncio
import threading


class LoopThread:
    """One event loop in one thread."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop, running; a closed one after `close`."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                if self._closed:
                    self._loop.close()
                else:
                    self._thread = threading.Thread(
                        target=self._run, args=(self._loop,), name=f"{self._name}-loop", daemon=True
                    )
                    self._thread.start()
            return self._loop

    def close(self, timeout: float) -> bool:
        """Cancel what runs and end the loop; False if it did not end within `timeout` seconds."""
        with self._lock:
            self._closed = True
            loop, thread = self._loop, self._thread
        if loop is None or thread is None or loop.is_closed():
            return True
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout)
        return not thread.is_alive()

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            tasks = asyncio.all_tasks(loop)
            for task in tasks:
                task.cancel()
            if tasks:
                loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()
