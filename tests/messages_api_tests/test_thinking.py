"""Thinking blocks signed with their prefix: what keeps them, what breaks them, and both answers to a break."""

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from tests.messages_api.betas import BINDING
from tests.messages_api.replies import Queue, Redacted, Text, Thinking, ToolUse, always, reply
from tests.messages_api.service import Service
from tests.messages_api.wire import JsonObject
from tests.messages_api_tests.asking import ask, said, told
from tests.messages_api_tests.building import MARK, TOOLS, add, body, refused, remove, result, s, t, tool, u

Edit: TypeAlias = Callable[[list[JsonObject]], JsonObject]

BETAS = TOOLS | {BINDING}
DROP: JsonObject = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
HEAD: JsonObject = {"tools": [tool()], "system": "be brief"}


def thinker() -> Service:
    """A service whose every reply thinks twice, a redacted block between, and then speaks."""
    return Service(always(Thinking("one"), Redacted(), Thinking("two"), Text("so")))


def exchange(at: Service, **head: Any) -> list[JsonObject]:
    """A conversation of two answered turns, and a third question."""
    messages = [u("q1")]
    for question in ("q2", "q3"):
        messages.append(said(told(at, body(*messages, **{**HEAD, **head}), BETAS)))
        messages.append(u(question))
    return messages


def dropped(at: Service, request: JsonObject) -> list[str]:
    """The paths of the blocks left out under `drop_block`."""
    found = told(at, {**request, "thinking": DROP}, BETAS)["input_transformations"]
    assert all(entry["type"] == "thinking_dropped" for entry in found)
    assert {entry["reason"] for entry in found} <= {"prefix_binding_mismatch"}
    return [entry["path"] for entry in found]


def bound(at: Service, request: JsonObject) -> str:
    """The text of the 400 under the default behaviour."""
    answer = ask(at, request, BETAS)
    assert answer.status == 400
    error = answer.body["error"]
    assert error["type"] == "invalid_request_error"
    assert "details" not in error
    return str(error["message"])


ALL = [f"messages.{index}.content.{number}" for index in (1, 3) for number in (0, 1, 2)]
KEEPS: dict[str, Edit] = {
    "as it was": lambda m: body(*m, **HEAD),
    "more messages": lambda m: body(*m, s("note", add(tool("b"))), **HEAD),
    "markers elsewhere": lambda m: body(
        u([t("q1", cache_control=MARK)]), *m[1:], tools=[tool(cache_control=MARK)], system=[t("be brief")]
    ),
    "another max_tokens": lambda m: {**body(*m, **HEAD), "max_tokens": 7},
    "another effort": lambda m: body(*m, **HEAD, output_config={"effort": "low"}),
    "the first run taken out": lambda m: body(m[0], {**m[1], "content": m[1]["content"][3:]}, *m[2:], **HEAD),
    "all thinking taken out": lambda m: body(
        m[0], {**m[1], "content": m[1]["content"][3:]}, m[2], {**m[3], "content": m[3]["content"][3:]}, m[4], **HEAD
    ),
    "the turn sent as two messages": lambda m: body(
        m[0], {**m[1], "content": m[1]["content"][:2]}, {**m[1], "content": m[1]["content"][2:]}, *m[2:], **HEAD
    ),
}


@pytest.mark.parametrize("case", KEEPS)
def test_what_is_no_change(case: str) -> None:
    """[providers 1.6] a declared change, markers, effort, max_tokens and a leading run taken out cost no thinking."""
    at = thinker()
    messages = exchange(at)
    assert dropped(at, KEEPS[case](messages)) == []
    assert ask(at, KEEPS[case](messages), BETAS).status == 200


SHIFTED = [path.replace("3", "4") for path in ALL[3:]]
BREAKS: dict[str, tuple[Edit, list[str]]] = {
    "system text": (lambda m: body(*m, tools=[tool()], system="be long"), ALL),
    "a tool in the head": (lambda m: body(*m, **{**HEAD, "tools": [tool(), tool("b")]}), ALL),
    "the first question": (lambda m: body(u("Q1"), *m[1:], **HEAD), ALL),
    "the second question": (lambda m: body(*m[:2], u("Q2"), *m[3:], **HEAD), ALL[3:]),
    "a change put before an answered turn": (
        lambda m: body(*m[:3], s("note"), *m[3:], **HEAD),
        SHIFTED,
    ),
    "what was said": (
        lambda m: body(m[0], {**m[1], "content": [*m[1]["content"][:3], t("changed")]}, *m[2:], **HEAD),
        ALL[3:],
    ),
    "a block taken out of the middle": (
        lambda m: body(m[0], {**m[1], "content": [m[1]["content"][0], *m[1]["content"][2:]]}, *m[2:], **HEAD),
        ["messages.1.content.1", *ALL[3:]],
    ),
}


