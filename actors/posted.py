"""A post as a whole, from its parts: its receipt once it has an outcome, and the words a call's result says of it.

Pure functions of outbox entries; the Channel tells receipts by them and a restart reads them again.
"""

from collections.abc import Sequence

from ..messages.mail import Receipt
from ..messages.posts import OutboxEntry, PostState
from ..messages.receipts import LOST

_WORST: tuple[PostState, ...] = ("failed", "expired", "unknown", "queued")
_DELIVERED: PostState = "delivered"


def post_state(parts: Sequence[OutboxEntry]) -> Receipt | None:
    """The receipt of a post, or None while it has none: delivered if every part was, failed if none can be."""
    if not parts:
        return None
    states: list[PostState] = [part.state for part in parts]
    if any(state in ("admitted", "sending") for state in states) and not any(s in _WORST for s in states):
        return None
    worst = _worst(states)
    first = parts[0]
    reason = next((part.reason for part in parts if part.state in _WORST and part.reason), "")
    ids = tuple(part.message_id for part in parts if part.message_id)
    if worst in LOST and any(part.may_have_left for part in parts):
        # Failed means that nothing can have been posted (agents.md 10.7).
        arrived = states.count(_DELIVERED)
        worst, reason = "unknown", f"{arrived} of {len(parts)} parts arrived; {reason}" if arrived else reason
    return Receipt(first.turn, first.number, first.at, worst, reason, ids, first.call_id)


def _worst(states: Sequence[PostState]) -> PostState:
    for state in _WORST:
        if state in states:
            return state
    return _DELIVERED


def send_result(receipt: Receipt | None, at: object) -> tuple[str, bool]:
    """(text, is_error) of an explicit send's result, from its post's outcome."""
    if receipt is None:
        return f"The message to {at} is still on its way; you will be told if it does not arrive.", False
    match receipt.state:
        case "delivered":
            return f"Delivered to {receipt.at} as message {', '.join(receipt.message_ids)}.", False
        case "queued":
            why = receipt.reason or "the channel cannot be reached now"
            return f"Waiting: {why}. It is tried again by itself.", False
        case "unknown":
            why = receipt.reason
            return f"Not confirmed: {why}. It may or may not have arrived; look before you send it again.", True
        case _:
            return f"Not sent: {receipt.reason}. Nothing was posted.", True
