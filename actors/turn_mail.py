"""TurnMail: the mail that is for the turn that is alive, given to it; what belongs to any other turn is passed over.

The half of the Agent that only hands on. It knows which turn runs and nothing of what the turn does with its mail.
"""

from ..messages.address import Address
from ..messages.mail import (
    BoundaryDone,
    ChainDeadline,
    CompileSlice,
    Decided,
    Dropped,
    InnerAnswer,
    InnerAsked,
    InnerStored,
    MidRound,
    MidRoundStored,
    ResultsReplaced,
    ResultStored,
    Retry,
    RoundRefused,
    RoundStored,
    StreamLost,
    StreamNews,
    ToolDone,
)
from .builtin_tools import Asked, decided
from .calls import TOO_LATE
from .dispatcher import handles
from .room_member import RoomMember
from .system import System
from .turn_run import TurnRun


class TurnMail(RoomMember):
    """An actor that may have a turn alive."""

    def __init__(self, system: System, address: Address, room: str) -> None:
        super().__init__(system, address, room)
        self.run: TurnRun | None = None

    def _mine(self, turn: int) -> TurnRun | None:
        return self.run if self.run is not None and self.run.turn.number == turn else None

    @handles(CompileSlice)
    def compile_slice(self, mail: CompileSlice) -> None:
        """Go on compiling."""
        if self.run is not None:
            self.run.compile_on(mail)

    @handles(StreamNews)
    def stream_news(self, mail: StreamNews) -> None:
        """Events of a stream."""
        if self.run is not None:
            self.run.news(mail)

    @handles(StreamLost)
    def stream_lost(self, mail: StreamLost) -> None:
        """A stream's task has ended."""
        if self.run is not None:
            self.run.lost(mail)

    @handles(RoundStored)
    def round_stored(self, mail: RoundStored) -> None:
        """A round is on disk."""
        if run := self._mine(mail.turn):
            run.round_stored(mail)

    @handles(RoundRefused)
    def round_refused(self, mail: RoundRefused) -> None:
        """A round was refused by the store."""
        if run := self._mine(mail.turn):
            run.round_refused(mail)

    @handles(ToolDone)
    def tool_done(self, mail: ToolDone) -> None:
        """A call has answered."""
        if run := self._mine(mail.turn):
            run.tool_done(mail)
        else:
            self.system.trace("tool:result_dropped", agentName=self.address.name, callId=mail.call_id)

    @handles(Decided)
    def decided(self, mail: Decided) -> None:
        """A channel has answered a call of ours."""
        asked: Asked = mail.key
        self.tool_done(decided(mail, asked))

    @handles(Dropped)
    def dropped(self, mail: Dropped) -> None:
        """A channel has let a waiting post of ours go, or says why not."""
        asked: Asked = mail.key
        if run := self._mine(asked.turn):
            run.dropped(mail, asked)

    @handles(ResultStored)
    def result_stored(self, mail: ResultStored) -> None:
        """A result is on disk."""
        if run := self._mine(mail.turn):
            run.result_stored(mail)

    @handles(InnerAsked)
    def inner_asked(self, mail: InnerAsked) -> None:
        """A script calls a tool."""
        if run := self._mine(mail.turn):
            run.inner_asked(mail)
        else:
            self.system.tell(mail.reply.address, InnerAnswer(TOO_LATE, True))

    @handles(InnerStored)
    def inner_stored(self, mail: InnerStored) -> None:
        """What a script calls is on disk."""
        if run := self._mine(mail.turn):
            run.inner_stored(mail)

    @handles(MidRound)
    def mid_round(self, mail: MidRound) -> None:
        """The store refused a unit of ours in the middle of a round."""
        if run := self._mine(mail.turn):
            run.mid_round(mail)

    @handles(MidRoundStored)
    def mid_round_stored(self, mail: MidRoundStored) -> None:
        """A unit in the middle of a round is on disk."""
        if run := self._mine(mail.turn):
            run.mid_round_stored(mail)

    @handles(BoundaryDone)
    def boundary_done(self, mail: BoundaryDone) -> None:
        """The round is in the log."""
        if run := self._mine(mail.turn.number):
            run.boundary_done(mail)

    @handles(ResultsReplaced)
    def results_replaced(self, mail: ResultsReplaced) -> None:
        """A refused batch of results is withheld."""
        if run := self._mine(mail.turn.number):
            run.results_replaced(mail)

    @handles(ChainDeadline)
    def chain_deadline(self, mail: ChainDeadline) -> None:
        """The turn has waited long enough for its words."""
        if run := self._mine(mail.turn):
            run.end.deadline(mail)

    @handles(Retry)
    def retry(self, mail: Retry) -> None:
        """A retry's delay is over."""
        if run := self._mine(mail.turn):
            run.retry(mail)
