"""Admission: a round's text becomes decisions, in one step and in order (prose 5.2).

Two halves, because a script's result may come between them (prose 13, gap 2): `freeze` when the round ends,
which splits and resolves each target once; `admit` at the verdict, which moves the turn's state. Both are
pure, so a verdict that changes is taken again from the state before the round.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ..registry import ProseMode
from .bounces import Mint
from .decisions import Decision, Post, Private, Withheld
from .delivery import (
    Deliver,
    Frozen,
    deliver_disabled,
    deliver_explicit,
    deliver_hybrid,
    deliver_locus,
    keep_private,
    withhold_silenced,
)
from .grammar import Envelope, envelopes
from .resolve import Resolution
from .routing import Link, Routing
from .segments import Segment
from .silence import Verdict

_LIVE: Final[dict[ProseMode, Deliver]] = {
    "explicit": deliver_explicit,
    "hybrid": deliver_hybrid,
    "locus": deliver_locus,
    "disabled": deliver_disabled,
}
# Modes in which a send silences the turn (prose 2, 5.4).
_SILENCED_BY_SENDS: Final = frozenset({"locus", "hybrid"})


@dataclass(frozen=True, slots=True)
class Admission:
    """The turn's state after a round, and what is to be done with each of its envelopes, in order."""

    routing: Routing
    decisions: tuple[Decision, ...] = ()

    @property
    def admitted(self) -> frozenset[int]:
        """The ordinals whose words are to be published: what `complete` carries (prose 13, gap 1)."""
        return frozenset(d.link.ordinal for d in self.decisions if isinstance(d, Post))


def freeze(
    mode: ProseMode, segments: Sequence[Segment], targets: Callable[[int, str], Resolution]
) -> tuple[Frozen, ...]:
    """The round's envelopes, numbered through the round, each target resolved once.

    `targets(ordinal, token)` is the round's resolve.RoundTargets, which never raises.
    """
    frozen: list[Frozen] = []
    for number, segment in enumerate(segments):
        for envelope in envelopes(mode, segment.text):
            ordinal = len(frozen)
            whole = not envelope.prefixed and envelope.text == segment.text
            frozen.append(
                Frozen(ordinal, number, envelope, _answer(envelope, ordinal, targets), segment.run if whole else None)
            )
    return tuple(frozen)


def admit(routing: Routing, round_: int, items: Sequence[Frozen], verdict: Verdict, mint: Mint) -> Admission:
    """The round's decisions and the state they leave, destination and marks included.

    `mint` gives ids for new drafts. Private wins over silenced for its own round (prose 5.4).
    """
    if verdict.silences and routing.mode in _SILENCED_BY_SENDS:
        routing = replace(routing, silenced=True)
    deliver = _deliverer(routing, verdict)
    decisions: list[Decision] = []
    for item in items:
        routing, decision = deliver(routing, item, Link(round_, item.ordinal), mint)
        decisions.append(decision)
    return Admission(_counted(routing, items, decisions, verdict), tuple(decisions))


def _deliverer(routing: Routing, verdict: Verdict) -> Deliver:
    if verdict.private:
        return keep_private
    return withhold_silenced if routing.silenced else _LIVE[routing.mode]


def _answer(envelope: Envelope, ordinal: int, targets: Callable[[int, str], Resolution]) -> Resolution | None:
    if envelope.target is None or envelope.private:
        return None
    return targets(ordinal, envelope.target)


def _counted(routing: Routing, items: Sequence[Frozen], decisions: Sequence[Decision], verdict: Verdict) -> Routing:
    """Whole segments count once where the round is withheld, single pieces elsewhere (prose 15, `suppressed`)."""
    by_segment = verdict.private or routing.silenced
    pairs = [(item.segment if by_segment else item.ordinal, d) for item, d in zip(items, decisions, strict=True)]
    suppressed = {key for key, decision in pairs if isinstance(decision, Withheld)}
    private = {key for key, decision in pairs if isinstance(decision, Private)}
    return replace(
        routing,
        suppressed=routing.suppressed + len(suppressed),
        kept_private=routing.kept_private + len(private),
    )
