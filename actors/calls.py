"""Calls: the tool calls of one round. Dispatched at once and together, each answered exactly once.

A plain object owned by TurnRun. A call runs only after its round is on disk, and never twice: after a restart a call
without a stored result is answered `interrupted`. Every result is stored as it arrives. Nothing here raises into the
turn: a bad call, a missing tool and a raising tool are error results that say what to do.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..messages.address import ReplyTo
from ..messages.blocks import Text, ToolCall, ToolResult, text_of
from ..messages.locus import after_opening
from ..messages.mail import Dropped, InnerAnswer, InnerAsked, Receipt, ResultStored, ToolDone
from ..messages.places import Place
from ..messages.posts import OutboxEntry
from ..messages.prose.silence import RESEND, SKIP_TOOL
from ..messages.speech import bare_name
from ..messages.turns import Round, Turn
from ..storage import Op, Snapshot, outbox, owing, registry
from ..storage import turns as turn_records
from .bridge import wait
from .builtin_tools import BUILTINS, Asked, CallContext
from .desk import Desk
from .drafts_tool import Dismissal
from .keeping import write_drafts
from .posted import debt_of, post_state, send_result
from .resending import Resend, SendDraft, how_far
from .rounds import calls_of
from .sends import call_action, resolve_channel, target
from .system import JobGivenUp, JobNotStarted, JobRefused, Task
from .tools import BadCall, InnerCaller, Tool, ToolContext

_log = logging.getLogger(__name__)

TOO_LATE = "not run: the call that this script belongs to has been answered already"
GIVEN_UP = {
    "cancelled": "cancelled: the turn was cancelled before this call answered; it may have taken effect",
    "interrupted": "interrupted: the process was restarted before this call answered; it may have taken effect",
}


class Calls:
    """The calls of one round and what is known of each."""

    def __init__(
        self, desk: Desk, turn: Turn, round_: Round, send_draft: SendDraft, store: Callable[[str, tuple[Op, ...]], None]
    ) -> None:
        self.desk = desk
        self._send_draft = send_draft
        self._store = store
        self._inner: dict[str, tuple[ToolCall, ReplyTo]] = {}
        self._resends: dict[str, Resend] = {}
        self._dismissals: dict[str, Dismissal] = {}
        self.turn = turn
        self.round = round_
        self.calls: dict[str, ToolCall] = {call.id: call for call in calls_of(round_)}
        self._index = {call_id: index for index, call_id in enumerate(self.calls)}
        self._sends = {send.call_id: send.number for send in round_.sends}
        self._results: dict[str, ToolResult] = {}
        self._on_disk: set[str] = set()
        self._tasks: dict[str, Task] = {}
        self._opened: dict[str, Place] = {}
        self.ends_turn = False

    @property
    def complete(self) -> bool:
        """Whether every call is answered and its result was handed to the store."""
        return len(self._on_disk) == len(self.calls)

    def accepts(self, turn: int, round_: int) -> bool:
        """Whether mail of this turn and round is for these calls."""
        return (turn, round_) == (self.turn.number, self.round.number)

    def has_answered(self, call_ids: Iterable[str]) -> bool:
        """Whether all of these calls have their results."""
        return all(call_id in self._results for call_id in call_ids)

    def results(self) -> tuple[ToolResult, ...]:
        """All results, in the order of the calls."""
        return tuple(self._results[call_id] for call_id in self.calls)

    def opened(self, turn: Turn) -> tuple[Turn, tuple[Op, ...]]:
        """The turn after its round's last `channel_open`, which moves the locus and says so itself (agents.md 10.4)."""
        last = next((self._opened[call_id] for call_id in reversed(self.calls) if call_id in self._opened), None)
        locus = after_opening(turn.mode, self.desk.spec.home, turn.locus, last)
        if locus is None or locus == turn.locus:
            return turn, ()
        return replace(turn, locus=locus), (registry.put_setting(f"locus:{turn.agent}", str(locus.at)),)

    # --- dispatch

    def dispatch(self) -> None:
        """Start every call."""
        for call in self.calls.values():
            self.desk.system.trace(
                "tool:started", agentName=self.turn.agent, turn=self.turn.number, tool=call.name, callId=call.id
            )
            if call.id not in self._sends:
                self._start(call)

    def _start(self, call: ToolCall) -> None:
        tool = self.desk.tools.get(call.name)
        if tool is None:
            names = ", ".join(self.desk.tools) or "none"
            self._answer(call, f"there is no tool {call.name!r} any more; tools you can call: {names}", error=True)
            return
        if call.unusable:
            self._answer(call, f"the call was not run: its arguments {call.unusable}. Call again.", error=True)
            return
        try:
            given = tool.parse(call.arguments)
            builtin = BUILTINS.get(call.name)
            if builtin is not None and call.name not in self.desk.spec.tools:
                self._run_builtin(call, given)
            else:
                self._run(call, tool, given)
        except BadCall as bad:
            self._answer(call, str(bad), error=True)

    def _run_builtin(self, call: ToolCall, given: Mapping[str, Any]) -> None:
        context = CallContext(self.desk, self.turn, self.round.number, call.id, self._dismissals)
        if call.name == "drafts" and given["action"] == "resend":
            self._resend(context, given)
            return
        done = BUILTINS[call.name](context, given)
        if done is not None:
            self.desk.to_self(done)

    def _resend(self, context: CallContext, given: Mapping[str, Any]) -> None:
        at = target(self.desk, self.turn, given.get("channelId"), given.get("serverId"))
        resend = Resend(self.desk, context.call_id, at, given, self._send_draft)
        self._resends[context.call_id] = resend
        text = resend.start()
        if text is not None:
            self.desk.to_self(context.answer(text))

    def _run(self, call: ToolCall, tool: Tool, given: Mapping[str, Any]) -> None:
        at = self.turn.locus.at if self.turn.locus else None
        caller = self._caller(call) if tool.script else None
        context = ToolContext(self.turn.agent, self.turn.number, call.id, at, caller)
        system, me, deadline = self.desk.system, self.desk.address, self.desk.spec.tool_deadline
        done = self._finished(call, tool)
        if tool.is_async:
            self._tasks[call.id] = system.task(
                lambda: tool.invoke_async(given, context), me, done, name=call.name, deadline=deadline,
                loop=self.desk.surfaces.loop,
            )
        else:
            self._tasks[call.id] = system.job(
                "tool", lambda: tool.invoke(given, context), me, done, name=call.name, deadline=deadline
            )

    def _caller(self, call: ToolCall) -> InnerCaller:
        """What a script calls the agent's tools with: each call is mail to the agent, and its answer mail back."""
        system, me, deadline = self.desk.system, self.desk.address, self.desk.spec.tool_deadline
        turn, number = self.turn.number, self.round.number

        async def ask(name: str, arguments: str) -> tuple[str, bool]:
            answer = await wait(
                system, me, lambda reply: InnerAsked(turn, number, call.id, name, arguments, reply), deadline
            )
            return answer.text, answer.is_error

        return ask

    # --- what a script calls

    def begin_inner(self, call: ToolCall, reply: ReplyTo) -> None:
        """A script has called a tool; it runs when it is recorded."""
        self._inner[call.id] = (call, reply)
        self.desk.system.trace(
            "tool:started", agentName=self.turn.agent, turn=self.turn.number, tool=call.name, callId=call.id
        )

    def run_inner(self, call_id: str) -> None:
        """Run a call of a script. One that posts was admitted with its record and never comes here."""
        call, _ = self._inner.get(call_id, (None, None))
        if call is None:
            return
        tool = self.desk.tools.get(call.name)
        if tool is not None and tool.script:
            self._answer(call, f"not run: {call.name} is a script, and a script cannot call another one", error=True)
        else:
            self._start(call)

    def _inner_done(self, mail: ToolDone) -> bool:
        call, reply = self._inner.pop(mail.call_id, (None, None))
        if call is None or reply is None:
            return False
        self._tasks.pop(mail.call_id, None)
        if mail.opened is not None:
            self._opened[mail.call_id.partition("/")[0]] = mail.opened
        self.desk.system.trace(
            "tool:failed" if mail.result.is_error else "tool:completed",
            agentName=self.turn.agent, turn=self.turn.number, tool=call.name, callId=call.id,
        )
        self.desk.system.tell(reply.address, InnerAnswer(text_of(mail.result.content), mail.result.is_error))
        return True

    def _end_inner(self, script: str) -> None:
        """A script is over: what it left running runs no more."""
        for call_id in [call_id for call_id in self._inner if call_id.startswith(f"{script}/")]:
            task = self._tasks.pop(call_id, None)
            if task is not None:
                task.cancel()
            _, reply = self._inner.pop(call_id)
            self.desk.system.tell(reply.address, InnerAnswer(TOO_LATE, True))

    # --- results

    def _finished(self, call: ToolCall, tool: Tool) -> "Finished":
        return Finished(self.turn.number, self.round.number, call, tool, self.desk.spec.tool_deadline)

    def _answer(self, call: ToolCall, text: str, error: bool = False) -> None:
        result = ToolResult(call.id, (Text(text),), error)
        self.desk.to_self(ToolDone(self.turn.number, self.round.number, call.id, result))

    # --- answers

    def awaits(self, call_id: str) -> bool:
        """Whether this is a call of the round, or of a script in it, that has no result yet."""
        return call_id in self._inner or (call_id in self.calls and call_id not in self._results)

    def done(self, mail: ToolDone, pays: tuple[Op, ...] = ()) -> None:
        """A call has answered: store its result, in one unit with what it tells, or give it to the script."""
        if self._inner_done(mail):
            if pays:
                write_drafts(self.desk, pays)
            return
        call = self.calls.get(mail.call_id)
        if call is None or mail.call_id in self._results:
            self.desk.system.trace("tool:result_dropped", agentName=self.turn.agent, callId=mail.call_id)
            return
        self._results[mail.call_id] = mail.result
        self._tasks.pop(mail.call_id, None)
        self._end_inner(mail.call_id)
        self.ends_turn = self.ends_turn or mail.ends_turn or _skips(call, mail.result)
        if mail.opened is not None:
            self._opened[call.id] = mail.opened
        self.desk.system.trace(
            "tool:failed" if mail.result.is_error else "tool:completed",
            agentName=self.turn.agent, turn=self.turn.number, tool=call.name, callId=call.id,
        )
        turn = self.turn
        op = turn_records.put_result(
            turn.room, turn.agent, turn.number, self.round.number, self._index[mail.call_id], mail.result
        )
        self._store(mail.call_id, (op, *pays))

    def stored(self, mail: ResultStored) -> None:
        """A result is on disk; where the store refused it, the boundary's unit will hold it."""
        if mail.error:
            _log.warning("a result of %s was refused by the store (%s)", self.turn.agent, mail.error)
        if mail.call_id in self._results:
            self._on_disk.add(mail.call_id)

    def posted(self, receipt: Receipt) -> None:
        """An explicit send's post has an outcome, which is its call's result."""
        if not self.awaits(receipt.call_id):
            return
        paid = owing.delete(debt_of(self.turn.agent, receipt))
        resend = self._resends.get(receipt.call_id)
        outcome = send_result(receipt, receipt.at) if resend is None else resend.posted(receipt)
        if outcome is None:
            write_drafts(self.desk, (paid,))
        else:
            self._result(receipt.call_id, outcome, (*self.desk.book.flush(), paid))

    def dropped(self, mail: Dropped, asked: Asked) -> None:
        """A channel has let a waiting post go, or says why not."""
        dismissal = self._dismissals.get(asked.call_id)
        outcome = dismissal.answered(asked.what, mail.error) if dismissal is not None else None
        if outcome is not None and self.awaits(asked.call_id):
            self._result(asked.call_id, outcome)

    def _result(self, call_id: str, outcome: tuple[str, bool], pays: tuple[Op, ...] = ()) -> None:
        text, error = outcome
        result = ToolResult(call_id, (Text(text),), error)
        self.done(ToolDone(self.turn.number, self.round.number, call_id, result), pays)

    # --- exits

    def give_up(self, why: str) -> tuple[ToolResult, ...]:
        """Stop what runs and answer what is open; all results, in order (design, turn record)."""
        for task in self._tasks.values():
            task.cancel()
        self._tasks.clear()
        for call in self.calls.values():
            if call.id not in self._results:
                self.desk.system.trace(
                    "tool:failed", agentName=self.turn.agent, turn=self.turn.number, tool=call.name, callId=call.id
                )
                self._results[call.id] = self._open_result(call, why, {}, {})
        self._on_disk.update(self.calls)
        return self.results()

    def _open_result(
        self, call: ToolCall, why: str, receipts: Mapping[int, Receipt], kept: Mapping[int, str]
    ) -> ToolResult:
        number = self._sends.get(call.id)
        if number is not None:
            text, error = send_result(receipts.get(number), "its channel")
            if kept.get(number):
                text += f" The words are kept as draft {kept[number]}."
            return ToolResult(call.id, (Text(text),), error)
        if call_action(self.desk, call) == RESEND:
            names = self.desk.tools[call.name].parse(call.arguments).get("ids") or ()
            return ToolResult(call.id, (Text(how_far(self.desk, names, why, self._resent(call.id))),), True)
        return ToolResult(call.id, (Text(GIVEN_UP[why]),), True)

    def _resent(self, call_id: str) -> dict[str, Receipt | None]:
        """What a resend had admitted, by draft, and what became of each."""
        posts: dict[str, list[OutboxEntry]] = {}
        with self.desk.system.store.snapshot() as snap:
            for entry in outbox.of_turn(snap, self.turn.agent, self.turn.number):
                if entry.call_id == call_id and entry.copied:
                    posts.setdefault(entry.copied, []).append(entry)
        return {draft: post_state(parts) for draft, parts in posts.items()}

    def restore(self, receipts: Mapping[int, Receipt], kept: Mapping[int, str]) -> None:
        """After a restart: stored results stand, an explicit send states its entry, the rest was interrupted.

        `kept`: the drafts that keep the words of such posts, by number.
        """
        turn = self.turn
        with self.desk.system.store.snapshot() as snap:
            stored = turn_records.results(snap, turn.room, turn.agent, turn.number, self.round.number)
            self._opened.update(_opened_before(snap, self.calls.values(), stored, self.desk.tools))
        for call in self.calls.values():
            kept_result = stored.get(call.id)
            self.ends_turn = self.ends_turn or (kept_result is not None and _skips(call, kept_result))
            if kept_result is None and call.id in self.round.scripts:
                # Its result takes the way of any other: the verdict on the round comes with it.
                result = self._open_result(call, "interrupted", receipts, kept)
                self.desk.to_self(ToolDone(turn.number, self.round.number, call.id, result))
                continue
            self._results[call.id] = kept_result or self._open_result(call, "interrupted", receipts, kept)
            self._on_disk.add(call.id)


