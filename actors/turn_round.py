"""TurnRound: a turn from a round's end to its boundary: the round on disk, its calls, and the hand-over to the room.

The half of the TurnRun that begins where a stream ends. No call runs and no post leaves before the round's record is
on disk; a unit that the store refuses is sent again, more and more slowly. What comes before a round and after the
last one is the TurnRun's.
"""

import logging
from dataclasses import replace

from ..messages.address import ReplyTo
from ..messages.assembly import extend
from ..messages.blocks import ToolResult
from ..messages.drafts import Draft
from ..messages.mail import (
    Boundary,
    BoundaryDone,
    Dropped,
    Refused,
    ResultStored,
    RoundRefused,
    RoundStored,
    SendAgain,
    ToolDone,
)
from ..messages.places import ChannelRef
from ..messages.request import Done, ErrorRecord, Usage
from ..messages.turns import Turn
from ..storage import turns as turn_records
from .admitting import Words
from .asking import Asking
from .builtin_tools import Asked
from .calls import Calls
from .composer import visible
from .desk import Desk
from .rounds import owed_rows, round_rows
from .system import Timer, operator_line
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
        self.calls = Calls(self.desk, self.turn, round_, self.send_draft)
        if self.cancel_wanted:
            self._cancel_round()
            return
        self.calls.dispatch()
        self._if_all_in()

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
        if self.calls.ends_turn:
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
        self._end("cancelled", self.calls.give_up("cancelled"))

    def send_draft(self, call_id: str, at: ChannelRef, draft: Draft) -> None:
        """A call sends a draft again."""
        self.turn = self.words.send_draft(self.turn, call_id, at, draft)

    # --- what the store refused

    def send_again(self, mail: SendAgain) -> None:
        """The delay after a refused unit is over."""
        if isinstance(mail.mail, RoundRefused):
            if self.phase == "storing":
                self._commit_round()
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
