"""Each rule of the stand-in's validator: a legal request, and one that it refuses, with the provider's words."""

from typing import Any

import pytest

from tests.messages_api.wire import JsonObject
from tests.responses_api.fields import CHECKS, FIELDS, INPUT_PART, OUTPUT_PART, TOOL
from tests.responses_api.items import signature
from tests.responses_api.models import Model, table
from tests.responses_api.validator import validate

MODELS = table(Model("thinks"), Model("plain", reasons=False))
HI: JsonObject = {"role": "user", "content": "hi"}
LOOK: JsonObject = {"type": "function", "name": "look", "parameters": {"type": "object"}, "strict": False}
SEE: JsonObject = {**LOOK, "name": "see"}
CALL: JsonObject = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
OUT: JsonObject = {"type": "function_call_output", "call_id": "c1", "output": "a tree"}
THOUGHT: JsonObject = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]}
SIGNED: JsonObject = {**THOUGHT, "encrypted_content": signature(THOUGHT)}
MORE: JsonObject = {"type": "additional_tools", "role": "developer", "tools": [SEE]}
TOLD: JsonObject = {"role": "developer", "content": [{"type": "input_text", "text": "more"}]}
SHOWN: JsonObject = {"type": "input_image", "image_url": "data:", "detail": "auto"}
SAID: JsonObject = {"role": "assistant", "content": "ok"}


def body(*items: Any, **fields: Any) -> JsonObject:
    """A request of these items."""
    return {"model": "thinks", "input": list(items), **fields}


LEGAL: dict[str, JsonObject] = {
    "a text": {"model": "thinks", "input": "hi"},
    "everything": body(
        HI, SIGNED, CALL, {**CALL, "call_id": "c2"}, {**OUT, "call_id": "c2"}, OUT, MORE, TOLD, SIGNED, SAID, HI,
        tools=[LOOK, {"type": "web_search"}], instructions="be brief", include=["reasoning.encrypted_content"],
        reasoning={"effort": "low", "summary": "auto"}, max_output_tokens=16, store=False, stream=True,
    ),
    "a tool's images": body(HI, CALL, {**OUT, "output": [SHOWN]}),
    "an answer in parts": body({
        "type": "message", "role": "assistant", "id": "m", "status": "completed", "phase": "commentary",
        "content": [{"type": "output_text", "text": "a", "annotations": []}, {"type": "refusal", "refusal": "no"}],
    }),
    "reasoning before reasoning": body(HI, SIGNED, SIGNED, SAID),
    "reasoning that can be read": body({**THOUGHT, "content": [{"type": "reasoning_text", "text": "h"}]}, SAID),
    "the provider's own item": body(HI, SIGNED, {"type": "web_search_call", "id": "w"}, SAID),
    "a change at the end": body(HI, SAID, MORE),
    "a plain model": {"model": "plain", "input": [HI]},
}


@pytest.mark.parametrize("request_body", LEGAL.values(), ids=LEGAL)
def test_a_legal_request_is_taken(request_body: JsonObject) -> None:
    """What the other rules are about is not refused where nothing is wrong."""
    assert validate(request_body, MODELS) is None


