"""A request as a Responses body: what is sent, where changes stand, what each model takes, what a stream comes to."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from manyminds.actors.providers.openai_events import Assembly
from manyminds.actors.providers.openai_models import ANSWERS, CHANGES, capabilities_of, reasons, transport_of
from manyminds.actors.providers.openai_wire import body_of, removals
from manyminds.messages.blocks import (
    Block,
    Image,
    Opaque,
    RedactedThinking,
    SystemChange,
    Text,
    Thinking,
    ToolCall,
    ToolDef,
    ToolResult,
)
from manyminds.messages.request import Done, Event, Msg, Request, RoundFailed, Usage
from tests.actors.providers.openai_rounds import LOOK, MODEL, MODELS
from tests.actors.providers.walked import request_at
from tests.messages_api.conversations import conversation
from tests.responses_api.items import signature
from tests.responses_api.validator import validate

ROUNDS = 8
LOOK_SENT: dict[str, Any] = {
    "type": "function", "name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}},
    "strict": False,
}


def u(*content: Block | str) -> Msg:
    """A user message."""
    return Msg("user", tuple(Text(one) if isinstance(one, str) else one for one in content))


def a(*content: Block | str) -> Msg:
    """An assistant message."""
    return Msg("assistant", tuple(Text(one) if isinstance(one, str) else one for one in content))


def s(*changes: Block) -> Msg:
    """A change."""
    return Msg("change", changes)


def made(*messages: Msg, **fields: Any) -> dict[str, Any]:
    """The body of these messages, which the stand-in's validator takes."""
    body = body_of(replace(Request(MODEL, messages), **fields), reasons=True)
    assert validate(body, MODELS) is None
    return body


def without_removals(request: Request) -> Request:
    """The request without removals and second definitions, which this API has no words for."""
    known = {tool.name for tool in request.tools}
    messages: list[Msg] = []
    for message in request.messages:
        content: list[Block] = []
        for block in message.content:
            if not isinstance(block, SystemChange):
                content.append(block)
                continue
            defined = tuple(tool for tool in block.defined if tool.name not in known)
            known |= {tool.name for tool in defined}
            content.append(SystemChange((), defined, block.system))
        messages.append(replace(message, content=tuple(content)))
    return replace(request, model=MODEL, messages=tuple(messages))


def test_random_conversations_with_changes_are_legal(amount: Callable[[int, int], int]) -> None:
    """[providers 2.4] The validator takes every request whole, and each begins with the JSON text of the one before."""
    with_tools = 0
    for seed in range(amount(100, 1_000)):
        before: list[str] = []
        for moment in conversation(seed, ROUNDS, references=False):
            body = body_of(without_removals(request_at(moment)), reasons=True)
            assert validate(body, MODELS) is None, seed
            now = [json.dumps(item) for item in body["input"]]
            assert now[: len(before)] == before, seed
            before = now
            with_tools += any(item.get("type") == "additional_tools" for item in body["input"])
    assert with_tools


def test_equal_requests_are_equal_bytes() -> None:
    """[providers 2.1, 2] Making a body leaves nothing behind that the next one could see."""
    mark = Opaque('{"openai":{"type":"message","phase":"commentary","parts":1}}')
    request = Request(MODEL, (u("a"), a("b", mark), u("c")), ("s",), (LOOK,), extra={"tools": [{"type": "web_search"}]})
    first, second = body_of(request, reasons=True), body_of(request, reasons=True)
    assert json.dumps(first) == json.dumps(second)
    assert request.extra == {"tools": [{"type": "web_search"}]}


def test_the_head() -> None:
    """System texts are one, apart; a tool is a function that is not strict; nothing is kept on the server."""
    body = made(u("a"), system=("s1", " ", "s2"), tools=(LOOK,), max_tokens=99, thinking={"effort": "low"})
    assert body == {
        "model": MODEL, "instructions": "s1\n\ns2", "tools": [LOOK_SENT],
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "a"}]}], "max_output_tokens": 99,
        "store": False, "reasoning": {"effort": "low"}, "include": ["reasoning.encrypted_content"],
    }
    bare = body_of(Request("m", (u("a"),)), reasons=False)
    assert set(bare) == {"model", "input", "max_output_tokens", "store"}


