"""A post as a whole, from its parts: its receipt once it has an outcome, and the words a call's result says of it.

Pure functions of outbox entries; the Channel tells receipts by them and a restart reads them again.
"""

from collections.abc import Sequence

from ..messages.mail import Receipt
from ..messages.posts import Debt, OutboxEntry, PostState
from ..messages.receipts import LOST, owes_notice

_OPEN: tuple[PostState, ...] = ("parked", "admitted", "sending")
_WORST: tuple[PostState, ...] = ("failed", "expired", "unknown", "queued", "withheld", "withdrawn")
_DELIVERED: PostState = "delivered"


def post_state(parts: Sequence[OutboxEntry]) -> Receipt | None:
    """The receipt of a post, or None while it has none: delivered if every part was, failed if none can be.

    A post that was held back is withheld, never delivered.
    """
    if not parts:
        return None
    states: list[PostState] = [part.state for part in parts]
    if any(state in _OPEN for state in states) and not any(s in _WORST for s in states):
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


def debt_of(agent: str, told: Receipt) -> Debt:
    """What a receipt's author is owed, if anything."""
    return agent, told.turn, told.number, "delayed" if told.state == "queued" else "ended"


def owed_by(before: Sequence[OutboxEntry], after: Sequence[OutboxEntry]) -> list[Debt]:
    """What a step of a post owes its author, to be written in the step's unit (prose 11.3).

    Once that it has to wait; what it came to where that is no plain delivery: it did not arrive, it arrived late,
    somebody was told otherwise, or a draft's words were in it.
    """
    told, was = post_state(after), post_state(before)
    if told is None or told == was:
        return []
    debt = debt_of(after[0].agent, told)
    if told.state == "queued":
        return [] if any(part.delayed for part in before) else [debt]
    if owes_notice(told.state):
        return [debt]
    otherwise = was is not None and owes_notice(was.state)
    settles = otherwise or any(part.delayed or part.copied for part in after)
    return [debt] if told.state == "delivered" and settles else []


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
