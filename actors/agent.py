"""Agent: one LLM identity. Its mailbox, its turn token, and the turn that holds it.

Owns whether a turn may begin and which turn is alive; the turn itself is a TurnRun. The wakes are records that the Room
keeps, since a wake is written in one unit with its message; the agent is told that some wait, holds its token, asks
the provider's gate and then the room. Rebuilt from the store at any moment: a turn record found there is resumed.
What it may do comes from its spec. It never blocks, never writes to a log, and never posts.
"""

import logging
from dataclasses import replace
from typing import Any

from ..messages.address import Address, MailFailed, ReplyTo, Undelivered
from ..messages.mail import (
    GATEWAY,
    Admitted,
    Answer,
    AskState,
    Awake,
    Begin,
    Boundary,
    Cancel,
    Decided,
    DraftsRefused,
    Drop,
    Dropped,
    EndTurn,
    Finish,
    NothingToDo,
    Receipt,
    Refused,
    Resumed,
    Rewithhold,
    SendAgain,
    StaleLook,
    StopCut,
    StopTurns,
    TurnBegun,
    TurnClosed,
    TurnFinished,
    WakeHint,
    Withhold,
)
from ..messages.request import ErrorRecord
from ..messages.turns import Turn
from ..storage import Op, registry, turns
from .builtin_tools import Asked, all_tools, decided
from .desk import Desk, Surfaces
from .dispatcher import handles
from .draft_book import DraftBook
from .gate_pass import GatePass
from .keeping import write_drafts, written_again
from .late_outcomes import late_notice, owed, unnamed_drafts, withhold_late
from .room_member import OFFER_AGAIN
from .spec import AgentSpec
from .stale import StaleWatch, busy_as
from .system import System
from .turn_end import TurnEnd
from .turn_mail import TurnMail
from .turn_round import RESEND
from .turn_run import TurnRun

_log = logging.getLogger(__name__)
MOST_CUTS = 3


