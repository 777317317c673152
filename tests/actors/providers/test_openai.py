"""The OpenAI provider over the real SDK and a socket: events, usage, what goes back, what is not sent, and the key."""

import asyncio
import logging
from dataclasses import replace
from typing import Any

import pytest

from manyminds.actors.providers.openai import OpenAI
from manyminds.actors.providers.openai_models import CHANGES
from manyminds.actors.providers.provider import RefusedBeforeSending, refusal
from manyminds.messages.blocks import Opaque, SystemChange, Text, Thinking, ToolCall, ToolDef, ToolResult
from manyminds.messages.request import (
    BlockEnd,
    BlockStart,
    Done,
    Limit,
    Limits,
    Msg,
    Request,
    RoundFailed,
    Started,
    TextDelta,
    ThinkingDelta,
)
from tests.actors.providers.openai_rounds import (
    HELLO,
    KEY,
    LOOK,
    MODEL,
    done_of,
    events_of,
    one_round,
    provider,
    serving,
)
from tests.responses_api import replies
from tests.responses_api.errors import error
from tests.responses_api.faults import StreamError
from tests.responses_api.replies import Call, Reasoning, Refusal, Whole, partial_call, reply
from tests.responses_api.server import extends

pytestmark = pytest.mark.socket


def test_the_events_of_a_round() -> None:
    """[providers 2.2] Started, deltas, ends of blocks in order, and Done with the blocks, the reason and the id."""
    said = (Reasoning(("hm so",), cut=2), replies.Text("hi there", cut=3), Call("look", {"at": "ü"}, "c1", cut=2))
    (events,) = events_of(reply(*said))
    done = events[-1]
    assert isinstance(done, Done)
    thought = done.content[0]
    assert isinstance(thought, Thinking)
    assert thought.text == "hm so"
    assert done.content[1:] == (Text("hi there"), ToolCall("c1", "look", '{"at": "ü"}'))
    assert (done.stop_reason, done.request_id) == ("tool_use", "req_000001")
    assert isinstance(events[0], Started)
    assert (events[0].message_id, events[0].model) == ("resp_000001", MODEL)
    assert [(e.text, e.index) for e in events if isinstance(e, TextDelta)] == [("hi ", 1), ("the", 1), ("re", 1)]
    assert [(e.text, e.index) for e in events if isinstance(e, ThinkingDelta)] == [("hm", 0), (" s", 0), ("o", 0)]
    begun = [(e.index, e.kind) for e in events if isinstance(e, BlockStart)]
    assert begun == [(0, "thinking"), (1, "text"), (2, "call")]
    assert [(e.index, e.block) for e in events if isinstance(e, BlockEnd)] == list(enumerate(done.content))


def test_an_end_without_calls() -> None:
    """[providers 2.2] A completed response is the end of a turn where it calls nothing."""
    done = done_of(reply("hi"))
    assert (done.stop_reason, done.content, done.stop_details) == ("end_turn", (Text("hi"),), {})


def test_what_a_round_said_goes_back() -> None:
    """[providers 2.4] Reasoning is the item as it came, encrypted content and id included; the stand-in refuses it
    where it was altered. An item that nobody knows comes back whole, and a message's phase with its text.
    """
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "ü", "n": [1, None]}}
    moment, call = replies.Text("A moment.", phase="commentary"), Call("look", call_id="c1")
    first = reply(Reasoning(("hm", "well")), moment, Whole(search), call)
    with serving(first, reply("done")) as server:
        model = provider(server)
        end = asyncio.run(one_round(model, HELLO))[-1]
        assert isinstance(end, Done)
        result = Msg("user", (ToolResult("c1", (Text("a tree"),)),))
        again = replace(HELLO, messages=(*HELLO.messages, Msg("assistant", end.content), result))
        assert isinstance(asyncio.run(one_round(model, again))[-1], Done)
        assert isinstance(end.content[0], Thinking)
        altered = replace(end.content[0], signature=end.content[0].signature.replace("well", "now"))
        wrong = replace(again, messages=(*HELLO.messages, Msg("assistant", (altered, *end.content[1:])), result))
        refused = asyncio.run(one_round(model, wrong))[-1]
        rounds = server.log.rounds()
    assert isinstance(refused, RoundFailed)
    assert (refused.error.kind, refused.error.code) == ("thinking_binding", "invalid_encrypted_content")
    output = (rounds[0].message or {})["output"]
    assert rounds[1].request["input"][1:] == [
        output[0],
        {"role": "assistant", "content": "A moment.", "phase": "commentary"},
        search,
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "a tree"},
    ]
    assert extends(rounds[0], rounds[1])
    assert rounds[1].error is None


