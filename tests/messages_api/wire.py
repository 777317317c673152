"""The JSON of the wire and its canonical text.

Owns: the type of a JSON object, the canonical text of a tool and of a block (markers taken out, nulls taken out,
the order of the outer keys settled, the order of inner keys kept, because a provider renders them as sent), and the
token rule. Used by every other module of this folder. Never reads a socket or a clock.
"""

import json
from typing import Any, TypeAlias, cast

JsonObject: TypeAlias = dict[str, Any]
Place: TypeAlias = tuple[int, int]
"""A block of a request: index in `messages`, index in that message's `content`."""

CHARACTERS_PER_TOKEN = 4

SERVER_RESULTS = frozenset(
    {
        "advisor_tool_result",
        "bash_code_execution_tool_result",
        "code_execution_tool_result",
        "mcp_tool_result",
        "text_editor_code_execution_tool_result",
        "tool_search_tool_result",
        "web_fetch_tool_result",
        "web_search_tool_result",
    }
)
SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
THINKING = frozenset({"thinking", "redacted_thinking"})
TOOL_CHANGES = frozenset({"tool_addition", "tool_removal"})


def as_object(value: object) -> JsonObject | None:
    """The value if it is a JSON object, else None."""
    return cast(JsonObject, value) if isinstance(value, dict) else None


def as_list(value: object) -> list[Any] | None:
    """The value if it is a JSON array, else None."""
    return cast("list[Any]", value) if isinstance(value, list) else None  # type: ignore[redundant-cast]


def listed(thing: JsonObject, name: str) -> list[JsonObject]:
    """A member that is a list of objects; empty if it is missing or null."""
    return cast("list[JsonObject]", thing.get(name) or [])


def section(thing: JsonObject, name: str) -> JsonObject:
    """A member that is an object; empty if it is missing or null."""
    return cast(JsonObject, thing.get(name) or {})


def canonical(value: object) -> str:
    """Compact JSON; keys in the order given, because a provider renders them in that order."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def tokens(text: str) -> int:
    """Tokens of a text by the fixed rule: four characters each, rounded up (providers.md 3, point 8)."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def blocks(content: object) -> list[JsonObject]:
    """Content as blocks: a string is shorthand for one text block, an empty or missing one for none."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return cast("list[JsonObject]", as_list(content) or [])


def bare(thing: JsonObject) -> JsonObject:
    """A tool or block without its own marker and nulls, its outer keys sorted."""
    return {key: thing[key] for key in sorted(thing) if key != "cache_control" and thing[key] is not None}


def bare_block(block: JsonObject) -> JsonObject:
    """A message block as it is rendered: no marker, neither on it nor on a block or definition within it."""
    plain = bare(block)
    if plain.get("type") == "tool_result":
        plain["content"] = [bare(inner) for inner in blocks(plain.get("content"))]
        plain.setdefault("is_error", False)
    elif plain.get("type") == "tool_addition" and plain["tool"].get("type") == "tool_definition":
        plain["tool"] = {**plain["tool"], "definition": bare(plain["tool"]["definition"])}
    return plain


def carries_content(message: JsonObject) -> bool:
    """Whether a message has content; a system entry without any only sets an output option (providers.md 1.4)."""
    return bool(message.get("content"))


def path_of(place: Place) -> str:
    """`messages.{i}.content.{j}`, the form of the provider's own messages."""
    return f"messages.{place[0]}.content.{place[1]}"
