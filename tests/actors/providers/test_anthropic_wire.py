"""A request as a Messages body: what is sent, where changes stand, which betas are named, where the markers are."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

import pytest

from manyminds.actors.providers.anthropic_models import ANSWERS, CHANGES, capabilities_of
from manyminds.actors.providers.anthropic_wire import (
    BINDING,
    DIAGNOSIS,
    INLINE_TOOLS,
    TOOL_REFERENCES,
    Body,
    body_of,
)
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
from manyminds.messages.request import Capabilities, Msg, Request
from tests.actors.providers.walked import request_at
from tests.messages_api.conversations import MODEL, conversation
from tests.messages_api.models import DEFAULT_MODELS
from tests.messages_api.validator import validate
from tests.messages_api.wire import JsonObject

ROUNDS = 8
LOOK = ToolDef("look", "Looks.", '{"type":"object","properties":{}}')
LOOK_SENT: JsonObject = {"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}
WORDS = SystemChange(system=("more",))
ADDED = SystemChange(defined=(LOOK,))
GONE = SystemChange(removed=("look",))


def u(*content: Block | str, cache: bool = False) -> Msg:
    """A user message."""
    return Msg("user", tuple(Text(one) if isinstance(one, str) else one for one in content), cache)


def a(*content: Block | str) -> Msg:
    """An assistant message."""
    return Msg("assistant", tuple(Text(one) if isinstance(one, str) else one for one in content))


def s(*changes: Block) -> Msg:
    """A change."""
    return Msg("change", changes)


def made(*messages: Msg, able: Capabilities = CHANGES, **fields: Any) -> Body:
    """The body of these messages, without markers unless `cache` is given."""
    body = body_of(replace(Request(MODEL, messages, cache=False), **fields), able)
    assert body is not None
    assert validate(body.fields, body.betas, DEFAULT_MODELS) is None
    return body


def plain(part: object) -> Any:
    """The JSON without markers, and a text alone as the list of blocks it stands for."""
    if isinstance(part, list):
        return [plain(one) for one in cast("list[object]", part)]
    if not isinstance(part, dict):
        return part
    held = cast("dict[str, object]", part)
    kept = {name: plain(value) for name, value in held.items() if name != "cache_control"}
    if isinstance(kept.get("content"), str):
        kept["content"] = [{"type": "text", "text": kept["content"]}]
    return kept


def markers(fields: Mapping[str, Any]) -> list[str]:
    """Where the markers are: `tools.1`, `system.0`, `2.0` for a message's block."""
    found = [
        f"{part}.{index}"
        for part in ("tools", "system")
        for index, one in enumerate(fields.get(part, ()))
        if "cache_control" in one
    ]
    for number, message in enumerate(fields["messages"]):
        found += [f"{number}.{i}" for i, block in enumerate(message["content"]) if "cache_control" in block]
    return found


def test_random_conversations_with_changes_are_legal(amount: Callable[[int, int], int]) -> None:
    """[providers 1.1-1.4, 2.3] [context placement] Each request is what the walk says has to be sent, the validator
    takes it whole, the tool beta is there exactly with a tool block, at most four markers, and none on a change.
    """
    requests = with_changes = 0
    for seed in range(amount(200, 2_000)):
        for moment in conversation(seed, ROUNDS, references=False):
            body = body_of(request_at(moment), capabilities_of(MODEL, "api", {}))
            assert body is not None, seed
            assert plain(body.fields) == plain(moment.request), seed
            assert validate(body.fields, body.betas, DEFAULT_MODELS) is None, seed
            held = [m for m in body.fields["messages"] if m["role"] == "system"]
            tools = any(block["type"] != "text" for message in held for block in message["content"])
            assert body.betas == ((INLINE_TOOLS,) if tools else ()), seed
            assert 1 <= len(markers(body.fields)) <= 4, seed
            assert "cache_control" not in json.dumps(held), seed
            requests += 1
            with_changes += tools
    assert with_changes > requests / 4


def test_each_request_begins_with_the_one_before_it(amount: Callable[[int, int], int]) -> None:
    """[providers 1.4, 1.6] Up to the last answered turn the JSON is the same text, markers taken out."""
    for seed in range(amount(50, 500)):
        before: list[str] = []
        for moment in conversation(seed, ROUNDS, references=False):
            body = body_of(request_at(moment), CHANGES)
            assert body is not None
            now = [json.dumps(plain(message)) for message in body.fields["messages"]]
            assert now[: len(before)] == before, seed
            before = now


