"""Drafts: words that could not be said, kept for their author (prose 9).

Records outside every branch: undo and rollback never change them, and nothing is sent from them on its own. A draft's
words are byte for byte what was written. Pure values and decisions; the agent that owns them writes them.
"""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from .codec import encode, record
from .places import ChannelRef
from .prose.decisions import DraftReason, DraftState, NewDraft
from .prose.routing import Retained

# No two signs that can be taken for each other.
ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"
OPEN: frozenset[DraftState] = frozenset({"held", "unconfirmed"})


@record("draft")
@dataclass(frozen=True, slots=True)
class Draft:
    """One draft. `number` counts an agent's drafts; `at` in Unix seconds; `target` is the target as written.

    `sent_to` and `message_ids`: where a confirmed attempt put it. `reason`, `state`: see prose 9. `post`: the number
    of the turn's post whose words it keeps, None where none was made.
    """

    agent: str
    number: int
    id: str
    reason: DraftReason
    text: str
    written: str
    target: str | None
    state: DraftState
    turn: int
    at: float
    sent_to: ChannelRef | None = None
    message_ids: tuple[str, ...] = ()
    post: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether its words are still to be said or set aside."""
        return self.state in OPEN


def draft_of(new: NewDraft, agent: str, number: int, turn: int, at: float, post: int | None = None) -> Draft:
    """The record of a draft that admission, or the outcome of `post`, made."""
    return Draft(agent, number, new.id, new.reason, new.text, new.written, new.target, new.state, turn, at, post=post)


def draft_id(agent: str, turn: int, count: int, taken: Collection[str]) -> str:
    """`d-` and five signs, the same for the same place in a turn, and none that the agent has already."""
    for salt in range(1000):
        digest = hashlib.sha256(encode([agent, turn, count, salt])).digest()
        found = "d-" + "".join(ALPHABET[byte % len(ALPHABET)] for byte in digest[:5])
        if found not in taken:
            return found
    raise RuntimeError("a thousand ids were taken")


def retained_of(drafts: Sequence[Draft], in_flight: Collection[str]) -> Retained | None:
    """What `{{unsent}}` stands for: the newest bounce while it is open, else nothing (prose 9).

    `drafts`: an agent's, newest first. `in_flight`: drafts whose words are in a post without an outcome.
    """
    newest = next((draft for draft in drafts if draft.reason == "bounced"), None)
    if newest is None or not newest.is_open:
        return None
    if newest.id in in_flight:
        return Retained(newest.id, newest.text, "in-flight")
    return Retained(newest.id, newest.text, "unconfirmed" if newest.state == "unconfirmed" else "open")


def settled(draft: Draft, state: DraftState, sent_to: ChannelRef | None = None, ids: Iterable[str] = ()) -> Draft:
    """The draft after an attempt, or after it was set aside.

    A confirmed attempt wins over everything; a later failure never clears an earlier unknown (prose 9).
    """
    if draft.state == "delivered" or (draft.state == "unconfirmed" and state == "held"):
        return draft
    if state == "delivered":
        return replace(draft, state=state, sent_to=sent_to, message_ids=tuple(ids))
    return replace(draft, state=state)