def _skips(call: ToolCall, result: ToolResult) -> bool:
    return bare_name(call.name) == SKIP_TOOL and not result.is_error


def _opened_before(
    snap: Snapshot, made: Iterable[ToolCall], stored: Mapping[str, ToolResult], tools: Mapping[str, Tool]
) -> Iterator[tuple[str, Place]]:
    """What the `channel_open` calls among stored results have opened."""
    for call in made:
        result = stored.get(call.id)
        if call.name != "channel_open" or call.name not in tools or result is None or result.is_error:
            continue
        try:
            given = tools[call.name].parse(call.arguments)
            yield call.id, Place(resolve_channel(snap, given["channelId"], given.get("serverId")))
        except BadCall:
            continue


class Finished:
    """Makes the mail of a host's tool that ended: its result, or an error result that says why."""

    def __init__(self, turn: int, round_: int, call: ToolCall, tool: Tool, deadline: float) -> None:
        self._turn = turn
        self._round = round_
        self._call = call
        self._tool = tool
        self._deadline = deadline

    def __call__(self, value: object, error: BaseException | None) -> ToolDone:
        """The mail."""
        result = self._tool.result(self._call.id, value) if error is None else self._failure(error)
        return ToolDone(self._turn, self._round, self._call.id, result)

    def _failure(self, error: BaseException) -> ToolResult:
        if isinstance(error, (JobRefused, JobNotStarted)):
            return ToolResult(self._call.id, (Text(str(error)),), True)
        if isinstance(error, JobGivenUp):
            text = f"{self._call.name} did not answer within {self._deadline:g} s; it may still take effect"
            return ToolResult(self._call.id, (Text(text),), True)
        return self._tool.failure(self._call.id, error)
