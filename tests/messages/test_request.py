"""What a failed round counts as."""

import pytest

from manyminds.messages.request import ErrorRecord

CLASSES = [
    (ErrorRecord("invalid_request", "", http_status=400), True),
    (ErrorRecord("system_change_refused", "", http_status=400), True),
    (ErrorRecord("context_length", "", http_status=400), True),
    (ErrorRecord("thinking_binding", "", http_status=400), False),
    (ErrorRecord("invalid_request", "", http_status=404), False),
    (ErrorRecord("context_length", "", http_status=413), False),
    (ErrorRecord("rate_limit", "", http_status=429), False),
    # Inside a stream there is no status: the error's type says it.
    (ErrorRecord("invalid_request", "", code="invalid_request_error"), True),
    (ErrorRecord("context_length", "", code="invalid_request_error"), True),
    (ErrorRecord("system_change_refused", "", code="tool_reference_unresolved"), True),
    (ErrorRecord("thinking_binding", "", code="invalid_request_error"), False),
    (ErrorRecord("context_length", "", code="request_too_large"), False),
    (ErrorRecord("overloaded", "", code="overloaded_error"), False),
    # Never sent: only a change.
    (ErrorRecord("system_change_refused", "", before_send=True), True),
    (ErrorRecord("invalid_request", "", before_send=True), False),
    (ErrorRecord("unsupported", "", before_send=True), False),
    (ErrorRecord("over_budget", ""), False),
]


@pytest.mark.parametrize(("error", "counts"), CLASSES)
def test_what_counts_as_a_400(error: ErrorRecord, counts: bool) -> None:
    """[providers 2.2] HTTP 400, the same inside a stream, or a change refused before sending; never broken binding."""
    assert error.is_400_class() is counts