ITEM = {"id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "type": "reasoning"}
PLAIN = {"id": "r", "type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "h"}]}
SIGNED = {**ITEM, "encrypted_content": signature(ITEM)}
CALL = ToolCall("c1", "look", '{"at":  "x"}')
CALL_SENT = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at":  "x"}'}
BLOCKS: dict[str, tuple[Block, list[dict[str, Any]]]] = {
    "text": (Text("hi"), [{"role": "assistant", "content": "hi"}]),
    "blank text": (Text(" \n"), []),
    "thinking": (Thinking("hm", f"openai:{json.dumps(SIGNED)}"), [SIGNED]),
    "thinking that can be read": (Thinking("hm", f"openai:{json.dumps(PLAIN)}"), [PLAIN]),
    "thinking that holds nothing": (Thinking("hm", f"openai:{json.dumps(ITEM)}"), []),
    "another provider's thinking": (Thinking("hm", "sig"), []),
    "thinking that was cut": (Thinking("hm"), []),
    "thinking that is no item": (Thinking("hm", "openai:1"), []),
    "thinking that is no JSON": (Thinking("hm", "openai:{"), []),
    "another provider's redacted thinking": (RedactedThinking("data"), []),
    "unknown": (Opaque('{"openai":{"type":"web_search_call","id":"w"}}'), [{"type": "web_search_call", "id": "w"}]),
    "another provider's block": (Opaque('{"type":"server_tool_use"}'), []),
    "call": (CALL, [CALL_SENT]),
    "call that was cut": (replace(CALL, arguments='{"at": "x', unusable="were cut off"),
                          [{**CALL_SENT, "arguments": '{"INVALID_JSON": "{\\"at\\": \\"x"}'}]),
}


@pytest.mark.parametrize(("block", "sent"), BLOCKS.values(), ids=BLOCKS)
def test_a_block_of_an_answer_goes_back_as_it_came(block: Block, sent: list[dict[str, Any]]) -> None:
    """[providers 2.4] Reasoning and unknown items verbatim, arguments to the byte; what cannot be sent is left out."""
    body = body_of(Request(MODEL, (u("a"), a(block, "end"), u("c"))), reasons=True)
    assert body["input"][1:-1] == [*sent, {"role": "assistant", "content": "end"}]


def test_reasoning_that_led_to_nothing_is_left_out() -> None:
    """[providers 2.4] The provider refuses reasoning without what follows it; the stand-in does too."""
    thought = Thinking("hm", f"openai:{json.dumps(SIGNED)}")
    assert [item["role"] for item in made(u("a"), a(thought), u("c"))["input"]] == ["user", "user"]
    assert [item["role"] for item in made(u("a"), a(thought, " "), u("c"))["input"]] == ["user", "user"]
    wrong = {"model": MODEL, "input": [SIGNED, {"role": "user", "content": "c"}]}
    refused = validate(wrong, MODELS)
    assert refused is not None
    assert "required following item" in refused.message


@pytest.mark.parametrize(
    ("content", "phases"),
    [
        (("a", "M1", "b"), ["commentary", None]), (("a", "b", "M1"), [None, "commentary"]),
        (("a", "b", "M2"), ["commentary", "commentary"]), (("M1", "a"), [None]),
    ],
)
def test_a_phase_goes_to_its_own_texts(content: tuple[str, ...], phases: list[str | None]) -> None:
    """What a message said of itself is said of the texts that it held, and of no other."""
    blocks = [
        Opaque(json.dumps({"openai": {"type": "message", "phase": "commentary", "parts": int(one[1])}}))
        if one[0] == "M" else Text(one)
        for one in content
    ]
    assert [item.get("phase") for item in made(u("x"), a(*blocks))["input"][1:]] == phases


def test_results_and_images() -> None:
    """A result names its call; text alone is a text, an error says so; an image is a data URL; a lost one is named."""
    results = (
        ToolResult("c1", (Text("ok"), Text("more"))), ToolResult("c2", (Text("no"),), True), ToolResult("c3", ()),
        ToolResult("c4", (Text("see"), Image("image/png", b"\x00\x01")), True),
        ToolResult("c5", (Image("image/png", blob="gone"),)),
    )
    calls = [replace(CALL, id=f"c{number}") for number in range(1, 6)]
    sent = made(u("a"), a(*calls), u(*results, "and now?"), tools=(LOOK,))["input"]
    image = {"type": "input_image", "image_url": "data:image/png;base64,AAE=", "detail": "auto"}
    assert [item["output"] for item in sent[6:-1]] == [
        "ok\nmore", "Error: no", "",
        [{"type": "input_text", "text": "Error: "}, {"type": "input_text", "text": "see"}, image],
        [{"type": "input_text", "text": "[an image that is not kept any more]"}],
    ]
    assert sent[-1] == {"role": "user", "content": [{"type": "input_text", "text": "and now?"}]}


SEE = ToolDef("see", "", '{"type":"object"}')


def test_a_change_as_it_is_sent() -> None:
    """[providers 2.4] Additions by definition, then text, as the developer's; each change where it stands."""
    change = s(SystemChange(defined=(SEE,), system=("more", " ")))
    tools = {
        "type": "additional_tools", "role": "developer",
        "tools": [{"type": "function", "name": "see", "parameters": {"type": "object"}, "strict": False}],
    }
    text = {"role": "developer", "content": [{"type": "input_text", "text": "more"}]}
    assert made(u("a"), change, tools=(LOOK,))["input"][1:] == [tools, text]
    assert made(u("a"), a("b"), change, u("c"))["input"][2:4] == [tools, text]
    assert made(u("a"), a("b"), change)["input"][2:] == [tools, text]
    assert made(u("a"), s(SystemChange()), a("b"))["input"][1:] == [{"role": "assistant", "content": "b"}]


def test_a_change_waits_for_results() -> None:
    """[providers 2.4] Nothing stands between a call and its result; the stand-in refuses it there."""
    body = made(u("a"), a(CALL), s(SystemChange(system=("more",))), u(ToolResult("c1", ())), tools=(LOOK,))
    assert [item.get("type", item.get("role")) for item in body["input"]] == [
        "user", "function_call", "function_call_output", "developer",
    ]


def test_removals_are_named() -> None:
    """[providers 2.4] There are no words for them."""
    gone = s(SystemChange(removed=("look", "see")))
    assert removals(Request(MODEL, (u("a"), gone, u("b")))) == ("look", "see")
    assert removals(Request(MODEL, (u("a"), s(SystemChange(defined=(SEE,)))))) == ()


def test_text_that_no_encoding_has_is_sent_all_the_same() -> None:
    """Half a character is replaced wherever text goes out."""
    half = "a\ud83d"
    body = made(u(half), a(half, replace(CALL, arguments=half)), u(ToolResult("c1", (Text(half),))), system=(half,))
    json.dumps(body, ensure_ascii=False).encode()


# --- models


@pytest.mark.parametrize(
    ("model", "transport", "text", "add", "read", "write"),
    [
        ("gpt-6-sol", "api", True, "definition", 0.1, 1.25), ("gpt-6.2-astra", "api", True, "definition", 0.1, 1.25),
        ("gpt-5.6-luna", "api", True, "definition", 0.1, 1.25), ("gpt-5.5", "api", True, "definition", 0.1, 1.0),
        ("gpt-5.5-2026-04-23", "api", True, "definition", 0.1, 1.0),
        ("gpt-4o-mini", "api", True, "definition", 0.5, 1.0),
        ("ft:gpt-4o-mini:org::1", "api", True, "definition", 0.5, 1.0),
        ("gpt-4", "api", False, "none", 0.1, 1.0), ("gpt-50", "api", False, "none", 0.1, 1.0),
        ("gpt-6-sol", "compatible", False, "none", 0.1, 1.0), ("qwen3", "compatible", False, "none", 0.1, 1.0),
    ],
)
def test_what_a_model_takes(model: str, transport: Any, text: bool, add: str, read: float, write: float) -> None:
    """[providers 2.4] Text and additions, never removals or redefinitions; every one answers."""
    able = capabilities_of(model, transport, {})
    assert (able.system_text, able.tool_add, able.tool_remove, able.tool_redefine) == (text, add, False, False)
    assert (able.read_multiplier, able.write_multiplier) == (read, write)
    assert able.answers
    assert able.usage_includes_cache
    assert able.prompt_cache == "implicit"


def test_the_hosts_table_goes_first() -> None:
    """[providers 1.3] By full name, whatever the server."""
    assert capabilities_of("qwen3", "compatible", {"qwen3": CHANGES}) == CHANGES
    assert capabilities_of("gpt-6-sol", "api", {"gpt-6-sol": ANSWERS}) == ANSWERS


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("gpt-6-sol", True), ("gpt-5.2", True), ("gpt-5.2-chat-latest", False), ("o3-mini", True), ("gpt-4.1", False),
        ("qwen3", False),
    ],
)
def test_which_models_reason(model: str, expected: bool) -> None:
    """[providers 2.4] Encrypted thinking is asked of those alone, since the others refuse to be asked."""
    assert reasons(model) is expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (None, "api"), ("https://api.openai.com/v1", "api"), ("https://eu.api.openai.com/v1/", "api"),
        ("http://127.0.0.1:11434/v1", "compatible"), ("https://api.openai.com.example.org/v1", "compatible"),
        ("https://my.openai.azure.com/openai", "compatible"), ("nonsense", "compatible"),
    ],
)
def test_whose_server_it_is(url: str | None, expected: str) -> None:
    """[providers 2.4] By the host of the address."""
    assert transport_of(url) == expected


