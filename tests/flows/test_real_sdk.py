"""The whole runtime over the real SDK against the strict stand-in: turns, tools, thinking, the cache, the ladder."""

import json
import logging
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from manyminds.actors.providers.anthropic import Anthropic
from manyminds.actors.runtime import Runtime
from manyminds.actors.spec import Resident
from manyminds.actors.traces import Trace
from tests.actors.on_threads import dump, message, runtime, store_of
from tests.messages_api.errors import ApiError, api_error
from tests.messages_api.faults import (
    BAD_REQUESTS,
    Cut,
    EmptyStream,
    EndEarly,
    Hold,
    StreamError,
    overloaded,
    rate_limited,
    spend_limited,
)
from tests.messages_api.recording import Recorded, list_items
from tests.messages_api.replies import Answer, Text, Thinking, ToolUse, partial_call, reply
from tests.messages_api.server import MessagesServer
from tests.messages_api_tests.sdk import serving

pytestmark = [pytest.mark.socket, pytest.mark.pool, pytest.mark.timeout(120)]
MODEL = "claude-opus-5-5"
KEY = "sk-ant-planted-51c0ffee"
BOUND = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"}}
ENDS = ("inference:completed", "inference:turn_ended", "inference:exhausted", "inference:aborted")
MARKER = re.compile(r',"cache_control":\{[^{}]*\}')


def ada(ran: list[str] | None = None) -> Resident:
    """A resident with a tool, whose calls are noted."""

    def weather(city: str) -> str:
        """The weather.

        Args:
            city: Where.
        """
        (ran if ran is not None else []).append(city)
        return f"sunny in {city}"

    return Resident("ada", MODEL, "You are ada. " + "Be brief. " * 50, tools=[weather], thinking=BOUND)


def claude(server: MessagesServer, **options: Any) -> Anthropic:
    """The provider, pointed at the stand-in."""
    return Anthropic(api_key=KEY, base_url=server.url, **options)


def until(traces: Iterator[Trace], *names: str) -> Trace:
    """The next trace of one of these names."""
    return next(trace for trace in traces if trace.name in names)


def turn(opened: Runtime, traces: Iterator[Trace], text: str) -> Trace:
    """Say something to ada and wait for her turn's end."""
    opened.receive(message(text, to="ada"))
    return until(traces, *ENDS)


def bare(one: Recorded) -> tuple[str, str, tuple[str, ...]]:
    """The raw bytes of tools, system and messages, cache markers taken out."""
    tools, system, messages = (MARKER.sub("", one.member(name)) for name in ("tools", "system", "messages"))
    assert "cache_control" not in tools + system + messages
    return tools, system, list_items(messages)


def assert_all_extend(rounds: tuple[Recorded, ...]) -> None:
    """Every request begins with the one before it, to the byte."""
    for earlier, later in pairwise(rounds):
        before, now = bare(earlier), bare(later)
        assert now[:2] == before[:2]
        assert now[2][: len(before[2])] == before[2]


def test_three_turns_with_parallel_tools_and_thinking(tmp_path: Path) -> None:
    """[providers 1.6, 1.8, 2] Every request is accepted, each repeats the bytes of the one before it, the cache is read
    from the second one on, thinking goes back under the check of its prefix, also after a restart.
    """
    ran: list[str] = []
    answers: list[Answer] = []
    for number in (1, 2, 3):
        answers += [
            reply(Thinking(f"hm {number}"), Text("One moment."), ToolUse("weather", {"city": f"Riga {number}"}),
                  ToolUse("weather", {"city": f"Oslo {number}"})),
            reply(Thinking("well"), f"Sunny in both, {number}."),
        ]
    with serving(*answers) as server:
        for turns in ((1, 2), (3,)):
            with runtime(claude(server), tmp_path, [ada(ran)]) as (opened, board):
                traces = opened.subscribe()
                for number in turns:
                    assert turn(opened, traces, f"ada: weather {number}?").name == "inference:completed"
            posted = [post.text for post in board.posts if "both" in post.text]
            assert posted == [f"Sunny in both, {number}." for number in turns]
        rounds = server.log.rounds()
    assert [one.error for one in rounds] == [None] * 6
    assert sorted(ran) == sorted(f"{city} {n}" for city in ("Riga", "Oslo") for n in (1, 2, 3))
    assert_all_extend(rounds)
    usage = [(one.message or {})["usage"] for one in rounds]
    assert usage[0]["cache_creation_input_tokens"] > 0
    for before, now in pairwise(usage):
        cached = before["cache_read_input_tokens"] + before["cache_creation_input_tokens"]
        assert now["cache_read_input_tokens"] >= cached
    for index, one in enumerate(rounds[1:]):
        sent = [block for m in one.request["messages"] if m["role"] == "assistant" for block in m["content"]]
        said = [block for earlier in rounds[: index + 1] for block in (earlier.message or {})["content"]]
        assert [block for block in sent if block["type"] == "thinking"] == [
            block for block in said if block["type"] == "thinking"
        ]


def test_usage_is_traced() -> None:
    """[providers 1.8] Reads and writes of the cache are in the trace of each round."""
    with serving(reply("a"), reply("b")) as server, runtime(claude(server), None, [ada()]) as (opened, _):
        traces = opened.subscribe()
        seen: list[Trace] = []
        for text in ("ada: one", "ada: two"):
            opened.receive(message(text, to="ada"))
            seen.append(until(traces, "inference:usage"))
            until(traces, "inference:completed")
    assert seen[0].fields["written"] > 0
    assert seen[0].fields["read"] == 0
    assert seen[1].fields["read"] >= seen[0].fields["written"]