def test_equal_requests_are_equal_bytes() -> None:
    """[providers 2.1, 2] Making a body leaves nothing behind that the next one could see."""
    request = Request(MODEL, (u("a"), a("b"), u("c")), ("s",), (LOOK,), extra={"tools": [{"name": "x"}]})
    first, second = body_of(request, CHANGES), body_of(request, CHANGES)
    assert json.dumps(first and first.fields) == json.dumps(second and second.fields)
    assert request.extra == {"tools": [{"name": "x"}]}


CALL = ToolCall("c1", "look", '{"at": "x"}')
BLOCKS: dict[str, tuple[Block, JsonObject | None]] = {
    "text": (Text("hi"), {"type": "text", "text": "hi"}),
    "blank text": (Text(" \n"), None),
    "thinking": (Thinking("hm", "sig"), {"type": "thinking", "thinking": "hm", "signature": "sig"}),
    "thinking that was not shown": (Thinking("", "sig"), {"type": "thinking", "thinking": "", "signature": "sig"}),
    "unsigned thinking": (Thinking("hm"), None),
    "another provider's thinking": (Thinking("hm", "openai:1"), None),
    "redacted": (RedactedThinking("data"), {"type": "redacted_thinking", "data": "data"}),
    "unknown": (Opaque('{"type":"compaction","content":"x","tool_changes":[]}'),
                {"type": "compaction", "content": "x", "tool_changes": []}),
    "call": (CALL, {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "x"}}),
    "call without arguments": (replace(CALL, arguments="{}"),
                               {"type": "tool_use", "id": "c1", "name": "look", "input": {}}),
    "call that was cut": (replace(CALL, arguments='{"at": "x', unusable="were cut off"),
                          {"type": "tool_use", "id": "c1", "name": "look", "input": {"INVALID_JSON": '{"at": "x'}}),
}


@pytest.mark.parametrize(("block", "sent"), BLOCKS.values(), ids=BLOCKS)
def test_a_block_of_an_answer_goes_back_as_it_came(block: Block, sent: JsonObject | None) -> None:
    """[providers 1.6, 1.9, 2.1.9] Thinking and unknown blocks verbatim; what cannot be sent is left out."""
    body = body_of(Request(MODEL, (u("a"), a(block, "end"), u("c")), cache=False), CHANGES)
    assert body is not None
    assert body.fields["messages"][1]["content"][:-1] == ([] if sent is None else [sent])


def test_results_and_images() -> None:
    """[providers 3.7] A result names its call; an error says so; an image is base64; a lost one is named."""
    results = (
        ToolResult("c1", (Text("ok"), Image("image/png", b"\x00\x01"))), ToolResult("c2", (), True),
        ToolResult("c3", (Image("image/png", blob="gone"),)),
    )
    calls = [replace(CALL, id=f"c{number}") for number in (1, 2, 3)]
    sent = made(u("a"), a(*calls), u(*results), tools=(LOOK,)).fields["messages"][2]["content"]
    image = {"type": "base64", "media_type": "image/png", "data": "AAE="}
    assert sent == [
        {"type": "tool_result", "tool_use_id": "c1",
         "content": [{"type": "text", "text": "ok"}, {"type": "image", "source": image}]},
        {"type": "tool_result", "tool_use_id": "c2", "is_error": True},
        {"type": "tool_result", "tool_use_id": "c3",
         "content": [{"type": "text", "text": "[an image that is not kept any more]"}]},
    ]


