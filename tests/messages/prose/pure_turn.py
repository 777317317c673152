"""A driver that runs rounds through admission, router and outcomes without an actor.

It stands for what an agent, its gateway and its channels do, in the least code: posts run in chain order,
either as soon as their round is admitted (`early`) or only when the turn is over. Used by the vectors of
kind `turn` and by the property tests.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from manyminds.messages.places import ChannelRef, Place
from manyminds.messages.prose import (
    Bounce,
    Decision,
    NewDraft,
    Piece,
    Post,
    PostOutcome,
    Private,
    Resolution,
    Resolved,
    Retained,
    RoundCall,
    RoundTargets,
    Routing,
    StreakEvent,
    StreamedText,
    StreamRouter,
    Unresolved,
    Withheld,
    admit,
    after_outcome,
    freeze,
    fresh_turn,
    judge,
    lifted,
    piece_kind,
    released,
    segments,
    verdict,
)
from manyminds.messages.prose.grammar import prose_mode

Cut = Callable[[str], Iterable[str]]


def place(channel: str | None) -> Place | None:
    """The place that stands for a channel id of the cases."""
    return None if channel is None else Place(ChannelRef("", channel))


def pieces(round_: Mapping[str, Any]) -> list[Piece]:
    """A case's round as pieces: its blocks, or its one text."""
    blocks: Sequence[Mapping[str, Any]] = round_.get("blocks") or [{"type": "text", "text": round_.get("text", "")}]
    return [(piece_kind(block["type"]), block.get("text", "")) for block in blocks]


def whole(text: str) -> list[str]:
    """The text uncut."""
    return [text]


@dataclass
class PureTurn:
    """One case: its channels, its state, and what came of it."""

    mode: str
    channels: dict[str, str]
    locus: str | None = None
    throws: frozenset[str] = frozenset()
    outcomes: list[PostOutcome] = field(default_factory=list[PostOutcome])
    early: bool = True
    cut: Cut = whole
    streak: int = 0
    delivered: list[list[str]] = field(default_factory=list[list[str]])
    bounced: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    drafts: dict[str, NewDraft] = field(default_factory=dict[str, NewDraft])
    markers: int = 0
    streamed: dict[str, str] = field(default_factory=dict[str, str])
    emitted: dict[str, str] = field(default_factory=dict[str, str])
    wakes: int = 0
    continuation: bool = False
    ended: bool = False
    suppressed: int = 0
    kept_back: list[str] = field(default_factory=list[str])
    waiting: list[Post] = field(default_factory=list[Post])
    states: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self._rounds = 0
        self._minted = 0
        self._gone: set[str] = set()
        self.begin(None)

    def begin(self, retained: Retained | None) -> None:
        """A fresh turn."""
        self.routing: Routing = fresh_turn(prose_mode(self.mode), place(self.locus), retained)
        self._chain: list[Decision] = []
        self._events: list[StreakEvent] = []
        self.open_stream()

    def open_stream(self) -> None:
        """A stream begins, of a fresh or of a resumed turn."""
        self._text = StreamedText()
        self._router: StreamRouter | None = None
        if self.mode != "disabled":
            self._router = StreamRouter(self.routing.mode, RoundTargets(self.resolve), self.routing.unprefixed_to)

    def close_stream(self) -> None:
        """A stream is over or replaced: what its complete notices carry joins the turn's."""
        if self._router is not None:
            self._router.finish()
        for at, text in self._text.complete().items():
            self.streamed[at.at.channel] = self.streamed.get(at.at.channel, "") + text

    def resolve(self, token: str) -> Resolution:
        """The registry of the case."""
        if token in self.throws:
            raise RuntimeError("the registry is broken")
        found = self.channels.get(token)
        return Unresolved("no-match") if found is None else Resolved(found)

    def mint(self) -> str:
        """A new draft id."""
        self._minted += 1
        return f"d-{self._minted:05d}"

    def round(
        self,
        blocks: Sequence[Piece],
        calls: Sequence[RoundCall] = (),
        think_is_private: bool = False,
        abandoned: bool = False,
        rebind: Mapping[str, str] | None = None,
    ) -> None:
        """One round: streamed, admitted, its posts queued or run."""
        self._rounds += 1
        targets = RoundTargets(self.resolve)
        self._stream(blocks, targets)
        if abandoned:
            self._abandon()
            return
        found = verdict(calls, think_is_private)
        frozen = freeze(self.routing.mode, segments(blocks), targets)
        admission = admit(self.routing, self._rounds, frozen, found, self.mint)
        self.routing = admission.routing
        self.ended = self.ended or found.ends_turn
        if self._router is not None:
            self._text.merge(self._rounds, self._router.round_pieces(), admission.admitted)
        self.channels.update(rebind or {})
        self._chain.extend(admission.decisions)
        for item, decision in zip(frozen, admission.decisions, strict=True):
            self._keep(decision)
            if isinstance(decision, Private) or (isinstance(decision, Withheld) and decision.draft is None):
                self.kept_back.append(item.envelope.text)
        if self.early:
            self.run_chain()

    def _stream(self, blocks: Sequence[Piece], targets: RoundTargets) -> None:
        router = self._router
        if router is None:
            return
        router.begin_round(targets, self.routing.unprefixed_to, self.routing.retained_text)
        joining = False
        for kind, text in blocks:
            if kind == "break":
                self._take(router.end_run())
                joining = False
            elif kind == "text":
                for chunk in self.cut("\n" + text if joining else text):
                    self._take(router.feed(chunk))
                joining = True
        self._take(router.end_segment())

    def _take(self, deltas: Iterable[tuple[Place, str]]) -> None:
        for at, text in deltas:
            self.emitted[at.at.channel] = self.emitted.get(at.at.channel, "") + text

    def _abandon(self) -> None:
        if self._router is not None:
            self._text.merge(self._rounds, self._router.round_pieces(), ())
            self._router.reset_round()

    def _keep(self, decision: Decision) -> None:
        if isinstance(decision, Bounce | Withheld) and decision.draft is not None:
            self._draft(decision.draft)
        if isinstance(decision, Private) and decision.set_aside is not None:
            self._gone.add(decision.set_aside)
            self.states[decision.set_aside] = "dismissed"

    def _draft(self, new: NewDraft) -> None:
        self.drafts[new.id] = new
        self.states[new.id] = new.state

    def run_chain(self) -> None:
        """Every link that waits, in order."""
        for decision in self._chain:
            if isinstance(decision, Bounce):
                self._bounce(decision)
            elif isinstance(decision, Post):
                self.routing, released_ = released(self.routing, decision, self.mint)
                if isinstance(released_, Post):
                    self._publish(released_)
                else:
                    self._keep(released_)
                    self._text.withdraw(decision.link.round, decision.link.ordinal)
        self._chain.clear()

    def _publish(self, post: Post) -> None:
        outcome = self.outcomes.pop(0) if self.outcomes else "delivered"
        if outcome == "delivered":
            self.delivered.append([post.place.at.channel, post.text])
        elif outcome == "queued":
            self.waiting.append(post)
        after = after_outcome(self.routing, post, outcome, self.mint)
        self.routing = after.routing
        self.markers += after.marker
        if outcome in ("failed", "unknown"):
            self._text.withdraw(post.link.round, post.link.ordinal)
        if after.resets_streak:
            self._events.append(StreakEvent(post.link, bounced=False))
        if after.settled is not None:
            self.states[after.settled[0]] = after.settled[1]
        if after.settled is not None and after.settled[1] == "delivered":
            self._gone.add(after.settled[0])
        if after.bounce is not None:
            self._keep(after.bounce)
            self._bounce(after.bounce)
        if after.draft is not None:
            self._draft(after.draft)

    def _bounce(self, bounce: Bounce) -> None:
        self.bounced.append({"text": bounce.text, "reason": bounce.reason})
        self._events.append(StreakEvent(bounce.link, bounced=True, kept=bounce.kept, mark=bounce.mark))

    def end(self) -> None:
        """The turn is over: the chain settles, the streams are completed, the streak is judged."""
        self.run_chain()
        self.close_stream()
        judged = judge(self.streak, self._events, frozenset(self._gone))
        self.streak = judged.streak
        self.wakes += len(judged.wakes)
        self.suppressed += self.routing.suppressed
        asked = self.routing.continuation or judged.continuation
        self.continuation = asked and not self.ended


