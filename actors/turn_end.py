"""TurnEnd: how a turn ends. Its posts and their receipts, the last transaction, the receipt row, the record's end.

A plain object owned by TurnRun. The turn's last transaction settles its wakes; then its own chain is awaited, at most
for a deadline, never another turn's (prose 7.8); then receipt and notices are stored in the unit that drops the
record. An outcome that comes after that is told by the Agent.
"""

from collections.abc import Sequence
from dataclasses import replace

from ..messages.address import ReplyTo
from ..messages.mail import ChainDeadline, EndTurn, Finish, Receipt, TurnClosed
from ..messages.notices import notice_row
from ..messages.places import ChannelRef
from ..messages.posts import OutboxEntry
from ..messages.receipts import Posted, owes_notice, turn_notices
from ..messages.request import ErrorRecord
from ..messages.rows import Row
from ..messages.turns import Ending, Turn
from ..storage import Op, outbox, owing, registry
from .desk import Desk
from .posted import post_state
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

    def expect(self, posts: dict[int, Posted]) -> None:
        """These posts were admitted."""
        self.posts.update(posts)

    def _waiting(self) -> list[int]:
        return [number for number in self.posts if number not in self.receipts]

    def told_by_results(self) -> tuple[Op, ...]:
        """The owed notices that an explicit send's own result tells."""
        told = [n for n, posted in self.posts.items() if posted.call_id and n in self.receipts]
        return self._told(told)

    def _told(self, numbers: Sequence[int]) -> tuple[Op, ...]:
        turn = self.turn_number
        return tuple(
            owing.delete(self.desk.spec.name, turn, n) for n in numbers
            if n in self.receipts and owes_notice(self.receipts[n].state)
        )

    @property
    def turn_number(self) -> int:
        """The turn's number, from any of its receipts."""
        return next((receipt.turn for receipt in self.receipts.values()), 0)

    # --- the last transaction

    def close(
        self, turn: Turn, ending: str, rows: tuple[Row, ...], ops: tuple[Op, ...], letters: Sequence[Letter],
        began: float,
    ) -> Turn:
        """Tell the room that the turn has ended; the record goes at once where nothing is on its way."""
        ended = replace(turn, ending=ending)  # type: ignore[arg-type]
        self._began = began
        final = not self._waiting()
        if final:
            rows = (*rows, *self._notice_rows(ended))
            ops = (*ops, *self._told(list(self.posts)))
        ops = (*ops, *self._streak_ops(ended))
        self.desk.to_room(EndTurn(ended, rows, ops, tuple(letters), final, ReplyTo(self.desk.address)))
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
        self.desk.to_room(Finish(
            self.turn, self._notice_rows(self.turn), self._told(list(self.posts)), ReplyTo(self.desk.address)
        ))

    def _notice_rows(self, turn: Turn) -> tuple[Row, ...]:
        if turn.silent:
            return ()
        labels = self._labels()
        notices = turn_notices(turn, self.posts, self.receipts, labels)
        now = self.desk.now()
        return tuple(
            notice_row(f"{turn.agent}/{turn.number}/told{index}", notice, now, turn.agent)
            for index, notice in enumerate(notices)
        )

    def _labels(self) -> dict[ChannelRef, str]:
        with self.desk.system.store.snapshot() as snap:
            known = {at: registry.channel(snap, at) for at in {posted.at for posted in self.posts.values()}}
        return {at: record.label for at, record in known.items() if record is not None and record.label}

    # --- after a restart

    def restore(self, turn: Turn) -> None:
        """Read the turn's posts and their outcomes from the outbox."""
        with self.desk.system.store.snapshot() as snap:
            entries = list(outbox.of_turn(snap, turn.agent, turn.number))
        by_number: dict[int, list[OutboxEntry]] = {}
        for entry in entries:
            by_number.setdefault(entry.number, []).append(entry)
        for number, parts in by_number.items():
            self.posts[number] = Posted(parts[0].at, sum(len(p.text) for p in parts), parts[0].call_id)
            receipt = post_state(parts)
            if receipt is not None:
                self.receipts[number] = receipt

    def resume(self, turn: Turn) -> None:
        """A turn whose last transaction is on disk: wait for what is still out."""
        self.restore(turn)
        self.turn = turn
        self._began = self.desk.now()
        self.closing = True
        self._timer = self.desk.system.after(self._deadline, self.desk.address, ChainDeadline(turn.number))
        self.if_settled()
