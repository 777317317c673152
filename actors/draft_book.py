"""DraftBook: an agent's drafts in memory, and the operations that write them (prose 9).

Owned by the Agent, the only one that writes its drafts; read from the store when the agent is built. What changes is
gathered for the unit of the decision that changed it, and handed over once. New ids come from their place in the
agent's drafts, so that the same decision makes the same draft. Never writes itself.
"""

from collections.abc import Iterable
from dataclasses import replace

from ..messages.drafts import Draft, draft_id, draft_of, retained_of, settled
from ..messages.mail import Offer
from ..messages.places import ChannelRef
from ..messages.posts import Debt
from ..messages.prose.decisions import DraftState, NewDraft
from ..messages.prose.routing import Retained
from ..storage import Op, drafts, outbox, owing
from .system import Store

DRAFT = "draft"
RANK: dict[DraftState, int] = {"held": 0, "unconfirmed": 1, "dismissed": 2, "delivered": 3}
"""Which of two states of one draft is the later."""


def _debt(draft: Draft) -> Debt:
    return draft.agent, draft.turn, draft.number, DRAFT


class DraftBook:
    """The drafts of one agent."""

    def __init__(self, store: Store, agent: str) -> None:
        self._store, self._agent = store, agent
        self._drafts: dict[str, Draft] = {}
        self._changed: dict[str, Draft] = {}
        self._new: set[str] = set()
        self._last = self._minted = 0
        # Notices of late outcomes that are on their way, with the drafts in their unit; by debt and state told.
        self.late: dict[tuple[Debt, str], Offer] = {}
        # Drafts that a call is sending again, with that call's id.
        self.claims: dict[str, str] = {}
        self.read()

    def read(self) -> None:
        """Read the drafts anew; what was not handed over is forgotten."""
        with self._store.snapshot() as snap:
            self._drafts = {draft.id: draft for draft in drafts.of_agent(snap, self._agent)}
            self._last = self._minted = drafts.last_number(snap, self._agent)
        self._changed = {}
        self._new = set()
        self.late = {}

    def in_flight(self) -> frozenset[str]:
        """The drafts whose words are in a post that has no outcome yet, queued ones included."""
        with self._store.snapshot() as snap:
            waiting = [e for e in outbox.unfinished(snap) if e.agent == self._agent]
        return frozenset(entry.copied for entry in waiting if entry.copied is not None)

    def retained(self) -> Retained | None:
        """What `{{unsent}}` stands for."""
        return retained_of(self.newest_first(), self.in_flight())

    def mint(self) -> str:
        """The id of the next new draft."""
        self._minted += 1
        return draft_id(self._agent, 0, self._minted, self._drafts)

    def add(self, new: NewDraft | None, turn: int, at: float, post: int | None = None) -> None:
        """Keep a new draft; `at` in Unix seconds, `post`: the number of the post that it keeps the words of."""
        if new is not None and new.id not in self._drafts:
            self._last += 1
            self._new.add(new.id)
            self._put(draft_of(new, self._agent, self._last, turn, at, post))

    def settle(self, found: str, state: DraftState, sent_to: ChannelRef | None = None, ids: Iterable[str] = ()) -> None:
        """A draft after an attempt, or set aside."""
        draft = self._drafts.get(found)
        if draft is not None:
            self._put(settled(draft, state, sent_to, ids))

    def of_post(self, turn: int, number: int) -> Draft | None:
        """The draft that keeps the words of a post."""
        made = (draft for draft in self._drafts.values() if (draft.turn, draft.post) == (turn, number))
        return next(made, None)

    def get(self, found: str) -> Draft | None:
        """A draft by its id."""
        return self._drafts.get(found)

    def newest_first(self) -> list[Draft]:
        """All of them."""
        return sorted(self._drafts.values(), key=lambda draft: -draft.number)

    @property
    def changed(self) -> tuple[tuple[Draft, bool], ...]:
        """What the next unit has to write, and whether each is new."""
        return tuple((draft, draft.id in self._new) for draft in self._changed.values())

    def take_back(self, refused: Iterable[tuple[Draft, bool]], *, only_missing: bool = False) -> None:
        """The store refused these: the next unit writes them as they are now, those too that were read anew since.

        `only_missing`: but for those that are known, since some unit has written them meanwhile.
        """
        for draft, new in refused:
            known = self._drafts.get(draft.id)
            if known is not None and only_missing:
                continue
            if known is None:
                self._last += 1
                known = replace(draft, number=self._last)
            elif RANK[draft.state] > RANK[known.state]:
                known = settled(known, draft.state, draft.sent_to, draft.message_ids)
            self._drafts[draft.id] = self._changed[draft.id] = known
            if new:
                self._new.add(draft.id)

    def flush(self) -> tuple[Op, ...]:
        """What the next unit has to write; handed over once. Of a new draft its author is owed the name."""
        changed, new = self._changed, self._new
        self._changed, self._new = {}, set()
        owed = (owing.put(_debt(draft)) for draft in changed.values() if draft.id in new)
        return (*(drafts.put(draft) for draft in changed.values()), *owed)

    def named(self, told: Iterable[Draft]) -> tuple[Op, ...]:
        """The unit holds rows that name these drafts; to stand behind what `flush` gives (prose 9)."""
        return tuple(owing.delete(_debt(draft)) for draft in told)

    def of_turn(self, turn: int) -> list[Draft]:
        """The drafts that a turn has made, oldest first."""
        return [draft for draft in reversed(self.newest_first()) if draft.turn == turn]

    def unnamed(self) -> list[Draft]:
        """The open drafts that no history names yet, oldest first."""
        with self._store.snapshot() as snap:
            owed = {number for _, _, number, what in owing.all_of(snap, self._agent) if what == DRAFT}
        return [draft for draft in reversed(self.newest_first()) if draft.number in owed and draft.is_open]

    def _put(self, draft: Draft) -> None:
        if self._drafts.get(draft.id) != draft:
            self._drafts[draft.id] = draft
            self._changed[draft.id] = draft
