"""The whole runtime over the real SDK against the strict stand-in: turns, tools, thinking, the cache, the key."""

import json
import logging
from itertools import pairwise
from pathlib import Path

import pytest

from manyminds.actors.traces import Trace
from tests.actors.on_threads import dump, message, runtime, store_of
from tests.flows.claude import KEY, ada, assert_all_extend, claude, turn, until
from tests.messages_api.errors import ApiError, api_error
from tests.messages_api.faults import StreamError
from tests.messages_api.replies import Answer, Text, Thinking, ToolUse, reply
from tests.messages_api_tests.sdk import serving

pytestmark = [pytest.mark.socket, pytest.mark.pool, pytest.mark.timeout(120)]
TEXT = Text("hello", cut=1)


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