@pytest.mark.parametrize("case", BREAKS)
def test_what_breaks_the_binding(case: str) -> None:
    """[providers 1.6] `error` names the first block, `drop_block` leaves out that one and all later ones."""
    at = thinker()
    changed, paths = BREAKS[case][0](exchange(at)), BREAKS[case][1]
    message = bound(at, changed)
    assert message.startswith(f"{paths[0]}: Invalid `signature` in `thinking` block. The block is bound to a different")
    assert dropped(at, changed) == paths


def test_the_400_is_not_one_of_a_refused_change() -> None:
    """[providers 1.6] no code, and no text of the families of 1.5."""
    at = thinker()
    message = bound(at, body(*exchange(at), tools=[], system="x"))
    assert "tool_addition" not in message
    assert "role 'system'" not in message


def test_a_block_made_after_a_drop_stays() -> None:
    """[providers 1.6] what is made under the new prefix is bound to it, though older blocks are dropped each time."""
    at = thinker()
    moved: JsonObject = {"tools": [tool(), tool("b")], "system": "be brief", "thinking": DROP}
    messages = exchange(at)
    messages += [said(told(at, body(*messages, **moved), BETAS)), u("q4")]
    assert dropped(at, body(*messages, **moved)) == ALL


def test_dropped_blocks_are_not_paid_for() -> None:
    """[SDK input_transformations] a removed block adds nothing to `input_tokens`."""
    at = thinker()
    messages = exchange(at)
    stripped = [
        {**one, "content": [block for block in one["content"] if block["type"] == "text"]}
        if one["role"] == "assistant"
        else one
        for one in messages
    ]
    moved: JsonObject = {"tools": [], "system": "be brief", "thinking": DROP}
    with_them, without = (told(at, body(*given, **moved), BETAS)["usage"] for given in (messages, stripped))
    assert with_them == without


def test_tool_rounds_keep_their_thinking() -> None:
    """[providers 1.6] a call, its result and a change after it; key order of the input as it was streamed."""
    script = Queue(
        [
            reply(Thinking("hm"), ToolUse("look", {"b": 1, "a": {"d": 2, "c": 3}})),
            reply(Thinking("so"), Text("done")),
            reply("end"),
        ]
    )
    at = Service(script)
    messages = [u("q1")]
    first = told(at, body(*messages, **HEAD), BETAS)
    messages += [said(first), u([result(first["content"][1]["id"])]), s(remove("look"))]
    messages += [said(told(at, body(*messages, **HEAD), BETAS)), u("q2")]
    assert dropped(at, body(*messages, **HEAD)) == []


def test_an_altered_block_is_refused_everywhere() -> None:
    """[providers 1.6] thinking, signature or data not as they were returned; on any model, under either behaviour."""
    at = thinker()
    messages = exchange(at)
    for number, field in ((0, "thinking"), (0, "signature"), (1, "data")):
        content = [dict(block) for block in messages[1]["content"]]
        first, rest = content[number][field][0], content[number][field][1:]
        content[number][field] = ("A" if first != "A" else "B") + rest
        changed = [messages[0], {"role": "assistant", "content": content}, *messages[2:]]
        for more in ({}, {"thinking": DROP}, {"model": "claude-opus-5"}):
            assert bound(at, body(*changed, **{**HEAD, **more})) == (
                f"messages.1.content.{number}: Invalid `signature` in `thinking` block"
            )


def test_a_model_that_does_not_bind_shows_and_reports() -> None:
    """[SDK thinking_mismatch_allowed] each block on its own, none left out."""
    at = thinker()
    messages = exchange(at, model="claude-opus-5")
    found = told(at, body(*messages, model="claude-opus-5", tools=[tool()]), BETAS)["input_transformations"]
    assert [(one["type"], one["path"]) for one in found] == [("thinking_mismatch_allowed", path) for path in ALL]
    assert told(at, body(*messages, model="claude-opus-5", **HEAD), BETAS)["input_transformations"] == []


def test_thinking_of_another_model_is_left_out() -> None:
    """[providers 1.6] `model_binding_mismatch`, with no 400."""
    at = thinker()
    found = told(at, body(*exchange(at, model="claude-opus-5"), **HEAD), BETAS)["input_transformations"]
    assert {(one["type"], one["reason"]) for one in found} == {("thinking_dropped", "model_binding_mismatch")}
    assert [one["path"] for one in found] == ALL


def test_without_the_beta_nothing_is_reported() -> None:
    """[SDK input_transformations] the check is the same, and so is the 400."""
    at = thinker()
    messages = exchange(at)
    assert "input_transformations" not in told(at, body(*messages, **HEAD), TOOLS)
    assert ask(at, body(*messages, tools=[]), TOOLS).status == 400
    refused(body(*messages, thinking=DROP), TOOLS)


def test_omitted_thinking_has_a_signature_only() -> None:
    """[providers 1.6] `display: omitted`; the empty block goes back and passes."""
    at = thinker()
    shown: JsonObject = {**HEAD, "thinking": {"type": "adaptive", "display": "omitted"}}
    first = told(at, body(u("q1"), **shown), BETAS)
    assert [block.get("thinking") for block in first["content"]] == ["", None, "", None]
    assert ask(at, body(u("q1"), said(first), u("q2"), **shown), BETAS).status == 200
