"""What the headers of an answer say of a provider's limits (`anthropic-ratelimit-*`, `x-ratelimit-*`).

Pure but for the wall clock that a stated date is compared with. What cannot be read is left out, never guessed.
"""

import re
import time
from datetime import datetime

from ...messages.errors import InvalidSetting
from ...messages.request import Limit, Limits
from .failures import Headers

_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def anthropic_limits(headers: Headers) -> Limits | None:
    """Requests, and the tighter one of the tokens' limits, that the provider itself puts under `tokens`."""
    start = "anthropic-ratelimit-"
    tokens = _limit(headers, *(f"{start}tokens-{end}" for end in ("limit", "remaining", "reset")))
    if tokens is None:
        tokens = _limit(headers, *(f"{start}input-tokens-{end}" for end in ("limit", "remaining", "reset")))
    return _limits(_limit(headers, *(f"{start}requests-{end}" for end in ("limit", "remaining", "reset"))), tokens)


def openai_limits(headers: Headers) -> Limits | None:
    """Requests and tokens."""
    requests, tokens = (
        _limit(headers, *(f"x-ratelimit-{end}-{kind}" for end in ("limit", "remaining", "reset")))
        for kind in ("requests", "tokens")
    )
    return _limits(requests, tokens)


def _limits(requests: Limit | None, tokens: Limit | None) -> Limits | None:
    return None if requests is None and tokens is None else Limits(requests, tokens)


def _limit(headers: Headers, limit: str, remaining: str, reset: str) -> Limit | None:
    try:
        most, left = int(headers[limit]), int(headers[remaining])
    except (KeyError, ValueError):
        return None
    return Limit(most, max(0, left), _seconds(headers.get(reset, ""))) if most > 0 else None


def _seconds(text: str) -> float:
    """Seconds from now of a date or of a span such as `1m30s`; 60, the limits' own period, where it says neither."""
    spans = _SPAN.findall(text)
    if spans and _SPAN.sub("", text) == "":
        return sum(float(number) * _SECONDS[unit] for number, unit in spans)
    try:
        return max(0.0, datetime.fromisoformat(text).timestamp() - time.time())
    except ValueError:
        return 60.0


def own_limits(requests_per_minute: int | None, tokens_per_minute: int | None) -> Limits | None:
    """Limits that a host sets itself. Raises InvalidSetting for one below 1."""
    for name, value in (("requests_per_minute", requests_per_minute), ("tokens_per_minute", tokens_per_minute)):
        if value is not None and (isinstance(value, bool) or value < 1):
            raise InvalidSetting(f"{name} must be a whole number of at least 1")
    requests, tokens = (
        None if value is None else Limit(value, value, 0.0) for value in (requests_per_minute, tokens_per_minute)
    )
    return _limits(requests, tokens)
