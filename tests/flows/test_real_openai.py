"""The whole runtime over the OpenAI SDK against the strict stand-in: turns, tools, reasoning, the cache, the ladder."""

import asyncio
import json
import logging
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from manyminds.actors.providers.openai import OpenAI
from manyminds.actors.runtime import Runtime
from manyminds.actors.spec import Resident
from manyminds.actors.traces import Trace
from manyminds.messages.blocks import SystemChange, ToolDef
from manyminds.messages.blocks import Text as Words
from manyminds.messages.request import Done, Msg, Request
from tests.actors.on_threads import dump, message, runtime, store_of
from tests.actors.providers.openai_rounds import MODEL, one_round, serving
from tests.messages_api.faults import Cut, EmptyStream, EndEarly, Hold
from tests.responses_api.errors import ResponsesError, error
from tests.responses_api.faults import (
    BAD_REQUESTS,
    Failed,
    StreamError,
    out_of_quota,
    overloaded,
    rate_limited,
    server_error,
)
from tests.responses_api.replies import Answer, Call, Reasoning, Refusal, Text, partial_call, reply
from tests.responses_api.server import ResponsesServer, extends

pytestmark = [pytest.mark.socket, pytest.mark.pool, pytest.mark.timeout(120)]
KEY = "sk-proj-planted-51c0ffee"
ENDS = ("inference:completed", "inference:turn_ended", "inference:exhausted", "inference:aborted")


def ada(ran: list[str] | None = None, **more: Any) -> Resident:
    """A resident with a tool, whose calls are noted."""

    def weather(city: str) -> str:
        """The weather.

        Args:
            city: Where.
        """
        (ran if ran is not None else []).append(city)
        return f"sunny in {city}"

    text = "You are ada. " + "Be brief. " * 50
    return Resident("ada", MODEL, text, tools=[weather], thinking={"effort": "low", "summary": "auto"}, **more)


def gpt(server: ResponsesServer, **options: Any) -> OpenAI:
    """The provider, pointed at the stand-in as if it were OpenAI's own server."""
    return OpenAI(api_key=KEY, base_url=server.base_url, transport="api", **options)


def until(traces: Iterator[Trace], *names: str) -> Trace:
    """The next trace of one of these names."""
    return next(trace for trace in traces if trace.name in names)


def turn(opened: Runtime, traces: Iterator[Trace], text: str) -> Trace:
    """Say something to ada and wait for her turn's end."""
    opened.receive(message(text, to="ada"))
    return until(traces, *ENDS)


def test_three_turns_with_parallel_tools_and_reasoning(tmp_path: Path) -> None:
    """[providers 2.4] Every request is accepted, each repeats the bytes of the one before it, the cache is read from
    the second one on, reasoning goes back as it came, also after a restart.
    """
    ran: list[str] = []
    answers: list[Answer] = []
    for number in (1, 2, 3):
        answers += [
            reply(Reasoning((f"hm {number}",)), Text("One moment.", phase="commentary"),
                  Call("weather", {"city": f"Riga {number}"}), Call("weather", {"city": f"Oslo {number}"})),
            reply(Reasoning(("well",)), Text(f"Sunny in both, {number}.", phase="final_answer")),
        ]
    with serving(*answers) as server:
        for turns in ((1, 2), (3,)):
            with runtime(gpt(server), tmp_path, [ada(ran)]) as (opened, board):
                traces = opened.subscribe()
                for number in turns:
                    assert turn(opened, traces, f"ada: weather {number}?").name == "inference:completed"
            posted = [post.text for post in board.posts if "both" in post.text]
            assert posted == [f"Sunny in both, {number}." for number in turns]
        rounds = server.log.rounds()
    assert [one.error for one in rounds] == [None] * 6
    assert sorted(ran) == sorted(f"{city} {n}" for city in ("Riga", "Oslo") for n in (1, 2, 3))
    for before, now in pairwise(rounds):
        assert extends(before, now)
        earlier, later = ((one.message or {})["usage"] for one in (before, now))
        assert later["input_tokens_details"]["cached_tokens"] == earlier["input_tokens"] > 0
    said = [item for one in rounds[:-1] for item in (one.message or {})["output"]]
    sent = rounds[-1].request["input"]
    assert [item for item in sent if item.get("type") == "reasoning"] == [
        item for item in said if item["type"] == "reasoning"
    ]
    assert [(item["content"], item["phase"]) for item in sent if item.get("role") == "assistant"] == [
        (item["content"][0]["text"], item["phase"]) for item in said if item["type"] == "message"
    ]
    assert all(one.request["store"] is False for one in rounds)


