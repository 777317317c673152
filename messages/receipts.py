"""What an agent is told of its turn's words once their outcomes are known (prose 11.2; design, "What lasts").

A pure function of the turn and the receipts: one `[delivered]` line for the whole turn, and one marker for each post
that did not arrive. What is still on its way is said to be so; its outcome is told later.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .mail import Receipt
from .notices import Notice, receipt, send_failed
from .places import ChannelRef
from .prose.decisions import DraftState
from .prose.routing import Link
from .turns import Turn

CONFIRMED = "delivered"
KEPT_AS: dict[DraftState, str] = {"unconfirmed": "unconfirmed, it may be out", "dismissed": "set aside"}
LOST = frozenset({"failed", "expired"})


@dataclass(frozen=True, slots=True)
class Posted:
    """A post of the turn: where, how long, whether a call's result tells its outcome, and its place in its round."""

    at: ChannelRef
    length: int
    call_id: str = ""
    link: Link | None = None


def owes_notice(state: str) -> bool:
    """Whether an outcome is one that the author must be told of."""
    return state in LOST or state == "unknown"


def marker(posted: Posted, told: Receipt, label: str, draft: str = "") -> Notice:
    """The marker of one post that did not arrive, or may not have; `draft`: where its words are kept."""
    return send_failed(told.at, label, told.reason, posted.length, told.state == "unknown", draft=draft)


def turn_notices(
    turn: Turn, posts: Mapping[int, Posted], receipts: Mapping[int, Receipt], labels: Mapping[ChannelRef, str],
    drafts: Mapping[str, DraftState] | None = None,
) -> list[Notice]:
    """The receipt of the turn's prose, if there is anything to say; its failures have been told by markers already.

    A post whose outcome a call's result tells is not told twice. `drafts`: the turn's, each by its present state.
    """
    prose = {number: posted for number, posted in posts.items() if not posted.call_id}
    places: list[tuple[ChannelRef, str]] = []
    waiting: list[str] = []
    unsure = False
    for number, posted in sorted(prose.items()):
        told = receipts.get(number)
        label = labels.get(posted.at, "")
        if told is None or told.state in ("admitted", "sending", "queued"):
            kept = "waiting" if told is not None and told.state == "queued" else "still on its way"
            waiting.append(f"a message to {label or posted.at} is {kept}")
        elif told.state == CONFIRMED:
            places.append((posted.at, label))
        else:
            unsure = unsure or told.state == "unknown"
    note = receipt(places, [*_notes(turn, waiting), *_kept(drafts or {})], may_have_arrived=unsure)
    return [note] if note is not None else []


def _kept(drafts: Mapping[str, DraftState]) -> list[str]:
    return [f"draft {found} is {KEPT_AS.get(state, state)}" for found, state in drafts.items()]


def _notes(turn: Turn, waiting: Sequence[str]) -> list[str]:
    notes = list(waiting)
    if turn.suppressed:
        why = "prose is disabled" if turn.mode == "disabled" else "it stood beside or after an explicit send"
        if turn.mode != "disabled" and turn.locus is None:
            why = "it had no channel to go to"
        notes.append(f"{turn.suppressed} piece(s) of plain text not posted: {why}")
    if turn.private:
        notes.append(f"{turn.private} piece(s) kept private")
    return notes