def test_reasoning_that_can_be_read_goes_back_as_well() -> None:
    """[providers 2.4] An open model's thinking is its text; several parts of a summary are apart."""
    done = done_of(reply(Reasoning(plain="hm hm"), Reasoning(("a", "b")), "hi"))
    assert [block.text for block in done.content if isinstance(block, Thinking)] == ["hm hm", "a\n\nb"]


def test_usage_counts_the_cache_inside_the_input() -> None:
    """[providers 2.2, 2.4] What is read is a part of the input, so is what was written where the model says so."""
    long = replace(HELLO, system=("word " * 400,))
    first, second = (events[-1] for events in events_of(reply("a", output_tokens=7), reply("b"), requests=(long, long)))
    assert isinstance(first, Done)
    assert isinstance(second, Done)
    assert (first.usage.read, first.usage.written, first.usage.output) == (0, 0, 7)
    assert first.usage.fresh > 400
    assert (second.usage.read, second.usage.fresh) == (first.usage.fresh, 0)
    written = replace(long, model="gpt-5.6-sol")
    first, second = (events[-1] for events in events_of(reply("a"), reply("b"), requests=(written, written)))
    assert isinstance(first, Done)
    assert isinstance(second, Done)
    assert (first.usage.fresh, first.usage.read) == (0, 0)
    assert (second.usage.fresh, second.usage.read, second.usage.written) == (0, first.usage.written, 0)


@pytest.mark.parametrize(
    ("reason", "stop"),
    [("max_output_tokens", "max_tokens"), ("content_filter", "refusal"), ("of_next_year", "of_next_year")],
)
def test_an_incomplete_response_says_why(reason: str, stop: str) -> None:
    """[providers 2.2] The limit of tokens; what a filter stopped is a refusal; an unknown reason is kept."""
    done = done_of(reply("as far as", incomplete=reason))
    assert (done.stop_reason, done.content, done.stop_details) == (stop, (Text("as far as"),), {"reason": reason})


def test_a_refusal_is_no_text() -> None:
    """[providers 2.2] The model's refusal is a Done with its words as the explanation, and nothing to be posted."""
    (events,) = events_of(reply(Refusal("I cannot", cut=2)))
    done = events[-1]
    assert isinstance(done, Done)
    assert (done.stop_reason, done.content, done.stop_details) == ("refusal", (), {"explanation": "I cannot"})
    assert not [event for event in events if isinstance(event, TextDelta)]


def test_an_item_that_is_not_known_is_kept() -> None:
    """[providers 2.1.11] As JSON text with all its fields, under a name that no other provider sends."""
    (kept,) = done_of(reply(Whole({"type": "of_next_year", "data": {"a": [1, "ü", None]}}))).content
    assert kept == Opaque('{"openai":{"type":"of_next_year","data":{"a":[1,"ü",null]}}}')


