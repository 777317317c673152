"""TurnEnd: how a turn ends. Its posts and their receipts, the last transaction, the receipt row, the record's end.

A plain object owned by TurnRun. The turn's last transaction settles its wakes; then its own chain is awaited, at most
for a deadline, never another turn's (prose 7.8); then receipt and notices are stored in the unit that drops the
record. An outcome that comes after that is told by the Agent.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ..messages.address import ReplyTo
from ..messages.mail import ENDINGS_THAT_SETTLE, ChainDeadline, EndTurn, Finish, Receipt, TurnClosed
from ..messages.notices import notice_row
from ..messages.places import ChannelRef
from ..messages.posts import Debt, OutboxEntry
from ..messages.prose import Link, judge
from ..messages.prose.decisions import DraftState
from ..messages.receipts import Posted, turn_notices
from ..messages.request import ErrorRecord
from ..messages.rows import Row
from ..messages.turns import Ending, OwedNotice, Turn
from ..messages.wakes import Wake
from ..storage import Op, outbox, owing, registry
from ..storage import turns as turn_records
from .aftermath import Judged, after_receipt
from .desk import Desk
from .posted import debt_of, post_state
from .rounds import calls_of, owed_rows
from .system import Letter, Timer, operator_line

HARD_DOWN = 3
CHAIN_DEADLINE = 15.0
TERMINALS: dict[Ending, str] = {
    "completed": "inference:completed", "turn_ended": "inference:turn_ended", "cancelled": "inference:aborted",
    "exhausted": "inference:exhausted", "": "inference:completed",
}


class TurnEnd:
    """The posts of one turn and the way out of it."""

    def __init__(self, desk: Desk, chain_deadline: float = CHAIN_DEADLINE) -> None:
        self.desk = desk
        self.posts: dict[int, Posted] = {}
        self.receipts: dict[int, Receipt] = {}
        self.error: ErrorRecord | None = None
        self.turn: Turn | None = None
        self.paid: set[Debt] = set()
        self.kept: dict[int, str] = {}
        self._links: dict[int, Link] = {}
        self.closing = False
        self.finished = False
        self._deadline = chain_deadline
        self._timer: Timer | None = None
        self._began = desk.now()

    @property
    def streak(self) -> int:
        """How many turns in a row have failed before this one."""
        with self.desk.system.store.snapshot() as snap:
            value = registry.setting(snap, f"streak:{self.desk.spec.name}")
        return value if isinstance(value, int) else 0

    def expect(self, posts: Mapping[int, Posted]) -> None:
        """These posts were admitted."""
        self.posts.update(posts)
        self._links.update((number, posted.link) for number, posted in posts.items() if posted.link is not None)

    def _waiting(self) -> list[int]:
        return [number for number in self.posts if number not in self.receipts]

    def told(self) -> tuple[Op, ...]:
        """The debts that this unit pays: by a send's own result, or by the notices that go with it."""
        return tuple(owing.delete(debt) for debt in sorted(self.paid))

    def pay(self, told: Receipt) -> Debt:
        """The author hears of this outcome by what is written next."""
        debt = debt_of(self.desk.spec.name, told)
        self.paid.add(debt)
        return debt

    def _unpaid(self, debt: Debt) -> bool:
        with self.desk.system.store.snapshot() as snap:
            return debt not in self.paid and owing.is_owed(snap, debt)

    def owe(self, judged: Judged, told: Receipt) -> Turn:
        """The turn that owes the notice of a judged outcome, if that has still to be told."""
        debt, notice = debt_of(self.desk.spec.name, told), judged.notice
        unpaid = self._unpaid(debt)
        self.pay(told)
        if notice is None or not unpaid:
            return judged.turn
        return replace(judged.turn, owed=(*judged.turn.owed, OwedNotice(notice.text, notice.metadata)))

    # --- the last transaction

    def close(
        self, turn: Turn, ending: str, rows: tuple[Row, ...], ops: tuple[Op, ...], letters: Sequence[Letter],
        began: float,
    ) -> Turn:
        """Tell the room that the turn has ended; the record goes at once where nothing is on its way."""
        ended = replace(turn, ending=ending)  # type: ignore[arg-type]
        self._began = began
        # What comes after a final end is told by the agent: no unit of this turn follows that could.
        self.finished = final = not self._waiting()
        rows = (*rows, *owed_rows(ended, "ended", self.desk.now()))
        ops = (*ops, *self.told(), *self.desk.book.flush(), *self._streak_ops(ended))
        ended = replace(ended, owed=())
        wakes: tuple[Wake, ...] = ()
        if final:
            rows = (*rows, *self._notice_rows(ended))
            wakes, judged = self._judge(ended)
            ops = (*ops, *self._named(turn), *judged)
        self.desk.to_room(EndTurn(ended, rows, ops, tuple(letters), final, ReplyTo(self.desk.address), wakes))
        return ended

    def _streak_ops(self, turn: Turn) -> tuple[Op, ...]:
        streak = self.streak
        if turn.ending == "exhausted":
            return (registry.put_setting(f"streak:{turn.agent}", streak + 1),)
        if turn.ending == "completed" and streak:
            return (registry.put_setting(f"streak:{turn.agent}", 0),)
        return ()

    def closed(self, mail: TurnClosed) -> None:
        """The last transaction is on disk: say so once, and wait for the chain."""
        self.turn = mail.turn
        self._say(mail.turn)
        if mail.final:
            self.finished = True
            return
        if self.closing:
            return  # it was resumed from the record, and waits already
        self.closing = True
        if mail.turn.ending == "cancelled":
            self._finish()
            return
        self._timer = self.desk.system.after(self._deadline, self.desk.address, ChainDeadline(mail.turn.number))
        self.if_settled()

    def _say(self, turn: Turn) -> None:
        fields: dict[str, object] = {
            "agentName": turn.agent, "turn": turn.number, "durationMs": (self.desk.now() - self._began) * 1000,
        }
        if turn.ending == "cancelled":
            fields["reason"] = "user"
        if self.error is not None and turn.ending == "exhausted":
            fields |= {"error": self.error.text, "retryable": self.error.retryable, "errorType": self.error.kind}
        self.desk.system.trace(TERMINALS[turn.ending], **fields)
        if turn.ending == "exhausted":
            self._alert(turn)

    def _alert(self, turn: Turn) -> None:
        if turn.cuts >= HARD_DOWN:
            operator_line(
                self.desk.system, "wake-set-aside",
                f"a turn of {turn.agent} was cut short {turn.cuts} times; what woke it was set aside",
                agent=turn.agent, turn=turn.number,
            )
        if self.streak == HARD_DOWN:
            why = self.error.text if self.error is not None else "unknown"
            operator_line(
                self.desk.system, "hard-down", f"{turn.agent} failed {HARD_DOWN} turns in a row: {why}",
                agent=turn.agent,
            )

    # --- the chain

    def if_settled(self) -> None:
        """Finish when every post has an outcome."""
        if self.closing and not self._waiting():
            self._finish()

    def deadline(self, mail: ChainDeadline) -> None:
        """The chain has been waited for long enough: the receipt says what is known."""
        if self.closing and self.turn is not None and mail.turn == self.turn.number:
            self._finish()

    def _finish(self) -> None:
        assert self.turn is not None
        self.closing, self.finished = False, True
        if self._timer is not None:
            self._timer.cancel()
        turn = self.turn
        wakes, judged = self._judge(turn)
        rows = (*owed_rows(turn, "owed", self.desk.now()), *self._notice_rows(turn))
        ops = (*self.told(), *self.desk.book.flush(), *self._named(turn), *judged)
        self.desk.to_room(Finish(turn, rows, ops, ReplyTo(self.desk.address), wakes))

    def _judge(self, turn: Turn) -> tuple[tuple[Wake, ...], tuple[Op, ...]]:
        """The turns that the agent asked for itself, and its streak of bounces from here on (prose 8.3, 8.4)."""
        name = f"bounces:{turn.agent}"
        with self.desk.system.store.snapshot() as snap:
            before = registry.setting(snap, name, 0)
        known = before if isinstance(before, int) else 0
        streak = 0 if any(wake.first for wake in turn.wakes) else known
        book = self.desk.book
        gone = {draft.id for draft in book.newest_first() if not draft.is_open} | book.in_flight()
        judged = judge(streak, turn.events, frozenset(gone))
        ops = (registry.put_setting(name, judged.streak),) if judged.streak != known else ()
        reasons: list[str] = []
        if judged.wakes and turn.ending in ENDINGS_THAT_SETTLE:
            reasons.append("prose-bounce")
        if (turn.continuation or judged.continuation) and turn.ending == "completed":
            reasons.append("prose-continuation")
        at = turn.locus if turn.mode == "hybrid" else None
        return tuple(
            Wake(0, turn.agent, reason, self.desk.now(), at.at if at else None, at.thread if at else None)
            for reason in reasons
        ), ops

    def _named(self, turn: Turn) -> tuple[Op, ...]:
        book = self.desk.book
        return book.named(book.of_turn(turn.number))

    def _notice_rows(self, turn: Turn) -> tuple[Row, ...]:
        if turn.silent:
            return ()
        labels = self._labels(posted.at for posted in self.posts.values())
        kept: dict[str, DraftState] = {draft.id: draft.state for draft in self.desk.book.of_turn(turn.number)}
        notices = turn_notices(turn, self.posts, self.receipts, labels, kept)
        now = self.desk.now()
        return tuple(
            notice_row(f"{turn.agent}/{turn.number}/told{index}", notice, now, turn.agent)
            for index, notice in enumerate(notices)
        )

    def label(self, at: ChannelRef) -> str:
        """What people call a channel."""
        return self._labels([at]).get(at, "")

    def link(self, number: int) -> Link | None:
        """A prose post's place in its round."""
        return self._links.get(number)

    def _labels(self, places: Iterable[ChannelRef]) -> dict[ChannelRef, str]:
        with self.desk.system.store.snapshot() as snap:
            known = {at: registry.channel(snap, at) for at in dict.fromkeys(places)}
        return {at: record.label for at, record in known.items() if record is not None and record.label}

    # --- after a restart

    def take_back(self, turn: Turn) -> Turn:
        """The turn as the outcomes on disk leave it, after the store refused what was to tell them."""
        self.paid.clear()
        return self.restore(turn)

    def restore(self, turn: Turn) -> Turn:
        """Read the turn's posts and their outcomes from the outbox; the turn as these outcomes leave it."""
        with self.desk.system.store.snapshot() as snap:
            entries = list(outbox.of_turn(snap, turn.agent, turn.number))
            stored = turn_records.results(snap, turn.room, turn.agent, turn.number, turn.round.number) if (
                turn.round is not None
            ) else {}
            debts = {debt for debt in owing.all_of(snap, turn.agent) if debt[1] == turn.number}
        open_calls = set[str]() if turn.round is None else {c.id for c in calls_of(turn.round)} - set(stored)
        by_number: dict[int, list[OutboxEntry]] = {}
        for entry in entries:
            by_number.setdefault(entry.number, []).append(entry)
        for number, parts in sorted(by_number.items()):
            if parts[0].state == "parked":
                continue  # the verdict on its round says whether it is a post of the turn at all
            self.posts[number] = Posted(parts[0].at, sum(len(p.text) for p in parts), parts[0].call_id)
            receipt = post_state(parts)
            if receipt is not None:
                self.receipts[number] = receipt
                turn = self._judged_again(turn, receipt, parts, receipt.call_id in open_calls)
        # That a post has to wait is owed no more once it has come to its end.
        self.paid |= {debt for debt in debts if debt[3] == "delayed" and not self._waits(debt[2])}
        return turn

    def _waits(self, number: int) -> bool:
        told = self.receipts.get(number)
        return told is not None and told.state == "queued"

    def _judged_again(
        self, turn: Turn, receipt: Receipt, parts: Sequence[OutboxEntry], told_by_call: bool
    ) -> Turn:
        """An outcome that the record may not know of is judged again; one that it knows changes nothing.

        Where an open call's result tells it, there is no notice; what was cut is kept as a draft all the same.
        """
        link = parts[0].link
        owed = self._unpaid(debt_of(turn.agent, receipt))
        first = link is not None and receipt.state == "delivered" and all(e.link != link for e in turn.events)
        if not owed and not first:
            return turn
        judged = after_receipt(self.desk, turn, receipt, self.label(receipt.at))
        if not told_by_call:
            return self.owe(judged, receipt)
        self.pay(receipt)
        self.kept[receipt.number] = judged.draft
        return judged.turn

    def resume(self, turn: Turn) -> Turn:
        """A turn whose last transaction is on disk: wait for what is still out; the turn as its outcomes leave it."""
        self.turn = turn = self.restore(turn)
        self._began = self.desk.now()
        self.closing = True
        self._timer = self.desk.system.after(self._deadline, self.desk.address, ChainDeadline(turn.number))
        self.if_settled()
        return turn
