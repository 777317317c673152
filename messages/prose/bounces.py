"""Bounces: what of the bounced words is kept, and what becomes of the streak (prose 8.2-8.4).

Makes the draft of a bounce and with it the new `{{unsent}}`. Draft ids come from the caller, so that nothing
here is random. Writes no notice and asks for no wake: it says which are due.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from ..codec import record
from .decisions import Bounce, DraftState, NewDraft
from .grammar import has_unsent, only_unsent, substitute
from .routing import Link, Retained, Routing
from .whitespace import only_whitespace

Mint: TypeAlias = Callable[[], str]

WAKES_IN_A_ROW: Final = 2


def bounced(
    routing: Routing, bounce: Bounce, words: str, written: str, target: str | None, mint: Mint
) -> tuple[Routing, Bounce]:
    """The bounce with what is kept of it (prose 8.2).

    `bounce.text` is what would be kept, `words` the part of it that the writer meant to send. Words that are
    just the token keep what it stands for; blank words keep nothing; the token among others is expanded.
    """
    if only_unsent(words):
        retained = routing.retained
        if retained is None:
            return routing, replace(bounce, text="")
        return routing, replace(bounce, text=retained.text, kept=retained.draft)
    if only_whitespace(expanded(words, routing)):
        return routing, bounce
    state: DraftState = "unconfirmed" if copies_risky(words, routing) else "held"
    return kept(routing, replace(bounce, text=expanded(bounce.text, routing)), written, target, state, mint)


def kept(
    routing: Routing, bounce: Bounce, written: str, target: str | None, state: DraftState, mint: Mint
) -> tuple[Routing, Bounce]:
    """The bounce with a new draft of its text, which is from now on what `{{unsent}}` stands for."""
    draft = NewDraft(mint(), "bounced", bounce.text, written, target, state)
    retained = Retained(draft.id, draft.text, "open" if state == "held" else "unconfirmed")
    return replace(routing, retained=retained), replace(bounce, draft=draft, kept=draft.id)


def expanded(text: str, routing: Routing) -> str:
    """The text with the retained words in it, whatever their state: for what is kept, never for a post."""
    return substitute(text, routing.retained.text if routing.retained else None)


def copies_risky(text: str, routing: Routing) -> bool:
    """Whether the text copies words that may be out already (prose 8.1, 9)."""
    return has_unsent(text) and routing.retained is not None and routing.retained.state != "open"


@record("streak-event")
@dataclass(frozen=True, slots=True)
class StreakEvent:
    """What moves the streak, in the order of the chain: a bounce, or a confirmed delivery that resets it.

    `kept`: the draft that holds the bounced words. `mark`: the bounced envelope asked for a continuation.
    """

    link: Link
    bounced: bool
    kept: str | None = None
    mark: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """The turn's end: the agent's streak, the rounds that owe a bounce wake, and whether a bounced mark counts."""

    streak: int
    wakes: tuple[int, ...] = ()
    continuation: bool = False


def judge(before: int, events: Iterable[StreakEvent], no_longer_held: frozenset[str] = frozenset()) -> Judged:
    """The streak counted through the turn's chain, and what is due by it when the turn ends (prose 8.3, 8.4).

    `no_longer_held`: drafts delivered, queued or set aside since, whose wake is not wanted any more. A round
    asks for one wake at most.
    """
    streak, continuation = before, False
    wakes: dict[int, None] = {}
    for event in sorted(events, key=lambda e: e.link):
        if not event.bounced:
            streak = 0
            continue
        streak += 1
        if streak <= WAKES_IN_A_ROW:
            continuation = continuation or event.mark
            if event.kept not in no_longer_held:
                wakes[event.link.round] = None
    return Judged(streak, tuple(wakes), continuation)
