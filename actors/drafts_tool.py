"""The `drafts` tool: list, read, resend and dismiss one's own kept words (prose 9).

A resend is an explicit send of up to twenty drafts, verbatim, in order, to one channel, each after its predecessor's
confirmation; it stops at the first that is not confirmed. The whole batch is checked before the first leaves, and what
may be out already needs a confirmation. Runs inside the agent's handlers; every post is admitted durably first.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

from ..messages.drafts import Draft
from ..messages.mail import Receipt
from ..messages.places import ChannelRef
from .desk import Desk
from .tools import BadCall

PAGE = 10
MOST_RESENT = 20
SendDraft = Callable[[str, ChannelRef, Draft], None]


def drafts(
    action: Annotated[Literal["list", "read", "resend", "dismiss"], "What to do."],
    ids: Annotated[list[str] | None, "Which drafts, by id; not for list."] = None,
    channelId: Annotated[str | None, "Where to resend to; left out: the channel of this turn."] = None,  # noqa: N803
    serverId: Annotated[str | None, "Its server, where several have that id."] = None,  # noqa: N803
    confirmDuplicate: Annotated[bool | None, "Send again what may be out already."] = None,  # noqa: N803
    page: Annotated[int | None, "Which page of the list, from 1."] = None,
) -> str:
    """Your kept words, which could not be delivered: list, read, send again (resend), or set aside (dismiss)."""
    return f"{action}{ids}{channelId}{serverId}{confirmDuplicate}{page}"


def _line(draft: Draft, in_flight: bool) -> str:
    state = "in flight" if in_flight else draft.state
    first = draft.text.strip().split("\n", 1)[0][:60]
    return f"{draft.id} [{state}, {draft.reason}] {len(draft.text)} characters: {first}"


def _only(given: Mapping[str, Any], *allowed: str) -> None:
    unused = [name for name, value in given.items() if value is not None and name not in ("action", *allowed)]
    if unused:
        raise BadCall(f"{given['action']} does not use {', '.join(unused)}; leave it out")


def found(desk: Desk, given: Mapping[str, Any]) -> list[Draft]:
    """The drafts that a call names. Raises BadCall, naming those that are not there."""
    names: Sequence[str] = given.get("ids") or ()
    if not names:
        raise BadCall(f"{given['action']} needs ids; list shows them")
    known = [(name, desk.book.get(name)) for name in dict.fromkeys(names)]
    missing = [name for name, draft in known if draft is None]
    if missing:
        raise BadCall(f"you have no draft {', '.join(missing)}; list shows them")
    return [draft for _, draft in known if draft is not None]


def answer_at_once(desk: Desk, given: Mapping[str, Any]) -> str:
    """List, read and dismiss. Raises BadCall."""
    match given["action"]:
        case "list":
            _only(given, "page")
            return _list(desk, given.get("page") or 1)
        case "read":
            _only(given, "ids")
            return "\n\n".join(f"{draft.id}:\n{draft.text}" for draft in found(desk, given))
        case _:
            _only(given, "ids")
            return _dismiss(desk, found(desk, given))


def _list(desk: Desk, page: int) -> str:
    if page < 1:
        raise BadCall("page counts from 1")
    known, out = desk.book.newest_first(), desk.book.in_flight()
    shown = known[(page - 1) * PAGE : page * PAGE]
    if not shown:
        return "You have no drafts." if not known else f"There are {len(known)} drafts; page {page} is empty."
    lines = [_line(draft, draft.id in out) for draft in shown]
    return "\n".join([f"{len(known)} draft(s), newest first, page {page}:", *lines])


def _dismiss(desk: Desk, chosen: Sequence[Draft]) -> str:
    out = desk.book.in_flight()
    flying = [draft.id for draft in chosen if draft.id in out]
    if flying:
        raise BadCall(f"{', '.join(flying)} is on its way and cannot be dismissed now; nothing was dismissed")
    for draft in chosen:
        desk.book.settle(draft.id, "dismissed")
    return f"Set aside: {', '.join(draft.id for draft in chosen)}."


class Resend:
    """One call that sends drafts again, one after the other."""

    def __init__(self, desk: Desk, call_id: str, at: ChannelRef, given: Mapping[str, Any], send: SendDraft) -> None:
        self._desk, self._call_id, self._at, self._send = desk, call_id, at, send
        _only(given, "ids", "channelId", "serverId", "confirmDuplicate")
        chosen = found(desk, given)
        if len(chosen) > MOST_RESENT:
            raise BadCall(f"resend takes at most {MOST_RESENT} drafts, not {len(chosen)}")
        self._check(chosen, bool(given.get("confirmDuplicate")))
        before = [draft for draft in chosen if draft.state == "delivered"]
        self._said = [f"{draft.id}: delivered before, as {', '.join(draft.message_ids)}" for draft in before]
        self._left = [draft for draft in chosen if draft.state != "delivered"]

    def _check(self, chosen: Sequence[Draft], confirmed: bool) -> None:
        out = self._desk.book.in_flight()
        flying = [draft.id for draft in chosen if draft.id in out]
        if flying:
            raise BadCall(f"{', '.join(flying)} is on its way already; nothing was sent")
        gone = [draft.id for draft in chosen if draft.state == "dismissed"]
        if gone:
            raise BadCall(f"{', '.join(gone)} was set aside; nothing was sent")
        risky = [draft.id for draft in chosen if draft.state == "unconfirmed"]
        if risky and not confirmed:
            raise BadCall(f"{', '.join(risky)} may be out already; look first, then call again with confirmDuplicate")

    def start(self) -> str | None:
        """Send the first; the result at once where there is nothing to send."""
        return self._next()

    def _next(self) -> str | None:
        if not self._left:
            return "\n".join(self._said) or "Nothing was sent."
        draft = self._desk.book.get(self._left[0].id)
        if draft is None or not draft.is_open:
            self._left.pop(0)
            return self._next()
        self._send(self._call_id, self._at, draft)
        return None

    def posted(self, receipt: Receipt) -> tuple[str, bool] | None:
        """A draft's post has an outcome: (the result, is_error), or None where the next was sent."""
        draft = self._left.pop(0)
        book = self._desk.book
        if receipt.state == "delivered":
            book.settle(draft.id, "delivered", receipt.at, receipt.message_ids)
            self._said.append(f"{draft.id}: delivered to {receipt.at} as {', '.join(receipt.message_ids)}")
            text = self._next()
            return None if text is None else (text, False)
        if receipt.state == "unknown":
            book.settle(draft.id, "unconfirmed")
        self._said.append(f"{draft.id}: {receipt.state} ({receipt.reason})")
        if self._left:
            self._said.append(f"not tried: {', '.join(left.id for left in self._left)}")
        return "\n".join(self._said), receipt.state != "queued"
