"""What goes wrong: inside the stream, on the wire, and before the reply.

Owns: the two errors that this API streams, and the named errors. Cut sockets, early ends, empty streams and gates are
those of `tests.messages_api.faults`. Counts are events already sent (`response.created` is the first).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tests.messages_api.faults import Cut, EmptyStream, EndEarly, Hold
from tests.messages_api.frames import Frame

from .errors import ResponsesError, error, invalid
from .items import UNVERIFIED


@dataclass(frozen=True, slots=True)
class StreamError:
    """An `error` event inside the 200, after so many events, at the latest in the last one's place.

    `nested`: in the shape of an error's body, as gateways send it.
    """

    error: ResponsesError
    after: int = 2
    nested: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """A `response.failed` after so many events, at the latest in the last one's place."""

    error: ResponsesError
    after: int = 2


Fault: TypeAlias = Hold | EndEarly | Cut | EmptyStream | StreamError | Failed


def spoiled(frames: Sequence[Frame], faults: Sequence[Fault]) -> tuple[Frame, ...]:
    """The events of a stream, ended by an error where a fault says so."""
    for fault in faults:
        if isinstance(fault, (StreamError, Failed)):
            kept = tuple(frames[: min(fault.after, len(frames) - 1)])
            last = _error(fault, len(kept)) if isinstance(fault, StreamError) else _failed(fault, frames, len(kept))
            return (*kept, last)
    return tuple(frames)


def _error(fault: StreamError, number: int) -> Frame:
    inner = fault.error.inner()
    if fault.nested:
        return Frame("error", {"type": "error", "error": inner, "sequence_number": number})
    said = {name: inner[name] for name in ("code", "message", "param")}
    return Frame("error", {"type": "error", **said, "sequence_number": number})


def _failed(fault: Failed, frames: Sequence[Frame], number: int) -> Frame:
    inner = fault.error.inner()
    said = {"code": inner["code"], "message": inner["message"]}
    response = {**frames[0].data["response"], "status": "failed", "error": said}
    return Frame("response.failed", {"type": "response.failed", "response": response, "sequence_number": number})


def rate_limited(retry_after: str | None = "1", **headers: str) -> ResponsesError:
    """A 429; `retry_after` in seconds or an HTTP date, left out for None."""
    named = headers if retry_after is None else {"retry_after": retry_after, **headers}
    return error(429, "Rate limit reached for requests.", "rate_limit_exceeded", **named)


def out_of_quota() -> ResponsesError:
    """A 429 that no retry helps against soon."""
    return error(429, "You exceeded your current quota, please check your plan.", "insufficient_quota")


def overloaded() -> ResponsesError:
    """A 503."""
    return error(503, "The engine is currently overloaded, please try again later.", "server_is_overloaded")


def server_error(status: int = 500) -> ResponsesError:
    """A 500, or another status of the server's own."""
    return error(status, "The server had an error while processing your request.", "server_error")


BAD_REQUESTS: dict[str, ResponsesError] = {
    "unknown-parameter": invalid("Unknown parameter: 'colour'.", "colour", "unknown_parameter"),
    "no-additional-tools": invalid(
        "Invalid value: 'additional_tools'. Supported values are: 'message'.", "input[2]", "invalid_value"
    ),
    "no-developer-role": invalid("Unsupported value: 'developer' role is not supported with this model.", "input[1]"),
    "too-long": invalid(
        "Your input exceeds the context window of this model.", "input", "context_length_exceeded"
    ),
    "unverified-reasoning": invalid(UNVERIFIED, "input[1]", "invalid_encrypted_content"),
    "reasoning-alone": invalid("Item 'rs_1' of type 'reasoning' was provided without its required following item."),
    "no-output": invalid("No tool output found for function call call_1.", "input"),
}
"""The 400s of each kind, to be answered whatever the request was."""
