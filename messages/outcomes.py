"""Outcomes: what a publisher's answer means, and what becomes of a post after an attempt (prose 11.1, 11.3).

`delivered` only on an explicit answer; `not sent` only where the publisher says so; all else is unknown. An unknown
post is tried again only where the server keeps keys. Pure decisions on outbox entries; the Channel carries them out.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tenacity import RetryCallState, Retrying, wait_exponential

from .posts import Attempt, Delivered, NotSent, OutboxEntry, Outcome, PostState, Unknown

FIRST_WAIT = 60.0
LONGEST_WAIT = 900.0
EXPIRES = 6 * 3600.0
MOST_WAITING = 200
MOST_OF_AGENT = 50
PUBLISH_DEADLINE = 30.0
_WAIT = wait_exponential(multiplier=FIRST_WAIT, exp_base=2, max=LONGEST_WAIT)


def read_answer(value: Any) -> Outcome:
    """The outcome of what a publisher returned; a bare str or int is a delivered id, an empty str is no receipt."""
    if isinstance(value, (Delivered, NotSent, Unknown)):
        return value
    if isinstance(value, bool) or value is None or value == "":
        return Unknown(f"the publisher returned {value!r}")
    if isinstance(value, (str, int)):
        return Delivered(str(value))
    return Unknown(f"the publisher returned a {type(value).__name__}")


def read_receipt(receipt: Mapping[str, Any] | None) -> Outcome:
    """The outcome of a platform's own receipt, `delivered` and `messageId`, for hosts that are given one (prose 11.1).

    Delivered only if it says so; not sent only if it refuses and names no message.
    """
    if receipt is None:
        return Unknown("no receipt came")
    says, message = receipt.get("delivered"), receipt.get("messageId")
    if says is True:
        return Delivered(str(message) if message else "")
    if says is False and not message:
        return NotSent("the platform refused it", permanent=True)
    return Unknown("the receipt does not say plainly whether it was posted")


def read_error(error: BaseException) -> Outcome:
    """The outcome of what a publisher raised: only NotSent means that nothing left."""
    if isinstance(error, NotSent):
        return error
    return Unknown(f"the publisher raised {type(error).__name__}")


def begin_attempt(entry: OutboxEntry, now: float) -> OutboxEntry:
    """The entry as it must be on disk before the post leaves."""
    return replace(entry, state="sending", attempts=(*entry.attempts, Attempt(now)))


def after_attempt(
    entry: OutboxEntry, outcome: Outcome, keeps_keys: bool, now: float, *, retries: bool = True
) -> OutboxEntry:
    """The entry after an attempt's outcome. `now` in Unix seconds, for the expiry of own words.

    `retries`: whether what was not sent waits and is tried again on this server.
    """
    state, reason, message_id = _read(outcome, keeps_keys, retries)
    word = "delivered" if state == "delivered" else "not-sent" if isinstance(outcome, NotSent) else "unknown"
    last = entry.attempts[-1:]
    closed = tuple(replace(a, outcome=word, reason=reason) for a in last if not a.outcome)
    kept = entry.attempts[: -len(closed)] if closed else entry.attempts
    after = replace(entry, state=state, reason=reason, message_id=message_id, attempts=(*kept, *closed))
    if state == "queued":
        after = waits(after, reason)
    if state == "queued" and now - entry.written_at >= EXPIRES:
        return given_up(after, f"given up after {EXPIRES / 3600:g} hours: {reason}")
    return after


def waits(entry: OutboxEntry, reason: str) -> OutboxEntry:
    """The entry as one that waits for its channel; why it first had to is kept."""
    return replace(entry, state="queued", reason=reason, delayed=entry.delayed or reason or "it was not sent")


def given_up(entry: OutboxEntry, reason: str) -> OutboxEntry:
    """The entry after it was given up while it waited; nobody knows whether it is out if an attempt may have left."""
    return replace(entry, state="unknown" if entry.may_have_left else "expired", reason=reason)


def _read(outcome: Outcome, keeps_keys: bool, retries: bool) -> tuple[PostState, str, str]:
    if isinstance(outcome, Delivered):
        return "delivered", "", outcome.id
    if isinstance(outcome, NotSent):
        return ("queued" if retries and not outcome.permanent else "failed"), outcome.reason, ""
    return ("queued" if keeps_keys else "unknown"), outcome.reason, ""


def rest_after(parts: Sequence[OutboxEntry], ended: OutboxEntry) -> list[OutboxEntry]:
    """The later parts of a post whose part `ended` did not arrive: they are not sent, so nothing is garbled."""
    if ended.state not in ("failed", "unknown", "expired"):
        return []
    reason = f"part {ended.part + 1} of {ended.parts} was not confirmed ({ended.reason}), so this part was not sent"
    return [replace(p, state="failed", reason=reason) for p in parts if p.part > ended.part and not p.ended]


def surplus(authors: Sequence[str]) -> list[tuple[int, str]]:
    """(index, reason) of the waiting posts that are too many, the oldest first. `authors`: of all posts, oldest first.

    50 of one agent and 200 in all may wait (prose 11.3). Every post is somebody's own words: the runtime posts no
    notices of its own.
    """
    gone: dict[int, str] = {}
    counts = Counter(authors)
    for index, author in enumerate(authors):
        if counts[author] > MOST_OF_AGENT:
            counts[author] -= 1
            gone[index] = f"more than {MOST_OF_AGENT} messages of yours wait, and this was the oldest"
    over = len(authors) - len(gone) - MOST_WAITING
    left = [index for index in range(len(authors)) if index not in gone]
    for index in left[: max(0, over)]:
        gone[index] = f"more than {MOST_WAITING} messages wait in all, and this was the oldest"
    return sorted(gone.items())


def backoff(entry: OutboxEntry) -> float:
    """Seconds before a queued part is tried again: 60 s doubling to 15 min (prose 11.3)."""
    state = RetryCallState(Retrying(), None, (), {})
    state.attempt_number = max(1, len(entry.attempts))
    return float(_WAIT(state))
