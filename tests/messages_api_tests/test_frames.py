"""The frames of a reply, how deltas are cut, and the steps of a stream with faults; no socket."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.messages_api.errors import api_error, invalid
from tests.messages_api.faults import (
    BAD_REQUESTS,
    Break,
    Cut,
    EmptyStream,
    EndEarly,
    Fault,
    Gate,
    Hold,
    Send,
    StreamError,
    Wait,
    before_response,
    overloaded,
    rate_limited,
    spend_limited,
    steps,
)
from tests.messages_api.frames import Frame, chunk
from tests.messages_api.replies import (
    Queue,
    Reply,
    Text,
    Thinking,
    ToolUse,
    Whole,
    echo,
    outline,
    partial_call,
    pieces,
    refusal,
    reply,
)
from tests.messages_api.service import Service
from tests.messages_api.wire import JsonObject
from tests.messages_api_tests.asking import ask, told
from tests.messages_api_tests.building import a, add, body, call, remove, result, s, tool, u


def streamed(given: Reply) -> list[Frame]:
    """The frames of a reply."""
    answer = ask(Service(Queue([given])), body(stream=True))
    assert answer.frames is not None
    return list(answer.frames)


def deltas(given: Reply) -> list[JsonObject]:
    """The deltas of a reply."""
    return [frame.data["delta"] for frame in streamed(given) if frame.event == "content_block_delta"]


def test_the_order_of_events() -> None:
    """[providers 3.3] start, per block start - deltas - stop with one ping, message_delta, message_stop."""
    frames = streamed(reply(Thinking("hm"), "hello", ToolUse("look", {"x": 1})))
    assert [frame.event for frame in frames] == [
        "message_start",
        "content_block_start", "ping", "content_block_delta", "content_block_delta", "content_block_stop",
        "content_block_start", "content_block_delta", "content_block_stop",
        "content_block_start", "content_block_delta", "content_block_delta", "content_block_stop",
        "message_delta", "message_stop",
    ]  # fmt: skip
    assert all(frame.data["type"] == frame.event for frame in frames)
    assert [frame.data["index"] for frame in frames if "index" in frame.data] == [0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2]


def test_message_start_holds_an_empty_message() -> None:
    """[providers 3.3] the full message with nothing in it, its usage already there."""
    message = streamed(reply("hello"))[0].data["message"]
    assert {key: message[key] for key in ("type", "role", "model", "content", "stop_reason", "stop_sequence")} == {
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }
    assert message["id"].startswith("msg_")
    assert message["usage"]["output_tokens"] == 1
    assert message["usage"]["input_tokens"] > 0


def test_blocks_start_empty() -> None:
    """[providers 3.3] text `""`, thinking `""` with signature `""`, a tool with input `{}`; other kinds are whole."""
    asked: JsonObject = {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"query": "x"}}
    frames = streamed(reply("t", Thinking("h"), ToolUse("look", {"x": 1}, id="c1"), Whole(asked)))
    assert [frame.data["content_block"] for frame in frames if frame.event == "content_block_start"] == [
        {"type": "text", "text": ""},
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {}},
        asked,
    ]


def test_the_signature_comes_last() -> None:
    """[providers 1.6] thinking deltas, then one signature delta just before the stop."""
    found = deltas(reply(Thinking("abcd", cut=2)))
    assert [delta["type"] for delta in found] == ["thinking_delta", "thinking_delta", "signature_delta"]
    assert [delta["type"] for delta in deltas(reply(Thinking("")))] == ["signature_delta"]


CUTS: list[tuple[str, Any, tuple[str, ...]]] = [
    ("abcdef", None, ("abcdef",)),
    ("abcdef", 4, ("abcd", "ef")),
    ("abcdef", 6, ("abcdef",)),
    ("abcdef", 1, ("a", "b", "c", "d", "e", "f")),
    ("abcdef", [1, 3], ("a", "bc", "def")),
    ("abcdef", [3, 1, 3, 0, 6, 9], ("a", "bc", "def")),
    ("", 3, ()),
    ("", None, ()),
]


@pytest.mark.parametrize(("text", "cut", "wanted"), CUTS)
def test_deltas_are_cut_as_asked(text: str, cut: Any, wanted: tuple[str, ...]) -> None:
    """[providers 3.3] nothing lost, nothing empty."""
    assert pieces(text, cut) == wanted
    assert [delta["text"] for delta in deltas(reply(Text(text, cut)))] == list(wanted)


def test_tool_input_comes_as_partial_json() -> None:
    """[providers 3.3] an empty delta first, then the JSON text as cut."""
    found = deltas(reply(ToolUse("look", {"path": "é"}, cut=[4])))
    assert [delta["partial_json"] for delta in found] == ["", '{"pa', 'th": "é"}']


def test_partial_tool_json_is_streamed_as_it_is() -> None:
    """[providers 2.1.9] the text ends early and the stop reason says why."""
    given = partial_call("write", '{"path":"a.txt","body":"hel', cut=10)
    assert "".join(delta["partial_json"] for delta in deltas(given)) == '{"path":"a.txt","body":"hel'
    assert streamed(given)[-2].data["delta"]["stop_reason"] == "max_tokens"


def test_the_ending() -> None:
    """[providers 3.3] stop reason, sequence, details of a refusal, cumulative usage."""
    ending = streamed(reply("x", stop_reason="stop_sequence", stop_sequence="END", output_tokens=7))[-2].data
    assert ending["delta"] == {"stop_reason": "stop_sequence", "stop_sequence": "END"}
    assert ending["usage"]["output_tokens"] == 7
    refused = streamed(refusal("cyber"))
    assert "stop_details" not in refused[0].data["message"]
    details = refused[-2].data["delta"]["stop_details"]
    assert details == {"type": "refusal", "category": "cyber", "explanation": None}
    assert streamed(reply(ToolUse("look")))[-2].data["delta"]["stop_reason"] == "tool_use"
    assert streamed(reply("x"))[-2].data["delta"]["stop_reason"] == "end_turn"


def test_a_request_for_no_tokens_is_answered_with_no_content() -> None:
    """[SDK max_tokens] 0 only warms the cache."""
    message = told(Service(), {**body(), "max_tokens": 0})
    assert (message["content"], message["stop_reason"]) == ([], "max_tokens")


def test_bytes_of_a_frame_and_of_a_chunk() -> None:
    """[providers 3.3] `event: <name>`, `data: <json>`, an empty line; sizes in hexadecimal bytes."""
    frame = Frame("ping", {"type": "ping", "x": "é"})
    assert frame.encoded() == 'event: ping\ndata: {"type":"ping","x":"é"}\n\n'.encode()
    assert chunk(b"0123456789abcdef") == b"10\r\n0123456789abcdef\r\n"
    assert chunk(b"") == b"0\r\n\r\n"


F = [Frame(name, {"type": name}) for name in ("message_start", "content_block_start", "message_delta", "message_stop")]
ERROR = api_error(529, "Overloaded")
ERROR_FRAME = Send(Frame("error", ERROR.body("req_1")))
SENT = [Send(frame) for frame in F]
STEPS: dict[str, tuple[list[Fault], Sequence[object]]] = {
    "none": ([], [*SENT]),
    "end early": ([EndEarly()], SENT[:3]),
    "end early after one": ([EndEarly(1)], SENT[:1]),
    "empty": ([EmptyStream()], []),
    "cut": ([Cut(2)], [*SENT[:2], Break(F[2])]),
    "cut at the end": ([Cut(9)], [*SENT, Break(None)]),
    "error": ([StreamError(ERROR, 1)], [SENT[0], ERROR_FRAME]),
    "error first": ([StreamError(ERROR, 0)], [ERROR_FRAME]),
    "cut before the response": ([Cut(None)], [*SENT]),
}


@pytest.mark.parametrize("case", STEPS)
def test_steps(case: str) -> None:
    """[providers 3.6] what is sent before each fault strikes."""
    faults, wanted = STEPS[case]
    assert list(steps(F, faults, "req_1")) == wanted


def test_steps_before_the_response() -> None:
    """[providers 3.6] a held first byte, or no response at all."""
    gate = Gate()
    assert before_response([Hold(gate), EndEarly()]) == (Wait(gate),)
    assert before_response([Cut(None)]) == (Break(None),)
    assert before_response([Cut(0), Hold(gate, 0)]) == ()
    assert list(steps(F, [Hold(gate, 0), Cut(1)], "req_1")) == [Wait(gate), SENT[0], Break(F[1])]


def test_errors_by_name() -> None:
    """[providers 1.5, 2.2] statuses, types, codes and headers of the scripted refusals."""
    assert (rate_limited("7").status, rate_limited("7").type) == (429, "rate_limit_error")
    assert rate_limited("7", x_should_retry="true").headers == {"retry-after": "7", "x-should-retry": "true"}
    assert rate_limited(None).headers == {}
    assert spend_limited().code == "enforced_spend_limit_reached"
    assert (overloaded().status, overloaded().type) == (529, "overloaded_error")
    codes = {name: error.code for name, error in BAD_REQUESTS.items() if error.code}
    assert codes == {
        "unknown-tool": "tool_reference_unresolved",
        "name-conflict": "tool_name_conflict",
        "too-many-tools": "available_tools_limit_exceeded",
    }
    assert {error.status for error in BAD_REQUESTS.values()} == {400}


def test_the_body_of_an_error() -> None:
    """[providers 1.5] details only with a code."""
    assert invalid("no", "some_code").body("req_1") == {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "no", "details": {"error_code": "some_code"}},
        "request_id": "req_1",
    }
    assert "details" not in invalid("no").body("req_1")["error"]


def test_a_queue_answers_in_turn_and_then_says_that_it_is_empty() -> None:
    """[providers 3] a test that forgot an answer is told so, and no client retries it."""
    at = Service(Queue([reply("one"), overloaded()]))
    assert ask(at, body()).body["content"] == [{"type": "text", "text": "one"}]
    assert ask(at, body()).status == 529
    last = ask(at, body())
    assert (last.status, last.body["error"]["message"]) == (500, "the script has no answer left")
    assert last.headers["x-should-retry"] == "false"


def test_a_refused_request_takes_no_answer() -> None:
    """[providers 3.7] the validator speaks before the script."""
    at = Service(Queue([reply("one")]))
    assert ask(at, body(a())).status == 400
    assert ask(at, body()).status == 200


def test_the_outline_of_a_request() -> None:
    """[providers 3.10] ids of the texts, in order, with each change where it stands."""
    request = body(
        u("m1 and m2"),
        s("note", add(tool("b"))),
        a([call("c1")]),
        u([result("c1"), {"type": "text", "text": "see m3"}]),
        s(remove("look"), add("look")),
        tools=[tool()],
    )
    wanted = ["m1", "m2", "=note", "+b", "call:look", "result:c1", "m3", "-look", "~look"]
    assert outline(request) == wanted
    assert told(Service(echo()), request)["content"] == [{"type": "text", "text": "\n".join(wanted)}]
    assert outline(body(u("<7> <8>")), r"<\d>") == ["<7>", "<8>"]
