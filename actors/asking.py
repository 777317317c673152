"""Asking: one request of a turn, from admission to its stream: compile, open, take its events.

A plain object owned by TurnRun. Asks the provider's gate, reads the agent's rows in slices, opens the round, and
passes over what belongs to a request that was replaced. Decides nothing about the turn; what it cannot send it
reports as a failure.
"""

from collections.abc import Callable

from ..messages.contract import OverBudget
from ..messages.ladder import Decision, Hold, decide
from ..messages.mail import Admitted, CompileSlice, Cooldown, StreamNews, provider_address
from ..messages.request import ErrorRecord, Event, Msg, Request, Usage
from ..messages.turns import Turn
from .composer import Composer
from .desk import Desk
from .pauses import Pauses
from .streams import RoundStream
from .turn_words import TurnWords


class Asking:
    """The request that is being made, or is out. `messages` are those of the last one."""

    def __init__(self, desk: Desk, words: TurnWords, failed: Callable[[ErrorRecord], None]) -> None:
        self.desk = desk
        self.words = words
        self.pauses = Pauses()
        self.messages: tuple[Msg, ...] = ()
        self.state = ""
        self._failed = failed
        self._stream: RoundStream | None = None
        self._stream_id = 0
        self._recompile = True
        self._composer: Composer | None = None

    @property
    def unfinished(self) -> bool:
        """Whether a round is out, or paused: what it has shown is not the round's end."""
        return self._stream is not None or self.pauses.going_on

    def ask(self, turn: Turn, last: Usage, recompile: bool) -> None:
        """Ask the provider's gate; `recompile`: the messages are compiled anew once it has said yes."""
        self.state = "waiting"
        self._recompile = recompile
        self.desk.gate_pass.ask(last)

    def admitted(self, mail: Admitted, turn: Turn) -> None:
        """The provider may be asked."""
        if self.state != "waiting" or not self.desk.gate_pass.is_for(mail):
            return
        if self._recompile:
            self.compile(turn)
        else:
            self._open(turn)

    def compile(self, turn: Turn) -> None:
        """Begin a stream: its request is compiled from the rows up to the turn's watermark."""
        self.words.close()
        self.state = "compiling"
        self.pauses.forget()
        self._stream_id = self.desk.system.stream_id()
        self._composer = Composer(self.desk.system.store, self.desk.spec, turn.branch, turn.watermark)
        self.compile_on(CompileSlice(self._stream_id), turn)

    def compile_on(self, mail: CompileSlice, turn: Turn) -> None:
        """One slice of the compile; the next comes as mail."""
        if self.state != "compiling" or mail.stream != self._stream_id or self._composer is None:
            return
        if not self._composer.step():
            self.desk.to_self(mail)
            return
        try:
            self.messages = self._composer.messages()
        except OverBudget as exc:
            self._failed(ErrorRecord("over_budget", str(exc)))
            return
        finally:
            self._composer = None
        self._open(turn)

    def _open(self, turn: Turn) -> None:
        spec = self.desk.spec
        system = (*spec.system, turn.system_prompt) if turn.system_prompt else spec.system
        tools = tuple(tool.definition for tool in self.desk.tools.values())
        self.state = "streaming"
        self._stream_id = self.desk.system.stream_id()
        if not self.pauses.going_on:
            self.words.begin_round(turn, self._stream_id)
        request = Request(
            spec.model, self.pauses.sent(self.messages), system, tools, spec.max_tokens, spec.thinking, True,
            spec.extra, turn.agent, self._stream_id,
        )
        self._stream = RoundStream(self.desk.system, self.desk.address, spec.provider, request)

    def is_out(self, stream: int) -> bool:
        """Whether this stream is the present one."""
        return self._stream is not None and stream == self._stream_id

    def take(self, mail: StreamNews) -> list[Event]:
        """The events that wait of the present stream."""
        return self._stream.take() if self._stream is not None and self.is_out(mail.stream) else []

    def over(self) -> None:
        """The round is whole."""
        self.desk.gate_pass.used()
        self._stream = None
        self.state = ""

    def drop(self, sent: bool = True) -> None:
        """Stop the stream that is out. What the provider was not asked for is given back; `sent`: the stream's was."""
        if self._stream is not None:
            self._stream.cancel()
        if self._stream is None or not sent:
            self.desk.gate_pass.give_back()
        self.pauses.forget()
        self.over()

    def after_failure(self, error: ErrorRecord, attempt: int) -> Decision:
        """What follows a failed request; the provider's gate hears how long all of its agents wait (agents.md 6.1)."""
        decision = decide(error, attempt, jitter=self.desk.system.random.random())
        seconds = decision.seconds if isinstance(decision, Hold) else decision.cooldown
        if seconds:
            gate = provider_address(self.desk.spec.provider.name)
            self.desk.system.tell(gate, Cooldown(seconds, error))
        return decision
