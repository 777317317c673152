"""The form of a body: known fields and kinds, item by item, before anything is asked of how items stand together.

Owns: what an item, a part and a tool may hold, and the error for what they may not. The rules between items are in
`items.py`. Pure.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tests.messages_api.wire import JsonObject, as_list, as_object

from .errors import ResponsesError, missing, unknown, wrong_type, wrong_value

Check: TypeAlias = Callable[[Any, str], ResponsesError | None]
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
INCLUDABLE = (
    "file_search_call.results", "web_search_call.results", "web_search_call.action.sources",
    "message.input_image.image_url", "computer_call_output.output.image_url", "code_interpreter_call.outputs",
    "reasoning.encrypted_content", "message.output_text.logprobs",
)
STATUSES = ("in_progress", "completed", "incomplete")
WHOLE_ITEMS = frozenset({
    "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call",
    "mcp_list_tools", "compaction", "computer_call",
})
"""Items that the provider's own tools make; they come back as they went out."""
ITEMS = ("message", "reasoning", "function_call", "function_call_output", "additional_tools", *sorted(WHOLE_ITEMS))


def text(value: Any, path: str) -> ResponsesError | None:
    """A string."""
    return None if isinstance(value, str) else wrong_type(path, "a string")


def flag(value: Any, path: str) -> ResponsesError | None:
    """True or false."""
    return None if isinstance(value, bool) else wrong_type(path, "a boolean")


def number(value: Any, path: str) -> ResponsesError | None:
    """A number."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    return None if good else wrong_type(path, "a number")


def whole(least: int) -> Check:
    """A whole number from `least` on."""

    def check(value: Any, path: str) -> ResponsesError | None:
        if not isinstance(value, int) or isinstance(value, bool):
            return wrong_type(path, "an integer")
        return None if value >= least else wrong_value(path, value, f"integers from {least} on")

    return check


def one_of(*values: str) -> Check:
    """One of these strings."""

    def check(value: Any, path: str) -> ResponsesError | None:
        return None if value in values else wrong_value(path, value, ", ".join(f"'{one}'" for one in values))

    return check


def anything(value: Any, path: str) -> ResponsesError | None:
    """Whatever it is."""
    return None


def some_object(value: Any, path: str) -> ResponsesError | None:
    """An object of any form."""
    return None if isinstance(value, dict) else wrong_type(path, "an object")


def optional(check: Check) -> Check:
    """Null as well."""
    return lambda value, path: None if value is None else check(value, path)


def list_of(check: Check, least: int = 0) -> Check:
    """A list of these."""

    def checked(value: Any, path: str) -> ResponsesError | None:
        items = as_list(value)
        if items is None or len(items) < least:
            return wrong_type(path, f"an array of at least {least} items")
        return next((error for n, item in enumerate(items) if (error := check(item, f"{path}[{n}]"))), None)

    return checked


def record(required: Mapping[str, Check], more: Mapping[str, Check]) -> Check:
    """An object with these members, those it must have and those it may have, and no others."""

    def check(value: Any, path: str) -> ResponsesError | None:
        given = as_object(value)
        if given is None:
            return wrong_type(path, "an object")
        for name, member in given.items():
            known = required.get(name) or more.get(name)
            error = known(member, f"{path}.{name}") if known else unknown(f"{path}.{name}")
            if error:
                return error
        return next((missing(f"{path}.{name}") for name in required if name not in given), None)

    return check


def by_type(kinds: Mapping[str, Check]) -> Check:
    """An object whose `type` says which check is its own."""

    def check(value: Any, path: str) -> ResponsesError | None:
        given = as_object(value)
        if given is None:
            return wrong_type(path, "an object")
        if "type" not in given:
            return missing(f"{path}.type")
        kind = given["type"]
        return kinds[kind](value, path) if kind in kinds else one_of(*kinds)(kind, f"{path}.type")

    return check


def json_object_text(value: Any, path: str) -> ResponsesError | None:
    """A string that is the JSON of an object, as local servers insist on."""
    try:
        good = isinstance(value, str) and isinstance(json.loads(value), dict)
    except ValueError:
        good = False
    return None if good else wrong_type(path, "the JSON text of an object")


def name(value: Any, path: str) -> ResponsesError | None:
    """A tool's name."""
    if isinstance(value, str) and NAME.fullmatch(value):
        return None
    return wrong_value(path, value, "strings that match '^[a-zA-Z0-9_-]{1,64}$'")


