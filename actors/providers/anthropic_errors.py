"""The one normaliser of the Messages API's failures: raised, streamed, or lost on the way (providers.md 2.2).

Order: the error's code, the status, the type that a streamed error gives, the exception's class. A message's wording
counts only for what has no code: a change that a model refuses, thinking that is bound elsewhere, a prompt too long.
"""

import re
from collections.abc import Mapping
from typing import Any

from ...messages.request import ErrorKind, ErrorRecord
from .failures import Secret, kind_of_status, lost, retryable_by, stated_wait

REFUSED_CODES = frozenset({"tool_reference_unresolved", "tool_name_conflict", "available_tools_limit_exceeded"})
SPENT_CODES = frozenset({"enforced_spend_limit_reached", "contract_spend_limit_reached", "ramp_limit_exceeded"})
STATUS_OF_TYPE: Mapping[str, int] = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
    "not_found_error": 404, "conflict_error": 409, "request_too_large": 413, "rate_limit_error": 429,
    "api_error": 500, "timeout_error": 504, "overloaded_error": 529,
}
BOUND = re.compile(r"bound to a different conversation")
TOO_LONG = re.compile(r"prompt is too long|exceeds? (the )?context (window|limit)|input length and `?max_tokens`? exc")
REFUSED = re.compile(
    r"role 'system' is not supported|role 'system' must (precede|follow)|top-level 'system' parameter"
    r"|tool_addition/tool_removal (is not supported|references)|tool_definition is not supported"
)


def error_record(exc: Exception, secret: Secret, *, begun: bool = False) -> ErrorRecord:
    """The record of an exception out of the SDK. `begun`: events had come already, so that it is a streamed one."""
    gone = lost(exc)
    if gone is not None:
        return gone
    status = getattr(exc, "status_code", None)
    if isinstance(status, int):
        return _of_status(exc, status, secret)
    text = secret.scrub(f"{type(exc).__name__}: {exc}")
    if isinstance(exc, (TypeError, UnicodeError)) and not begun:
        return ErrorRecord("invalid_request", f"the request cannot be written ({text})", before_send=True)
    return ErrorRecord("server", f"the model's answer cannot be read ({text})", True)


def _of_status(exc: Any, status: int, secret: Secret) -> ErrorRecord:
    """An answer that is an error, or an `error` event inside a 200."""
    response = getattr(exc, "response", None)
    headers: Mapping[str, str] = getattr(response, "headers", None) or {}
    error_type = str(getattr(exc, "type", None) or "")
    code = str(getattr(exc, "error_code", None) or "")
    streamed = status < 400
    stands_for = STATUS_OF_TYPE.get(error_type, 500) if streamed else status
    message = str(getattr(exc, "api_message", None) or "no message")
    kind, retryable = _kind(stands_for, code, message)
    return ErrorRecord(
        kind, secret.scrub(_text(kind, stands_for, streamed, message)),
        retryable if streamed else retryable_by(headers, retryable), None if streamed else stated_wait(headers),
        None if streamed else status, secret.scrub(code or error_type),
        request_id=secret.scrub(str(getattr(exc, "request_id", None) or "")),
    )


def _kind(status: int, code: str, message: str) -> tuple[ErrorKind, bool]:
    if code in REFUSED_CODES:
        return "system_change_refused", False
    if code in SPENT_CODES:
        return "rate_limit", False
    if status == 400:
        if BOUND.search(message):
            return "thinking_binding", False
        if TOO_LONG.search(message):
            return "context_length", False
        return ("system_change_refused" if REFUSED.search(message) else "invalid_request"), False
    return kind_of_status(status)


def _text(kind: ErrorKind, status: int, streamed: bool, message: str) -> str:
    where = f"an error inside the stream, as {status}" if streamed else str(status)
    advice = "; check the key and what it may use" if kind == "auth" else ""
    advice = "; check the model's name and the server's address" if status == 404 else advice
    return f"the model's server answered with {where}: {message}{advice}"
