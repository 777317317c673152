"""The fields of a request: which there are, which are required, and which a beta switches on.

Owns: the table of known fields, block kinds and tool kinds (providers.md 1.1, 1.2). An unknown key is refused with
`Extra inputs are not permitted`, an unknown kind with `Input tag ...`; a field behind a beta that was not named is
unknown. Blocks that only the provider writes (server results, compaction, ...) are checked for their `type` alone.
Pure; `body_check` builds the whole check for a set of betas.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from . import betas as names
from .betas import INLINE_TOOLS, MCP, MCP_INLINE, TOOL_REFERENCES
from .errors import ApiError, at
from .shapes import (
    MISSING,
    NO_OBJECT,
    AtLeast,
    Check,
    Many,
    Matching,
    Nullable,
    Tagged,
    TextOr,
    anything,
    fields,
    flag,
    mapping,
    number,
    one_of,
    text,
)
from .wire import SERVER_RESULTS, as_object

CACHE = Nullable(fields({"type": one_of("ephemeral")}, {"ttl": one_of("5m", "1h")}))
EFFORT = Nullable(one_of("low", "medium", "high", "xhigh", "max"))
IDENT = Matching(r"[a-zA-Z0-9_-]+")
TOOL_NAME = Matching(r"[a-zA-Z0-9_-]{1,128}")
OPEN = fields({"type": text}, more=True)

TEXT = fields({"type": text, "text": text}, {"cache_control": CACHE, "citations": Nullable(Many(mapping))})
IMAGE = fields({"type": text, "source": OPEN}, {"cache_control": CACHE, "transformations": Nullable(mapping)})
MARKED = fields({"type": text}, {"cache_control": CACHE}, more=True)
RESULT_CONTENT = TextOr(
    Many(
        Tagged(
            {
                "text": TEXT,
                "image": IMAGE,
                "document": MARKED,
                "search_result": MARKED,
                "tool_reference": MARKED,
                "browser_state": MARKED,
            }
        )
    )
)
USER = {
    "text": TEXT,
    "image": IMAGE,
    "document": MARKED,
    "search_result": MARKED,
    "container_upload": MARKED,
    "tool_result": fields(
        {"type": text, "tool_use_id": IDENT},
        {"content": RESULT_CONTENT, "is_error": flag, "cache_control": CACHE, "toolset_name": Nullable(text)},
    ),
}
ASSISTANT = {
    "text": TEXT,
    "thinking": fields({"type": text, "thinking": text, "signature": text}),
    "redacted_thinking": fields({"type": text, "data": text}),
    "tool_use": fields(
        {"type": text, "id": IDENT, "name": TOOL_NAME, "input": mapping},
        {"cache_control": CACHE, "caller": Nullable(mapping), "toolset_name": Nullable(text)},
    ),
    "server_tool_use": fields(
        {"type": text, "id": IDENT, "name": text, "input": mapping},
        {"cache_control": CACHE, "caller": Nullable(mapping)},
    ),
    "mcp_tool_use": fields(
        {"type": text, "id": IDENT, "name": text, "input": mapping, "server_name": text}, {"cache_control": CACHE}
    ),
    **{kind: fields({"type": text, "tool_use_id": IDENT}, more=True) for kind in sorted(SERVER_RESULTS)},
    "compaction": MARKED,
    "fallback": OPEN,
    "mcp_tool_listing": fields({"type": text, "mcp_server_name": text, "tools": Many(mapping)}),
}

CUSTOM: dict[str, Check] = {
    "description": text,
    "cache_control": CACHE,
    "defer_loading": flag,
    "strict": flag,
    "eager_input_streaming": Nullable(flag),
    "input_examples": Many(mapping),
    "allowed_callers": Many(text),
    "type": Nullable(one_of("custom")),
}
NAMED_KINDS = (
    "bash_20241022",
    "bash_20250124",
    "code_execution_20250522",
    "code_execution_20250825",
    "code_execution_20260120",
    "code_execution_20260521",
    "computer_20241022",
    "computer_20250124",
    "computer_20251124",
    "memory_20250818",
    "text_editor_20241022",
    "text_editor_20250124",
    "text_editor_20250429",
    "text_editor_20250728",
    "web_search_20250305",
    "web_search_20260209",
    "web_search_20260318",
    "web_fetch_20250910",
    "web_fetch_20260209",
    "web_fetch_20260309",
    "web_fetch_20260318",
    "advisor_20260301",
    "tool_search_tool_bm25_20251119",
    "tool_search_tool_bm25",
    "tool_search_tool_regex_20251119",
    "tool_search_tool_regex",
)
TOOLSETS = ("browser_toolset_20260801", "computer_toolset_20260801")


def input_schema(value: object, path: str) -> ApiError | None:
    """A JSON schema of an object, without a union at its top."""
    schema = as_object(value)
    if schema is None:
        return at(path, "Input should be a valid dictionary")
    if "type" not in schema:
        return at(f"{path}.type", MISSING)
    if schema["type"] != "object":
        return at(f"{path}.type", "Input should be 'object'")
    if {"oneOf", "allOf", "anyOf"} & set(schema):
        return at(path, "input_schema does not support oneOf, allOf, or anyOf at the top level")
    return None


def tool_check(mcp: bool) -> Check:
    """One entry of `tools`, or one definition inside `messages`."""
    server = fields({"name": text, "type": text}, {"cache_control": CACHE, "defer_loading": flag}, more=True)
    toolset = fields({"type": text}, {"cache_control": CACHE}, more=True)
    kinds: dict[str, Check] = {
        "custom": fields({"name": TOOL_NAME, "input_schema": input_schema}, CUSTOM),
        **dict.fromkeys(NAMED_KINDS, server),
        **dict.fromkeys(TOOLSETS, toolset),
    }
    if mcp:
        kinds["mcp_toolset"] = fields(
            {"type": text, "mcp_server_name": text},
            {
                "cache_control": CACHE,
                "configs": Nullable(mapping),
                "default_config": mapping,
                "tools": Nullable(Many(fields({"name": text}, more=True))),
            },
        )
    return Tagged(kinds, default="custom")


def change_kinds(betas: Collection[str]) -> dict[str, Check]:
    """The block kinds of a system message under these betas."""
    kinds: dict[str, Check] = {"text": TEXT}
    if INLINE_TOOLS not in betas and TOOL_REFERENCES not in betas:
        return kinds
    references: dict[str, Check] = {
        "tool_reference": fields({"type": text, "name": text}),
        "mcp_tool_reference": fields({"type": text, "server_name": text, "name": text}),
        "mcp_toolset_reference": fields({"type": text, "server_name": text}),
    }
    added = dict(references)
    if INLINE_TOOLS in betas:
        definition = tool_check(MCP_INLINE in betas)
        added["tool_definition"] = fields({"type": text, "definition": definition})
    marker = {"cache_control": CACHE}
    kinds["tool_addition"] = fields({"type": text, "tool": Tagged(added)}, marker)
    kinds["tool_removal"] = fields({"type": text, "tool": Tagged(references)}, marker)
    return kinds


@dataclass(frozen=True, slots=True)
class Message:
    """A message, told apart by its role."""

    by_role: Mapping[str, Check]

    def __call__(self, value: object, path: str) -> ApiError | None:
        held = as_object(value)
        if held is None:
            return at(path, NO_OBJECT)
        if "role" not in held:
            return at(f"{path}.role", MISSING)
        error = one_of(*self.by_role)(held["role"], f"{path}.role")
        return error or self.by_role[held["role"]](held, path)


def message_check(betas: Collection[str]) -> Check:
    """One entry of `messages`, by its role."""
    system: dict[str, Check] = {"role": text, "content": TextOr(Many(Tagged(change_kinds(betas))))}
    if names.CLEAR_AT in betas:
        system["clear_at"] = Nullable(one_of("never", "next_user_message"))
    if names.OUTPUT_CONFIG in betas:
        system["output_config"] = Nullable(fields({}, {"effort": EFFORT}))
    return Message(
        {
            "user": fields({"role": text, "content": TextOr(Many(Tagged(USER)))}),
            "assistant": fields({"role": text, "content": TextOr(Many(Tagged(ASSISTANT)))}),
            "system": fields(
                {"role": text} if names.OUTPUT_CONFIG in betas else {"role": text, "content": system["content"]}, system
            ),
        }
    )


def thinking_check(betas: Collection[str]) -> Check:
    """The `thinking` field."""
    shown: dict[str, Check] = {"display": Nullable(one_of("summarized", "omitted", "updates"))}
    if names.BINDING in betas:
        behaviour = Nullable(one_of("error", "drop_block"))
        shown["block_binding"] = Nullable(fields({}, {"prefix_mismatch_behavior": behaviour}))
    return Tagged(
        {
            "adaptive": fields({"type": text}, shown),
            "enabled": fields({"type": text, "budget_tokens": AtLeast(1024)}, shown),
            "disabled": fields({"type": text}),
            "between_tools": fields({"type": text}),
        }
    )


def tool_choice_check() -> Check:
    """The `tool_choice` field."""
    parallel: dict[str, Check] = {"disable_parallel_tool_use": flag}
    return Tagged(
        {
            "auto": fields({"type": text}, parallel),
            "any": fields({"type": text}, parallel),
            "tool": fields({"type": text, "name": text}, parallel),
            "none": fields({"type": text}),
        }
    )


def _top(betas: Collection[str]) -> dict[str, Check]:
    known: dict[str, Check] = {
        "system": TextOr(Many(Tagged({"text": TEXT}))),
        "tools": Many(tool_check(bool(MCP & set(betas)))),
        "tool_choice": tool_choice_check(),
        "thinking": thinking_check(betas),
        "cache_control": CACHE,
        "output_config": fields({}, {"effort": EFFORT, "format": Nullable(mapping), "task_budget": Nullable(mapping)}),
        "speed": Nullable(one_of("standard", "fast")),
    }
    if MCP & set(betas):
        known["mcp_servers"] = Many(fields({"name": text, "type": one_of("url"), "url": text}, more=True))
    return known


def _only_when_answered(betas: Collection[str], sampling: bool) -> dict[str, Check]:
    known: dict[str, Check] = {
        "stream": flag,
        "metadata": fields({}, {"user_id": Nullable(text)}),
        "service_tier": one_of("auto", "standard_only"),
        "stop_sequences": Many(text),
        "container": Nullable(anything),
        "inference_geo": Nullable(text),
    }
    if names.DIAGNOSIS in betas:
        known["diagnostics"] = Nullable(fields({}, {"previous_message_id": Nullable(text)}))
    if sampling:
        known |= {"temperature": number, "top_p": number, "top_k": AtLeast(0)}
    return known


@lru_cache(maxsize=64)
def _body_check(betas: frozenset[str], sampling: bool, counting: bool) -> Check:
    required: dict[str, Check] = {"model": text, "messages": Many(message_check(betas))}
    known = _top(betas)
    if not counting:
        required["max_tokens"] = AtLeast(0)
        known |= _only_when_answered(betas, sampling)
    return fields(required, known)


def body_check(betas: Iterable[str], *, sampling: bool = False, counting: bool = False) -> Check:
    """The check of a whole body. `counting`: the body of `count_tokens`, which knows fewer fields."""
    return _body_check(frozenset(betas), sampling, counting)
