"""Requests, the events of one provider round, and the record of a failed one (providers.md 2.2).

These values are all that an agent and a model adapter know of each other. A request is immutable;
an adapter never sees rows, rooms or branches.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from .blocks import Block, ReplyBlock, ToolCall, ToolDef
from .codec import record

Role: TypeAlias = Literal["user", "assistant", "change"]


@record("msg")
@dataclass(frozen=True, slots=True)
class Msg:
    """One message of a request. A `change` message holds SystemChange blocks only.

    `cache`: the adapter may put a cache marker at its end (providers.md 2.3).
    """

    role: Role
    content: tuple[Block, ...]
    cache: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """One round's request. `stream` is the stream id, for traces only."""

    model: str
    messages: tuple[Msg, ...]
    system: tuple[str, ...] = ()
    tools: tuple[ToolDef, ...] = ()
    max_tokens: int = 4096
    thinking: Mapping[str, Any] | None = None
    cache: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    agent: str = ""
    stream: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a round: fresh input, cache read, cache written, output."""

    fresh: int = 0
    read: int = 0
    written: int = 0
    output: int = 0

    @property
    def input(self) -> int:
        """The whole reported input (providers.md 1.8)."""
        return self.fresh + self.read + self.written


ErrorKind: TypeAlias = Literal[
    "rate_limit", "overloaded", "server", "network", "timeout", "auth", "context_length", "invalid_request",
    "system_change_refused", "thinking_binding", "truncated", "aborted", "unsupported", "over_budget", "refusal",
]


@record("error")
@dataclass(frozen=True, slots=True)
class ErrorRecord:
    """Why a round failed. `http_status` is None if nothing was sent or the failure came inside a stream."""

    kind: ErrorKind
    text: str
    retryable: bool = False
    retry_after: float | None = None
    http_status: int | None = None
    code: str = ""
    before_send: bool = False
    request_id: str = ""

    def is_400_class(self) -> bool:
        """Whether it counts as a refused request for the fail-safe (providers.md 2.2): a 400, the same inside a stream,
        or a change that was refused before sending. A broken thinking binding is none; it has an answer of its own.
        """
        if self.kind == "thinking_binding":
            return False
        if self.http_status is not None or self.before_send:
            return self.http_status == 400 or self.kind == "system_change_refused"
        return self.kind in ("invalid_request", "system_change_refused") or self.code == "invalid_request_error"


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit of a provider: so many a minute, how many are left now, and the seconds until all are back."""

    per_minute: int
    left: int
    full_in: float = 60.0

    @property
    def per_second(self) -> float:
        """How fast it fills again: more slowly than in a minute where it is a limit of a longer time, as of a day."""
        missing = self.per_minute - self.left
        return missing / self.full_in if missing > 0 and self.full_in > 60.0 else self.per_minute / 60


@dataclass(frozen=True, slots=True)
class Limits:
    """What a provider lets its callers ask for; None where it says nothing."""

    requests: Limit | None = None
    tokens: Limit | None = None


@dataclass(frozen=True, slots=True)
class Started:
    """The provider began to answer. `limits`: what its answer's head said of them."""

    message_id: str = ""
    model: str = ""
    usage: Usage = Usage()
    dropped_thinking: tuple[Mapping[str, Any], ...] = ()
    limits: Limits | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text of the block at `index`."""

    text: str
    index: int = 0


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """More thinking of the block at `index`."""

    text: str
    index: int = 0


@dataclass(frozen=True, slots=True)
class BlockStart:
    """A block begins."""

    index: int
    kind: str


@dataclass(frozen=True, slots=True)
class BlockEnd:
    """A block is whole."""

    index: int
    block: ReplyBlock


@dataclass(frozen=True, slots=True)
class Done:
    """The round ended as the model wished. Stop reasons as in providers.md 2.2; an unknown one is kept."""

    stop_reason: str
    content: tuple[ReplyBlock, ...]
    usage: Usage = Usage()
    stop_details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    request_id: str = ""

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of the round, in order."""
        return tuple(block for block in self.content if isinstance(block, ToolCall))


@dataclass(frozen=True, slots=True)
class RoundFailed:
    """The round failed; the one other terminal. `limits`: what the head of an answer that was an error said of them."""

    error: ErrorRecord
    limits: Limits | None = None


Event: TypeAlias = Started | TextDelta | ThinkingDelta | BlockStart | BlockEnd | Done | RoundFailed


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a model on an adapter can do (providers.md 2.2). The default can do nothing."""

    system_text: bool = False
    tool_add: Literal["none", "reference", "definition"] = "none"
    tool_remove: bool = False
    tool_redefine: bool = False
    thinking_binds: bool | None = None
    prompt_cache: Literal["explicit", "implicit", "none"] = "none"
    max_breakpoints: int = 0
    read_multiplier: float = 0.1
    write_multiplier: float = 1.25
    usage_includes_cache: bool = False
    answers: bool = False

    @property
    def sends_system_changes(self) -> bool:
        """Whether text and additions by definition can be sent mid-conversation."""
        return self.system_text and self.tool_add == "definition"
