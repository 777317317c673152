"""`Scripted`: a model that says what a script tells it to, for tests, examples and hosts without a key.

Owns the rules that choose a reply and the record of the rounds that were asked for. It streams as a real
adapter does, on the running loop's clock, so it runs under a loop that jumps as well. It draws nothing at
random, keeps no thread and opens no connection. One loop plays it at a time.
"""

import asyncio
import hashlib
import inspect
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self, TypeAlias

from ...messages.blocks import ReplyBlock, ToolCall, ToolResult, text_of
from ...messages.codec import encode
from ...messages.prices import blocks_price, json_price, text_estimate, utf16_length
from ...messages.request import Capabilities, Done, ErrorRecord, Event, Msg, Request, RoundFailed, Usage
from .provider import Provider
from .replies import Answer, Reply, as_reply, call, check_chunk, fail, say, steps, think

__all__ = [
    "ABLE", "Answer", "Reply", "Round", "Scripted", "When", "call", "fail", "newest", "newest_results", "newest_text",
    "request_price", "say", "think",
]

ABLE = Capabilities(
    answers=True, system_text=True, tool_add="definition", tool_remove=True, tool_redefine=True, thinking_binds=False
)
"""What a scripted model can do unless told otherwise: everything that costs nothing."""

When: TypeAlias = Callable[[Request], bool] | str
Ending: TypeAlias = Literal["running", "done", "failed", "raised", "cancelled"]


@dataclass(slots=True)
class Round:
    """One round that was asked for, and how it ended."""

    request: Request
    ending: Ending = "running"


@dataclass(slots=True)
class _Rule:
    """Replies for the requests it matches: one for ever, or each in turn and then the rule is spent."""

    replies: deque[Answer]
    for_ever: bool
    when: When | None = None
    agent: str | None = None

    def matches(self, request: Request) -> bool:
        if not self.replies or self.agent not in (None, request.agent):
            return False
        if isinstance(self.when, str):
            return self.when in newest_text(request)
        return self.when is None or self.when(request)

    def take(self) -> Answer:
        return self.replies[0] if self.for_ever else self.replies.popleft()


@dataclass(slots=True)
class _Pace:
    """How a reply that does not say is streamed."""

    chunk: int | Sequence[int] = 16
    delay: float = 0.0
    gap: float = 0.0

    def fill(self, reply: Reply) -> Reply:
        return replace(
            reply,
            chunk=self.chunk if reply.chunk is None else reply.chunk,
            delay=self.delay if reply.delay is None else reply.delay,
            gap=self.gap if reply.gap is None else reply.gap,
        )