# --- streams of other servers


def ended(*events: dict[str, Any]) -> Event:
    """The last event that a stream comes to."""
    assembly = Assembly("r")
    return [one for event in events for one in assembly.feed(event)][-1]


CREATED = {"type": "response.created", "response": {"id": "r", "model": "m"}}
COMPLETED = {"type": "response.completed", "response": {"usage": {"input_tokens": 9, "output_tokens": 2}}}
MESSAGE: dict[str, Any] = {"id": "m1", "type": "message"}
FUNCTION: dict[str, Any] = {"call_id": "c1", "type": "function_call", "name": "look", "arguments": ""}


def added(item: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An item begins."""
    return {"type": "response.output_item.added", "item": item, **more}


def done(item: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An item has ended."""
    return {"type": "response.output_item.done", "item": item, **more}


def test_a_server_that_gives_no_places() -> None:
    """[providers 2.4] Items are known by their ids, a call without one by its call's; without details nothing is read
    from the cache. Blocks stand in the order in which they began.
    """
    text = {"type": "response.output_text.delta", "item_id": "m1", "delta": "hi"}
    part = {"type": "response.function_call_arguments.delta", "item_id": "c1", "delta": "{}"}
    end = ended(CREATED, added(MESSAGE), added(FUNCTION), text, part, done(MESSAGE), done(FUNCTION), COMPLETED)
    assert end == Done("tool_use", (ToolCall("c1", "look", "{}"), Text("hi")), Usage(9, 0, 0, 2), {}, "r")


def test_a_text_that_came_without_deltas() -> None:
    """What an ended item says and no delta did is said then."""
    whole = {**MESSAGE, "content": [{"type": "output_text", "text": "hi there"}]}
    begun = {"type": "response.output_text.delta", "item_id": "m1", "delta": "hi "}
    for events in ([added(MESSAGE), begun, done(whole)], [added(MESSAGE), done(whole)], [done(whole)]):
        end = ended(CREATED, *events, COMPLETED)
        assert isinstance(end, Done)
        assert end.content == (Text("hi there"),)


def test_a_completed_response_with_an_open_item_was_cut() -> None:
    """[providers 2.1.6] An end ends only what is whole; nothing of it is run."""
    end = ended(CREATED, added(FUNCTION, output_index=0), COMPLETED)
    assert isinstance(end, RoundFailed)
    assert end.error.kind == "truncated"


def test_what_is_open_when_a_response_ends_before_its_end() -> None:
    """[providers 2.1.9] Texts as far as they came, thinking that cannot go back, calls that never run."""
    cut = {"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}}
    part = {"type": "response.function_call_arguments.delta", "output_index": 2, "delta": '{"a'}
    said = {"type": "response.output_text.delta", "output_index": 1, "delta": "hal"}
    thought = {"type": "response.reasoning_text.delta", "output_index": 0, "delta": "hm"}
    end = ended(
        CREATED, added({"id": "rs", "type": "reasoning"}, output_index=0), thought, added(MESSAGE, output_index=1),
        said, added(FUNCTION, output_index=2), part, cut,
    )
    assert isinstance(end, Done)
    call = ToolCall("c1", "look", '{"a', "ended in the middle of the JSON text")
    assert end.content == (Thinking("hm"), Text("hal"), call)
    assert end.stop_reason == "max_tokens"


def test_reasoning_that_the_provider_withheld_is_told() -> None:
    """What it did not show to the model stands in Started."""
    gone = {"type": "reasoning", "id": "rs_1", "action": "removed", "reason": "prefix_mismatch"}
    (started,) = Assembly().feed({**CREATED, "response": {"id": "r", "model": "m", "input_transformations": [gone]}})
    assert getattr(started, "dropped_thinking", None) == (gone,)