def test_a_change_as_it_is_sent() -> None:
    """[providers 1.1, 1.4] Removals, definitions, text; of two blocks for one name in one entry the later stays."""
    removal = {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "look"}}
    addition = {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": LOOK_SENT}}
    text = {"type": "text", "text": "more"}
    head = (LOOK,)
    everything = made(u("a"), s(SystemChange(("look",), (replace(LOOK, name="see"),), ("more",))), tools=head)
    assert [one["type"] for one in everything.fields["messages"][1]["content"]] == [
        "tool_removal", "tool_addition", "text",
    ]
    assert made(u("a"), s(GONE, ADDED), tools=head).fields["messages"][1]["content"] == [addition]
    assert made(u("a"), s(ADDED, GONE), tools=head).fields["messages"][1]["content"] == [removal]
    assert made(u("a"), s(WORDS), s(ADDED), tools=head).fields["messages"][1:] == [
        {"role": "system", "content": [text]}, {"role": "system", "content": [addition]},
    ]


U, A, S = u("a"), a("b"), s(WORDS)
PLACED: list[tuple[str, str | None]] = [
    ("us", "us"), ("uasu", "uaus"), ("usua", "uusa"), ("su", "us"), ("usauss", "usauss"), ("uasuuau", "uauusau"),
    ("uas", None),
]


@pytest.mark.parametrize(("compiled", "sent"), PLACED)
def test_the_table_of_places(compiled: str, sent: str | None) -> None:
    """[providers 1.4] Each line of the table; a change without a place makes no body."""
    body = body_of(Request(MODEL, tuple({"u": U, "a": A, "s": S}[one] for one in compiled)), CHANGES)
    roles = {"user": "u", "assistant": "a", "system": "s"}
    assert (body and "".join(roles[m["role"]] for m in body.fields["messages"])) == sent


BINDS = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
BETAS: dict[str, tuple[tuple[Msg, ...], dict[str, Any], Capabilities, tuple[str, ...]]] = {
    "nothing": ((U,), {}, CHANGES, ()),
    "text alone": ((U, s(WORDS)), {}, CHANGES, ()),
    "a tool by definition": ((U, s(ADDED)), {}, CHANGES, (INLINE_TOOLS,)),
    "a removal": ((U, s(GONE)), {"tools": (LOOK,)}, CHANGES, (INLINE_TOOLS,)),
    "a removal where references alone are known": (
        (U, s(GONE)), {"tools": (LOOK,)}, replace(CHANGES, tool_add="reference"), (TOOL_REFERENCES,)),
    "thinking": ((U,), {"thinking": {"type": "adaptive"}}, CHANGES, ()),
    "binding": ((U,), {"thinking": BINDS}, CHANGES, (BINDING,)),
    "diagnosis": ((U,), {"extra": {"diagnostics": {"previous_message_id": None}}}, CHANGES, (DIAGNOSIS,)),
    "the host's": (
        (U, s(ADDED)), {"extra": {"betas": ["cache-diagnosis-2026-04-07", INLINE_TOOLS]}}, CHANGES,
        (INLINE_TOOLS, DIAGNOSIS)),
}


@pytest.mark.parametrize(("messages", "fields", "able", "betas"), BETAS.values(), ids=BETAS)
def test_betas_exactly_when_needed(
    messages: tuple[Msg, ...], fields: dict[str, Any], able: Capabilities, betas: tuple[str, ...]
) -> None:
    """[providers 1.2] A beta is named for what the body holds; the host's come after, none twice."""
    body = made(*messages, able=able, **fields)
    assert body.betas == betas
    assert "betas" not in body.fields


HEAD: dict[str, Any] = {"system": ("s1", "s2"), "tools": (LOOK,)}
MARKED: dict[str, tuple[tuple[Msg, ...], dict[str, Any], list[str]]] = {
    "one request": ((u("a"),), HEAD, ["system.1", "0.0"]),
    "no system": ((u("a"),), {"tools": (LOOK,)}, ["tools.0", "0.0"]),
    "no head": ((u("a"),), {}, ["0.0"]),
    "the last request's end": ((u("a"), a("b"), u("c", "d")), HEAD, ["system.1", "0.0", "2.1"]),
    "not on a change": ((u("a"), s(WORDS)), HEAD, ["system.1", "0.0"]),
    "asked for on a change": ((u("a"), Msg("change", (WORDS,), True)), HEAD, ["system.1", "0.0"]),
    "asked for": ((u("a", cache=True), a("b"), u("c")), HEAD, ["0.0", "2.0"]),
    "asked for too often": (
        (*(one for n in range(6) for one in (u(f"{n}", cache=True), a("b"))), u("end")), HEAD,
        ["6.0", "8.0", "10.0", "12.0"]),
    "not on thinking": (
        (u("a"), Msg("assistant", (Text("b"), Thinking("hm", "sig")), True), u("c")), HEAD, ["1.0", "2.0"]),
    "switched off": ((u("a", cache=True),), {**HEAD, "cache": False}, []),
}


@pytest.mark.parametrize(("messages", "fields", "where"), MARKED.values(), ids=MARKED)
def test_where_the_markers_are(messages: tuple[Msg, ...], fields: dict[str, Any], where: list[str]) -> None:
    """[providers 2.3] Where the context layer asks, else head and last request's end; and at the end. At most four."""
    body = body_of(replace(Request(MODEL, messages), **fields), CHANGES)
    assert body is not None
    assert markers(body.fields) == where


OWN = {"name": "mine", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}
HOSTS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "one on a tool": ({"tools": [OWN, {"name": "b", "input_schema": {"type": "object"}}]},
                      ["tools.0", "system.0", "0.0", "2.0"]),
    "three on tools": ({"tools": [{**OWN, "name": name} for name in "abc"]},
                       ["tools.0", "tools.1", "tools.2", "system.0"]),
    "four on tools": ({"tools": [{**OWN, "name": name} for name in "abcd"]},
                      ["tools.0", "tools.1", "tools.2", "tools.3"]),
    "the automatic one": ({"cache_control": {"type": "ephemeral"}}, ["system.0", "0.0", "2.0"]),
}


