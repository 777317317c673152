"""Traces: what happened, told to whoever listens.

A `TraceBus` hands each `Trace` to its listeners and to its subscriptions, which are bounded: a reader that
is too slow loses traces, counted, and holds nobody up. Telling never raises and never blocks. Traces are
for eyes and metrics; nothing in the runtime decides by them.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

_log = logging.getLogger(__name__)
_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Trace:
    """One event: its name, when (Unix seconds), and plain fields."""

    name: str
    at: float
    fields: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)


class Subscription(Iterator[Trace]):
    """An iterator over traces with a bounded buffer; `dropped` counts what a slow reader lost.

    Iterating blocks until the next trace and ends when the subscription or the bus is closed; `take()`
    returns at once with what is there.
    """

    def __init__(self, size: int, leave: Callable[["Subscription"], None]) -> None:
        self.dropped = 0
        self._buffer: deque[Trace] = deque()
        self._size = size
        self._leave = leave
        self._closed = False
        self._changed = threading.Condition()

    def __next__(self) -> Trace:
        with self._changed:
            while not self._buffer and not self._closed:
                self._changed.wait()
            if not self._buffer:
                raise StopIteration
            return self._buffer.popleft()

    def put(self, trace: Trace) -> None:
        """Add a trace; the oldest goes when the buffer is full."""
        with self._changed:
            if self._closed:
                return
            if len(self._buffer) >= self._size:
                self._buffer.popleft()
                self.dropped += 1
            self._buffer.append(trace)
            self._changed.notify()

    def take(self) -> list[Trace]:
        """What waits in the buffer, without waiting for more."""
        with self._changed:
            taken = list(self._buffer)
            self._buffer.clear()
            return taken

    def close(self) -> None:
        """Get no more; a reader that waits is let go once the buffer is empty."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._leave(self)


class TraceBus:
    """Hands traces to listeners (called in place) and subscriptions (buffered)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._subscriptions: tuple[Subscription, ...] = ()
        self._listeners: tuple[Callable[[Trace], None], ...] = ()
        self._closed = False

    @property
    def listening(self) -> bool:
        """Whether anybody would hear a trace."""
        return bool(self._subscriptions or self._listeners)

    def subscribe(self, size: int = 1000) -> Subscription:
        """A new subscription that keeps at most `size` traces; ValueError if `size` is under 1."""
        if size < 1:
            raise ValueError("a subscription keeps at least one trace")
        subscription = Subscription(size, self._leave)
        with self._lock:
            if not self._closed:
                self._subscriptions = (*self._subscriptions, subscription)
                return subscription
        subscription.close()
        return subscription

    def listen(self, listener: Callable[[Trace], None]) -> Callable[[], None]:
        """Call `listener` with every trace, in the teller's thread; returns how to stop that."""
        with self._lock:
            self._listeners = (*self._listeners, listener)

        def stop() -> None:
            with self._lock:
                self._listeners = tuple(known for known in self._listeners if known is not listener)

        return stop

    def tell(self, trace: Trace) -> None:
        """Hand the trace on. Never raises: a throwing listener is logged and the others still hear."""
        for subscription in self._subscriptions:
            subscription.put(trace)
        for listener in self._listeners:
            try:
                listener(trace)
            except Exception:
                _log.exception("a trace listener raised on %r; it stays subscribed", trace.name)

    def close(self) -> None:
        """End every subscription."""
        with self._lock:
            self._closed = True
            subscriptions = self._subscriptions
        for subscription in subscriptions:
            subscription.close()

    def _leave(self, subscription: Subscription) -> None:
        with self._lock:
            self._subscriptions = tuple(known for known in self._subscriptions if known is not subscription)
