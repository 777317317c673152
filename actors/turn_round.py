"""TurnRound: a turn from a round's end to its boundary: the round on disk, its calls, and the hand-over to the room.

The half of the TurnRun that begins where a stream ends. No call runs and no post leaves before the round's record is
on disk; a unit that the store refuses is sent again, more and more slowly. What comes before a round and after the
last one is the TurnRun's.
"""

import logging
from dataclasses import replace

from ..messages.address import ReplyTo
from ..messages.assembly import extend
from ..messages.blocks import ToolCall, ToolResult
from ..messages.drafts import Draft
from ..messages.mail import (
    Boundary,
    BoundaryDone,
    Dropped,
    InnerAnswer,
    InnerAsked,
    InnerStored,
    MidRound,
    MidRoundStored,
    Refused,
    ResultStored,
    RoundRefused,
    RoundStored,
    SendAgain,
    ToolDone,
)
from ..messages.places import ChannelRef
from ..messages.prose.silence import SKIP_TOOL, bare_name
from ..messages.request import Done, ErrorRecord, Usage
from ..messages.turns import InnerCall, Round, Turn
from ..storage import Op
from ..storage import turns as turn_records
from .admitting import Words
from .asking import Asking
from .builtin_tools import Asked
from .calls import TOO_LATE, Calls
from .composer import visible
from .desk import Desk
from .rounds import owed_rows, round_rows
from .sends import call_action, send_plan
from .system import Letter, Timer, operator_line
from .turn_end import TurnEnd
from .turn_words import TurnWords

_log = logging.getLogger(__name__)
RESEND = (0.1, 1.0, 5.0, 30.0)


