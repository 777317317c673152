"""One round on the wire: the coroutine that iterates a provider, and the buffer its events wait in.

Runs on the runtime's event loop; its events reach the agent as one mail at a time, so deltas that wait are merged. Ends
in exactly one terminal, whatever the provider does: a raise, a stream without an end and a stall become RoundFailed.
Knows one request and one address; never retries (that is the ladder's).
"""

import asyncio
import logging

from ..messages.address import Address
from ..messages.mail import StreamLost, StreamNews
from ..messages.request import Done, ErrorRecord, Event, Request, RoundFailed
from .bridge import DeltaBuffer
from .providers.provider import Provider, refusal
from .system import System, Task

_log = logging.getLogger(__name__)
STALL = 600.0


class RoundStream:
    """A round that is being generated."""

    def __init__(self, system: System, to: Address, provider: Provider, request: Request, stall: float = STALL) -> None:
        self.request = request
        self._system = system
        self._provider = provider
        self._stall = stall
        self._buffer: DeltaBuffer[Event] = DeltaBuffer(system, to, lambda: StreamNews(request.stream))
        self._task: Task = system.task(
            self._run, to, lambda _, error: StreamLost(request.stream, type(error).__name__ if error else ""),
            name=f"stream:{request.agent}:{request.stream}",
        )

    def take(self) -> list[Event]:
        """The events that wait, oldest first."""
        return self._buffer.take()

    def cancel(self) -> None:
        """Stop generating; nothing more is told."""
        self._task.cancel()

    async def _run(self) -> None:
        try:
            refused = refusal(self._provider, self.request)
            terminal = await self._iterate() if refused is None else RoundFailed(refused)
        except TimeoutError:
            terminal = _failed("timeout", f"no event came from the model for {self._stall:g} s", True)
        except Exception as exc:
            _log.exception("the provider raised; the round failed", extra={"agent": self.request.agent})
            terminal = _failed("server", f"the provider raised {type(exc).__name__}", True)
        self._buffer.put(terminal)

    async def _iterate(self) -> Done | RoundFailed:
        events = self._provider.stream(self.request).__aiter__()
        close = getattr(events, "aclose", None)
        try:
            while True:
                try:
                    async with asyncio.timeout(self._stall):
                        event = await anext(events)
                except StopAsyncIteration:
                    return _failed("truncated", "the stream ended without an end of the message", True)
                if isinstance(event, (Done, RoundFailed)):
                    return event
                if self._system.fault("stream_cut"):
                    return _failed("network", "the connection was cut", True)
                self._buffer.put(event)
        except GeneratorExit:
            # The loop is gone, and this coroutine with it: the provider is inside its step, and nothing can be awaited.
            close = None
            raise
        finally:
            if close is not None:
                await close()


def _failed(kind: str, text: str, retryable: bool) -> RoundFailed:
    return RoundFailed(ErrorRecord(kind, text, retryable))  # type: ignore[arg-type]
