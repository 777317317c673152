"""Known keys, kinds and types, and the fields that a beta switches on: each refusal with its legal neighbour."""

from typing import Any

import pytest
from anthropic.types import anthropic_beta_param

from tests.messages_api.betas import (
    BINDING,
    CLEAR_AT,
    DIAGNOSIS,
    INLINE_TOOLS,
    KNOWN,
    MCP_INLINE,
    OUTPUT_CONFIG,
    TOOL_REFERENCES,
    read_betas,
)
from tests.messages_api.wire import JsonObject
from tests.messages_api_tests.building import TOOLS, a, add, body, call, judged, refused, remove, result, s, t, tool, u

NONE: frozenset[str] = frozenset()
EXTRA = "Extra inputs are not permitted"
TOOLSET: JsonObject = {"type": "mcp_toolset", "mcp_server_name": "files"}
SERVERS: list[JsonObject] = [{"name": "files", "type": "url", "url": "http://127.0.0.1/"}]
IMAGE: JsonObject = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}


def without(name: str) -> JsonObject:
    """A body without one field."""
    return {key: value for key, value in body().items() if key != name}


CASES: dict[str, tuple[JsonObject, JsonObject, str]] = {
    "unknown top-level key": (body(colour=1), body(metadata={"user_id": "x"}), f"colour: {EXTRA}"),
    "unknown message key": (
        body({**u(), "name": "x"}),
        body(u()),
        f"messages.0.name: {EXTRA}",
    ),
    "unknown block key": (
        body(u([t("x", colour=1)])),
        body(u([t("x")])),
        f"messages.0.content.0.text.colour: {EXTRA}",
    ),
    "unknown key of a change": (
        body(u(), s(add(tool("b"), colour=1))),
        body(u(), s(add(tool("b")))),
        f"messages.1.content.0.tool_addition.colour: {EXTRA}",
    ),
    "unknown key of a tool": (body(tools=[tool(colour=1)]), body(tools=[tool()]), f"tools.0.custom.colour: {EXTRA}"),
    "unknown key of an inline definition": (
        body(u(), s(add(tool("b", colour=1)))),
        body(u(), s(add(tool("b", description="x", strict=True)))),
        f"custom.colour: {EXTRA}",
    ),
    "marker on a thinking block": (
        body(u(), a([{"type": "thinking", "thinking": "", "signature": "", "cache_control": {"type": "ephemeral"}}])),
        body(u(), a([t("x", cache_control={"type": "ephemeral"})]), u()),
        f"messages.1.content.0.thinking.cache_control: {EXTRA}",
    ),
    "missing max_tokens": (without("max_tokens"), body(), "max_tokens: Field required"),
    "missing messages": (without("messages"), body(), "messages: Field required"),
    "missing model": (without("model"), body(), "model: Field required"),
    "missing content": (body({"role": "user"}), body(u()), "messages.0.content: Field required"),
    "missing input_schema": (
        body(tools=[{"name": "x"}]),
        body(tools=[tool("x")]),
        "tools.0.custom.input_schema: Field required",
    ),
    "schema that is no object's": (
        body(tools=[{"name": "x", "input_schema": {"type": "string"}}]),
        body(tools=[{"name": "x", "input_schema": {"type": "object", "properties": {}}}]),
        "tools.0.custom.input_schema.type: Input should be 'object'",
    ),
    "schema with a union at its top": (
        body(tools=[{"name": "x", "input_schema": {"type": "object", "anyOf": []}}]),
        body(tools=[{"name": "x", "input_schema": {"type": "object", "properties": {"y": {"anyOf": []}}}}]),
        "does not support oneOf, allOf, or anyOf",
    ),
    "role of another name": (body({"role": "tool", "content": "x"}), body(u()), "messages.0.role: Input should be"),
    "role change as the runtime names it": (
        body(u(), {"role": "change", "content": "x"}),
        body(u(), s()),
        "messages.1.role: Input should be 'user', 'assistant' or 'system'",
    ),
    "image in a system message": (body(u(), s(IMAGE)), body(u([IMAGE])), "Input tag 'image' found using 'type'"),
    "thinking from the user": (
        body(u([{"type": "thinking", "thinking": "x", "signature": "y"}])),
        body(u([t("x")])),
        "Input tag 'thinking' found using 'type'",
    ),
    "tool change from the user": (body(u([add(tool("b"))])), body(u(), s(add(tool("b")))), "Input tag 'tool_addition'"),
    "definition in a removal": (
        body(u(), s({"type": "tool_removal", "tool": {"type": "tool_definition", "definition": tool("b")}})),
        body(u(), s(add(tool("b")), remove("b"))),
        "Input tag 'tool_definition'",
    ),
    "input that is no object": (
        body(u(), a([call(input='{"x":')]), u([result()])),
        body(u(), a([call(input={"x": 1})]), u([result()])),
        "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
    ),
    "name with a space": (
        body(tools=[tool("two words")]),
        body(tools=[tool("two_words")]),
        "tools.0.custom.name: String should match pattern",
    ),
    "name of 129 characters": (
        body(tools=[tool("x" * 129)]),
        body(tools=[tool("x" * 128)]),
        "tools.0.custom.name: String should match pattern",
    ),
    "text that is a number": (body(u(5)), body(u("5")), "messages.0.content: Input should be a valid list"),
    "lifetime of another length": (
        body(u([t("x", cache_control={"type": "ephemeral", "ttl": "2h"})])),
        body(u([t("x", cache_control={"type": "ephemeral", "ttl": "1h"})])),
        "cache_control.ttl: Input should be '5m' or '1h'",
    ),
    "thinking budget of 1,023": (
        body(max_tokens=2000, thinking={"type": "enabled", "budget_tokens": 1023}),
        body(max_tokens=2000, thinking={"type": "enabled", "budget_tokens": 1024}),
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
    ),
    "thinking budget not below max_tokens": (
        body(max_tokens=1024, thinking={"type": "enabled", "budget_tokens": 1024}),
        body(max_tokens=1025, thinking={"type": "enabled", "budget_tokens": 1024}),
        "`max_tokens` must be greater than `thinking.budget_tokens`",
    ),
    "max_tokens as text": (body(max_tokens="5"), body(max_tokens=5), "max_tokens: Input should be a valid integer"),
    "stream as text": (body(stream="yes"), body(stream=True), "stream: Input should be a valid boolean"),
    "temperature on a model without sampling": (
        body(temperature=1),
        body(model="claude-sonnet-4-6", temperature=1),
        f"temperature: {EXTRA}",
    ),
    "unknown tool kind": (
        body(tools=[{"type": "hammer_20250101", "name": "hammer"}]),
        body(tools=[{"type": "bash_20250124", "name": "bash"}]),
        "Input tag 'hammer_20250101'",
    ),
    "tool result in the assistant's turn": (
        body(u(), a([call(), result()]), u()),
        body(u(), a([call()]), u([result()])),
        "Input tag 'tool_result'",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_form(case: str) -> None:
    """[providers 3.7] an unknown key, kind or type is refused where it stands; the nearest legal body passes."""
    wrong, right, message = CASES[case]
    assert message in refused(wrong).message
    assert judged(right) is None


BEHIND: dict[str, tuple[JsonObject, frozenset[str], frozenset[str], str]] = {
    "addition by definition": (body(u(), s(add(tool("b")))), NONE, TOOLS, "Input tag 'tool_addition'"),
    "removal": (body(u(), s(remove("look")), tools=[tool()]), NONE, TOOLS, "Input tag 'tool_removal'"),
    "removal under the older beta": (
        body(u(), s(remove("look")), tools=[tool()]),
        NONE,
        frozenset({TOOL_REFERENCES}),
        "Input tag 'tool_removal'",
    ),
    "definition under the older beta": (
        body(u(), s(add(tool("b")))),
        frozenset({TOOL_REFERENCES}),
        TOOLS,
        "Input tag 'tool_definition' found using 'type'",
    ),
    "toolset defined inline": (
        body(u(), s(add(TOOLSET)), mcp_servers=SERVERS),
        TOOLS | {"mcp-client-2025-11-20"},
        TOOLS | {MCP_INLINE},
        "Input tag 'mcp_toolset'",
    ),
    "toolset in the head": (
        body(tools=[TOOLSET]) | {"mcp_servers": SERVERS},
        NONE,
        frozenset({MCP_INLINE}),
        EXTRA,
    ),
    "clear_at": (
        body(u(), s(clear_at="next_user_message")),
        NONE,
        frozenset({CLEAR_AT}),
        f"messages.1.clear_at: {EXTRA}",
    ),
    "effort of a message": (
        body(u(), s(output_config={"effort": "high"})),
        NONE,
        frozenset({OUTPUT_CONFIG}),
        f"messages.1.output_config: {EXTRA}",
    ),
    "block_binding": (
        body(thinking={"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}),
        NONE,
        frozenset({BINDING}),
        f"thinking.adaptive.block_binding: {EXTRA}",
    ),
    "diagnostics": (
        body(diagnostics={"previous_message_id": None}),
        NONE,
        frozenset({DIAGNOSIS}),
        f"diagnostics: {EXTRA}",
    ),
}


@pytest.mark.parametrize("case", BEHIND)
def test_a_field_behind_a_beta_is_unknown_without_it(case: str) -> None:
    """[providers 1.2] what each beta switches on."""
    request, before, after, message = BEHIND[case]
    assert message in refused(request, before).message
    assert judged(request, after) is None


def test_text_in_a_system_message_needs_no_beta() -> None:
    """[providers 1.2] `role: system` with text only is for everyone."""
    assert judged(body(u(), s("note")), NONE) is None
    assert judged(body(u(), {"role": "system", "content": "note"}), NONE) is None


def test_an_unknown_beta_is_refused() -> None:
    """[providers 1.2] a name that the provider does not know."""
    assert "`inline-tools-2026-09-16`" in refused(body(), {"inline-tools-2026-09-16"}).message


def test_the_known_betas_are_the_sdks() -> None:
    """[providers 1.2] the list is the one the SDK is typed with."""
    union: Any = anthropic_beta_param.AnthropicBetaParam
    literal = next(part for part in union.__args__ if part is not str)
    assert set(literal.__args__) == KNOWN
    assert INLINE_TOOLS in KNOWN


def test_the_header_is_comma_joined_and_repeatable() -> None:
    """[providers 1.2] one header with commas, or several."""
    assert read_betas(["a, b", "c", ""]) == {"a", "b", "c"}


def test_count_tokens_knows_fewer_fields() -> None:
    """[providers 2.1.14] no `max_tokens`, no `stream`."""
    assert f"max_tokens: {EXTRA}" in refused(body(), counting=True).message
    assert judged(without("max_tokens"), counting=True) is None
    assert judged({**without("max_tokens"), "tools": [tool()], "system": "x"}, counting=True) is None
