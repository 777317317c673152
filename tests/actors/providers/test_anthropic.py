"""The Anthropic provider over the real SDK and a socket: events, usage, what is not sent, and the key."""

import asyncio
import logging
from dataclasses import replace
from typing import Any

import pytest

from manyminds.actors.providers.anthropic import Anthropic
from manyminds.actors.providers.anthropic_events import Assembly
from manyminds.actors.providers.failures import Secret, stated_wait
from manyminds.actors.providers.provider import RefusedBeforeSending, refusal
from manyminds.actors.providers.rate_limits import anthropic_limits
from manyminds.messages.blocks import (
    Opaque,
    RedactedThinking,
    SystemChange,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from manyminds.messages.errors import InvalidSetting, ProviderError
from manyminds.messages.request import (
    BlockEnd,
    Done,
    Limit,
    Limits,
    Msg,
    Request,
    RoundFailed,
    Started,
    TextDelta,
    ThinkingDelta,
    Usage,
)
from tests.actors.providers.rounds import HELLO, KEY, MODEL, done_of, events_of, one_round, provider
from tests.actors.providers.walked import request_at
from tests.messages_api import replies
from tests.messages_api.conversations import conversation
from tests.messages_api.errors import ApiError, api_error
from tests.messages_api.faults import (
    StreamError,
)
from tests.messages_api.replies import Answer, ToolUse, Whole, partial_call, reply
from tests.messages_api.server import MessagesServer
from tests.messages_api.service import Service
from tests.messages_api_tests.sdk import serving

pytestmark = pytest.mark.socket


def test_the_events_of_a_round() -> None:
    """[providers 2.2] Started, deltas, ends of blocks in order, and Done with the blocks, the reason and the id."""
    said = (replies.Thinking("hm so", cut=2), replies.Text("hi there", cut=3), ToolUse("look", {"at": "ü"}, "c1"))
    answer = reply(*said)
    (events,) = events_of(answer)
    done = events[-1]
    assert isinstance(done, Done)
    thought = done.content[0]
    assert isinstance(thought, Thinking)
    assert thought.text == "hm so"
    assert thought.signature
    call = ToolCall("c1", "look", '{"at": "ü"}')
    assert done.content[1:] == (Text("hi there"), call)
    assert done.stop_reason == "tool_use"
    assert done.request_id == "req_000001"
    assert isinstance(events[0], Started)
    assert (events[0].message_id, events[0].model) == ("msg_000001", MODEL)
    assert [e.text for e in events if isinstance(e, TextDelta)] == ["hi ", "the", "re"]
    assert [e.text for e in events if isinstance(e, ThinkingDelta)] == ["hm", " s", "o"]
    assert [e.block for e in events if isinstance(e, BlockEnd)] == list(done.content)


def test_thinking_goes_back_verbatim() -> None:
    """[providers 1.6] The stand-in refuses thinking that was altered or moved; here it takes what goes back."""
    first = reply(replies.Thinking("hm"), replies.Redacted(), ToolUse("look", id="c1"))
    with serving(first, reply("done")) as server:
        model = provider(server)
        thinking = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"}}
        asked = replace(HELLO, thinking=thinking)
        end = asyncio.run(one_round(model, asked))[-1]
        assert isinstance(end, Done)
        assert isinstance(end.content[1], RedactedThinking)
        result = Msg("user", (ToolResult("c1", (Text("a tree"),)),))
        again = replace(asked, messages=(*asked.messages, Msg("assistant", end.content), result))
        assert isinstance(asyncio.run(one_round(model, again))[-1], Done)
        altered = (Thinking("other", end.content[0].signature), *end.content[1:])  # type: ignore[union-attr]
        wrong = replace(again, messages=(*asked.messages, Msg("assistant", altered), result))
        refused = asyncio.run(one_round(model, wrong))[-1]
        assert isinstance(refused, RoundFailed)
        sent = server.log.rounds()[1].request["messages"][1]["content"]
        assert sent == (server.log.rounds()[0].message or {})["content"]


def test_usage_of_reads_and_writes() -> None:
    """[providers 1.8, 2.1.12] The first request writes the cache, the second reads it; the output is the last count."""
    long = replace(HELLO, system=("word " * 400,))
    first, second = events_of(reply("a", output_tokens=7), reply("b", output_tokens=9), requests=(long, long))
    one, two = first[-1], second[-1]
    assert isinstance(one, Done)
    assert isinstance(two, Done)
    assert one.usage.written > 400
    assert (one.usage.read, one.usage.output) == (0, 7)
    assert (two.usage.read, two.usage.written, two.usage.output) == (one.usage.written, 0, 9)
    assert two.usage.input == one.usage.input


@pytest.mark.parametrize(
    "reason", ["end_turn", "max_tokens", "stop_sequence", "pause_turn", "model_context_window_exceeded", "of_next_year"]
)
def test_a_stop_reason_is_kept(reason: str) -> None:
    """[providers 2.2] An unknown one as well."""
    assert done_of(reply("a", stop_reason=reason)).stop_reason == reason


def test_a_refusal_is_an_answer() -> None:
    """[providers 2.2] The model's refusal is a Done with its details, no failure and no refused change."""
    done = done_of(replies.refusal("cyber", "no"))
    assert (done.stop_reason, done.content, done.stop_details["category"]) == ("refusal", (), "cyber")


def test_a_block_that_is_not_known_is_kept() -> None:
    """[providers 1.9, 2.1.11] As JSON text, with all its fields."""
    block = {"type": "of_next_year", "data": {"a": [1, "ü"]}}
    (kept,) = done_of(reply(Whole(block))).content
    assert kept == Opaque('{"type":"of_next_year","data":{"a":[1,"ü"]}}')


@pytest.mark.parametrize(
    ("text", "stop", "why"),
    [
        ('{"path":"a.txt","body":"hel', "max_tokens", "ended in the middle of the JSON text"),
        ('{"path":', "tool_use", "ended in the middle of the JSON text"),
        ('{"path":"a" "b"}', "tool_use", "are no valid JSON"),
        ("[1]", "tool_use", "are no JSON object that can be read"),
        ('{"n":1e999}', "tool_use", "hold a number that JSON cannot say"),
        ("", "max_tokens", "were cut off"),
        ("", "model_context_window_exceeded", "were cut off"),
        ("", "tool_use", ""),
        ('{"path":"a.txt"}', "tool_use", ""),
        ('{"path":"a.txt"}', "max_tokens", ""),
    ],
)
def test_a_call_that_was_cut_is_unusable(text: str, stop: str, why: str) -> None:
    """[providers 2.1.9] The raw text is parsed strictly, never the SDK's lenient reading; it is kept as it came."""
    events = events_of(partial_call("look", text, stop, cut=3))[0]
    end = events[-1]
    assert isinstance(end, Done)
    (call,) = end.calls
    assert (call.arguments, call.unusable) == (text or "{}", why)
    assert [event.block for event in events if isinstance(event, BlockEnd)] == [call]


# --- what is not sent


def test_what_has_no_place_or_no_capability_is_refused_before_sending() -> None:
    """[providers 1.4, 2.2] check says so, and stream as well, without a request."""
    change = Msg("change", (SystemChange(system=("more",)),))
    no_place = replace(HELLO, messages=(*HELLO.messages, Msg("assistant", (Text("a"),)), change))
    not_able = replace(HELLO, model="claude-sonnet-5", messages=(*HELLO.messages, change))
    reserved = replace(HELLO, extra={"model": "other"})
    with serving() as server:
        model = provider(server)
        for request, kind in (
            (no_place, "system_change_refused"), (not_able, "system_change_refused"), (reserved, "invalid_request"),
        ):
            error = refusal(model, request)
            assert error is not None
            assert (error.kind, error.before_send, error.http_status) == (kind, True, None)
        with pytest.raises(RefusedBeforeSending):
            model.check(no_place)
        end = asyncio.run(one_round(model, no_place))[-1]
        assert isinstance(end, RoundFailed)
        assert end.error.before_send
        assert server.log.all() == ()


def test_fields_and_betas_of_the_hosts_own() -> None:
    """[providers 1.2] `extra` goes into the body, its betas into the header, its tools after the runtime's."""
    extra = {
        "metadata": {"user_id": "u"}, "betas": ["cache-diagnosis-2026-04-07"],
        "tools": [{"name": "mine", "input_schema": {"type": "object"}}],
    }
    with serving(reply("ok")) as server:
        assert isinstance(asyncio.run(one_round(provider(server), replace(HELLO, extra=extra)))[-1], Done)
        (sent,) = server.log.rounds()
    assert sent.request["metadata"] == {"user_id": "u"}
    assert sent.betas == {"cache-diagnosis-2026-04-07"}
    assert [one["name"] for one in sent.request["tools"]] == ["look", "mine"]


def test_count_tokens() -> None:
    """[providers 2.1.14] The provider's count, of the same body; None where it does not answer."""
    with serving() as server:

        async def count(request: Request) -> int | None:
            model = provider(server)
            counted = await model.count_tokens(request)
            await model.close()
            return counted

        assert (asyncio.run(count(HELLO)) or 0) > 0
        assert asyncio.run(count(replace(HELLO, model="nobody"))) is None
        assert [one.counting for one in server.log.all()] == [True, True]


# --- limits and the key


def test_limits_of_an_answers_head() -> None:
    """[agents 6.1] Requests and tokens are said when the answer begins; none is said by none."""
    head = {
        "anthropic-ratelimit-requests-limit": "50", "anthropic-ratelimit-requests-remaining": "49",
        "anthropic-ratelimit-requests-reset": "12s", "anthropic-ratelimit-tokens-limit": "1000",
        "anthropic-ratelimit-tokens-remaining": "-5", "anthropic-ratelimit-tokens-reset": "1m30s",
    }
    assert anthropic_limits(head) == Limits(Limit(50, 49, 12.0), Limit(1000, 0, 90.0))
    assert anthropic_limits({}) is None
    assert anthropic_limits({"anthropic-ratelimit-requests-limit": "many"}) is None
    started = events_of(reply("a"))[0][0]
    assert isinstance(started, Started)
    assert started.limits is None


def test_a_stated_wait() -> None:
    """[providers 2.1.3] Milliseconds go first; a date that has passed is no wait; what is neither is not guessed."""
    assert stated_wait({"retry-after-ms": "250", "retry-after": "9"}) == 0.25
    assert stated_wait({"retry-after": "2.5"}) == 2.5
    assert stated_wait({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0
    assert stated_wait({"retry-after": "soon"}) is None
    assert stated_wait({"retry-after": "inf"}) is None
    assert stated_wait({}) is None


def test_the_key_is_shown_to_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """[providers 2.2] Not in a repr, nor in an error's text where the server gives it back."""
    caplog.set_level(logging.DEBUG)
    told = api_error(401, f"invalid x-api-key {KEY}")
    with serving(told, always_failing(told)) as server:
        model = provider(server)
        ends = [asyncio.run(one_round(model, HELLO))[-1] for _ in range(2)]
        assert server.log.rounds()[0].headers["authorization"].endswith(KEY)
    assert all(isinstance(end, RoundFailed) and end.error.kind == "auth" for end in ends)
    assert KEY not in repr(ends) + repr(model) + repr(vars(model)) + repr(Secret(KEY)) + str(Secret(KEY))
    assert "***" in repr(ends)
    assert KEY not in caplog.text


def always_failing(error: ApiError) -> Answer:
    """The error inside a stream."""
    return reply("a", faults=[StreamError(error)])


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """[providers 2.1] Without one it says which variable to set."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(ProviderError, match="ANTHROPIC_API_KEY"):
        Anthropic()
    monkeypatch.setenv("ANTHROPIC_API_KEY", f" {KEY}\n")
    with serving(reply("ok")) as server:
        end = asyncio.run(one_round(Anthropic(base_url=server.url), HELLO))[-1]
        assert isinstance(end, Done)
        assert server.log.rounds()[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    "wrong", [{"cache_ttl": "1d"}, {"requests_per_minute": 0}, {"tokens_per_minute": True}, {"transport": "azure"}]
)
def test_a_wrong_setting_is_named(wrong: dict[str, Any]) -> None:
    """A wrong option is an InvalidSetting that says what was expected."""
    with pytest.raises(InvalidSetting, match=next(iter(wrong))):
        Anthropic(api_key=KEY, **wrong)


@pytest.mark.parametrize(("seconds", "connect"), [(600.0, 10.0), (0.3, 0.3)])
def test_a_connection_is_waited_for_less_long_than_an_answer(seconds: float, connect: float) -> None:
    """[providers 2.1.7] A model may think for minutes; a server that takes no connection is not there."""

    async def wait() -> Any:
        model = Anthropic(api_key=KEY, timeout=seconds)
        client = await model._clients.get()
        await model.close()
        return client.timeout, client.max_retries

    timeout, retries = asyncio.run(wait())
    assert (timeout.read, timeout.connect, retries) == (seconds, connect, 0)


def test_usage_without_counts_is_nothing() -> None:
    """[providers 2.1.12] Every count is there from the start, and the output grows."""
    events = events_of(reply("abc", output_tokens=3))[0]
    assert isinstance(events[0], Started)
    assert isinstance(events[-1], Done)
    assert events[0].usage.input == events[-1].usage.input
    assert events[-1].usage == Usage(
        events[0].usage.fresh, events[0].usage.read, events[0].usage.written, 3
    )


START = {"type": "message_start", "message": {"id": "m", "model": MODEL, "usage": {"input_tokens": 3}}}
OPEN = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "a"}}
CLOSE = {"type": "content_block_stop", "index": 0}
REASON = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}
STOP = {"type": "message_stop"}


@pytest.mark.parametrize(
    ("events", "whole"),
    [
        ([START, OPEN, CLOSE, REASON, STOP], True), ([START, OPEN, REASON, STOP], False),
        ([START, OPEN, CLOSE, STOP], False), ([START, OPEN, {"type": "of_next_year"}, CLOSE, REASON, STOP], True),
    ],
)
def test_a_stop_ends_only_what_is_whole(events: list[dict[str, Any]], whole: bool) -> None:
    """[providers 2.1.6, 2.1.11] With a block that is open, or without a reason, the message was cut."""
    assembly = Assembly("r")
    end = [made for event in events for made in assembly.feed(event)][-1]
    if whole:
        assert end == Done("end_turn", (Text("a"),), Usage(3, 0, 0, 2), {}, "r")
    else:
        assert isinstance(end, RoundFailed)
        assert end.error.kind == "truncated"


def test_random_conversations_over_the_socket() -> None:
    """[providers 1.1-1.4] 20 conversations with changes: the stand-in takes every request of theirs."""
    with MessagesServer(Service(replies.always("ok"))) as server:
        model = provider(server)

        async def walk() -> None:
            for seed in range(20):
                for moment in conversation(seed, 8, references=False):
                    end = [event async for event in model.stream(request_at(moment))][-1]
                    assert isinstance(end, Done), (seed, end)
            await model.close()

        asyncio.run(walk())
        rounds = server.log.rounds()
    assert len(rounds) == 160
    assert any("tool_removal" in one.raw.decode() for one in rounds)
