"""The Anthropic adapter over the real SDK, against the strict local server: rounds, failures, secrets."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import pytest

from manyminds.actors.providers.anthropic import Anthropic
from manyminds.messages.blocks import Text, Thinking, ToolCall, ToolResult
from manyminds.messages.errors import ProviderError
from manyminds.messages.request import Done, ErrorRecord, Event, Msg, Request, RoundFailed, TextDelta
from manyminds.messages.tooldefs import define
from tests.messages_api import faults, replies
from tests.messages_api.faults import BAD_REQUESTS, Cut, EmptyStream, EndEarly, StreamError
from tests.messages_api.replies import Answer, reply
from tests.messages_api_tests.sdk import serving

pytestmark = pytest.mark.socket

MODEL = "claude-opus-5-5"
LOOK = define("look", "Look.", {"type": "object", "properties": {"path": {"type": "string"}}})
KEY = "sk-planted-secret-0123456789"


def request(*messages: Msg, **options: Any) -> Request:
    """A request with one tool and a system text."""
    return Request(MODEL, messages or (Msg("user", (Text("hello"),)),), ("You are ada.",), (LOOK,), **options)


def rounds(*answers: Answer, requests: Sequence[Request] = ()) -> tuple[list[list[Event]], Any]:
    """Each answer's events, and the server's log."""
    async def play(url: str) -> list[list[Event]]:
        provider = Anthropic(api_key=KEY, base_url=url, timeout=5)
        played: list[list[Event]] = []
        for asked in requests or [request()] * len(answers):
            played.append([event async for event in provider.stream(asked)])
        await provider.close()
        return played

    with serving(*answers) as server:
        return asyncio.run(play(server.url)), server.log


def ending(answer: Answer) -> Done | RoundFailed:
    """How a round ends; exactly one terminal, and it is the last event."""
    ((*before, last),), _ = rounds(answer)
    assert not any(isinstance(event, (Done, RoundFailed)) for event in before)
    assert isinstance(last, (Done, RoundFailed))
    return last


def failure(answer: Answer) -> ErrorRecord:
    """The record of a round that must fail."""
    last = ending(answer)
    assert isinstance(last, RoundFailed), last
    return last.error


def test_a_round() -> None:
    """[providers 2.2] Deltas, thinking and calls verbatim, usage, one Done."""
    answer = reply(
        replies.Thinking("hm", cut=1), replies.Text("I look.", cut=2), replies.ToolUse("look", {"path": "a.txt"}, cut=3)
    )
    (events,), log = rounds(answer)
    done = events[-1]
    assert isinstance(done, Done)
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "I look."
    thinking, text, call = done.content
    assert isinstance(thinking, Thinking)
    assert thinking.text == "hm"
    assert thinking.signature
    assert text == Text("I look.")
    assert isinstance(call, ToolCall)
    assert (call.name, call.arguments, call.unusable) == ("look", '{"path": "a.txt"}', "")
    assert (done.stop_reason, done.usage.input > 0, done.usage.output > 0) == ("tool_use", True, True)
    assert log.rounds()[0].error is None


def test_what_was_said_goes_back_and_is_accepted() -> None:
    """[providers 1.6, 2.3] The round with its signed thinking and the results: the strict server takes it."""
    answer = reply(replies.Thinking("hm"), replies.ToolUse("look", {"path": "a"}))

    async def play(url: str) -> Event:
        provider = Anthropic(api_key=KEY, base_url=url, timeout=5)
        first = request()
        done = [event async for event in provider.stream(first)][-1]
        assert isinstance(done, Done)
        (call,) = done.calls
        after = request(
            *first.messages, Msg("assistant", done.content), Msg("user", (ToolResult(call.id, (Text("found"),)),))
        )
        last = [event async for event in provider.stream(after)][-1]
        await provider.close()
        return last

    with serving(answer, reply("done")) as server:
        last = asyncio.run(play(server.url))
        assert isinstance(last, Done)
        assert [recorded.error for recorded in server.log.rounds()] == [None, None]
        assert last.usage.read > 0


FAULTS: list[tuple[str, Answer, str, bool]] = [
    ("clean end without message_stop", reply("half", faults=(EndEarly(),)), "truncated", True),
    ("cut before the response", reply("half", faults=(Cut(None),)), "network", True),
    ("cut in the stream", reply("half", faults=(Cut(2),)), "network", True),
    ("empty stream", reply("half", faults=(EmptyStream(),)), "truncated", True),
    ("overloaded in the stream", reply("half", faults=(StreamError(faults.overloaded()),)),
     "overloaded", True),
    ("429", faults.rate_limited("2"), "rate_limit", True),
    ("529", faults.overloaded(), "overloaded", True),
    ("500", faults.server_error(), "server", True),
]


@pytest.mark.parametrize(("what", "answer", "kind", "retryable"), FAULTS, ids=[case[0] for case in FAULTS])
def test_a_fault_is_never_a_completion(what: str, answer: Answer, kind: str, retryable: bool) -> None:
    """[providers 2.1, 2.2] Every fault ends in its own record; a thrown one and a streamed one alike."""
    record = failure(answer)
    assert (record.kind, record.retryable) == (kind, retryable), what
    if what == "429":
        assert record.retry_after == 2
        assert record.http_status == 429


@pytest.mark.parametrize("name", sorted(BAD_REQUESTS))
def test_a_400_is_terminal(name: str) -> None:
    """[providers 1.5, 2.2] Each kind of 400: not retryable, its status kept."""
    record = failure(BAD_REQUESTS[name])
    assert record.http_status == 400
    assert not record.retryable


def test_a_truncated_call_is_unusable() -> None:
    """[providers 2.1, 9] JSON that is not whole never runs, though the SDK reads it leniently."""
    last = ending(reply(replies.ToolUse("look", '{"path":"a.txt","body":"hel'), stop_reason="max_tokens"))
    calls = last.calls if isinstance(last, Done) else ()
    assert all(call.unusable for call in calls)


def test_the_key_is_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    """[providers] A secret planted as the key is in no error, no log, no repr."""
    caplog.set_level(logging.DEBUG)
    said = [repr(failure(answer)) for answer in (faults.server_error(), reply("x", faults=(Cut(2),)))]
    assert KEY not in " ".join([*said, caplog.text, repr(Anthropic(api_key=KEY)), str(vars(Anthropic(api_key=KEY)))])


def test_a_missing_key_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """[providers] Without a key nothing opens, and the error says what to set."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(ProviderError, match="ANTHROPIC_API_KEY"):
        Anthropic()
