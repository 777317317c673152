"""What the stand-in answers: replies as values, and the scripts that choose them.

Owns: the items of a reply and how their deltas are cut, `Reply`, and two scripts (a queue, always the same). Knows no
events; `compose.py` makes a response of a reply.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeAlias

from tests.messages_api.recording import Recorded
from tests.messages_api.replies import Cut

from .errors import ResponsesError, error
from .faults import Fault


@dataclass(frozen=True, slots=True)
class Text:
    """A message of one text. `phase`: commentary or final_answer, where the model says which."""

    text: str
    cut: Cut = None
    phase: str | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A message that is the model's refusal."""

    text: str
    cut: Cut = None


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A reasoning item with this summary, one part for each text. `plain`: what an open model thinks aloud."""

    summary: tuple[str, ...] = ()
    plain: str = ""
    cut: Cut = None


@dataclass(frozen=True, slots=True)
class Call:
    """A function call. `arguments` may be a string: that text is streamed as it is, finished or not."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict[str, Any])
    call_id: str | None = None
    cut: Cut = None

    def json(self) -> str:
        """The text that is streamed."""
        given = self.arguments
        return given if isinstance(given, str) else json.dumps(dict(given), ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Whole:
    """Any other item, sent complete."""

    item: Mapping[str, Any]


Item: TypeAlias = Text | Refusal | Reasoning | Call | Whole


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply. `incomplete`: why the response ends before its end; its last item is incomplete too."""

    items: tuple[Item, ...] = (Text("ok"),)
    incomplete: str | None = None
    output_tokens: int | None = None
    faults: tuple[Fault, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


Answer: TypeAlias = Reply | ResponsesError
Script: TypeAlias = Callable[[Recorded], Answer]


def reply(*parts: Item | str, faults: Sequence[Fault] = (), **more: Any) -> Reply:
    """A reply of these items; a string is a message."""
    made = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    return Reply(made, faults=tuple(faults), **more)


def partial_call(name: str, text: str, reason: str = "max_output_tokens", cut: Cut = None) -> Reply:
    """A function call whose JSON ends early, as when the limit of tokens cuts it."""
    return Reply((Call(name, text, cut=cut),), incomplete=reason)


EXHAUSTED = error(500, "the script has no answer left", x_should_retry="false")


class Queue:
    """A script that answers with the given ones in turn, then as `then` does, by default with a 500 that says so."""

    def __init__(self, answers: Iterable[Answer] = (), then: Script | None = None) -> None:
        self._answers = deque(answers)
        self._then: Script = then or (lambda recorded: EXHAUSTED)
        self._lock = Lock()

    def __call__(self, recorded: Recorded) -> Answer:
        with self._lock:
            if self._answers:
                return self._answers.popleft()
        return self._then(recorded)


def always(*parts: Item | str) -> Script:
    """A script that gives every request the same reply."""
    made = reply(*parts)
    return lambda recorded: made