def calls_of(round_: Mapping[str, Any]) -> list[RoundCall]:
    """The calls that a case's round makes."""
    named = [block["name"] for block in round_.get("blocks", ()) if block["type"] == "tool_use"]
    if round_.get("skip_reply"):
        named.append(round_.get("tool_name", "skip_reply"))
    if round_.get("send"):
        named.append("chat--send_message")
    if round_.get("private_think"):
        named.append("think")
    return [RoundCall(name) for name in named]


def run_case(case: Mapping[str, Any], early: bool, cut: Cut = whole) -> PureTurn:
    """A case of kind `turn`, run to its end."""
    mode, initial = case["mode"], case["initial_target"]
    meant: dict[str, PostOutcome] = {"refused": "failed", "error": "failed", "unknown": "unknown"}
    turn = PureTurn(
        mode,
        dict(case["channels"]),
        locus=None if mode == "explicit" else initial,
        throws=frozenset(case.get("resolver_throws", ())),
        outcomes=[meant.get(name, "delivered") for name in case.get("publish", ())],
        early=early,
        cut=cut,
        streak=case.get("streak_before", 0),
    )
    before = case.get("retained_before")
    turn.begin(None if before is None else Retained("d-before", before))
    if mode == "explicit" and initial is not None:
        turn.routing = Routing("explicit", target=place(initial), retained=turn.routing.retained)
    for round_ in case["rounds"]:
        _run_round(turn, round_)
    turn.end()
    return turn


def _run_round(turn: PureTurn, round_: Mapping[str, Any]) -> None:
    if round_.get("new_turn"):
        turn.end()
        turn.begin(turn.routing.retained)
    if round_.get("injected"):
        turn.routing = lifted(turn.routing)
    if round_.get("refused"):
        return
    turn.round(
        pieces(round_),
        calls_of(round_),
        bool(round_.get("private_think")),
        bool(round_.get("abandoned")),
        round_.get("rebind"),
    )
    if round_.get("then") == "budget_restart":
        turn.close_stream()
        turn.open_stream()