class TurnRound:
    """A turn that is alive, and the round that it is in."""

    def __init__(self, desk: Desk, turn: Turn) -> None:
        self.desk = desk
        self.turn = turn
        self.phase = "waiting"
        self.calls: Calls | None = None
        self.end = TurnEnd(desk)
        self.words = TurnWords(desk, self.end)
        self.asking = Asking(desk, self.words, self._failed)
        self.usage = Usage()
        self.cancel_wanted = False
        self.refusals = 0
        self.timers: list[Timer] = []
        self.before = turn
        self.owed_told = 0
        self.said: Words | None = None
        self.unwritten = 0

    # What the TurnRun does.

    def _ask(self, recompile: bool = True) -> None:
        """Make the next request."""
        raise NotImplementedError

    def _end(self, ending: str, results: tuple[ToolResult, ...] = ()) -> None:
        """End the turn."""
        raise NotImplementedError

    def _failed(self, error: ErrorRecord) -> None:
        """A request has failed."""
        raise NotImplementedError

    # --- a round with calls

    def _store_round(self, done: Done) -> None:
        self.before = self.turn
        self.said = self.words.admit(self.turn, done, self.asking.messages, live=True)
        self.turn = self.said.turn
        self.phase = "storing"
        self._commit_round()

    def _commit_round(self) -> None:
        turn, me = self.turn, self.desk.address
        if self.said is None or turn.round is None:
            return
        number = turn.round.number
        self.desk.system.commit(
            (turn_records.put(turn), *self.said.ops, *self.end.told()),
            (*self.said.letters, (me, RoundStored(turn.number, number))),
            lambda exc: ((me, RoundRefused(turn.number, number, str(exc))),),
        )

    def round_refused(self, mail: RoundRefused) -> None:
        """The round could not be written: nothing of it has left; try again, and then fail the turn."""
        round_ = self.turn.round
        if self.phase != "storing" or round_ is None or mail.round != round_.number:
            return
        self.refusals += 1
        self._tell_operator(mail.error)
        if self.cancel_wanted or self.refusals > len(RESEND):
            self.refusals = 0
            self.desk.book.read()
            self.turn, self.said = self.end.take_back(self.before), None
            if self.cancel_wanted:
                self._end("cancelled")
            else:
                self._failed(ErrorRecord("server", f"the store refused the round: {mail.error}"))
            return
        self._later(RESEND[self.refusals - 1], SendAgain(self.turn.number, mail))

    def round_stored(self, mail: RoundStored) -> None:
        """The round is on disk: now its calls may run."""
        round_ = self.turn.round
        if self.phase != "storing" or round_ is None or mail.round != round_.number:
            return
        self.refusals = 0
        if self.said is not None:
            self.end.expect(self.said.posts)
        self.phase = "tools"
        self.calls = self._calls_of(round_)
        if self.cancel_wanted:
            self._cancel_round()
            return
        self.calls.dispatch()
        self._if_all_in()

    def _calls_of(self, round_: Round) -> Calls:
        return Calls(self.desk, self.turn, round_, self.send_draft, self._store_result)

    def _store_result(self, call_id: str, ops: tuple[Op, ...]) -> None:
        """A result as it arrives; with the last one of the round's scripts comes the verdict on its words."""
        turn, me = self.turn, self.desk.address
        if turn.round is None or self.calls is None:
            return
        number = turn.round.number
        stored = (me, ResultStored(turn.number, number, call_id))
        if turn.round.scripts and self.calls.has_answered(turn.round.scripts):
            said = self.words.judge(turn)
            self.turn = said.turn
            self._write((*ops, *said.ops), (*said.letters, stored))
            return
        self.desk.system.commit(
            ops, (stored,), lambda exc: ((me, ResultStored(turn.number, number, call_id, str(exc))),)
        )

    # --- what a script calls

    def inner_asked(self, mail: InnerAsked) -> None:
        """A script calls a tool: it is recorded, with the post that it makes, and then it runs (prose 13, gap 2)."""
        round_ = self.turn.round
        takes = self.phase == "tools" and self.calls is not None and self.calls.accepts(mail.turn, mail.round)
        if round_ is None or self.calls is None or not takes or not self.calls.awaits(mail.script):
            self.desk.system.tell(mail.reply.address, InnerAnswer(TOO_LATE, True))
            return
        made = sum(inner.id.startswith(f"{mail.script}/") for inner in round_.inner)
        call = ToolCall(f"{mail.script}/{made + 1}", mail.name, mail.arguments)
        self.calls.begin_inner(call, mail.reply)
        inner = (*round_.inner, InnerCall(call.id, call.name, call_action(self.desk, call)))
        self.turn = replace(self.turn, round=replace(round_, inner=inner))
        plan = send_plan(self.desk, self.turn, call)
        ops: tuple[Op, ...] = ()
        letters: tuple[Letter, ...] = ((self.desk.address, InnerStored(mail.turn, mail.round, call.id)),)
        if plan is not None:
            self.turn, ops, told = self.words.send(self.turn, call.id, plan.place, plan.text)
            letters = told
        self._write(ops, letters)

    def inner_stored(self, mail: InnerStored) -> None:
        """What a script calls is on disk: it may run."""
        if self.phase == "tools" and self.calls is not None and self.calls.accepts(mail.turn, mail.round):
            self.calls.run_inner(mail.call_id)

    def tool_done(self, mail: ToolDone) -> None:
        """A result: store it, then see whether all are in."""
        if self.phase == "tools" and self.calls is not None and self.calls.accepts(mail.turn, mail.round):
            self.calls.done(mail)

    def dropped(self, mail: Dropped, asked: Asked) -> None:
        """A waiting post that a call takes back is gone, or stays."""
        if self.phase == "tools" and self.calls is not None and self.calls.accepts(asked.turn, asked.round):
            self.calls.dropped(mail, asked)

    def result_stored(self, mail: ResultStored) -> None:
        """A result is on disk, or the store would not have it: the boundary's unit holds it too."""
        if self.phase == "tools" and self.calls is not None and self.calls.accepts(mail.turn, mail.round):
            self.calls.stored(mail)
            self._if_all_in()

    def _if_all_in(self) -> None:
        if self.calls is None or not self.calls.complete:
            return
        results = self.calls.results()
        if self.calls.ends_turn or self._skipped_inside():
            self._end("turn_ended", results)
            return
        self.phase, self.owed_told = "boundary", len(self.turn.owed)
        turn, known = self.calls.opened(replace(self.turn, owed=()))
        self.desk.to_room(Boundary(
            turn, round_rows(self.desk, self.turn, results), self.desk.spec.home, self.desk.spec.budget // 2,
            (*self.end.told(), *self.desk.book.flush(), *known), ReplyTo(self.desk.address),
            owed_rows(self.turn, f"{self.turn.rounds}owed", self.desk.now()),
        ))

    def boundary_done(self, mail: BoundaryDone) -> None:
        """The round is in the log: the next request is this one and what is new (design, "stream")."""
        if self.phase != "boundary" or mail.turn.rounds != self.turn.rounds + 1 or self.turn.round is None:
            return
        results = self.calls.results() if self.calls is not None else ()
        blocks = self.turn.round.blocks
        self.calls = None
        self.turn = replace(
            self.turn, round=None, rounds=mail.turn.rounds, heard=mail.turn.heard, watermark=mail.turn.watermark,
            locus=mail.turn.locus, silenced=mail.turn.silenced, attempt=0,
            owed=self.turn.owed[self.owed_told:],
        )
        if self.cancel_wanted:
            self._end("cancelled")
            return
        heard = visible(self.desk.system.store, self.desk.spec, mail.rows)
        if not self.asking.messages or self._over_stream_budget():
            self._ask()
            return
        self.asking.messages = extend(self.asking.messages, blocks, results, heard, self.desk.spec.voices)
        self.desk.system.trace(
            "inference:stream_resumed", agentName=self.turn.agent, turn=self.turn.number, injectedMessages=len(heard)
        )
        self._ask(recompile=False)

    def _over_stream_budget(self) -> bool:
        limit = self.desk.spec.max_stream_tokens
        used = self.usage.input + self.usage.output
        if limit is None or used <= limit:
            return False
        self.desk.system.trace(
            "inference:stream_restarted", agentName=self.turn.agent, turn=self.turn.number, reason="context_budget",
            inputTokens=used, budget=limit,
        )
        return True

    def _cancel_round(self) -> None:
        assert self.calls is not None
        if not self.unwritten:
            self._end("cancelled", self.calls.give_up("cancelled"))

    def _skipped_inside(self) -> bool:
        made = self.turn.round.inner if self.turn.round is not None else ()
        return any(bare_name(call.name) == SKIP_TOOL for call in made)

    def send_draft(self, call_id: str, at: ChannelRef, draft: Draft) -> int:
        """A call sends a draft again; the number of its post."""
        number = self.turn.speech
        self.turn = self.words.send_draft(self.turn, call_id, at, draft)
        return number

    # --- units in the middle of a round

    def _write(self, ops: tuple[Op, ...], letters: tuple[Letter, ...]) -> None:
        """Write the turn as it is. The outcomes that it knows are paid for and their drafts written with it, so that a
        restart judges none of them again."""
        if self.turn.round is not None:
            whole = (*ops, *self.end.told(), *self.desk.book.flush())
            self._write_unit(MidRound(self.turn.number, self.turn.round.number, whole, letters))

    def _write_unit(self, unit: MidRound) -> None:
        self.unwritten += 1
        me = self.desk.address
        self.desk.system.commit(
            (turn_records.put(self.turn), *unit.ops), (*unit.letters, (me, MidRoundStored(unit.turn, unit.round))),
            lambda exc: ((me, replace(unit, error=str(exc))),),
        )

    def mid_round(self, mail: MidRound) -> None:
        """The store refused it: it is written again, more and more slowly, until it stands."""
        if self.phase == "tools":
            self.refusals += 1
            self._tell_operator(mail.error)
            delay = RESEND[min(self.refusals, len(RESEND)) - 1]
            self._later(delay, SendAgain(self.turn.number, replace(mail, error="")))

    def mid_round_stored(self, mail: MidRoundStored) -> None:
        """A unit is on disk; a cancel that waited for it goes on."""
        self.refusals = 0
        self.unwritten = max(0, self.unwritten - 1)
        if self.phase == "tools" and self.cancel_wanted:
            self._cancel_round()

    # --- what the store refused

    def send_again(self, mail: SendAgain) -> None:
        """The delay after a refused unit is over."""
        if isinstance(mail.mail, RoundRefused):
            if self.phase == "storing":
                self._commit_round()
        elif isinstance(mail.mail, MidRound):
            if self.phase == "tools":
                self.unwritten -= 1
                self._write_unit(mail.mail)
        elif self.phase in ("boundary", "guarding", "ending", "closing", "finishing"):
            self.desk.to_room(mail.mail)

    def refused(self, mail: Refused) -> None:
        """The room's unit was refused: nothing of it was written, so it is sent again, more and more slowly."""
        self.refusals += 1
        self._tell_operator(mail.error)
        delay = RESEND[min(self.refusals, len(RESEND)) - 1]
        self._later(delay, SendAgain(self.turn.number, mail.mail))

    def _tell_operator(self, error: str) -> None:
        """Once for each unit that the store keeps refusing (S32)."""
        if self.refusals == len(RESEND):
            operator_line(
                self.desk.system, "store-refuses", f"the store refuses the turn of {self.turn.agent}: {error}; "
                "make room on the disk or raise map_size", agent=self.turn.agent, turn=self.turn.number,
            )

    def _later(self, seconds: float, mail: object) -> None:
        self.timers = [*self.timers[-8:], self.desk.system.after(seconds, self.desk.address, mail)]
