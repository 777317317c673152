"""Errors as the Responses API words them: status, type, message, param, code, and the JSON around them.

Owns: `ResponsesError` and the constructors the rules use. A rule returns one, a script may answer with one; the server
turns it into a JSON body with a status, `faults.py` into an event inside a 200. Never raised.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tests.messages_api.errors import ApiError
from tests.messages_api.wire import JsonObject

TYPES: Mapping[int, str] = MappingProxyType({
    400: "invalid_request_error", 401: "invalid_request_error", 403: "invalid_request_error",
    404: "invalid_request_error", 405: "invalid_request_error", 409: "invalid_request_error",
    411: "invalid_request_error", 413: "invalid_request_error", 422: "invalid_request_error",
    429: "requests", 500: "server_error", 503: "server_error", 504: "server_error",
})


@dataclass(frozen=True, slots=True)
class ResponsesError(ApiError):
    """One refusal. `param` names the place in the request."""

    param: str | None = None

    def body(self, request_id: str) -> JsonObject:
        """The JSON body; the request's id stands in a header alone."""
        return {"error": self.inner()}

    def inner(self) -> JsonObject:
        """What is said of the error."""
        return {"message": self.message, "type": self.type, "param": self.param, "code": self.code}


def error(
    status: int, message: str, code: str | None = None, param: str | None = None, **headers: str
) -> ResponsesError:
    """An error of a status with that status's type. Header names are given with `_` for `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ResponsesError(status, TYPES[status], message, code, named, param)


def invalid(message: str, param: str | None = None, code: str | None = None) -> ResponsesError:
    """A 400."""
    return error(400, message, code, param)


def missing(path: str) -> ResponsesError:
    """A 400 for what has to be there."""
    return invalid(f"Missing required parameter: '{path}'.", path, "missing_required_parameter")


def unknown(path: str) -> ResponsesError:
    """A 400 for what nobody knows."""
    return invalid(f"Unknown parameter: '{path}'.", path, "unknown_parameter")


def wrong_type(path: str, expected: str) -> ResponsesError:
    """A 400 for a value of another kind."""
    return invalid(f"Invalid type for '{path}': expected {expected}.", path, "invalid_type")


def wrong_value(path: str, given: object, supported: str) -> ResponsesError:
    """A 400 for a value that is none of those there are."""
    return invalid(f"Invalid value: '{given}'. Supported values are: {supported}.", path, "invalid_value")


def converted(given: ApiError) -> ResponsesError:
    """An error of the sockets in this API's shape."""
    return given if isinstance(given, ResponsesError) else error(given.status, given.message)
