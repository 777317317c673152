"""How items stand together: calls and outputs, reasoning and what it led to, tools and their names.

Owns: the rules between the items of one request, each a function, and the signing of reasoning. Pure; expects a request
whose form was checked.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence

from tests.messages_api.wire import JsonObject, listed

from .errors import ResponsesError, error, invalid
from .fields import WHOLE_ITEMS, kind_of


def items_of(request: JsonObject) -> list[JsonObject]:
    """The items; a text alone is a user's message."""
    given = request["input"]
    return [{"role": "user", "content": given}] if isinstance(given, str) else list(given)


def is_models(item: JsonObject) -> bool:
    """Whether the model made the item."""
    kind = kind_of(item)
    return kind in WHOLE_ITEMS or kind in ("reasoning", "function_call") or item.get("role") == "assistant"


def judge_calls(items: Sequence[JsonObject]) -> ResponsesError | None:
    """Each call has one output, after it, each output its call; nothing said stands between them."""
    seen: set[str] = set()
    waiting: dict[str, int] = {}
    for number, item in enumerate(items):
        kind, call_id = kind_of(item), item.get("call_id", "")
        if kind == "function_call":
            if call_id in seen:
                return invalid(f"Duplicate function call with call_id {call_id}.", f"input[{number}]")
            seen.add(call_id)
            waiting[call_id] = number
        elif kind == "function_call_output":
            if waiting.pop(call_id, None) is None:
                return invalid(f"No tool call found for function call output with call_id {call_id}.", "input")
        elif waiting and not is_models(item):
            return _unanswered(waiting)
    return _unanswered(waiting) if waiting else None


def _unanswered(waiting: dict[str, int]) -> ResponsesError:
    return invalid(f"No tool output found for function call {next(iter(waiting))}.", "input")


def signature(item: JsonObject) -> str:
    """The encrypted content of a reasoning item with this id and summary."""
    held = json.dumps([item["id"], item["summary"]], sort_keys=True)
    return f"gAAAA{hashlib.sha256(held.encode()).hexdigest()}"


UNVERIFIED = (
    "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or parsed."
)


def judge_reasoning(items: Sequence[JsonObject]) -> ResponsesError | None:
    """Reasoning is what it was, can be read, and is followed by what it led to."""
    for number, item in enumerate(items):
        if kind_of(item) != "reasoning":
            continue
        name, encrypted = item["id"], item.get("encrypted_content")
        if encrypted is None and not item.get("content"):
            return error(404, (
                f"Item with id '{name}' not found. Items are not persisted when `store` is set to false. Try again "
                "with `store` set to true, or remove this item from your input."
            ), param="input")
        if encrypted is not None and encrypted != signature(item):
            return invalid(UNVERIFIED, f"input[{number}]", "invalid_encrypted_content")
        if number + 1 == len(items) or not is_models(items[number + 1]):
            return invalid(
                f"Item '{name}' of type 'reasoning' was provided without its required following item.", "input"
            )
    return None


def judge_tools(request: JsonObject, items: Sequence[JsonObject]) -> ResponsesError | None:
    """A name stands for one function, in the head and in all that was added."""
    held: set[str] = set()
    for path, tool in _offered(request, items):
        if tool.get("type") != "function":
            continue
        if tool["name"] in held:
            return invalid(f"Duplicate tool name '{tool['name']}'.", path)
        held.add(tool["name"])
    return None


def _offered(request: JsonObject, items: Sequence[JsonObject]) -> Iterator[tuple[str, JsonObject]]:
    for tool in listed(request, "tools"):
        yield "tools", tool
    for number, item in enumerate(items):
        if kind_of(item) == "additional_tools":
            for tool in item["tools"]:
                yield f"input[{number}].tools", tool
