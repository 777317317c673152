"""Drafts on disk, by (agent, number). Follow no branch, so that no undo brings words back or hides them (prose 9).

Written by the agent that owns them, in the unit of what made them. Pure over a snapshot.
"""

from collections.abc import Iterator

from ..messages.codec import encode
from ..messages.drafts import Draft
from .keys import DRAFTS, key, number, under
from .snapshot import Snapshot
from .units import Op


def put(draft: Draft) -> Op:
    """Write a draft as it stands now."""
    return DRAFTS, key(draft.agent, draft.number), encode(draft)


def of_agent(snapshot: Snapshot, agent: str) -> Iterator[Draft]:
    """An agent's drafts, newest first."""
    return (draft for _, draft in snapshot.records(DRAFTS, *under(agent), Draft, reverse=True))


def last_number(snapshot: Snapshot, agent: str) -> int:
    """The number of the agent's newest draft, 0 if it has none."""
    return next((number(at) for at, _ in snapshot.scan(DRAFTS, *under(agent), reverse=True)), 0)


def by_id(snapshot: Snapshot, agent: str, draft_id: str) -> Draft | None:
    """An agent's own draft of this id."""
    return next((draft for draft in of_agent(snapshot, agent) if draft.id == draft_id), None)