@pytest.mark.parametrize(
    ("text", "incomplete", "why"),
    [
        ('{"path":"a.txt","body":"hel', "max_output_tokens", "ended in the middle of the JSON text"),
        ('{"path":', None, "ended in the middle of the JSON text"),
        ('{"path":"a" "b"}', None, "are no valid JSON"),
        ("[1]", None, "are no JSON object that can be read"),
        ('{"n":1e999}', None, "hold a number that JSON cannot say"),
        ("", "max_output_tokens", "were cut off"),
        ("", None, ""),
        ('{"path":"a.txt"}', None, ""),
        ('{"path":"a.txt"}', "max_output_tokens", ""),
    ],
)
def test_a_call_that_was_cut_is_unusable(text: str, incomplete: str | None, why: str) -> None:
    """[providers 2.1.9] The text is parsed strictly and kept as it came."""
    answer = reply(Call("look", text, cut=3), incomplete=incomplete)
    events = events_of(answer)[0]
    end = events[-1]
    assert isinstance(end, Done)
    (call,) = end.calls
    assert (call.arguments, call.unusable) == (text or "{}", why)
    assert [event.block for event in events if isinstance(event, BlockEnd)] == [call]
    assert end.stop_reason == ("max_tokens" if incomplete else "tool_use")


def test_a_call_of_a_cut_goes_back_as_an_object() -> None:
    """[providers 2.1.9] History that a server which reads arguments takes: the stand-in refuses any other."""
    with serving(partial_call("look", '{"at":"hel'), reply("sorry")) as server:
        model = provider(server)
        end = asyncio.run(one_round(model, HELLO))[-1]
        assert isinstance(end, Done)
        result = Msg("user", (ToolResult(end.calls[0].id, (Text("cut"),), True),))
        again = replace(HELLO, messages=(*HELLO.messages, Msg("assistant", end.content), result))
        assert isinstance(asyncio.run(one_round(model, again))[-1], Done)
        sent = server.log.rounds()[1].request["input"][1:]
    assert sent[0]["arguments"] == '{"INVALID_JSON": "{\\"at\\":\\"hel"}'
    assert sent[1]["output"] == "Error: cut"


# --- what is not sent, and what is

WORDS = Msg("change", (SystemChange(system=("more",)),))
ADDED = Msg("change", (SystemChange(defined=(replace(LOOK, name="see"),)),))
REDEFINED = Msg("change", (SystemChange(defined=(ToolDef("look", "Looks again.", LOOK.schema),)),))
GONE = Msg("change", (SystemChange(removed=("look",)),))


def with_change(change: Msg, **fields: Any) -> Request:
    """The request with a change at its end."""
    return replace(HELLO, messages=(*HELLO.messages, change), **fields)


def test_additions_and_text_are_sent_the_rest_is_refused_before_sending() -> None:
    """[providers 2.4] [declarations E3] check says so, and stream as well, without a request."""
    with serving(reply("ok"), reply("ok")) as server:
        model = provider(server)
        for request in (with_change(WORDS), with_change(ADDED)):
            assert refusal(model, request) is None
            assert isinstance(asyncio.run(one_round(model, request))[-1], Done)
        sent = len(server.log.all())
        for request, kind in (
            (with_change(GONE), "system_change_refused"), (with_change(REDEFINED), "system_change_refused"),
            (replace(HELLO, extra={"store": True}), "invalid_request"),
        ):
            refused = refusal(model, request)
            assert refused is not None
            assert (refused.kind, refused.before_send, refused.http_status) == (kind, True, None)
            with pytest.raises(RefusedBeforeSending):
                model.check(request)
            end = asyncio.run(one_round(model, request))[-1]
            assert isinstance(end, RoundFailed)
            assert end.error.before_send
        assert len(server.log.all()) == sent == 2


def test_a_removal_has_no_words_whatever_the_host_says() -> None:
    """[providers 2.4] A table of the host's that claims removals does not make one go out."""
    able = replace(CHANGES, tool_remove=True, tool_redefine=True)
    with serving() as server:
        end = asyncio.run(one_round(provider(server, models={MODEL: able}), with_change(GONE)))[-1]
        assert isinstance(end, RoundFailed)
        assert (end.error.kind, end.error.before_send) == ("system_change_refused", True)
        assert server.log.all() == ()