FUNCTION = record(
    {"type": text, "name": name, "parameters": optional(some_object), "strict": optional(flag)},
    {"description": optional(text), "defer_loading": flag},
)
HOSTED = dict.fromkeys(("web_search", "file_search", "code_interpreter", "image_generation", "mcp"), some_object)
TOOL = by_type({"function": FUNCTION, **HOSTED})
INPUT_PART = by_type({
    "input_text": record({"type": text, "text": text}, {"prompt_cache_breakpoint": some_object}),
    "input_image": record(
        {"type": text, "detail": one_of("low", "high", "auto", "original")},
        {"image_url": optional(text), "file_id": optional(text), "prompt_cache_breakpoint": some_object},
    ),
})
OUTPUT_PART = by_type({
    "output_text": record({"type": text, "text": text}, {"annotations": list_of(anything), "logprobs": anything}),
    "refusal": record({"type": text, "refusal": text}, {}),
})
SUMMARY = by_type({"summary_text": record({"type": text, "text": text}, {})})
REASONING_TEXT = by_type({"reasoning_text": record({"type": text, "text": text}, {})})


def message(value: JsonObject, path: str) -> ResponsesError | None:
    """A message: a text or parts, of the kind that goes with its role."""
    answer = value.get("role") == "assistant"
    parts = list_of(OUTPUT_PART if answer else INPUT_PART, 1)
    more: dict[str, Check] = {"type": one_of("message"), "id": text, "status": one_of(*STATUSES)}
    if answer:
        more["phase"] = optional(one_of("commentary", "final_answer"))
    required: dict[str, Check] = {
        "role": one_of("user", "assistant", "system", "developer"),
        "content": lambda given, where: None if isinstance(given, str) else parts(given, where),
    }
    return record(required, more)(value, path)


def output(value: Any, path: str) -> ResponsesError | None:
    """What a tool gave: a text or parts."""
    return None if isinstance(value, str) else list_of(INPUT_PART)(value, path)


CHECKS: Mapping[str, Check] = {
    "message": message,
    "function_call": record(
        {"type": text, "call_id": text, "name": name, "arguments": json_object_text},
        {"id": text, "status": one_of(*STATUSES)},
    ),
    "function_call_output": record(
        {"type": text, "call_id": text, "output": output}, {"id": optional(text), "status": one_of(*STATUSES)}
    ),
    "reasoning": record(
        {"type": text, "id": text, "summary": list_of(SUMMARY)},
        {"content": list_of(REASONING_TEXT), "encrypted_content": optional(text), "status": one_of(*STATUSES)},
    ),
    "additional_tools": record(
        {"type": text, "role": one_of("developer"), "tools": list_of(TOOL, 1)}, {"id": optional(text)}
    ),
    **dict.fromkeys(WHOLE_ITEMS, some_object),
}


def kind_of(item: JsonObject) -> str:
    """The kind of an item; a message need not say so."""
    return str(item.get("type") or ("message" if "role" in item else ""))


def item(value: Any, path: str) -> ResponsesError | None:
    """One item of the input."""
    given = as_object(value)
    if given is None:
        return wrong_type(path, "an object")
    kind = kind_of(given)
    return CHECKS[kind](given, path) if kind in CHECKS else one_of(*ITEMS)(kind, path)


def whole_input(value: Any, path: str) -> ResponsesError | None:
    """The input: a text or items."""
    return None if isinstance(value, str) and value else list_of(item, 1)(value, path)


REASONING = record({}, {
    "effort": optional(one_of(*EFFORTS)), "summary": optional(one_of("auto", "concise", "detailed")),
    "context": optional(one_of("auto", "current_turn", "all_turns")), "mode": text,
})
FIELDS: Mapping[str, Check] = {
    "model": text, "input": whole_input, "instructions": optional(text), "tools": list_of(TOOL),
    "max_output_tokens": optional(whole(16)), "reasoning": optional(REASONING), "store": optional(flag),
    "include": optional(list_of(one_of(*INCLUDABLE))), "stream": optional(flag), "temperature": optional(number),
    "top_p": optional(number), "tool_choice": anything, "parallel_tool_calls": optional(flag),
    "metadata": optional(some_object), "prompt_cache_key": optional(text), "prompt_cache_options": some_object,
    "safety_identifier": optional(text), "service_tier": optional(text), "text": some_object,
    "truncation": optional(one_of("auto", "disabled")), "user": text, "stream_options": optional(some_object),
    "max_tool_calls": optional(whole(1)), "top_logprobs": optional(whole(0)),
}
COUNTED = frozenset({
    "model", "input", "instructions", "tools", "reasoning", "tool_choice", "parallel_tool_calls", "text", "truncation",
})


def judge_form(request: JsonObject, *, counting: bool = False) -> ResponsesError | None:
    """The first field that is not as it must be. `counting`: the body asks for a count, which takes fewer fields."""
    for field, value in request.items():
        if field not in FIELDS or (counting and field not in COUNTED):
            return unknown(field)
        error = FIELDS[field](value, field)
        if error:
            return error
    return next((missing(field) for field in ("model", "input") if field not in request), None)