@pytest.mark.parametrize(("extra", "where"), HOSTS.values(), ids=HOSTS)
def test_the_hosts_own_markers_count(extra: dict[str, Any], where: list[str]) -> None:
    """[providers 2.3] With those that come in `Resident.extra` there are still at most four; the provider takes it."""
    body = made(u("a"), a("b"), u("c"), system=("s",), extra=extra, cache=True)
    assert markers(body.fields) == where


@pytest.mark.parametrize("asked", range(5))
def test_the_hosts_own_marker_beside_those_that_are_asked_for(asked: int) -> None:
    """[providers 2.3] The newest of the context layer's stay."""
    messages = [one for n in range(asked) for one in (u(f"{n}", cache=True), a("b"))]
    body = made(*messages, u("end"), extra={"tools": [OWN]}, cache=True)
    assert len(markers(body.fields)) <= 4
    assert markers(body.fields)[-1] == f"{2 * asked}.0"


def test_markers_of_a_longer_life() -> None:
    """[providers 1.8] The hour is said in the marker; five minutes are the default and are not."""
    request = Request(MODEL, (u("a"),))
    for ttl, marker in (("5m", {"type": "ephemeral"}), ("1h", {"type": "ephemeral", "ttl": "1h"})):
        body = body_of(request, CHANGES, ttl)
        assert body is not None
        assert body.fields["messages"][0]["content"][0]["cache_control"] == marker


def test_no_marker_where_the_model_has_no_explicit_cache() -> None:
    """[providers 2.3] The capability decides, and how many."""
    request = Request(MODEL, (u("a"), a("b"), u("c")), ("s",))
    none, one = replace(ANSWERS, prompt_cache="none"), replace(ANSWERS, max_breakpoints=1)
    for able, where in ((none, list[str]()), (one, ["system.0"])):
        body = body_of(request, able)
        assert body is not None
        assert markers(body.fields) == where


@pytest.mark.parametrize(
    ("model", "transport", "text", "add", "remove", "redefine"),
    [
        ("claude-opus-5-5", "api", True, "definition", True, True),
        ("claude-opus-5-5-20260901", "api", True, "definition", True, True),
        ("claude-sonnet-5", "api", False, "none", False, False),
        ("claude-opus-4-7", "api", False, "none", False, False),
        ("somebody-else", "api", False, "none", False, False),
        ("anthropic.claude-opus-5-5-v1:0", "bedrock", True, "reference", True, False),
        ("us.anthropic.claude-opus-5-5-20260901-v1:0", "bedrock", True, "reference", True, False),
        ("claude-opus-5-5@20260901", "vertex", True, "reference", True, False),
        ("claude-opus-5-5", "foundry", False, "none", False, False),
    ],
)
def test_what_a_model_takes(model: str, transport: Any, text: bool, add: str, remove: bool, redefine: bool) -> None:
    """[providers 1.3] By model and transport; where the sources disagree the stricter reading; every one answers."""
    able = capabilities_of(model, transport, {})
    assert (able.system_text, able.tool_add, able.tool_remove, able.tool_redefine) == (text, add, remove, redefine)
    assert able.answers


def test_the_hosts_table_goes_first() -> None:
    """[providers 1.3] By full name and by bare name."""
    assert capabilities_of("claude-sonnet-5", "api", {"sonnet-5": CHANGES}) == CHANGES
    assert capabilities_of("own", "bedrock", {"own": CHANGES}) == CHANGES


@pytest.mark.parametrize("nothing", [Text(" "), Thinking("hm"), Opaque('{"other":"provider"}')])
def test_what_is_not_sent_gives_no_place(nothing: Block) -> None:
    """[providers 1.4] A change goes by the messages that are sent: one that comes to nothing is none to stand after."""
    assert body_of(Request(MODEL, (u("a"), a("b"), u(nothing), s(WORDS))), CHANGES) is None
    sent = made(u("a"), a("b"), u(nothing), s(WORDS), u("c")).fields["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user", "system"]
    assert [message["role"] for message in made(u("a"), s(WORDS), a(nothing), u("c")).fields["messages"]] == [
        "user", "user", "system",
    ]