LOOK = ToolDef("look", "Looks.", '{"type":"object","properties":{}}')
SEE = ToolDef("see", "Sees.", '{"type":"object","properties":{}}')


def test_changes_in_a_conversation_keep_the_prefix() -> None:
    """[providers 2.4] Text and tools that are added stand where they were added: every request begins with the bytes
    of the one before it, and the cache is read up to the change.
    """
    answer = Msg("assistant", (Words("ok"),))
    told = Msg("change", (SystemChange(system=("be kind",)),))
    more = Msg("change", (SystemChange(defined=(SEE,), system=("see!",)),))
    user = [Msg("user", (Words(text),)) for text in "abcd"]
    grown = ((user[0],), (answer, told, user[1]), (answer, user[2], more), (answer, user[3]))
    with serving(*(reply("ok") for _ in grown)) as server:
        model = gpt(server)

        async def go() -> None:
            messages: tuple[Msg, ...] = ()
            for new in grown:
                messages += new
                end = (await one_round(model, Request(MODEL, messages, ("You are ada.",), (LOOK,))))[-1]
                assert isinstance(end, Done), end

        asyncio.run(go())
        rounds = server.log.rounds()
    for before, now in pairwise(rounds):
        assert extends(before, now)
        earlier, later = ((one.message or {})["usage"] for one in (before, now))
        assert later["input_tokens_details"]["cached_tokens"] == earlier["input_tokens"]
    last = rounds[-1].request
    assert [tool["name"] for tool in last["tools"]] == ["look"]
    (added,) = (item for item in last["input"] if item.get("type") == "additional_tools")
    assert (added["role"], [tool["name"] for tool in added["tools"]]) == ("developer", ["see"])


def test_usage_is_traced() -> None:
    """[providers 1.8, 2.4] The input of a trace is the provider's count; what was read is a part of it."""
    with serving(reply("a"), reply("b")) as server, runtime(gpt(server), None, [ada()]) as (opened, _):
        traces = opened.subscribe()
        seen: list[Trace] = []
        for text in ("ada: one", "ada: two"):
            opened.receive(message(text, to="ada"))
            seen.append(until(traces, "inference:usage"))
            until(traces, "inference:completed")
        counted = [(one.message or {})["usage"]["input_tokens"] for one in server.log.rounds()]
    assert [trace.fields["input"] for trace in seen] == counted
    assert (seen[0].fields["read"], seen[1].fields["read"]) == (0, counted[0])


TEXT = Text("hello", cut=1)
CALL = Call("weather", {"city": "Riga"}, cut=4)
KINDS = {
    "too-long": "context_length", "no-additional-tools": "system_change_refused",
    "no-developer-role": "system_change_refused", "unverified-reasoning": "thinking_binding",
    "reasoning-alone": "thinking_binding",
}
LADDER: dict[str, tuple[Answer, str, float | None]] = {
    "429 with retry-after": (rate_limited("7"), "rate_limit", 7.0),
    "503": (overloaded(), "overloaded", 1.0),
    "500": (server_error(), "server", 1.0),
    "an end without response.completed": (reply(TEXT, faults=[EndEarly()]), "truncated", 1.0),
    "an end within a call": (reply(CALL, faults=[EndEarly(5)]), "truncated", 1.0),
    "an end after a call": (reply(CALL, faults=[EndEarly()]), "truncated", 1.0),
    "a cut socket": (reply(TEXT, faults=[Cut(6)]), "network", 1.0),
    "a cut socket within a call": (reply(CALL, faults=[Cut(5)]), "network", 1.0),
    "an empty stream": (reply(faults=[EmptyStream()]), "truncated", 1.0),
    "an error inside the stream": (reply(TEXT, faults=[StreamError(server_error(), 6)]), "server", 1.0),
    "an error of a gateway": (reply(TEXT, faults=[StreamError(overloaded(), 6, True)]), "overloaded", 1.0),
    "a failed response": (reply(TEXT, faults=[Failed(rate_limited(), 6)]), "rate_limit", 1.0),
    "a failed response after a call": (reply(CALL, faults=[Failed(server_error(), 99)]), "server", 1.0),
    "a 400 inside the stream": (reply(TEXT, faults=[StreamError(BAD_REQUESTS["too-long"], 6)]), "context_length", None),
    "a refusal": (reply(Refusal("no")), "refusal", None),
    "a content filter": (reply(Text("I"), CALL, incomplete="content_filter"), "refusal", None),
    "quota": (out_of_quota(), "rate_limit", None),
    "401": (error(401, "Incorrect API key provided", "invalid_api_key"), "auth", None),
    **{f"400 {name}": (given, KINDS.get(name, "invalid_request"), None) for name, given in BAD_REQUESTS.items()},
}