def test_another_server_is_taken_to_carry_no_change() -> None:
    """[providers 2.4] A base_url that is not OpenAI's own has the flags off, unless the host puts them on."""
    with serving(reply("ok")) as server:
        local = OpenAI(api_key=KEY, base_url=server.base_url)
        for change in (WORDS, ADDED):
            error = refusal(local, with_change(change))
            assert error is not None
            assert error.kind == "system_change_refused"
        told = OpenAI(api_key=KEY, base_url=server.base_url, models={MODEL: CHANGES})
        assert refusal(told, with_change(ADDED)) is None
        assert isinstance(asyncio.run(one_round(told, with_change(ADDED)))[-1], Done)


def test_a_local_server_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """[providers 2.4] Ollama and llama.cpp ask for none; encrypted thinking is not asked of them either."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with serving(reply("hi"), keyed=False) as server:
        end = asyncio.run(one_round(OpenAI(base_url=server.base_url), replace(HELLO, model="local")))[-1]
        assert isinstance(end, Done)
        (sent,) = server.log.rounds()
    assert "include" not in sent.request


def test_fields_of_the_hosts_own() -> None:
    """`extra` goes into the body; what it includes and its tools come after the runtime's."""
    extra = {
        "prompt_cache_key": "k", "include": ["web_search_call.results"],
        "tools": [{"type": "web_search"}],
    }
    asked = replace(HELLO, extra=extra, thinking={"effort": "low", "summary": "auto"})
    with serving(reply("ok")) as server:
        assert isinstance(asyncio.run(one_round(provider(server), asked))[-1], Done)
        (sent,) = server.log.rounds()
    assert sent.request["prompt_cache_key"] == "k"
    assert sent.request["include"] == ["reasoning.encrypted_content", "web_search_call.results"]
    assert sent.request["reasoning"] == {"effort": "low", "summary": "auto"}
    assert [one["type"] for one in sent.request["tools"]] == ["function", "web_search"]
    assert (sent.request["store"], sent.request["stream"]) == (False, True)


def test_count_tokens() -> None:
    """[providers 2.2] The provider's count, of the same body; None where it does not answer."""
    with serving() as server:

        async def count(request: Request) -> int | None:
            model = provider(server)
            counted = await model.count_tokens(request)
            await model.close()
            return counted

        assert (asyncio.run(count(HELLO)) or 0) > 0
        assert asyncio.run(count(replace(HELLO, model="nobody"))) is None
        assert [one.counting for one in server.log.all()] == [True, True]
        assert server.log.all()[0].error is None


# --- limits and the key


def test_limits_of_an_answers_head() -> None:
    """[agents 6.1] Requests and tokens are said when the answer begins; none is said by none."""
    head = {
        "x-ratelimit-limit-requests": "50", "x-ratelimit-remaining-requests": "49",
        "x-ratelimit-reset-requests": "1.2s",
        "x-ratelimit-limit-tokens": "1000", "x-ratelimit-remaining-tokens": "10", "x-ratelimit-reset-tokens": "1m30s",
    }
    said, silent = events_of(reply("a", headers=head), reply("b"), requests=(HELLO, HELLO))
    assert isinstance(said[0], Started)
    assert said[0].limits == Limits(Limit(50, 49, 1.2), Limit(1000, 10, 90.0))
    assert isinstance(silent[0], Started)
    assert silent[0].limits is None


def test_the_key_is_shown_to_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """[providers 2.2] Not in a repr, nor in an error's text where the server gives it back."""
    caplog.set_level(logging.DEBUG)
    told = error(401, f"Incorrect API key provided: {KEY}", "invalid_api_key")
    inside = (reply("a", faults=[StreamError(told, 1, nested)]) for nested in (False, True))
    with serving(told, *inside) as server:
        model = provider(server)
        ends = [asyncio.run(one_round(model, HELLO))[-1] for _ in range(3)]
        assert server.log.rounds()[0].headers["authorization"] == f"Bearer {KEY}"
    assert [end.error.kind for end in ends if isinstance(end, RoundFailed)] == ["auth"] * 3
    assert KEY not in repr(ends) + repr(model) + repr(vars(model))
    assert repr(ends).count("***") == 3
    assert KEY not in caplog.text
