"""What goes wrong on the wire, as values; and the steps that a stream with faults is sent in.

Owns: the fault kinds, the gate that holds a reply until a test opens it, and the plan `steps` that the server carries
out. Counts are frames already sent (`message_start` is the first). Nothing here touches a socket, waits or sleeps;
errors before the reply (429, 529, the 400s) are `ApiError` answers and need no fault.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import TypeAlias

from .errors import ApiError, api_error, at, invalid
from .frames import Frame
from .placement import FIRST, PRECEDES
from .thinking import BOUND
from .tools import CONFLICT, LIMIT, UNRESOLVED
from .validator import NO_CHANGES, NO_ROLE


class Gate:
    """Holds a reply. `reached` is set when the server stands before it; `open` lets it through, for good."""

    def __init__(self) -> None:
        self.reached = Event()
        self._opened = Event()

    def open(self) -> None:
        """Lets whoever waits, and whoever comes later, through."""
        self._opened.set()

    def wait(self) -> None:
        """Stands before the gate; a server that closes opens the gates it stands before."""
        self.reached.set()
        self._opened.wait()


@dataclass(frozen=True, slots=True)
class Hold:
    """Waits at the gate: before the response's first byte (`after` None), else after so many frames."""

    gate: Gate = field(default_factory=Gate)
    after: int | None = None


@dataclass(frozen=True, slots=True)
class EndEarly:
    """Ends the stream cleanly after so many frames; by default all but `message_stop`."""

    after: int | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """Shuts the socket down: before the response (`after` None), else in the middle of the next frame's chunk."""

    after: int | None = 1


@dataclass(frozen=True, slots=True)
class StreamError:
    """An `error` event inside the 200, after so many frames; then the stream ends."""

    error: ApiError
    after: int = 1


@dataclass(frozen=True, slots=True)
class EmptyStream:
    """A 200 with no frame at all."""


Fault: TypeAlias = Hold | EndEarly | Cut | StreamError | EmptyStream


@dataclass(frozen=True, slots=True)
class Send:
    """Send one frame."""

    frame: Frame


@dataclass(frozen=True, slots=True)
class Wait:
    """Stand before the gate."""

    gate: Gate


@dataclass(frozen=True, slots=True)
class Break:
    """Shut the socket down, after a part of this frame's chunk if there is one."""

    frame: Frame | None


Step: TypeAlias = Send | Wait | Break


def before_response(faults: Sequence[Fault]) -> tuple[Step, ...]:
    """The steps before the first byte, for a stream and for a plain reply alike."""
    steps: list[Step] = []
    for fault in faults:
        if isinstance(fault, Hold) and fault.after is None:
            steps.append(Wait(fault.gate))
        elif isinstance(fault, Cut) and fault.after is None:
            steps.append(Break(None))
    return tuple(steps)


def steps(frames: Sequence[Frame], faults: Sequence[Fault], request_id: str) -> Iterator[Step]:
    """The steps of a stream: its frames, with the faults between them; ends where a fault ends it."""
    for sent in range(len(frames) + 1):
        for fault in faults:
            if isinstance(fault, Hold) and fault.after == sent:
                yield Wait(fault.gate)
        for fault in faults:
            if _strikes(fault, sent, len(frames)):
                yield from _struck(fault, frames[sent] if sent < len(frames) else None, request_id)
                return
        if sent < len(frames):
            yield Send(frames[sent])


def _strikes(fault: Fault, sent: int, total: int) -> bool:
    match fault:
        case EmptyStream():
            return sent == 0
        case EndEarly(after):
            return sent == (total - 1 if after is None else min(after, total))
        case Cut(after) | StreamError(_, after):
            return after is not None and sent == min(after, total)
        case Hold():
            return False


def _struck(fault: Fault, following: Frame | None, request_id: str) -> Iterator[Step]:
    if isinstance(fault, StreamError):
        yield Send(Frame("error", fault.error.body(request_id)))
    elif isinstance(fault, Cut):
        yield Break(following)


RATE_LIMIT = "This request would exceed your account's rate limit. Please try again later."


def rate_limited(retry_after: str | None = "1", **headers: str) -> ApiError:
    """A 429; `retry_after` in seconds or an HTTP date, left out for None."""
    named = headers if retry_after is None else {"retry_after": retry_after, **headers}
    return api_error(429, RATE_LIMIT, **named)


def spend_limited(code: str = "enforced_spend_limit_reached") -> ApiError:
    """A 429 that no retry helps against soon (providers.md 2.2)."""
    return api_error(429, "You have reached your specified API usage limits.", code)


def overloaded(**headers: str) -> ApiError:
    """A 529."""
    return api_error(529, "Overloaded", **headers)


def server_error(status: int = 500) -> ApiError:
    """A 500, or another status of the server's own."""
    return api_error(status, "Internal server error")


BAD_REQUESTS: dict[str, ApiError] = {
    "unknown-tool": invalid("tool_addition/tool_removal references unknown tool 'x'", UNRESOLVED),
    "name-conflict": invalid("tool name 'x' is already held by an available tool of another kind", CONFLICT),
    "too-many-tools": invalid("too many deferred tools: 10001 exceeds the limit of 10000", LIMIT),
    "no-system-role": invalid(NO_ROLE),
    "misplaced": invalid(PRECEDES),
    "first-system": at("messages.0", FIRST),
    "no-tool-changes": invalid(NO_CHANGES),
    "extra-input": invalid("messages.1.content.0.tool_addition.color: Extra inputs are not permitted"),
    "thinking-binding": at("messages.1.content.0", BOUND),
    "too-long": invalid("prompt is too long: 200001 tokens > 200000 maximum"),
}
"""The 400s of each kind (providers.md 1.5, 1.6), to be answered whatever the request was."""
