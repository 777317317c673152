"""Errors as the provider words them: status, type, message, code, and the JSON body around them.

Owns: `ApiError` and the few constructors the rules use. A rule returns one, a script may answer with one, and the
server turns it into a reply (a JSON body with a status, or an `error` event inside a 200). Never raised.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from .wire import JsonObject

TYPES: Mapping[int, str] = MappingProxyType(
    {
        400: "invalid_request_error",
        401: "authentication_error",
        402: "billing_error",
        403: "permission_error",
        404: "not_found_error",
        405: "invalid_request_error",
        409: "conflict_error",
        411: "invalid_request_error",
        413: "request_too_large",
        429: "rate_limit_error",
        500: "api_error",
        503: "api_error",
        504: "timeout_error",
        529: "overloaded_error",
    }
)


@dataclass(frozen=True, slots=True)
class ApiError:
    """One refusal (providers.md 1.5). `code` is `error.details.error_code`; without one `details` is left out."""

    status: int
    type: str
    message: str
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def body(self, request_id: str) -> JsonObject:
        """The JSON body, the same in a reply and in an `error` event."""
        error: JsonObject = {"type": self.type, "message": self.message}
        if self.code is not None:
            error["details"] = {"error_code": self.code}
        return {"type": "error", "error": error, "request_id": request_id}


def api_error(status: int, message: str, code: str | None = None, **headers: str) -> ApiError:
    """An error of a status with that status's type. Header names are given with `_` for `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ApiError(status, TYPES[status], message, code, named)


def invalid(message: str, code: str | None = None) -> ApiError:
    """A 400 `invalid_request_error`."""
    return api_error(400, message, code)


def at(path: str, message: str) -> ApiError:
    """A 400 about one place of the request."""
    return invalid(f"{path}: {message}" if path else message)
