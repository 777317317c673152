"""What follows a failed request: send it again, hold the provider, or give the turn up (agents.md 6.1).

A pure decision on the error's record; tenacity's objects say how long and how often, and nobody sleeps here.
The answer also says for how long the provider's other agents should wait. The fail-safe for refused changes
comes before this and the host's own policy after it; neither is here.
"""

from dataclasses import dataclass
from typing import TypeAlias

from tenacity import RetryCallState, Retrying, stop_after_attempt, wait_exponential

from .request import ErrorRecord


@dataclass(frozen=True, slots=True)
class Policy:
    """The default policy's figures. `retries` after the first send; the rest in seconds.

    `first_wait` doubles with each retry up to `longest_wait`; `hold` and `hold_jitter` are for an organisation's
    acceleration limit.
    """

    retries: int = 3
    first_wait: float = 1.0
    longest_wait: float = 600.0
    hold: float = 65.0
    hold_jitter: float = 5.0


@dataclass(frozen=True, slots=True)
class Retry:
    """Send the same logical turn again after `delay` seconds. `cooldown`: seconds in which the provider's other
    agents start no request; 0.0 for none."""

    delay: float
    cooldown: float = 0.0


@dataclass(frozen=True, slots=True)
class Hold:
    """Admission to the provider stops for `seconds`; then the turn is sent again, its attempt not counted."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Exhaust:
    """The turn ends as exhausted. `cooldown`: as in Retry."""

    cooldown: float = 0.0


Decision: TypeAlias = Retry | Hold | Exhaust


def is_acceleration(error: ErrorRecord) -> bool:
    """Whether the provider slows the whole organisation down and states no wait (agents.md 6.1, step 2)."""
    if error.kind != "rate_limit" or not error.retryable or error.retry_after is not None:
        return False
    return "acceleration" in f"{error.code} {error.text}".lower()


def decide(error: ErrorRecord, attempt: int, policy: Policy = Policy(), jitter: float = 0.0) -> Decision:
    """What to do after the send numbered `attempt`, counting from 0, failed with `error`.

    `jitter`: a number from 0 to 1 of the caller's own randomness. A stated wait goes before the doubling one.
    """
    if is_acceleration(error):
        return Hold(policy.hold + policy.hold_jitter * min(max(jitter, 0.0), 1.0))
    stated = None if error.retry_after is None else max(error.retry_after, 0.0)
    cooldown = stated if stated is not None and error.kind == "rate_limit" else 0.0
    sends = _sends(attempt + 1)
    if not error.retryable or stop_after_attempt(1 + policy.retries)(sends):
        return Exhaust(cooldown)
    doubling = wait_exponential(multiplier=policy.first_wait, exp_base=2, max=policy.longest_wait)
    return Retry(doubling(sends) if stated is None else stated, cooldown)


def _sends(number: int) -> RetryCallState:
    """tenacity's state after this many sends; its objects read nothing else of it."""
    state = RetryCallState(Retrying(), None, (), {})
    state.attempt_number = number
    return state
