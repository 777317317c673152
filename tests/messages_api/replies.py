"""What the stand-in answers: replies as values, and the scripts that choose them.

Owns: the blocks of a reply and how their deltas are cut, `Reply`, and the three scripts (always the same, a queue, an
outline of what was received). A script is any callable from the recorded request to a reply or an error. Knows no
wire names beyond the stop reasons; `compose.py` turns a reply into a message.
"""

import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from threading import Lock
from typing import Any, TypeAlias

from .errors import ApiError, api_error
from .faults import Fault
from .recording import Recorded
from .wire import JsonObject, blocks

Cut: TypeAlias = int | Sequence[int] | None
"""How a text is cut into deltas: None for one, a number for pieces of that length, positions to cut at."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text block."""

    text: str
    cut: Cut = None


@dataclass(frozen=True, slots=True)
class Thinking:
    """A thinking block; it is signed when the reply is made."""

    text: str
    cut: Cut = None


@dataclass(frozen=True, slots=True)
class Redacted:
    """A redacted thinking block; its data is the signature."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call. `input` may be a string: that JSON text is streamed as it is, finished or not."""

    name: str
    input: Mapping[str, Any] | str = field(default_factory=dict[str, Any])
    id: str | None = None
    cut: Cut = None

    def json(self) -> str:
        """The JSON text that is streamed."""
        return self.input if isinstance(self.input, str) else json.dumps(dict(self.input), ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Whole:
    """Any other block (server calls and results, kinds not known yet), sent complete in its start event."""

    block: Mapping[str, Any]


Block: TypeAlias = Text | Thinking | Redacted | ToolUse | Whole


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply.

    `stop_reason`: by default `tool_use` if a tool is called, else `end_turn`. `output_tokens`: by default counted.
    `pings`: whether a `ping` event follows the first block's start. `faults`: what goes wrong on the wire. `headers`:
    more header lines of the response, such as `anthropic-ratelimit-*`.
    """

    blocks: tuple[Block, ...] = (Text("ok"),)
    stop_reason: str | None = None
    stop_sequence: str | None = None
    stop_details: Mapping[str, Any] | None = None
    output_tokens: int | None = None
    pings: bool = True
    faults: tuple[Fault, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def reason(self) -> str:
        """The stop reason sent."""
        calls = any(isinstance(block, ToolUse) for block in self.blocks)
        return self.stop_reason or ("tool_use" if calls else "end_turn")


Answer: TypeAlias = Reply | ApiError
Script: TypeAlias = Callable[[Recorded], Answer]


def reply(*parts: Block | str, faults: Sequence[Fault] = (), **more: Any) -> Reply:
    """A reply of these blocks; a string is a text block."""
    made = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    return Reply(made, faults=tuple(faults), **more)


def refusal(category: str | None = None, explanation: str | None = None) -> Reply:
    """A refusal by the model, in a 200: not to be taken for a refused change."""
    details = {"type": "refusal", "category": category, "explanation": explanation}
    return Reply((), stop_reason="refusal", stop_details=details)


def partial_call(name: str, text: str, stop_reason: str = "max_tokens", cut: Cut = None) -> Reply:
    """A tool call whose JSON ends early, as when `max_tokens` cuts it (providers.md 2.1, fact 9)."""
    return Reply((ToolUse(name, text, cut=cut),), stop_reason=stop_reason)


def pieces(text: str, cut: Cut) -> tuple[str, ...]:
    """The deltas of a text; none for an empty one."""
    if not text:
        return ()
    if cut is None:
        return (text,)
    places = range(cut, len(text), cut) if isinstance(cut, int) else sorted(set(cut))
    edges = [0, *(place for place in places if 0 < place < len(text)), len(text)]
    return tuple(text[start:end] for start, end in pairwise(edges))


EXHAUSTED = api_error(500, "the script has no answer left", x_should_retry="false")


class Queue:
    """A script that answers with the given ones in turn, then as `then` does, by default with a 500 that says so."""

    def __init__(self, answers: Iterable[Answer] = (), then: Script | None = None) -> None:
        self._answers = deque(answers)
        self._then: Script = then or (lambda recorded: EXHAUSTED)
        self._lock = Lock()

    def add(self, *answers: Answer) -> None:
        """Appends answers; may be called from any thread."""
        with self._lock:
            self._answers.extend(answers)

    def __len__(self) -> int:
        return len(self._answers)

    def __call__(self, recorded: Recorded) -> Answer:
        with self._lock:
            if self._answers:
                return self._answers.popleft()
        return self._then(recorded)


def always(*parts: Block | str) -> Script:
    """A script that gives every request the same reply."""
    made = reply(*parts)
    return lambda recorded: made


def outline(request: JsonObject, ident: str = r"\bm\d+\b") -> list[str]:
    """What a request holds, in order: the ids found in its texts, and each change as a sign and a name.

    `+name` a tool by definition, `~name` one by reference, `-name` a removal, `=text` added system text,
    `call:name` and `result:id` the tool calls and results (providers.md 3, point 10).
    """
    found: list[str] = []
    for message in request["messages"]:
        for block in blocks(message.get("content")):
            found += _outlined(message["role"], block, re.compile(ident))
    return found


def _outlined(role: str, block: JsonObject, ident: re.Pattern[str]) -> list[str]:
    kind = block["type"]
    if kind in ("tool_addition", "tool_removal"):
        tool = block["tool"]
        held = tool.get("definition", tool)
        name = held.get("name", held.get("server_name", held.get("mcp_server_name", "")))
        sign = "-" if kind == "tool_removal" else "+" if "definition" in tool else "~"
        return [f"{sign}{name}"]
    if kind == "text" and role == "system":
        return [f"={block['text']}"]
    if kind == "text":
        return ident.findall(block["text"])
    if kind == "tool_use":
        return [f"call:{block['name']}"]
    return [f"result:{block['tool_use_id']}"] if kind == "tool_result" else []


def echo(ident: str = r"\bm\d+\b") -> Script:
    """A script that answers each request with its outline, one item a line."""
    return lambda recorded: reply("\n".join(outline(recorded.request, ident)) or "nothing")
