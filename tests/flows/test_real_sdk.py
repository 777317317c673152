"""The whole runtime over the real SDK against the strict stand-in: turns, tools, thinking, the cache, the key."""

import json
import logging
from itertools import pairwise
from pathlib import Path

import pytest

from manyminds.actors.providers.anthropic import Anthropic
from manyminds.actors.traces import Trace
from manyminds.actors.turn_end import HARD_DOWN
from manyminds.messages.errors import ProviderError
from tests.actors.on_threads import dump, message, runtime, store_of
from tests.flows.claude import KEY, Noting, ada, assert_all_extend, claude, turn, until
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


def echoing(told: ApiError) -> list[Answer]:
    """The key given back before a stream and within one, each time followed by an answer; then for ever."""
    within = reply(TEXT, faults=[StreamError(told, 2)])
    return [told, reply("ok"), within, reply("well"), *[told] * HARD_DOWN]


def test_the_key_is_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """[providers 2.1] [issue 4, done 7] A server that gives the key back, at every level of every log: it is in no log,
    trace, post, row, file, line to the operator, health report, error or repr.
    """
    caplog.set_level(logging.DEBUG)
    for name in ("anthropic", "httpx2", "httpcore2", "manyminds"):
        caplog.set_level(logging.DEBUG, logger=name)
    told = api_error(401, f"invalid x-api-key: {KEY}", f"code of {KEY}")
    shown: list[str] = []
    with serving(*echoing(told)) as server:
        model = Noting(claude(server))
        with runtime(model, tmp_path, [ada()]) as (opened, board):
            opened._opened.system.traces.listen(lambda trace: shown.append(repr(trace)))
            traces = opened.subscribe()
            ends = [turn(opened, traces, f"ada: {n}").name for n in range(4 + HARD_DOWN)]
            shown += [repr(post) for post in board.posts]
            shown += [repr(opened.health()), repr(opened), repr(model.inner), repr(vars(model.inner))]
            shown.append(repr(dump(store_of(opened))))
        assert all(KEY in json.dumps(dict(one.headers)) for one in server.log.rounds())
    assert ends == ["inference:exhausted", "inference:completed"] * 2 + ["inference:exhausted"] * HARD_DOWN
    assert len(model.errors) == 2 + HARD_DOWN
    # What was searched is there: the scrubbed text in errors, traces and the operator's file, each library's own lines.
    assert all("***" in error.text and "***" in error.code for error in model.errors)
    assert "***" in "".join(shown)
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert any(b"hard-down" in held and b"***" in held for path, held in files.items() if path.suffix != ".mdb")
    assert {"anthropic", "httpx2", "httpcore2", "manyminds"} <= {one.name.split(".")[0] for one in caplog.records}
    # And the key is not.
    assert KEY not in repr(model.errors) + "".join(shown)
    assert not [path for path, held in files.items() if KEY.encode() in held]
    assert KEY not in caplog.text
    assert not [record for record in caplog.records if KEY in repr(vars(record))]


def test_a_key_that_no_header_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """[providers 2.1] It is named when the provider is made, without being shown: the SDK would show it in its log."""
    for key in ("sk-two\nlines", "sk two words", "sk-\x01", "sk-ключ"):
        with pytest.raises(ProviderError, match=r"ANTHROPIC_API_KEY.* copy it again") as wrong:
            Anthropic(api_key=key)
        monkeypatch.setenv("ANTHROPIC_API_KEY", key)
        with pytest.raises(ProviderError, match="copy it again"):
            Anthropic()
        assert key not in str(wrong.value)
    monkeypatch.setenv("ANTHROPIC_API_KEY", f" {KEY}\n")
    Anthropic()
