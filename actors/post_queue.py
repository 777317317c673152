"""PostQueue: the part of a channel's actor that knows what waits, and takes out what is not to be posted after all.

Base class of Channel, which decides when the head is tried. A waiting post is taken back by its author or given up;
never one whose attempt is out. Every change is on disk before anybody hears of it.
"""

from collections.abc import Sequence
from dataclasses import replace

from ..messages.address import Address
from ..messages.mail import (
    GATEWAY,
    AttemptEnded,
    Drop,
    Dropped,
    Dropping,
    DropStored,
    Letters,
    PostEnded,
    PostNow,
    Receipt,
    TryAgain,
)
from ..messages.outcomes import given_up
from ..messages.posts import OutboxEntry
from ..storage import Op, outbox, owing
from .desk import Surfaces
from .dispatcher import handles
from .doorkeeper import Doorkeeper
from .posted import owed_by, post_state
from .system import System, Timer

WRITE_AGAIN = 1.0
RESTING = ("idle", "waiting")


class PostQueue(Doorkeeper):
    """An actor with the posts of one channel. `state`: what is under way for the head."""

    def __init__(self, system: System, address: Address, surfaces: Surfaces) -> None:
        super().__init__(system, address, surfaces)
        self.queue: list[PostNow] = []
        self.dropping: set[PostNow] = set()
        # Late confirmations by (post, part), until the post has left: the store may not hold them yet.
        self.confirmed: dict[tuple[PostNow, int], AttemptEnded] = {}
        self.state = "idle"
        self.timer: Timer | None = None

    def _parts(self, post: PostNow) -> list[OutboxEntry]:
        with self.system.store.snapshot() as snap:
            return outbox.of_post(snap, post.agent, post.turn, post.number)

    def _told(self, post: PostNow, parts: Sequence[OutboxEntry]) -> Letters:
        receipt: Receipt | None = post_state(parts)
        return () if receipt is None else ((GATEWAY, PostEnded(post.agent, receipt)),)

    # --- what waits and is not to be posted any more

    @handles(Drop)
    def drop(self, mail: Drop) -> None:
        """A waiting post is taken back or given up, unless an attempt is out."""
        post, parts = mail.post, self._parts(mail.post)
        refusal = self._undroppable(post, parts)
        if refusal:
            self._answer_drop(mail, refusal)
            return
        open_parts = [p for p in parts if not p.ended]
        if mail.reason:
            ended = [given_up(p, mail.reason) for p in open_parts]
        else:
            ended = [replace(p, state="withdrawn", reason="its author took it back") for p in open_parts]
        whole = [p for p in parts if p.ended] + ended
        ops = (*puts(ended), *(owing.put(debt) for debt in owed_by(parts, whole)))
        self.dropping.add(post)
        me, told = self.address, self._told(post, whole)
        answer = ((mail.reply.address, Dropped("", mail.reply.key)),) if mail.reply is not None else ()
        self.system.commit(ops, ((me, DropStored(post)), *told, *answer), lambda exc: self._drop_refused(mail, exc))
        self._leave_out(post)

    def _undroppable(self, post: PostNow, parts: Sequence[OutboxEntry]) -> str:
        receipt = post_state(parts)
        if any(part.state == "sending" for part in parts):
            return "it is being sent just now"
        if post in self.dropping or any(late == post for late, _ in self.confirmed):
            return "it does not wait any more"
        if receipt is None or receipt.state != "queued":
            return "it does not wait any more"
        return "it is being sent just now" if post in self.queue[:1] and self.state not in RESTING else ""

    def _drop_refused(self, mail: Drop, error: Exception) -> Letters:
        answer: Letters = ()
        if mail.reply is not None:
            answer = ((mail.reply.address, Dropped(f"it could not be recorded ({error})", mail.reply.key)),)
        return ((self.address, DropStored(mail.post, str(error))), *answer)

    def _answer_drop(self, mail: Drop, error: str) -> None:
        if mail.reply is not None:
            self.system.tell(mail.reply.address, Dropped(error, mail.reply.key))

    def _leave_out(self, post: PostNow) -> None:
        """The post leaves the queue; what stands behind it waits no longer than it would have."""
        self.queue = [waiting for waiting in self.queue if waiting != post]
        if not self.queue and self.state == "waiting":
            self.state = "idle"
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None

    @handles(Dropping)
    def being_dropped(self, mail: Dropping) -> None:
        """A predecessor is having this post's end written."""
        self.dropping.add(mail.post)
        self._leave_out(mail.post)

    @handles(DropStored)
    def drop_stored(self, mail: DropStored) -> None:
        """The post's end is on disk; or it waits on, in its old place."""
        self.dropping.discard(mail.post)
        if not mail.error or mail.post in self.queue:
            return
        with self.system.store.snapshot() as snap:
            entries = outbox.unfinished_of(snap, self.at)
        known = {*self.queue, mail.post}
        order = [post for e in entries if (post := PostNow(e.agent, e.turn, e.number)) in known]
        at = order.index(mail.post) if mail.post in order else len(self.queue)
        first = 0 if self.state in RESTING else 1
        self.queue.insert(max(first, sum(p in self.queue for p in order[:at])), mail.post)
        self.system.tell(self.address, TryAgain())


def puts(entries: Sequence[OutboxEntry]) -> tuple[Op, ...]:
    """The operations that write these entries as they stand now."""
    return tuple(op for entry in entries for op in outbox.put(entry))
