"""Resending: one call of the `drafts` tool that sends kept words again, verbatim, to one channel (prose 9).

Up to twenty drafts in the order named, each an explicit send of its own that is admitted after its predecessor's
confirmation; it stops at the first that is not confirmed. The whole batch is claimed before the first leaves, each
draft is looked at again at its own turn, and what may be out already needs a confirmation. A call that is cut sends
nothing more, and its result says how far it came.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..messages.drafts import Draft
from ..messages.mail import Receipt
from ..messages.places import ChannelRef
from .desk import Desk
from .drafts_tool import named, only
from .tools import BadCall

MOST_RESENT = 20
SendDraft = Callable[[str, ChannelRef, Draft], int]
"""(call id, channel, draft) -> the number of the post that was admitted."""


class Resend:
    """One call that sends drafts again, one after the other."""

    def __init__(self, desk: Desk, call_id: str, at: ChannelRef, given: Mapping[str, Any], send: SendDraft) -> None:
        self._desk, self._call_id, self._at, self._send = desk, call_id, at, send
        only(given, "ids", "channelId", "serverId", "confirmDuplicate")
        if desk.spec.home is not None and at != desk.spec.home:
            raise BadCall(f"you can send to {desk.spec.home} alone; nothing was sent")
        chosen = named(desk, given)
        waiting = [kept.id for kept in chosen if not isinstance(kept, Draft)]
        if waiting:
            raise BadCall(f"{', '.join(waiting)} waits and is sent by itself; nothing was sent")
        if len(chosen) > MOST_RESENT:
            raise BadCall(f"resend takes at most {MOST_RESENT} drafts, not {len(chosen)}")
        self._confirmed = bool(given.get("confirmDuplicate"))
        self._left = [kept.id for kept in chosen]
        refusals = {found: why for found in self._left if (why := self._refusal(found))}
        if refusals:
            raise BadCall("; ".join(f"{found} {why}" for found, why in refusals.items()) + "; nothing was sent")
        self._said: list[str] = []
        self._out = 0
        desk.book.claims.update(dict.fromkeys(self._left, call_id))

    def _refusal(self, found: str) -> str:
        """Why this draft cannot be sent now; "" if it can be, or is out already."""
        book = self._desk.book
        draft = book.get(found)
        if draft is None or draft.state == "dismissed":
            return "was set aside"
        if draft.state == "delivered":
            return ""
        if book.claims.get(found, self._call_id) != self._call_id:
            return "is being sent again by another call"
        if found in book.in_flight():
            return "is on its way already"
        if draft.state == "unconfirmed" and not self._confirmed:
            return "may be out already: look first, then call again with confirmDuplicate"
        return ""

    def start(self) -> str | None:
        """Send the first; the result at once where there is nothing to send."""
        ended = self._next()
        return None if ended is None else ended[0]

    def _next(self) -> tuple[str, bool] | None:
        while self._left:
            found = self._left[0]
            draft, refusal = self._desk.book.get(found), self._refusal(found)
            if draft is None or refusal:
                self._said.append(f"{found} {refusal}")
                self._left.pop(0)
                return self._end(error=True)
            if draft.state != "delivered":
                self._out = self._send(self._call_id, self._at, draft)
                return None
            self._said.append(delivered_before(draft))
            self._left.pop(0)
        return self._end(error=False)

    def posted(self, receipt: Receipt) -> tuple[str, bool] | None:
        """A draft's post has an outcome: (the result, is_error), or None where the next was sent.

        An outcome that is told once more, of an earlier post of this call, says nothing of the one that is out.
        """
        if receipt.number != self._out:
            return None
        found = self._left.pop(0)
        book = self._desk.book
        self._said.append(f"{found}: {outcome(receipt)}")
        if receipt.state == "delivered":
            book.settle(found, "delivered", receipt.at, receipt.message_ids)
            return self._next()
        if receipt.state == "unknown":
            book.settle(found, "unconfirmed")
        return self._end(error=receipt.state != "queued")

    def _end(self, *, error: bool) -> tuple[str, bool]:
        claims = self._desk.book.claims
        for found in [found for found, call in claims.items() if call == self._call_id]:
            del claims[found]
        if self._left:
            self._said.append(f"not tried: {', '.join(self._left)}")
        return "\n".join(self._said), error


def delivered_before(draft: Draft) -> str:
    """What became of a draft that is out already; nothing is sent."""
    return f"{draft.id}: delivered before to {draft.sent_to} as {', '.join(draft.message_ids)}"


def outcome(receipt: Receipt) -> str:
    """What became of one draft's post."""
    match receipt.state:
        case "delivered":
            return f"delivered to {receipt.at} as {', '.join(receipt.message_ids)}"
        case "queued":
            return f"waits ({receipt.reason}); it is tried again by itself"
        case "unknown":
            return f"not confirmed ({receipt.reason}); it may or may not have arrived"
        case _:
            return f"not sent ({receipt.reason}); nothing of it was posted"


def how_far(desk: Desk, names: Iterable[str], why: str, posts: Mapping[str, Receipt | None]) -> str:
    """The result of a call that was cut: what became of each draft. `posts`: those that it had admitted, by draft."""
    lines = [f"{why}: this call sends nothing more."]
    for found in dict.fromkeys(names):
        draft = desk.book.get(found)
        if found in posts:
            told = posts[found]
            lines.append(f"{found}: {outcome(told) if told is not None else 'still on its way; you will be told'}")
        elif draft is not None and draft.state == "delivered":
            lines.append(delivered_before(draft))
        else:
            lines.append(f"{found}: not tried")
    return "\n".join(lines)
