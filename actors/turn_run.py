"""TurnRun: the live turn of one agent, from its first request to its last receipt.

A plain object owned by the Agent: compile, stream, the round (`turn_round`), and at the end the closing and its
receipts, in this order. Every step that must survive is on disk before the next begins (design, turn record). Events
of a replaced stream are passed over. Decides nothing that a pure function in `messages` decides; never touches the
log.
"""

from collections.abc import Sequence
from dataclasses import replace

from ..messages.address import ReplyTo
from ..messages.blocks import ToolResult
from ..messages.ladder import Exhaust, Hold
from ..messages.ladder import Retry as Again
from ..messages.mail import (
    Admitted,
    CompileSlice,
    Receipt,
    ReplaceResults,
    ResultsReplaced,
    Retry,
    StreamLost,
    StreamNews,
    Typing,
    Withhold,
    channel_address,
)
from ..messages.request import Done, ErrorRecord, RoundFailed, Started
from ..messages.rows import Row
from ..messages.turns import Turn
from ..messages.wakes import trigger_of
from ..storage import Op
from .admitting import Words
from .desk import Desk
from .metering import meter
from .pauses import PAUSED
from .rounds import contained_call, end_rows, interrupted_rows, refused, round_rows, withheld_results
from .system import Letter
from .turn_round import TurnRound


