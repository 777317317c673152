"""The one normaliser of the Responses API's failures: raised, streamed, or lost on the way (providers.md 2.2).

Order: the error's code, the status, the type that a streamed error gives, the exception's class. A message's wording
counts only for what has no code: a change that is not taken, history that is refused, a prompt too long.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

from ...messages.request import ErrorKind, ErrorRecord
from .failures import Secret, kind_of_status, lost, retryable_by, stated_wait

Verdict = tuple[ErrorKind, bool]
BY_CODE: Mapping[str, Verdict] = {
    "context_length_exceeded": ("context_length", False),
    "insufficient_quota": ("rate_limit", False),
    "billing_hard_limit_reached": ("rate_limit", False),
    "billing_not_active": ("rate_limit", False),
    "rate_limit_exceeded": ("rate_limit", True),
    "server_is_overloaded": ("overloaded", True),
    "slow_down": ("overloaded", True),
    "invalid_api_key": ("auth", False),
    "invalid_encrypted_content": ("thinking_binding", False),
    "bio_policy": ("refusal", False),
    "misalignment_policy_violation": ("refusal", False),
    "image_content_policy_violation": ("refusal", False),
    "data_residency_mismatch": ("invalid_request", False),
}
STATUS_OF_TYPE: Mapping[str, int] = {
    "invalid_request_error": 400, "authentication_error": 401, "permission_error": 403, "not_found_error": 404,
    "tokens": 429, "requests": 429, "rate_limit_error": 429, "insufficient_quota": 429, "server_error": 500,
    "service_unavailable_error": 503,
}
ASKED_WRONGLY = ("invalid_", "image_", "unsupported_", "empty_", "failed_to_download_")
"""How codes begin that stand for a 400 inside a stream, where no status says so."""
TOO_LONG = re.compile(
    r"exceeds? the (model's )?(available )?(context|maximum context)|maximum context length|exceed_context_size"
)
REFUSED = re.compile(r"additional_tools|developer'? (role|messages?)|role '?developer|'developer'|duplicate tool", re.I)
HISTORY = re.compile(
    r"of type 'reasoning' was provided without|without its required 'reasoning' item"
    r"|[Ee]ncrypted content .*could not be|Items are not persisted"
)


class StreamFailed(Exception):
    """An `error` event, or a response that ended as `failed`; `error` is what was said of it."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(str(error.get("message") or "no message"))
        self.body = error


def error_record(exc: Exception, secret: Secret, *, begun: bool = False, request_id: str = "") -> ErrorRecord:
    """The record of an exception out of the SDK or out of the stream. `begun`: events had come already."""
    gone = lost(exc)
    if gone is not None:
        return gone
    status = getattr(exc, "status_code", None)
    said = getattr(exc, "body", None)
    body = cast("Mapping[str, Any]", said) if isinstance(said, Mapping) else {"message": said} if said else {}
    if isinstance(status, int):
        return _answered(exc, status, body, secret)
    if body:
        return _streamed(body, secret, request_id)
    text = secret.scrub(f"{type(exc).__name__}: {exc}")
    if isinstance(exc, (TypeError, UnicodeError)) and not begun:
        return ErrorRecord("invalid_request", f"the request cannot be written ({text})", before_send=True)
    return ErrorRecord("server", f"the model's answer cannot be read ({text})", True, request_id=request_id)


def _answered(exc: Any, status: int, body: Mapping[str, Any], secret: Secret) -> ErrorRecord:
    """An answer that is an error."""
    response = getattr(exc, "response", None)
    headers: Mapping[str, str] = getattr(response, "headers", None) or {}
    code, kind_name, message = _said(body, str(exc))
    kind, retryable = _verdict(status, code or kind_name, message)
    return ErrorRecord(
        kind, secret.scrub(_text(kind, str(status), message, status)), retryable_by(headers, retryable),
        stated_wait(headers), status, secret.scrub(code or kind_name),
        request_id=secret.scrub(str(getattr(exc, "request_id", None) or "")),
    )


def _streamed(body: Mapping[str, Any], secret: Secret, request_id: str) -> ErrorRecord:
    """An error inside a 200: by its code, else by its type."""
    code, kind_name, message = _said(body, "no message")
    status = STATUS_OF_TYPE.get(kind_name) or (400 if code.startswith(ASKED_WRONGLY) else 500)
    kind, retryable = _verdict(status, code or kind_name, message)
    text = _text(kind, "an error inside the stream", message, status)
    named = secret.scrub(code or kind_name)
    return ErrorRecord(kind, secret.scrub(text), retryable, code=named, request_id=secret.scrub(request_id))


def _said(body: Mapping[str, Any], otherwise: str) -> tuple[str, str, str]:
    """(code, type, message) of an error; empty where it says none."""
    code, kind_name = (str(body.get(name) or "") for name in ("code", "type"))
    message = str(body.get("message") or otherwise)
    return "" if code.isdigit() else code, "" if kind_name == "error" else kind_name, message


def _verdict(status: int, code: str, message: str) -> Verdict:
    if code in BY_CODE:
        return BY_CODE[code]
    if status == 503:
        return "overloaded", True
    if status not in (400, 404, 422):
        return kind_of_status(status)
    if HISTORY.search(message):
        return "thinking_binding", False
    if code == "exceed_context_size_error" or TOO_LONG.search(message):
        return "context_length", False
    return ("system_change_refused" if REFUSED.search(message) else "invalid_request"), False


def _text(kind: ErrorKind, where: str, message: str, status: int) -> str:
    advice = "; check the key and what it may use" if kind == "auth" else ""
    if status == 404:
        advice = "; check the model's name, and that the server at this base_url speaks the Responses API"
    return f"the model's server answered with {where}: {message}{advice}"
