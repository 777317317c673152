"""Short ways to write the requests of these tests, and the one way to judge them.

Owns: nothing but the builders. No builder checks anything: most requests here are wrong on purpose.
"""

from collections.abc import Collection
from typing import Any

from tests.messages_api.betas import INLINE_TOOLS
from tests.messages_api.errors import ApiError
from tests.messages_api.models import DEFAULT_MODELS
from tests.messages_api.validator import validate
from tests.messages_api.wire import JsonObject

MODEL = "claude-opus-5-5"
TOOLS = frozenset({INLINE_TOOLS})
MARK: JsonObject = {"type": "ephemeral"}
HOUR: JsonObject = {"type": "ephemeral", "ttl": "1h"}


def u(content: Any = "question") -> JsonObject:
    """A user message."""
    return {"role": "user", "content": content}


def a(content: Any = "answer") -> JsonObject:
    """An assistant message."""
    return {"role": "assistant", "content": content}


def s(*parts: Any, **more: Any) -> JsonObject:
    """A system message; a string is a text block, nothing at all one text."""
    given = parts or ("note",)
    return {"role": "system", "content": [t(part) if isinstance(part, str) else part for part in given], **more}


def t(text: str, **more: Any) -> JsonObject:
    """A text block."""
    return {"type": "text", "text": text, **more}


def tool(name: str = "look", **more: Any) -> JsonObject:
    """A custom tool."""
    return {"name": name, "input_schema": {"type": "object"}, **more}


def add(definition: JsonObject | str, **more: Any) -> JsonObject:
    """An addition: by definition, or by reference to a name."""
    if isinstance(definition, str):
        return {"type": "tool_addition", "tool": {"type": "tool_reference", "name": definition}, **more}
    return {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": definition}, **more}


def remove(name: str, **more: Any) -> JsonObject:
    """A removal."""
    return {"type": "tool_removal", "tool": {"type": "tool_reference", "name": name}, **more}


def call(ident: str = "c1", name: str = "look", **more: Any) -> JsonObject:
    """A tool call."""
    return {"type": "tool_use", "id": ident, "name": name, "input": {}, **more}


def result(ident: str = "c1", content: Any = "found", **more: Any) -> JsonObject:
    """A tool result."""
    return {"type": "tool_result", "tool_use_id": ident, "content": content, **more}


def searched(ident: str = "srv1") -> list[JsonObject]:
    """A call of a tool that the provider runs, and its result."""
    asked = {"type": "server_tool_use", "id": ident, "name": "web_search", "input": {"query": "x"}}
    return [asked, {"type": "web_search_tool_result", "tool_use_id": ident, "content": []}]


def body(*messages: JsonObject, **more: Any) -> JsonObject:
    """A body; without messages it has one from the user."""
    return {"model": MODEL, "max_tokens": 100, "messages": list(messages) or [u()], **more}


def judged(request: JsonObject, betas: Collection[str] = TOOLS, **more: Any) -> ApiError | None:
    """The validator's answer with the default table."""
    return validate(request, betas, DEFAULT_MODELS, **more)


def refused(request: JsonObject, betas: Collection[str] = TOOLS, **more: Any) -> ApiError:
    """The validator's answer, which has to be a 400 of the usual type."""
    error = judged(request, betas, **more)
    assert error is not None
    assert (error.status, error.type) == (400, "invalid_request_error")
    return error