TEXT = Text("hello", cut=1)
CALL = ToolUse("weather", {"city": "Riga"}, cut=4)
LADDER: dict[str, tuple[Answer, str, float | None]] = {
    "429 with retry-after": (rate_limited("7"), "rate_limit", 7.0),
    "529": (overloaded(), "overloaded", 1.0),
    "an end without message_stop": (reply(TEXT, faults=[EndEarly()]), "truncated", 1.0),
    "an end within a call": (reply(CALL, faults=[EndEarly(5)]), "truncated", 1.0),
    "an end after a call": (reply(CALL, faults=[EndEarly()]), "truncated", 1.0),
    "a cut socket": (reply(TEXT, faults=[Cut(4)]), "network", 1.0),
    "a cut socket within a call": (reply(CALL, faults=[Cut(5)]), "network", 1.0),
    "an empty stream": (reply(faults=[EmptyStream()]), "truncated", 1.0),
    "an error inside the stream": (reply(TEXT, faults=[StreamError(overloaded(), 3)]), "overloaded", 1.0),
    "a 400 inside the stream": (reply(TEXT, faults=[StreamError(BAD_REQUESTS["too-long"], 3)]), "context_length", None),
    "spend limit": (spend_limited(), "rate_limit", None),
    "401": (api_error(401, "invalid x-api-key"), "auth", None),
    **{f"400 {name}": (error, {
        "extra-input": "invalid_request", "thinking-binding": "thinking_binding", "too-long": "context_length",
    }.get(name, "system_change_refused"), None) for name, error in BAD_REQUESTS.items()},
}


@pytest.mark.parametrize(("answer", "kind", "delay"), LADDER.values(), ids=LADDER)
def test_a_failure_takes_its_step_of_the_ladder(answer: Answer, kind: str, delay: float | None) -> None:
    """[agents 6.1] [providers 2.2] Sent again after the stated wait or after 1 s, or given up at once; no tool runs,
    and it is never a normal end.
    """
    ran: list[str] = []
    with serving(answer) as server, runtime(claude(server), None, [ada(ran)]) as (opened, _):
        traces = opened.subscribe()
        opened.receive(message("ada: hello", to="ada"))
        ended = until(traces, "inference:failed", *ENDS)
        if delay is None:
            assert (ended.name, ended.fields["errorType"]) == ("inference:exhausted", kind)
        else:
            assert (ended.name, ended.fields["kind"], ended.fields["delay"]) == ("inference:failed", kind, delay)
            assert opened.cancel("ada")
    assert ran == []
    assert len(server.log.rounds()) == 1


def test_after_its_wait_the_same_request_is_sent_again() -> None:
    """[agents 6.1] What a 429 asks for is waited for, then the same bytes go out, and the turn ends well."""
    with serving(rate_limited("0.01"), reply("hello")) as server:
        with runtime(claude(server), None, [ada()]) as (opened, board):
            traces = opened.subscribe()
            opened.receive(message("ada: hello", to="ada"))
            assert until(traces, "inference:failed").fields["delay"] == 0.01
            assert until(traces, "inference:completed")
            assert board.next().text == "hello"
        first, second = server.log.rounds()
    assert first.raw == second.raw


def test_a_server_that_is_silent_fails_the_request() -> None:
    """[providers 2.1.7] A first byte that does not come is a timeout on the ladder's first step."""
    with serving(reply(faults=[Hold()])) as server, runtime(claude(server, timeout=0.3), None, [ada()]) as (opened, _):
        traces = opened.subscribe()
        opened.receive(message("ada: hello", to="ada"))
        failed = until(traces, "inference:failed", *ENDS)
        assert opened.cancel("ada")
    assert (failed.name, failed.fields["kind"], failed.fields["delay"]) == ("inference:failed", "timeout", 1.0)


def test_a_truncated_call_is_never_run() -> None:
    """[providers 2.1.9] The model is told why, in a legal request, and goes on."""
    ran: list[str] = []
    cut = partial_call("weather", '{"city":"Riga","more":"hel')
    with serving(cut, reply("Sorry.")) as server, runtime(claude(server), None, [ada(ran)]) as (opened, board):
        assert turn(opened, opened.subscribe(), "ada: weather?").name == "inference:completed"
        assert board.next().text == "Sorry."
    _, second = server.log.rounds()
    result = second.request["messages"][-1]["content"][0]
    assert (result["type"], result["is_error"]) == ("tool_result", True)
    assert ran == []
    assert second.error is None


def _echoing(error: ApiError) -> list[Answer]:
    return [error, reply("ok"), reply(TEXT, faults=[StreamError(error, 2)]), reply("well")]


def test_the_key_is_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """[providers 2.1] A server that gives the key back, at every level of every log: it is in no log, trace, post,
    row, file, health report or repr.
    """
    caplog.set_level(logging.DEBUG)
    for name in ("anthropic", "httpx2", "httpcore2", "manyminds"):
        caplog.set_level(logging.DEBUG, logger=name)
    told = api_error(401, f"invalid x-api-key: {KEY}")
    shown: list[str] = []
    with serving(*_echoing(told)) as server:
        model = claude(server)
        with runtime(model, tmp_path, [ada()]) as (opened, board):
            opened._opened.system.traces.listen(lambda trace: shown.append(repr(trace)))
            traces = opened.subscribe()
            ends = [turn(opened, traces, f"ada: {n}").name for n in range(4)]
            shown += [repr(post) for post in board.posts]
            shown += [repr(opened.health()), repr(opened), repr(model), repr(vars(model)), repr(dump(store_of(opened)))]
        assert all(KEY in json.dumps(dict(one.headers)) for one in server.log.rounds())
    assert ends == ["inference:exhausted", "inference:completed"] * 2
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert KEY not in "".join(shown)
    assert "***" in "".join(shown)
    assert KEY not in caplog.text
    assert not [record for record in caplog.records if KEY in repr(vars(record))]