class Agent(TurnMail):
    """The actor of one agent."""

    def __init__(self, system: System, address: Address, spec: AgentSpec, surfaces: Surfaces) -> None:
        super().__init__(system, address, spec.room)
        self.spec = spec
        self.desk = Desk(
            system, address, spec, surfaces, all_tools(spec.tools, spec.mode), DraftBook(system.store, spec.name),
            GatePass(system, address, spec.provider),
        )
        self.token = ""
        self.again = False
        self.refusals = 0
        self.stopping: StopTurns | None = None
        self.stale = StaleWatch(system, address, spec.room, self._busy_as)

    # --- life

    def greeted(self, pending: bool) -> None:
        """Resume the turn that the store holds, tell what is owed, and ask for wakes."""
        self.token, self.again = "", False
        self.desk.book.read()
        self.incarnation = self.address.incarnation
        with self.system.store.snapshot() as snap:
            turn = turns.get(snap, self.spec.room, self.spec.name)
            record = registry.agent(snap, self.spec.name)
            if record is not None:
                self.incarnation = record.incarnation
            late, gone = owed(snap, self.spec.name, turn)
        if gone:
            write_drafts(self.desk, gone)
        for receipt in late:
            self._tell_late(receipt)
        self.system.tell(GATEWAY, Rewithhold(self.spec.name))
        if turn is not None:
            self._resume(turn)
        elif pending:
            self._take_token()

    def busy(self) -> bool:
        """A turn that runs, a token that is held and a stop are known only here."""
        unwritten = bool(self.desk.book.changed)
        return super().busy() or bool(self.token) or self.run is not None or self.stopping is not None or unwritten

    def replaced(self) -> None:
        """Another object takes over: stop what this one started. It begins no turn either, and answers the stop."""
        self.stale.over()
        self.desk.gate_pass.give_back()
        if self.run is not None:
            self.run.abandon()
        if self.stopping is not None:
            self.leave(self.stopping)

    def _resume(self, turn: Turn) -> None:
        self.token = "turn"
        cuts = turn.cuts if turn.stopped or turn.phase == "closing" else turn.cuts + 1
        turn = replace(turn, cuts=cuts, stopped=False)
        self.run = TurnRun(self.desk, turn)
        self.system.trace("inference:resumed", agentName=turn.agent, turn=turn.number, cuts=cuts)
        if turn.phase == "closing":
            self.run.resume()
            return
        # The count is on disk before anything runs, so that a turn that kills the process is counted.
        letter = (self.address, Resumed(turn.number))
        self.system.commit((turns.put(turn),), (letter,), lambda _: (letter,))

    @handles(Resumed)
    def resumed(self, mail: Resumed) -> None:
        """The count is on disk: go on, or give up what has cut three starts short."""
        run = self._mine(mail.turn)
        if run is None or run.phase != "waiting":
            return
        if self.stopping is not None and self.stopping.hard:
            self._cut()
        elif run.turn.cuts >= MOST_CUTS:
            self._give_up()
        else:
            run.resume()

    @handles(Awake)
    def awake(self, mail: Awake) -> None:
        """A start of the runtime: being built has done all there is to do."""

    # --- wakes and the token

    @handles(WakeHint)
    def hinted(self, mail: WakeHint) -> None:
        """Wakes wait: take the token and ask the provider's gate, unless a turn is alive."""
        if self.stopping is not None:
            return
        if self.token:
            self.again = True
            self.stale.waits()
            return
        self._take_token()

    @handles(StaleLook)
    def stale_look(self, mail: StaleLook) -> None:
        """Wakes have waited for long."""
        self.stale.look()

    def _take_token(self) -> None:
        self.token, self.again = "admission", False
        self.stale.over()
        self.desk.gate_pass.ask()

    @handles(Admitted)
    def admitted(self, mail: Admitted) -> None:
        """The provider may be asked: begin a turn, or go on with the one that is alive."""
        if self.run is not None:
            self.run.admitted(mail)
        elif self.token == "admission" and self.desk.gate_pass.is_for(mail):
            if self.stopping is not None:
                self._free()
                return
            self.token = "begin"
            self._begin()

    def _begin(self) -> None:
        spec, (notices, ops) = self.spec, unnamed_drafts(self.desk)
        self.desk.to_room(Begin(
            spec.name, self.incarnation, spec.mode, spec.home, spec.budget // 2, ReplyTo(self.address), notices, ops
        ))

    @handles(NothingToDo)
    def nothing_to_do(self, mail: NothingToDo) -> None:
        """No wake could be taken; look again if one came meanwhile."""
        if self.token == "begin" and self.run is None:
            self._free()

    @handles(TurnBegun)
    def turn_begun(self, mail: TurnBegun) -> None:
        """The turn's record is on disk."""
        if self.run is not None:
            return  # it was read from the store already
        self.token, self.refusals = "turn", 0
        self.run = TurnRun(self.desk, mail.turn)
        self.system.trace(
            "inference:started", agentName=self.spec.name, turn=mail.turn.number, silent=mail.turn.silent,
            channelId=mail.turn.locus.at.channel if mail.turn.locus else None,
        )
        if self.stopping is not None and self.stopping.hard:
            self._cut()
        elif mail.turn.cuts >= MOST_CUTS:
            self._give_up()
        else:
            self.run.start(admitted=True)

    def _give_up(self) -> None:
        """What woke this turn cut three starts short: it is set aside, and the others go on (agents.md 19.15)."""
        assert self.run is not None
        self.run.exhaust(ErrorRecord("server", f"{MOST_CUTS} starts of this turn were cut short by a crash"))

    @handles(TurnFinished)
    def turn_finished(self, mail: TurnFinished) -> None:
        """The record is gone: the token is free."""
        if self.run is None or self.run.turn.number != mail.number:
            return
        self.run = None
        self.again = self.again or mail.pending
        self._free()

    def _busy_as(self) -> str:
        return busy_as(self.run.doing if self.run is not None else "")

    def _free(self) -> None:
        self.token = ""
        self.desk.gate_pass.give_back()
        if self.stopping is not None:
            self._answer_stop()
        elif self.again:
            self._take_token()

    # --- the turn's end and what was refused

    @handles(TurnClosed)
    def turn_closed(self, mail: TurnClosed) -> None:
        """The turn's last transaction is on disk."""
        if run := self._mine(mail.turn.number):
            # What posts came to while the unit was on its way stays in the turn.
            same = run.turn.ending == mail.turn.ending
            run.turn = replace(run.turn, phase="closing", round=None) if same else mail.turn
            run.end.closed(replace(mail, turn=run.turn))
        elif mail.final:
            TurnEnd(self.desk).closed(mail)  # its own object was rebuilt meanwhile: it is said all the same

    @handles(Refused)
    def refused(self, mail: Refused) -> None:
        """The store refused a unit of ours; nothing of it was written."""
        if self.run is not None:
            self.run.refused(mail)
        elif self.token == "begin":
            self.refusals += 1
            delay = RESEND[min(self.refusals, len(RESEND)) - 1]
            self.system.after(delay, self.address, SendAgain(0, mail.mail))

    @handles(SendAgain)
    def send_again(self, mail: SendAgain) -> None:
        """A refused unit's delay is over."""
        if run := self._mine(mail.turn):
            run.send_again(mail)
        elif self.run is None and self.token == "begin":
            self._begin()

    # --- outcomes

    @handles(Withhold)
    def withhold(self, mail: Withhold) -> None:
        """A failure holds one of our posts back."""
        if run := self._mine(mail.turn):
            run.withhold(mail)
        else:
            withhold_late(self.desk, mail)

    @handles(Receipt)
    def receipt(self, mail: Receipt) -> None:
        """A post has an outcome: the turn's, if it is alive, else it is told now."""
        run = self._mine(mail.turn)
        if run is not None and not run.end.finished:
            run.receipt(mail)
        else:
            self._tell_late(mail)

    def _tell_late(self, mail: Receipt) -> None:
        """An outcome that the turn's receipt could not tell: a notice through the inbox, once (design)."""
        offer = late_notice(self.desk, mail)
        if offer is not None:
            self.desk.to_room(offer)

    @handles(DraftsRefused)
    def drafts_refused(self, mail: DraftsRefused) -> None:
        """The store refused drafts of ours: they are written again."""
        written_again(self.desk, mail, OFFER_AGAIN)

    # --- from outside

    @handles(Cancel)
    def cancel(self, mail: Cancel) -> None:
        """Cancel the running turn."""
        ran = self.run is not None and self.run.cancel(mail.by)
        if mail.reply is not None:
            self.system.tell(mail.reply.address, Answer(ran, mail.reply.key))

    @handles(StopTurns)
    def stop_turns(self, mail: StopTurns) -> None:
        """Begin nothing more; cut the turn where the deadline has come, keeping its record."""
        self.stopping = mail
        self.stale.over()
        if self.run is None:
            if self.token in ("", "admission"):
                self._answer_stop()
            return
        if mail.hard:
            self._cut()

    def _cut(self) -> None:
        """Stop the turn where it is; its record stays, and says that this was no crash."""
        assert self.run is not None
        run = self.run
        running = run.phase not in ("ending", "closing", "storing", "boundary") and not run.unwritten
        run.cut()
        ops: tuple[Op, ...] = ()
        if running:
            ops = (turns.put(replace(run.turn, stopped=True)), *self.desk.book.flush(), *run.end.told())
        letter = (self.address, StopCut(run.turn.number))
        self.system.commit(ops, (letter,), lambda _: (letter,))

    @handles(StopCut)
    def stop_cut(self, mail: StopCut) -> None:
        """The cut turn's record is on disk."""
        self._answer_stop()

    def _answer_stop(self) -> None:
        if self.stopping is not None:
            reply = self.stopping.reply
            self.system.tell(reply.address, Answer(self.spec.name, reply.key))

    @handles(AskState)
    def ask_state(self, mail: AskState) -> None:
        """Say what the agent is doing."""
        run = self.run
        state: dict[str, Any] = {
            "state": run.doing if run is not None else self.token or "idle",
            "turn": run.turn.number if run is not None else None,
            "stopping": self.stopping is not None,
        }
        self.system.tell(mail.reply.address, Answer(state, mail.reply.key))

    @handles(Undelivered)
    def undelivered(self, mail: Undelivered) -> None:
        """Mail of ours has no addressee any more."""
        self._came_back(mail)

    @handles(MailFailed)
    def mail_failed(self, mail: MailFailed) -> None:
        """Mail of ours could not be handled."""
        self._came_back(mail)

    def _came_back(self, mail: MailFailed | Undelivered) -> None:
        """Mail of ours could not be handled."""
        _log.error("mail of %s to %s came back: %s", self.spec.name, mail.to, type(mail.mail).__name__)
        if isinstance(mail.mail, (Begin, Boundary, EndTurn, Finish)):
            self.refused(Refused(mail.mail, "the room could not take it"))
        if isinstance(mail.key, Asked):
            asked, why = mail.key, "the channel could not be asked"
            if isinstance(mail.mail, Drop):
                self.dropped(Dropped(why, asked))
            else:
                self.tool_done(decided(Decided(None, why, asked), asked))
