"""Channel: one channel of one server. Opens it where it is closed, posts one at a time, remembers what is unsent.

The only writer of an outbox entry after its handover. An attempt is on disk before it leaves; an outcome is on disk
before anybody hears of it; what may have left is sent again only to a server that keeps keys. While a post waits
here, later ones queue behind it. Publishers run on a pool or on an event loop, never in a handler. Knows no turn.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace

from ..messages.address import Address
from ..messages.mail import (
    GATEWAY,
    Answer,
    AskState,
    AttemptDeadline,
    AttemptEnded,
    AttemptOut,
    AttemptStored,
    CorrectAgain,
    Dropping,
    OutcomeOut,
    OutcomeStored,
    PostEnded,
    PostNow,
    Rerelease,
    StillBehind,
    TryAgain,
    WriteAgain,
)
from ..messages.outcomes import after_attempt, backoff, begin_attempt, rest_after, waits
from ..messages.posts import Delivered, NotSent, OutboxEntry, Outcome, Unknown
from ..storage import outbox, owing, turns
from .desk import Surfaces
from .dispatcher import handles
from .post_queue import RESTING, WRITE_AGAIN, PostQueue, puts
from .posted import debt_of, owed_by, post_state
from .publishing import publish
from .system import Mail, System, Task

_log = logging.getLogger(__name__)
PRUNE_EVERY = 100


class Channel(PostQueue):
    """The actor of one channel."""

    def __init__(self, system: System, address: Address, surfaces: Surfaces) -> None:
        super().__init__(system, address, surfaces)
        self.attempt = 0
        self.part = 0
        self.task: Task | None = None
        self.out = False
        self.outcomes = 0
        self.nudged = False
        self.retry_in: float | None = None
        self.outcome: Outcome | None = None

    # --- life

    def loaded(self) -> None:
        """Read what a crash or a parking left: posts that wait, and one whose attempt has no outcome."""
        with self.system.store.snapshot() as snap:
            entries = outbox.unfinished_of(snap, self.at)
            self.presence.load(snap)
        handed_over = [e for e in entries if e.state in ("sending", "queued")]
        self.queue = list(dict.fromkeys(PostNow(e.agent, e.turn, e.number) for e in handed_over))
        self.system.tell(GATEWAY, Rerelease(self.at))
        self.system.tell(self.address, TryAgain())

    def may_park(self) -> bool:
        """It may go when nothing is being posted, opened or written, and no timer is its own."""
        waits = bool(self.queue or self.dropping)
        return self.state == "idle" and not waits and not self.presence.busy and not self.outflow.busy

    def busy(self) -> bool:
        """An attempt that is out, and for how long its head waits, are nowhere else."""
        return super().busy() or self.state != "idle" or self.presence.busy or self.outflow.busy

    def replaced(self) -> None:
        """Another object takes over: it waits for the attempt that is out, and answers who waits for a decision."""
        out: list[Mail] = []
        if self.state == "recording" or (self.state == "posting" and self.out):
            out.append(AttemptOut(self.attempt, self.queue[0], self.part, self.state == "recording"))
        elif self.state == "writing" and self.outcome is not None:
            out.append(OutcomeOut(self.queue[0], self.part, self.outcome))
        dropping = (Dropping(post) for post in self.dropping)
        self.leave(*self.confirmed.values(), *out, *dropping, *self.presence.unfinished())

    @handles(AttemptOut)
    def attempt_out(self, mail: AttemptOut) -> None:
        """Go on with an attempt of the predecessor, so that nothing overtakes it and none counts as lost."""
        if mail.recording:
            if self.state == "idle":
                self.queue = [mail.post, *(post for post in self.queue if post != mail.post)]
                self.state, self.attempt, self.part = "recording", mail.attempt, mail.part
            return
        parts = self._parts(mail.post)
        if self.state == "idle" and self.queue[:1] == [mail.post] and parts[mail.part].state == "sending":
            self.state, self.attempt, self.part, self.out = "posting", mail.attempt, mail.part, True

    @handles(OutcomeOut)
    def outcome_out(self, mail: OutcomeOut) -> None:
        """Write what the predecessor knew, where its own unit has not done so: never less than it had heard."""
        if self.state != "idle" or self.queue[:1] != [mail.post]:
            return
        part = self._parts(mail.post)[mail.part]
        if part.state == "sending":
            self._settle(mail.post, part, mail.outcome)

    # --- posts

    @handles(PostNow)
    def post_now(self, mail: PostNow) -> None:
        """A post's turn has come: it takes its place behind what waits here."""
        if mail in self.queue or mail in self.dropping:
            return
        parts = self._parts(mail)
        receipt = post_state(parts)
        if receipt is not None and receipt.state != "queued":
            self.system.tell(GATEWAY, PostEnded(mail.agent, receipt))
            return
        self.queue.append(mail)
        if self.state == "waiting":
            self._queue_behind(mail, parts)
        self._advance()

    def _queue_behind(self, post: PostNow, parts: Sequence[OutboxEntry]) -> None:
        reason = "an earlier message to this channel waits"
        queued = [waits(p, reason) for p in parts if p.state == "admitted"]
        if not queued:
            return
        whole = [p for p in parts if p.state != "admitted"] + queued
        letters = self._told(post, whole)
        # Not written again as it is, like an outcome: the post may have left by then.
        me = self.address
        ops = (*puts(queued), *(owing.put(debt) for debt in owed_by(parts, whole)))
        self.system.commit(ops, letters, lambda _: ((me, StillBehind(post)),))

    @handles(StillBehind)
    def still_behind(self, mail: StillBehind) -> None:
        """Say again that a post waits behind another, if it still does."""
        if mail.wait:
            self.system.after(WRITE_AGAIN, self.address, StillBehind(mail.post, False))
        elif self.state == "waiting" and mail.post in self.queue[1:]:
            self._queue_behind(mail.post, self._parts(mail.post))

    def _advance(self) -> None:
        """Try the head, if nothing is under way."""
        if self.state not in RESTING or not self.queue:
            return
        if self.state == "waiting" and self.timer is not None:
            return
        post = self.queue[0]
        part = next((p for p in self._parts(post) if not p.ended), None)
        if part is None:
            gone = self.queue.pop(0)
            self.confirmed = {key: late for key, late in self.confirmed.items() if key[0] != gone}
            self._advance()
            return
        if (sure := self._sure(post, part)) is not None:
            self._settle(post, part, sure)
            return
        surface = self.surfaces.get(self.at.server)
        if part.state == "sending" and surface is None:
            self.state = "waiting"
        elif part.state == "sending" and surface is not None and not surface.keeps_keys:
            self._settle(post, part, Unknown("the process ended before its answer came"))
        elif surface is None:
            self._settle(post, part, self._no_publisher(part))
        else:
            self._open_or_begin(post, part)

    def _sure(self, post: PostNow, part: OutboxEntry) -> Delivered | None:
        """A confirmation that is known, whether or not the store holds it yet."""
        late = self.confirmed.get((post, part.part))
        if late is not None and isinstance(late.outcome, Delivered):
            return late.outcome
        return Delivered(part.message_id) if part.state == "delivered" else None

    def _no_publisher(self, part: OutboxEntry) -> NotSent:
        """Nothing can leave. Said in the log where it is no start that is still under way: a name was mistyped."""
        server, known = self.at.server, self.surfaces.servers()
        if known or part.reason:
            _log.warning(
                "a post to %s waits: no publisher is registered for server %r (there are: %s); register one with "
                "runtime.publisher(%r)", self.at, server, ", ".join(map(repr, known)) or "none", server,
            )
        return NotSent(f"no publisher is registered for server {server!r}")

    def _open_or_begin(self, post: PostNow, part: OutboxEntry) -> None:
        way = self.presence.way(self._open_reason(part))
        if way == "open":
            self._begin(part)
        elif way == "wait":
            self.state = "opening"
        else:
            self._settle(post, part, NotSent("the channel is being closed; open it first", permanent=True))

    def _open_reason(self, part: OutboxEntry) -> str:
        return "opened-by-reply" if part.call_id else "opened-by-delivery"

    def _begin(self, part: OutboxEntry) -> None:
        self.state, self.out = "recording", False
        # Unlike any number of an earlier object of this channel, whose answers may still come.
        self.attempt = self.system.stream_id()
        self.part = part.part
        began = begin_attempt(part, self.system.clock.now())
        me, attempt = self.address, self.attempt
        self.system.commit(
            outbox.put(began), ((me, AttemptStored(attempt)),),
            lambda exc: ((me, AttemptStored(attempt, str(exc))),),
        )

    @handles(AttemptStored)
    def attempt_stored(self, mail: AttemptStored) -> None:
        """The attempt is on disk: the post may leave. If it could not be recorded, nothing is sent."""
        if self.state != "recording" or mail.attempt != self.attempt:
            return
        self.state = "posting"  # at once: this mail comes to no successor
        if mail.error:
            _log.warning("an attempt for %s could not be recorded (%s); it waits", self.at, mail.error)
            self._wait(WRITE_AGAIN)
            return
        post = self.queue[0]
        part = self._parts(post)[self.part]
        surface = self.surfaces.get(self.at.server)
        sure = self._sure(post, part)
        if sure is not None or surface is None:
            self._settle(post, part, sure or self._no_publisher(part))
            return
        self.task = publish(self.system, self.address, surface, part, post, mail.attempt)
        self.out = True

    @handles(AttemptDeadline)
    def attempt_deadline(self, mail: AttemptDeadline) -> None:
        """An asynchronous publisher has not answered in time; its answer may still come."""
        if self.state == "posting" and mail.attempt == self.attempt:
            post = self.queue[0]
            part = self._parts(post)[self.part]
            self._settle(post, part, Unknown("no answer came before the deadline"))

    @handles(AttemptEnded)
    def attempt_ended(self, mail: AttemptEnded) -> None:
        """The publisher has answered: for the post that is out, or too late for its deadline."""
        with self.system.store.snapshot() as snap:
            part = outbox.get(snap, mail.post.agent, mail.post.turn, mail.post.number, mail.part)
        if part is None:
            return
        if self.state == "posting" and mail.attempt == self.attempt and not mail.late:
            self._settle(mail.post, part, mail.outcome)
        else:
            self._correct(mail, part)

    def _correct(self, mail: AttemptEnded, part: OutboxEntry) -> None:
        """A late confirmation corrects outbox and receipt, and sends nothing (design); nothing else late matters."""
        if part.state == "delivered" or not isinstance(mail.outcome, Delivered):
            return
        if mail.post in self.queue:
            self.confirmed[mail.post, mail.part] = replace(mail, late=True)
        corrected = after_attempt(part, mail.outcome, True, self.system.clock.now())
        before = self._parts(mail.post)
        parts = [corrected if p.part == corrected.part else p for p in before]
        receipt = post_state(parts)
        ops = outbox.put(corrected)
        if receipt is not None and receipt.state == "delivered":
            # Its author is not told of a loss any more, but the draft that keeps the words is settled.
            debts = owed_by(before, parts)
            ops = (*ops, owing.delete(debt_of(part.agent, receipt)), *(owing.put(debt) for debt in debts))
        self._trace(part, corrected)
        me, again = self.address, CorrectAgain(replace(mail, late=True))
        letters = (*self._told(mail.post, parts), (me, TryAgain("a late confirmation")))
        self.system.commit(ops, letters, lambda _: ((me, again),))

    @handles(CorrectAgain)
    def correct_again(self, mail: CorrectAgain) -> None:
        """A confirmation that the store refused is looked at again: by then it may be known otherwise."""
        self.system.after(WRITE_AGAIN, self.address, mail.ended)

    # --- outcomes

    def _settle(self, post: PostNow, part: OutboxEntry, outcome: Outcome, tries: int = 0) -> None:
        outcome = self._sure(post, part) or outcome  # an earlier attempt may be confirmed while this one is out
        surface = self.surfaces.get(self.at.server)
        keeps = surface is not None and surface.keeps_keys
        retries = surface is None or surface.retries
        self.task, self.part, self.outcome = None, part.part, outcome
        ended = after_attempt(part, outcome, keeps, self.system.clock.now(), retries=retries)
        parts = self._parts(post)
        changed = [ended, *rest_after(parts, ended)]
        now = {p.part: p for p in (*parts, *changed)}
        whole = [now[index] for index in sorted(now)]
        self.state = "writing"
        self.attempt = self.system.stream_id()
        self.retry_in = backoff(ended) if ended.state == "queued" else None
        ops = (*puts(changed), *(owing.put(debt) for debt in owed_by(parts, whole)))
        if not tries:
            self._trace(part, ended)
        news = self._told(post, whole) if part.state != "queued" or ended.state != "queued" else ()
        me, again = self.address, WriteAgain(self.attempt, tries + 1)
        self.system.commit(ops, (*news, (me, OutcomeStored(self.attempt))), lambda _: ((me, again),))

    @handles(WriteAgain)
    def write_again(self, mail: WriteAgain) -> None:
        """The store refused an outcome: it has happened, so it is decided and written again until it stands.

        Only by who still has it in hand, and from what the store holds by then: an older state never covers a newer.
        """
        if self.state != "writing" or mail.attempt != self.attempt or self.outcome is None:
            return
        if mail.tries % 2:
            wait = min(WRITE_AGAIN * mail.tries, 30.0)
            self.system.after(wait, self.address, WriteAgain(mail.attempt, mail.tries + 1))
            return
        post = self.queue[0]
        self._settle(post, self._parts(post)[self.part], self.outcome, mail.tries)

    def _trace(self, before: OutboxEntry, after: OutboxEntry) -> None:
        fields = {
            "agentName": after.agent, "turn": after.turn, "channelId": self.at.channel, "serverId": self.at.server,
        }
        if after.state == "delivered":
            self.system.trace("speech-routed", messageId=after.message_id, **fields)
        else:
            self.system.trace(
                "speech-route-failed", reason=after.reason, textLen=len(before.text), outcome=after.state, **fields
            )

    @handles(OutcomeStored)
    def outcome_stored(self, mail: OutcomeStored) -> None:
        """An outcome is on disk: go on with the next part or post, or wait where this one waits."""
        if self.state != "writing" or mail.attempt != self.attempt:
            return
        self.state, self.outcome = "idle", None
        self._prune()
        nudged, self.nudged = self.nudged, False
        if self.retry_in is not None:
            self._queue_all_behind()
            self._wait(0.0 if nudged else self.retry_in)
        else:
            self._advance()

    def _queue_all_behind(self) -> None:
        for post in self.queue[1:]:
            parts = self._parts(post)
            if any(p.state == "admitted" for p in parts) and post_state(parts) is None:
                self._queue_behind(post, parts)

    def _wait(self, seconds: float) -> None:
        self.state = "waiting"
        self.timer = self.system.after(seconds, self.address, TryAgain())

    @handles(TryAgain)
    def try_again(self, mail: TryAgain) -> None:
        """The backoff is over, or the server is connected: try the head."""
        if self.state not in RESTING:
            # An attempt is out, perhaps from before the server was back: its failure is no reason to wait.
            self.nudged = self.nudged or bool(mail.why)
        else:
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None
            self._advance()

    def _prune(self) -> None:
        self.outcomes += 1
        if self.outcomes % PRUNE_EVERY:
            return
        with self.system.store.snapshot() as snap:
            alive = [(turn.agent, turn.number) for turn in turns.everywhere(snap)]
            ops = outbox.prune(snap, self.at, alive=alive)
        if ops:
            self.system.commit(ops)

    # --- open or closed

    def after_operation(self) -> None:
        """A post that waited for the opening goes on, or has failed with it."""
        if self.state != "opening" or (self.presence.working and not self.presence.closing):
            return
        self.state = "idle"
        failure = self.presence.failure
        if not failure:
            self.tell_opened(self.queue[0].agent)
            self._advance()
            return
        post = self.queue[0]
        part = next((p for p in self._parts(post) if not p.ended), None)
        if part is not None:
            self._settle(post, part, NotSent(f"the channel could not be opened: {failure}", self.presence.permanent))

    @handles(AskState)
    def ask_state(self, mail: AskState) -> None:
        """Say what waits here."""
        state = {"state": self.state, "waiting": len(self.queue), "open": self.presence.is_open}
        self.system.tell(mail.reply.address, Answer(state, mail.reply.key))
