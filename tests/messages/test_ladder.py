"""What follows a failed request."""

import pytest

from manyminds.messages.ladder import Decision, Exhaust, Hold, Policy, Retry, decide, is_acceleration
from manyminds.messages.request import ErrorRecord

SERVER = ErrorRecord("server", "boom", retryable=True, http_status=500)
LIMIT = ErrorRecord("rate_limit", "slow down", retryable=True, http_status=429)
STATED = ErrorRecord("rate_limit", "slow down", retryable=True, http_status=429, retry_after=2.0)
BAD = ErrorRecord("invalid_request", "no such field", http_status=400)
SPENT = ErrorRecord("rate_limit", "limit", http_status=429, code="enforced_spend_limit_reached")
ACCELERATION = ErrorRecord(
    "rate_limit", "This request would exceed the acceleration limit of your organization.", True, http_status=429
)

TABLE: list[tuple[str, ErrorRecord, int, Decision]] = [
    ("first failure", SERVER, 0, Retry(1.0)),
    ("second", SERVER, 1, Retry(2.0)),
    ("third", SERVER, 2, Retry(4.0)),
    ("fourth: three retries were made", SERVER, 3, Exhaust()),
    ("later still", SERVER, 9, Exhaust()),
    ("a 400 is terminal on the first failure", BAD, 0, Exhaust()),
    ("a spend limit is not retryable soon", SPENT, 0, Exhaust()),
    ("429 without a stated wait", LIMIT, 1, Retry(2.0)),
    ("429 with a stated wait: the others wait too", STATED, 0, Retry(2.0, cooldown=2.0)),
    ("a stated wait goes before the doubling one", STATED, 2, Retry(2.0, cooldown=2.0)),
    ("a stated wait at the last send", STATED, 3, Exhaust(cooldown=2.0)),
    ("a stated wait of another kind holds nobody", ErrorRecord("overloaded", "x", True, 7.0, 529), 0, Retry(7.0)),
    ("a wait below zero is none", ErrorRecord("rate_limit", "x", True, -3.0, 429), 0, Retry(0.0)),
    ("acceleration", ACCELERATION, 0, Hold(65.0)),
    ("acceleration makes no failed turn, however often", ACCELERATION, 7, Hold(65.0)),
]


@pytest.mark.parametrize(("what", "error", "attempt", "decision"), TABLE, ids=[case[0] for case in TABLE])
def test_default_policy(what: str, error: ErrorRecord, attempt: int, decision: Decision) -> None:
    """[agents 6.1, invariants 6.1, 6.2; S17] 1+3 sends at 1, 2, 4 s or the stated wait; holds come first."""
    assert decide(error, attempt) == decision


@pytest.mark.parametrize(("jitter", "seconds"), [(0.0, 65.0), (0.5, 67.5), (1.0, 70.0), (2.0, 70.0), (-1.0, 65.0)])
def test_jitter(jitter: float, seconds: float) -> None:
    """[agents 6.1] The default cooldown is 65 s and at most 5 s of the caller's jitter."""
    assert decide(ACCELERATION, 0, jitter=jitter) == Hold(seconds)


def test_a_stated_wait_is_no_hold() -> None:
    """[agents 6.1, step 2] The built-in hold is for an acceleration limit that states no wait."""
    assert not is_acceleration(ErrorRecord("rate_limit", "acceleration limit", True, 30.0, 429))
    assert not is_acceleration(ErrorRecord("overloaded", "acceleration", True, None, 529))
    assert is_acceleration(ErrorRecord("rate_limit", "", True, None, 429, code="organization_acceleration_limit"))


def test_a_policy_of_ones_own() -> None:
    """[agents 6.1] Figures are the policy's: no retry, another first wait, a ceiling."""
    assert decide(SERVER, 0, Policy(retries=0)) == Exhaust()
    assert decide(SERVER, 0, Policy(first_wait=0.5)) == Retry(0.5)
    assert decide(SERVER, 8, Policy(retries=20, longest_wait=30.0)) == Retry(30.0)
    assert decide(ACCELERATION, 0, Policy(hold=10.0, hold_jitter=2.0), jitter=1.0) == Hold(12.0)