class Scripted(Provider):
    """A scripted model adapter.

    `replies` are given one a round, in order, whoever asks; more rules are added with `then` and `always`. A reply is
    text, a block, a list of both, a `Reply`, an ErrorRecord (the round fails), an exception (the stream raises it),
    or a function, plain or async, of the request that gives one of these. Rules of the asking agent go before those
    for everybody; among them the first that matches and is not spent answers. If none does, `otherwise` answers;
    without it the round fails, saying for which agent and text a rule is missing.

    `capabilities`: what its models can do, one for all or by name (a name that is not in it can do nothing).
    `chunk`: code points of a delta, or a list of lengths; `delay`: seconds before a round's first event, `gap`:
    seconds between deltas, all where the reply does not say. Usage is counted from the request's text (context.md 5).
    """

    def __init__(
        self,
        *replies: Answer,
        otherwise: Answer | None = None,
        name: str = "scripted",
        capabilities: Capabilities | Mapping[str, Capabilities] = ABLE,
        chunk: int | Sequence[int] = 16,
        delay: float = 0.0,
        gap: float = 0.0,
    ) -> None:
        check_chunk(chunk)
        self.name = name
        self.rounds: list[Round] = []
        self._able = capabilities
        self._otherwise = otherwise
        self._pace = _Pace(chunk, delay, gap)
        self._rules: list[_Rule] = []
        self._ids: Counter[str] = Counter()
        if replies:
            self.then(*replies)

    def then(self, *replies: Answer, when: When | None = None, agent: str | None = None) -> Self:
        """Add replies that are given once each, in order, to the requests that match; then the rule is spent.

        `when`: a function of the request, or text that must be in its newest text; `agent`: only for this one.
        """
        self._rules.append(_Rule(deque(replies), False, when, agent))
        return self

    def always(self, reply: Answer, *, when: When | None = None, agent: str | None = None) -> Self:
        """Add a reply that is given to every request that matches."""
        self._rules.append(_Rule(deque([reply]), True, when, agent))
        return self

    @property
    def requests(self) -> tuple[Request, ...]:
        """The requests of all rounds, in the order in which their streams began."""
        return tuple(done.request for done in self.rounds)

    def requests_of(self, agent: str) -> tuple[Request, ...]:
        """The requests of one agent, in order."""
        return tuple(request for request in self.requests if request.agent == agent)

    @property
    def left(self) -> int:
        """How many replies given once are still to come."""
        return sum(len(rule.replies) for rule in self._rules if not rule.for_ever)

    def capabilities(self, model: str) -> Capabilities:
        """What `model` can do, as given at the start."""
        if isinstance(self._able, Capabilities):
            return self._able
        return self._able.get(model, Capabilities())

    async def count_tokens(self, request: Request) -> int | None:
        """The same count that a round's usage states."""
        return request_price(request)

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        """Play one round. Raises only what the script raises."""
        seen = Round(request)
        self.rounds.append(seen)
        message_id = f"msg_{len(self.rounds)}"
        try:
            reply = self._ready(await self._choose(request), request)
            usage = reply.usage or Usage(fresh=request_price(request), output=blocks_price(reply.content))
            for step in steps(reply, request.model, message_id, usage):
                await asyncio.sleep(step.wait)
                if step.event is None:
                    await _break(step.error)
                else:
                    # Set before the event is given: a consumer need not come back after the last one.
                    seen.ending = _ENDINGS.get(type(step.event), "running")
                    yield step.event
        except (asyncio.CancelledError, GeneratorExit):
            seen.ending = "cancelled" if seen.ending == "running" else seen.ending
            raise
        except Exception:
            seen.ending = "raised"
            raise

    async def _choose(self, request: Request) -> object:
        """The answer for a request; a function is asked until it gives no function any more."""
        answer: object = self._rule(request)
        while inspect.isawaitable(answer) or callable(answer):
            answer = await answer if inspect.isawaitable(answer) else answer(request)
        return answer

    def _rule(self, request: Request) -> Answer:
        mine = (rule for rule in self._rules if rule.agent is not None)
        anybodys = (rule for rule in self._rules if rule.agent is None)
        for rule in (*mine, *anybodys):
            if rule.matches(request):
                return rule.take()
        return self._otherwise if self._otherwise is not None else _no_rule(self.name, request)

    def _ready(self, answer: object, request: Request) -> Reply:
        """The reply with its pace set and an id for each call that has none."""
        reply = self._pace.fill(as_reply(answer))
        if not any(isinstance(block, ToolCall) and not block.id for block in reply.content):
            return reply
        key = self._call_key(request)
        content = (_with_id(block, f"{key}_{number}") for number, block in enumerate(reply.content))
        return replace(reply, content=tuple(content))

    def _call_key(self, request: Request) -> str:
        """From the request, so that a script played again after a restart never gives an old call's id to a new one."""
        digest = hashlib.sha256(encode([request.agent, request.messages])).hexdigest()[:12]
        self._ids[digest] += 1
        again = self._ids[digest] - 1
        return f"call_{digest}" + (f"_again{again}" if again else "")


_ENDINGS: dict[type, Ending] = {Done: "done", RoundFailed: "failed"}


async def _break(error: Exception | None) -> None:
    """Raise the error; without one, wait until cancelled."""
    if error is not None:
        raise error
    await asyncio.Event().wait()


def _with_id(block: ReplyBlock, call_id: str) -> ReplyBlock:
    return replace(block, id=call_id) if isinstance(block, ToolCall) and not block.id else block


def _no_rule(name: str, request: Request) -> ErrorRecord:
    heard = newest_text(request)
    shown = heard if len(heard) <= 80 else heard[:79] + "…"
    return ErrorRecord(
        "unsupported",
        f"{name!r} has no reply for agent {request.agent!r} (its newest text: {shown!r}); "
        "add one with then(...) or always(...), or give otherwise=...",
    )


def newest(request: Request) -> tuple[Msg, ...]:
    """The messages after the last assistant message: what the model has not answered yet."""
    last = max((n for n, message in enumerate(request.messages) if message.role == "assistant"), default=-1)
    return request.messages[last + 1 :]


def newest_text(request: Request) -> str:
    """The text of the messages after the last assistant message, one a line."""
    return "\n".join(text for text in (text_of(message.content) for message in newest(request)) if text)


def newest_results(request: Request) -> tuple[ToolResult, ...]:
    """The tool results after the last assistant message, in order."""
    return tuple(block for message in newest(request) for block in message.content if isinstance(block, ToolResult))


def request_price(request: Request) -> int:
    """The estimated input tokens of a request: system text, tools and messages (context.md 5)."""
    system = sum(map(text_estimate, request.system))
    tools = sum(json_price(utf16_length(tool.name + tool.description + tool.schema)) for tool in request.tools)
    return system + tools + sum(blocks_price(message.content) for message in request.messages)
