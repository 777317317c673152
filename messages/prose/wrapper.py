"""The wrapper guard: whether a whole answer is nothing but a textual rendering of a tool's call (prose 12).

Some models write a call as text instead of making it. Such an answer is not a message to anybody. Pure; it knows the
forms that are met and the names of the tools, and takes nothing for a call that has words around it.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from .whitespace import strip

_FENCE = re.compile(r"```[a-zA-Z_]*\n(?P<inside>.*)\n```", re.DOTALL)
_TAGGED = re.compile(
    r"<(?P<tag>tool_call|tool_calls|function_call|function_calls|tool_use|antml:function_calls)>(?P<inside>.*)</(?P=tag)>",
    re.DOTALL,
)
_INVOKE = re.compile(r"<(?:antml:)?invoke name=\"(?P<name>[^\"]+)\">.*</(?:antml:)?invoke>", re.DOTALL)
_CALLED = re.compile(r"(?P<name>[A-Za-z0-9_-]+)\((?P<inside>.*)\)", re.DOTALL)


def imitated(text: str, tools: Iterable[str]) -> str | None:
    """The tool whose call the whole text imitates, or None."""
    names = frozenset(tools)
    found = _name(strip(text))
    return found if found in names else None


def _name(text: str) -> str | None:
    for wrapped in (_FENCE, _TAGGED):
        match = wrapped.fullmatch(text)
        if match:
            return _name(strip(match["inside"]))
    match = _INVOKE.fullmatch(text) or _CALLED.fullmatch(text)
    return match["name"] if match else _name_of_json(text)


def _name_of_json(text: str) -> str | None:
    try:
        value: object = json.loads(text)
    except ValueError:
        return None
    if not isinstance(value, Mapping):
        return None
    fields = cast("Mapping[str, Any]", value)
    name = fields.get("name") or fields.get("tool") or fields.get("function")
    has_arguments = any(key in fields for key in ("arguments", "input", "parameters", "args"))
    return name if isinstance(name, str) and has_arguments else None