REFUSED: dict[str, tuple[JsonObject, str, str | None]] = {
    # form
    "unknown field": (body(HI, colour=1), "Unknown parameter: 'colour'.", "colour"),
    "kept on the server": (body(HI, previous_response_id="r"), "Unknown parameter", "previous_response_id"),
    "no model": ({"input": "hi"}, "Missing required parameter: 'model'.", "model"),
    "no input": ({"model": "thinks"}, "Missing required parameter: 'input'.", "input"),
    "empty input": (body(), "Invalid type for 'input'", "input"),
    "empty text": ({"model": "thinks", "input": ""}, "Invalid type for 'input'", "input"),
    "input of another kind": ({"model": "thinks", "input": 1}, "Invalid type for 'input'", "input"),
    "text of another kind": (body(HI, instructions=1), "Invalid type for 'instructions'", "instructions"),
    "flag of another kind": (body(HI, store="no"), "Invalid type for 'store'", "store"),
    "number of another kind": (body(HI, temperature=True), "Invalid type for 'temperature'", "temperature"),
    "integer of another kind": (body(HI, max_output_tokens=16.5), "Invalid type", "max_output_tokens"),
    "too few tokens": (body(HI, max_output_tokens=15), "Invalid value: '15'", "max_output_tokens"),
    "object of another kind": (body(HI, metadata=[]), "Invalid type for 'metadata'", "metadata"),
    "effort": (body(HI, reasoning={"effort": "huge"}), "Invalid value: 'huge'", "reasoning.effort"),
    "unknown within": (body(HI, reasoning={"type": "adaptive"}), "Unknown parameter", "reasoning.type"),
    "include": (body(HI, include=["all"]), "Invalid value: 'all'", "include[0]"),
    "item that is none": (body("hi"), "Invalid type for 'input[0]'", "input[0]"),
    "unknown item": (body({"type": "item_reference", "id": "m"}), "Invalid value: 'item_reference'", "input[0]"),
    "item without a kind": (body({"content": "hi"}), "Invalid value: ''", "input[0]"),
    "role": (body({"role": "tool", "content": "hi"}), "Invalid value: 'tool'", "input[0].role"),
    "message without content": (body({"role": "user"}), "Missing required parameter", "input[0].content"),
    "message without parts": (body({"role": "user", "content": []}), "Invalid type", "input[0].content"),
    "user's words as an answer's": (
        body({"role": "user", "content": [{"type": "output_text", "text": "a"}]}), "Invalid value: 'output_text'",
        "input[0].content[0].type"),
    "answer's words as a user's": (
        body({"role": "assistant", "content": [{"type": "input_text", "text": "a"}]}), "Invalid value: 'input_text'",
        "input[0].content[0].type"),
    "part without a kind": (body({"role": "user", "content": [{}]}), "Missing required", "input[0].content[0].type"),
    "part that is none": (body({"role": "user", "content": ["a"]}), "Invalid type", "input[0].content[0]"),
    "user's phase": (body({**HI, "phase": "commentary"}), "Unknown parameter", "input[0].phase"),
    "image without detail": (
        body({"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}), "Missing required",
        "input[0].content[0].detail"),
    "arguments of another kind": (body(HI, {**CALL, "arguments": {}}, OUT), "Invalid type", "input[1].arguments"),
    "arguments that were cut": (body(HI, {**CALL, "arguments": '{"a'}, OUT), "Invalid type", "input[1].arguments"),
    "arguments of no object": (body(HI, {**CALL, "arguments": "[]"}, OUT), "Invalid type", "input[1].arguments"),
    "call's unknown field": (body(HI, {**CALL, "input": {}}, OUT), "Unknown parameter", "input[1].input"),
    "call's name": (body(HI, {**CALL, "name": "a b"}, OUT), "Invalid value: 'a b'", "input[1].name"),
    "output of another kind": (body(HI, CALL, {**OUT, "output": 1}), "Invalid type", "input[2].output"),
    "error flag of an output": (body(HI, CALL, {**OUT, "is_error": True}), "Unknown parameter", "input[2].is_error"),
    "null status": (body(HI, {**SIGNED, "status": None}, SAID), "Invalid value: 'None'", "input[1].status"),
    "reasoning without summary": (
        body(HI, {"type": "reasoning", "id": "r"}, SAID), "Missing required parameter", "input[1].summary"),
    "tool that is none": (body(HI, tools=["look"]), "Invalid type for 'tools[0]'", "tools[0]"),
    "tool of another API": (
        body(HI, tools=[{"name": "look", "input_schema": {}}]), "Missing required parameter", "tools[0].type"),
    "tool without strict": (
        body(HI, tools=[{"type": "function", "name": "look", "parameters": {}}]), "Missing", "tools[0].strict"),
    "tool's unknown field": (
        body(HI, tools=[{**LOOK, "input_schema": {}}]), "Unknown parameter", "tools[0].input_schema"),
    "tool's name": (body(HI, tools=[{**LOOK, "name": "a.b"}]), "Invalid value: 'a.b'", "tools[0].name"),
    "additional tools of a user": (body(HI, {**MORE, "role": "user"}), "Invalid value: 'user'", "input[1].role"),
    "additional tools without a role": (
        body(HI, {"type": "additional_tools", "tools": [SEE]}), "Missing required", "input[1].role"),
    "additional tools without tools": (body(HI, {**MORE, "tools": []}), "Invalid type", "input[1].tools"),
    "additional tools with a removal": (body(HI, {**MORE, "removed": ["a"]}), "Unknown parameter", "input[1].removed"),
    # what the model takes
    "unknown model": ({"model": "nobody", "input": "hi"}, "The model 'nobody' does not exist.", "model"),
    "reasoning of a plain model": (
        {"model": "plain", "input": "hi", "reasoning": {"effort": "low"}}, "Unsupported parameter", "reasoning"),
    "encrypted thinking of a plain model": (
        {"model": "plain", "input": "hi", "include": ["reasoning.encrypted_content"]}, "Encrypted content", "include"),
    # how items stand together
    "two tools of a name": (body(HI, tools=[LOOK, LOOK]), "Duplicate tool name 'look'.", "tools"),
    "an added tool of a name": (
        body(HI, {**MORE, "tools": [LOOK]}, tools=[LOOK]), "Duplicate tool name 'look'.", "input[1].tools"),
    "a tool added twice": (body(HI, MORE, MORE), "Duplicate tool name 'see'.", "input[2].tools"),
    "call without output": (body(HI, CALL), "No tool output found for function call c1.", "input"),
    "one of two calls without output": (
        body(HI, CALL, {**CALL, "call_id": "c2"}, OUT, HI), "No tool output found for function call c2.", "input"),
    "output without call": (body(HI, OUT), "No tool call found for function call output with call_id c1.", "input"),
    "output before its call": (body(HI, OUT, CALL), "No tool call found", "input"),
    "two outputs": (body(HI, CALL, OUT, OUT), "No tool call found", "input"),
    "two calls of an id": (body(HI, CALL, OUT, CALL, OUT), "Duplicate function call", "input[3]"),
    "words between call and output": (body(HI, CALL, HI, OUT), "No tool output found for function call c1.", "input"),
    "a change between call and output": (body(HI, CALL, MORE, OUT), "No tool output found", "input"),
    "text of a change between call and output": (body(HI, CALL, TOLD, OUT), "No tool output found", "input"),
    "reasoning at the end": (body(HI, SIGNED), "without its required following item", "input"),
    "reasoning before a user": (body(HI, SIGNED, HI), "without its required following item", "input"),
    "reasoning before an output": (body(HI, CALL, SIGNED, OUT), "without its required following item", "input"),
    "altered reasoning": (
        body(HI, {**SIGNED, "summary": []}, SAID), "could not be verified", "input[1]"),
    "altered encrypted content": (
        body(HI, {**SIGNED, "encrypted_content": "gAAAA"}, SAID), "could not be verified", "input[1]"),
    "reasoning that nobody keeps": (body(HI, THOUGHT, SAID), "Items are not persisted", "input"),
}


@pytest.mark.parametrize(("request_body", "message", "param"), REFUSED.values(), ids=REFUSED)
def test_each_rule_refuses(request_body: JsonObject, message: str, param: str | None) -> None:
    """With the provider's words, the place and its type of error."""
    wrong = validate(request_body, MODELS)
    assert wrong is not None
    assert message in wrong.message
    assert wrong.param == param
    inner = wrong.body("")["error"]
    assert inner == {
        "message": wrong.message, "type": "invalid_request_error", "param": wrong.param, "code": wrong.code,
    }


def test_codes_of_errors() -> None:
    """What has a code at the provider has it here."""
    codes = {name: (validate(given, MODELS) or pytest.fail(name)).code for name, (given, _, _) in REFUSED.items()}
    assert codes["unknown field"] == "unknown_parameter"
    assert codes["no input"] == "missing_required_parameter"
    assert codes["role"] == "invalid_value"
    assert codes["flag of another kind"] == "invalid_type"
    assert codes["altered reasoning"] == "invalid_encrypted_content"
    assert codes["unknown model"] == "model_not_found"
    assert codes["call without output"] is None


def test_a_count_takes_fewer_fields() -> None:
    """What only an answer needs is unknown there."""
    assert validate(body(HI, instructions="a", tools=[LOOK]), MODELS, counting=True) is None
    wrong = validate(body(HI, store=False), MODELS, counting=True)
    assert wrong is not None
    assert wrong.param == "store"


@pytest.mark.parametrize(
    ("check", "value", "path"),
    [(TOOL, 1, "t"), (INPUT_PART, None, "p"), (OUTPUT_PART, [], "p"), *((CHECKS[kind], 1, kind) for kind in CHECKS
                                                                         if kind != "message")],
)
def test_what_is_no_object_is_refused(check: Any, value: object, path: str) -> None:
    """Wherever an object is asked for."""
    wrong = check(value, path)
    assert wrong is not None
    assert wrong.param == path


@pytest.mark.parametrize("field", [name for name in FIELDS if name not in ("tool_choice",)])
def test_every_field_has_a_value_that_it_refuses(field: str) -> None:
    """No field is known by its name alone, but for the choice of a tool, which has many forms."""
    assert FIELDS[field](object(), field) is not None