@pytest.mark.parametrize(("answer", "kind", "delay"), LADDER.values(), ids=LADDER)
def test_a_failure_takes_its_step_of_the_ladder(answer: Answer, kind: str, delay: float | None) -> None:
    """[agents 6.1] [providers 2.2] Sent again after the stated wait or after 1 s, or given up at once; no tool runs,
    and it is never a normal end.
    """
    ran: list[str] = []
    with serving(answer) as server, runtime(gpt(server), None, [ada(ran)]) as (opened, _):
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
        with runtime(gpt(server), None, [ada()]) as (opened, board):
            traces = opened.subscribe()
            opened.receive(message("ada: hello", to="ada"))
            assert until(traces, "inference:failed").fields["delay"] == 0.01
            assert until(traces, "inference:completed")
            assert board.next().text == "hello"
        first, second = server.log.rounds()
    assert first.raw == second.raw


def test_a_server_that_is_silent_fails_the_request() -> None:
    """[providers 2.1.7] A first byte that does not come is a timeout on the ladder's first step."""
    with serving(reply(faults=[Hold()])) as server, runtime(gpt(server, timeout=0.3), None, [ada()]) as (opened, _):
        traces = opened.subscribe()
        opened.receive(message("ada: hello", to="ada"))
        failed = until(traces, "inference:failed", *ENDS)
        assert opened.cancel("ada")
    assert (failed.name, failed.fields["kind"], failed.fields["delay"]) == ("inference:failed", "timeout", 1.0)


def test_a_truncated_call_is_never_run() -> None:
    """[providers 2.1.9] The model is told why, in a legal request, and goes on."""
    ran: list[str] = []
    cut = partial_call("weather", '{"city":"Riga","more":"hel')
    with serving(cut, reply("Sorry.")) as server, runtime(gpt(server), None, [ada(ran)]) as (opened, board):
        assert turn(opened, opened.subscribe(), "ada: weather?").name == "inference:completed"
        assert board.next().text == "Sorry."
    _, second = server.log.rounds()
    call, result = second.request["input"][-2:]
    assert (call["call_id"], result["type"]) == (result["call_id"], "function_call_output")
    assert result["output"].startswith("Error: ")
    assert ran == []
    assert second.error is None


def test_reasoning_that_the_limit_cut_does_not_spoil_history() -> None:
    """[providers 2.4] A round of nothing but reasoning is not sent back, since the provider would refuse it."""
    alone = reply(Reasoning(("hm",)), incomplete="max_output_tokens")
    with serving(alone, reply("hello")) as server, runtime(gpt(server), None, [ada()]) as (opened, board):
        traces = opened.subscribe()
        turn(opened, traces, "ada: one")
        assert turn(opened, traces, "ada: two").name == "inference:completed"
        assert board.next().text == "hello"
        assert [one.error for one in server.log.rounds()] == [None, None]


def _echoing(told: ResponsesError) -> list[Answer]:
    faults = (StreamError(told, 3), StreamError(told, 3, True), Failed(told, 3))
    return [told, reply("ok"), *(reply(TEXT, faults=[fault]) for fault in faults), reply("well")]


def test_the_key_is_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """[providers 2.1] A server that gives the key back, at every level of every log: it is in no log, trace, post,
    row, file, health report or repr.
    """
    caplog.set_level(logging.DEBUG)
    for name in ("openai", "httpx2", "httpcore2", "manyminds"):
        caplog.set_level(logging.DEBUG, logger=name)
    told = error(401, f"Incorrect API key provided: {KEY}", "invalid_api_key")
    shown: list[str] = []
    with serving(*_echoing(told)) as server:
        model = gpt(server)
        with runtime(model, tmp_path, [ada()]) as (opened, board):
            opened._opened.system.traces.listen(lambda trace: shown.append(repr(trace)))
            traces = opened.subscribe()
            ends = [turn(opened, traces, f"ada: {n}").name for n in range(6)]
            shown += [repr(post) for post in board.posts]
            shown += [repr(opened.health()), repr(opened), repr(model), repr(vars(model)), repr(dump(store_of(opened)))]
        assert all(KEY in json.dumps(dict(one.headers)) for one in server.log.rounds())
    assert ends == [f"inference:{end}" for end in (
        "exhausted", "completed", "exhausted", "exhausted", "exhausted", "completed",
    )]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert KEY not in "".join(shown)
    assert "***" in "".join(shown)
    assert KEY not in caplog.text
    assert not [record for record in caplog.records if KEY in repr(vars(record))]
