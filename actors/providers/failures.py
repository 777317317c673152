"""What adapters share in naming a failure: the key that is never shown, stated waits, and what a status stands for.

Each adapter has one normaliser of its own (providers.md 2.2), which asks here after it has looked at the provider's
codes. Status first, text last: a server's failure stays one whatever it says. Knows no SDK.
"""

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import NoReturn

from ...messages.request import ErrorKind, ErrorRecord

MOST_TEXT = 600
Headers = Mapping[str, str]


class Secret:
    """A key. It shows itself to nobody but `reveal`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The key itself."""
        return self._value

    def scrub(self, text: str) -> str:
        """The text without the key, and not longer than an error may be."""
        clean = text.replace(self._value, "***") if self._value else text
        return clean if len(clean) <= MOST_TEXT else clean[: MOST_TEXT - 1] + "…"

    def __repr__(self) -> str:
        return "Secret(***)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not written anywhere")


def stated_wait(headers: Headers) -> float | None:
    """The seconds that an answer asks to wait, or None: `retry-after-ms`, `retry-after` in seconds or as a date."""
    exact = _number(headers.get("retry-after-ms"))
    if exact is not None:
        return max(0.0, exact / 1000)
    given = headers.get("retry-after")
    seconds = _number(given)
    if seconds is not None:
        return max(0.0, seconds)
    if not given:
        return None
    try:
        return max(0.0, parsedate_to_datetime(given).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text else None
    except ValueError:
        return None
    return value if value is None or value - value == 0.0 else None


def kind_of_status(status: int) -> tuple[ErrorKind, bool]:
    """(kind, whether it may pass by itself) of an HTTP status that is no success."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return ("server", True) if status >= 500 else ("invalid_request", False)


_BY_STATUS: dict[int, tuple[ErrorKind, bool]] = {
    401: ("auth", False), 402: ("auth", False), 403: ("auth", False), 408: ("timeout", True), 409: ("server", True),
    413: ("context_length", False), 429: ("rate_limit", True), 504: ("timeout", True), 529: ("overloaded", True),
}


def retryable_by(headers: Headers, otherwise: bool) -> bool:
    """Whether a retry makes sense: the server's own word (`x-should-retry`), else what the status says."""
    return {"true": True, "false": False}.get(headers.get("x-should-retry", "").lower(), otherwise)


def lost(exc: BaseException) -> ErrorRecord | None:
    """The record of a connection that failed, by the names of the transport's exceptions; None for anything else.

    The SDKs wrap such a failure before the response and let the transport's own through after it (providers.md 2.1.7).
    """
    names = {cls.__name__ for cls in type(exc).__mro__}
    if names & {"APITimeoutError", "TimeoutException", "TimeoutError"}:
        return ErrorRecord("timeout", f"the model's server{_where(exc)} did not answer in time", True)
    if names & {"APIConnectionError", "TransportError", "StreamError", "OSError"}:
        cause = type(exc.__cause__ or exc).__name__
        advice = "; is it there, and is its address right?" if cause == "ConnectError" else ""
        text = f"the connection to the model's server{_where(exc)} failed ({cause}){advice}"
        return ErrorRecord("network", text, True)
    return None


def _where(exc: BaseException) -> str:
    """The server's host and port, where the exception knows its request. What else an address may hold is not shown."""
    try:
        netloc = getattr(getattr(getattr(exc, "request", None), "url", None), "netloc", None)
    except RuntimeError:  # the exception was made without a request
        return ""
    return f" at {netloc.decode()}" if isinstance(netloc, bytes) else ""