class TurnRun(TurnRound):
    """One turn that is alive."""

    def __init__(self, desk: Desk, turn: Turn) -> None:
        super().__init__(desk, turn)
        self.cancelled = ""
        self.began = desk.now()
        self.typing_at = None if turn.silent else turn.locus or trigger_of(turn.wakes).place
        self.interrupted = ""

    @property
    def doing(self) -> str:
        """What the turn is doing, for eyes: waiting, compiling or streaming where it asks."""
        return self.asking.state if self.phase == "asking" else self.phase

    # --- start

    def start(self, admitted: bool) -> None:
        """Begin to compile, at once where the provider admitted the turn already."""
        self._typing(True)
        if admitted:
            self.phase = "asking"
            self.asking.compile(self.turn)
        else:
            self._ask()

    def _typing(self, on: bool) -> None:
        """Where the turn began, to its end; it is presence and never moves (prose 10)."""
        if self.typing_at is not None:
            at, thread = self.typing_at.at, self.typing_at.thread
            self.desk.system.tell(channel_address(at), Typing(self.turn.agent, thread, on))

    def _ask(self, recompile: bool = True) -> None:
        self.phase = "asking"
        self.asking.ask(self.turn, self.usage, recompile)

    def admitted(self, mail: Admitted) -> None:
        """The provider may be asked."""
        if self.phase == "asking":
            self.asking.admitted(mail, self.turn)

    def compile_on(self, mail: CompileSlice) -> None:
        """One slice of the compile; the next comes as mail."""
        if self.phase == "asking":
            self.asking.compile_on(mail, self.turn)

    # --- the stream

    def news(self, mail: StreamNews) -> None:
        """Events of the stream: gather, and at its terminal go on."""
        for event in self.asking.take(mail):
            if isinstance(event, Started):
                meter(self.desk, event, self.usage)
            elif isinstance(event, Done):
                self._round_done(event)
            elif isinstance(event, RoundFailed):
                meter(self.desk, event, self.usage)
                self._failed(event.error)
            else:
                self.words.event(event)

    def lost(self, mail: StreamLost) -> None:
        """The stream's task ended on its own; without a terminal that is a failure."""
        if self.asking.is_out(mail.stream) and mail.error:
            self._failed(ErrorRecord("network", f"the stream was lost ({mail.error})", True))

    def _round_done(self, done: Done) -> None:
        self.asking.over()
        meter(self.desk, done, self.usage)
        done, self.usage = self.asking.pauses.whole(done), done.usage
        self.desk.system.trace(
            "inference:usage", agentName=self.turn.agent, turn=self.turn.number, input=done.usage.input,
            output=done.usage.output, read=done.usage.read, written=done.usage.written,
        )
        if done.stop_reason == "refusal" and self._may_guard():
            self._guard()
        elif done.stop_reason == "refusal":
            self.asking.pauses.forget()
            self._failed(refused(done))
        elif done.calls:
            self.asking.pauses.forget()
            self._store_round(done)
        elif done.stop_reason not in PAUSED:
            self._complete(done)
        elif error := self.asking.pauses.pause(done):
            self._failed(error)
        else:
            self._ask(recompile=False)

    def _may_guard(self) -> bool:
        return self.desk.spec.result_guard and self.turn.rounds > 0 and not self.turn.guarded

    def _guard(self) -> None:
        """The batch of results was refused: withhold it, and ask once more (agents.md 6.4, prose 7)."""
        self.words.abandon(self.turn)
        self.turn, old, row = withheld_results(self.desk, self.turn, self.asking.messages)
        self.phase = "guarding"
        self.desk.to_room(ReplaceResults(self.turn, old, row, ReplyTo(self.desk.address)))

    def results_replaced(self, mail: ResultsReplaced) -> None:
        """The results are withheld: compile again, in the same turn."""
        if self.phase == "guarding":
            self.turn = replace(self.turn, watermark=mail.turn.watermark)
            self._ask()

    # --- failure

    def _failed(self, error: ErrorRecord) -> None:
        was_shown = self.asking.unfinished
        self.asking.drop(sent=not error.before_send)
        decision = self.asking.after_failure(error, self.turn.attempt)
        if isinstance(decision, Exhaust) and was_shown:
            self.interrupted = self.words.interrupt(self.turn)
        self.words.abandon(self.turn)
        if isinstance(decision, Hold):
            self._ask()
        elif isinstance(decision, Exhaust):
            self.exhaust(error)
        else:
            self._retry(error, decision, self.turn.attempt + 1)

    def _retry(self, error: ErrorRecord, decision: Again, attempt: int) -> None:
        self.turn = replace(self.turn, attempt=attempt)
        self.phase = "retrying"
        self.desk.system.trace(
            "inference:failed", agentName=self.turn.agent, turn=self.turn.number, error=error.text, kind=error.kind,
            attempt=attempt, delay=decision.delay,
        )
        self._later(decision.delay, Retry(self.turn.number, attempt))

    def retry(self, mail: Retry) -> None:
        """The delay is over: compile again, at the watermark it failed with."""
        if self.phase == "retrying" and mail.attempt == self.turn.attempt:
            self._ask()

    def exhaust(self, error: ErrorRecord) -> None:
        """Give the turn up (agents.md 6.2); calls that have no result were interrupted."""
        self.end.error = error
        results: tuple[ToolResult, ...] = ()
        self.turn = self.end.restore(self.turn)
        if (round_ := self.turn.round) is not None:
            calls = self._calls_of(round_)
            calls.restore(self.end.receipts, self.end.kept)
            results = calls.give_up("interrupted")
        self._end("exhausted", results)

    # --- the end

    def _complete(self, done: Done) -> None:
        contained = contained_call(self.desk, self.turn, done)
        if contained is not None:
            self._finish_with("completed", (contained,), (), ())
            return
        said = self.words.admit(self.turn, done, self.asking.messages, live=False)
        self.turn = said.turn
        self.end.expect(said.posts)
        self._finish_with("completed", said.rows, said.ops, said.letters)

    def _end(self, ending: str, results: tuple[ToolResult, ...] = ()) -> None:
        if self.asking.unfinished:
            self.interrupted = self.words.interrupt(self.turn)
        self.asking.drop()
        said = Words(self.turn)
        if self.turn.round is not None and self.turn.round.scripts:
            said = self.words.judge(self.turn)
            self.turn = said.turn
        rows = (*round_rows(self.desk, self.turn, results), *interrupted_rows(self.desk, self.turn, self.interrupted))
        self._finish_with(ending, rows, said.ops, said.letters)

    def _finish_with(
        self, ending: str, rows: tuple[Row, ...], ops: tuple[Op, ...], letters: Sequence[Letter]
    ) -> None:
        self.phase = "ending"
        self.words.close()
        self._typing(False)
        end, now = self.end, self.desk.now()
        rows = (*rows, *end_rows(self.turn, ending, end.error, self.cancelled, end.streak + 1, now))
        self.turn = self.end.close(self.turn, ending, rows, ops, letters, self.began)

    def cancel(self, by: str) -> bool:
        """Cancel the turn; False where it has ended already."""
        if self.phase in ("ending", "closing", "finishing"):
            return False
        self.cancelled, self.cancel_wanted = by or "the host", True
        if self.phase == "tools":
            self._cancel_round()
        elif self.phase not in ("storing", "boundary"):
            self._end("cancelled")
        return True

    def receipt(self, mail: Receipt) -> None:
        """A post of this turn has an outcome; one that has not been resumed yet will read it from the store."""
        if self.phase == "waiting":
            return
        calls = self.calls if self.phase == "tools" else None
        told_by_call = calls is not None and calls.awaits(mail.call_id)
        self._becomes(self.words.after(self.turn, mail, told_by_call=told_by_call))
        if calls is not None and told_by_call:
            calls.posted(mail)
        self.end.if_settled()

    def _becomes(self, turn: Turn) -> None:
        self.turn = turn
        if self.end.turn is not None:
            self.end.turn = replace(turn, phase="closing", round=None)

    def withhold(self, mail: Withhold) -> None:
        """A failure before it holds this post back."""
        self._becomes(self.words.withhold(self.turn, mail))

    # --- stopping and resuming

    def cut(self) -> None:
        """Stop all that runs; the record stays for the next start."""
        self.phase = "stopped"
        self.abandon()

    def abandon(self) -> None:
        """Stop the stream, the calls, the timers and the indicator of a turn that this object no longer owns."""
        self.asking.drop()
        self._typing(False)
        if self.calls is not None:
            self.calls.give_up("interrupted")
        for timer in self.timers:
            timer.cancel()

    def resume(self) -> None:
        """Go on with a turn that a crash or a stop cut (design, turn record)."""
        if self.turn.phase == "closing":
            self.phase = "closing"
            self.turn = self.end.resume(self.turn)
            return
        self.turn = self.end.restore(self.turn)
        if self.turn.round is None:
            self.start(admitted=False)
            return
        self._typing(True)
        self.calls = self._calls_of(self.turn.round)
        self.calls.restore(self.end.receipts, self.end.kept)
        self.phase = "tools"
        self._if_all_in()
