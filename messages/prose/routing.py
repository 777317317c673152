"""One turn's routing state: where its unprefixed words go next, and what it has kept back (prose 5.1).

A value, made afresh at each fresh turn in every mode and carried on by a resumed one (prose 7.1). Admission
gives back the next one; nothing here looks at text. `retained` is the agent's, carried along because
admission, in order, both reads and replaces it. All three can be stored with the turn.
"""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from ..codec import record
from ..places import Place
from ..registry import ProseMode

HeldBy: TypeAlias = Literal["private", "failed"]
RetainedState: TypeAlias = Literal["open", "in-flight", "unconfirmed"]


@record("speech-link")
@dataclass(frozen=True, slots=True, order=True)
class Link:
    """A piece's place in its turn's speech chain: the round, and the envelope's ordinal in it, from 0."""

    round: int
    ordinal: int


@record("retained")
@dataclass(frozen=True, slots=True)
class Retained:
    """What `{{unsent}}` stands for: the newest bounce while it is open (prose 9).

    `in-flight`: an entry made of it has no outcome yet. `unconfirmed`: its words may be out.
    """

    draft: str
    text: str
    state: RetainedState = "open"


@record("routing")
@dataclass(frozen=True, slots=True)
class Routing:
    """The state of one turn.

    `target`: explicit's destination, hybrid's sticky target. `held` (hybrid): unprefixed words go nowhere,
    for a private envelope's sake or a failure's. `moved_at`: the piece that last moved either. `silenced`
    (locus, hybrid): a send was called. `link_held` (hybrid): the hold by a failure as the chain sees it, which
    runs behind admission. `suppressed` and `kept_private` count pieces for the receipt.
    """

    mode: ProseMode
    locus: Place | None = None
    target: Place | None = None
    held: HeldBy | None = None
    moved_at: Link | None = None
    silenced: bool = False
    link_held: bool = False
    continuation: bool = False
    suppressed: int = 0
    kept_private: int = 0
    retained: Retained | None = None

    @property
    def unprefixed_to(self) -> Place | None:
        """Where an unprefixed segment would go now; none for nowhere. Where a round's stream begins (prose 6.2)."""
        if self.mode == "explicit":
            return self.target
        if self.mode == "disabled" or self.silenced or self.held is not None:
            return None
        return self.locus if self.target is None else self.target

    @property
    def retained_text(self) -> str | None:
        """What the router substitutes: the retained words while they may be sent."""
        return self.retained.text if self.retained is not None and self.retained.state == "open" else None


def fresh_turn(mode: ProseMode, locus: Place | None = None, retained: Retained | None = None) -> Routing:
    """The state of a fresh turn: no destination, no hold, no silence, no mark, in any mode (prose 5.1)."""
    return Routing(mode, locus if mode in ("locus", "hybrid") else None, retained=retained)


def lifted(routing: Routing) -> Routing:
    """A conversational message came in between rounds: the silence is over, nothing else moves (prose 5.4)."""
    return replace(routing, silenced=False)


def repinned(routing: Routing, locus: Place | None) -> Routing:
    """The locus has moved; sticky target and hold stay (prose 5.8). Explicit and disabled have none."""
    return replace(routing, locus=locus) if routing.mode in ("locus", "hybrid") else routing
