"""The runtime with the real Anthropic SDK, end to end, against the strict local server."""

import json
import logging
import queue
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from manyminds.actors.providers.anthropic import Anthropic
from manyminds.actors.runtime import Runtime
from manyminds.actors.spec import Resident
from manyminds.actors.traces import Subscription, Trace
from manyminds.messages.incoming import Author, Incoming
from manyminds.messages.posts import Post
from tests.messages_api.faults import rate_limited
from tests.messages_api.recording import Recorded
from tests.messages_api.replies import Answer, Text, Thinking, ToolUse, reply
from tests.messages_api_tests.sdk import serving

pytestmark = [pytest.mark.socket, pytest.mark.pool]
KEY = "sk-planted-secret-0123456789"


def look(path: str) -> str:
    """Look at a file."""
    return f"{path} holds " + "a lot of words " * 40


def talk(runtime: Runtime, traces: Subscription, text: str, number: int) -> list[Trace]:
    """Say something and wait until the turn is over; what was traced."""
    runtime.receive(Incoming("chat", "#a", Author("z", "zoe"), text, id=f"m{number}", mentions=("ada",)))
    told: list[Trace] = []
    while not told or told[-1].name != "inference:completed":
        told.append(next(traces))
    return told


def unmarked(value: Any) -> Any:
    """A body without its cache markers, which are no change (providers.md 1.6)."""
    inside: Any = value
    if type(value) is dict:
        return {key: unmarked(item) for key, item in inside.items() if key != "cache_control"}
    return [unmarked(item) for item in inside] if type(value) is list else value


def last_answered(recorded: Recorded) -> list[str]:
    """The messages of a request up to its last answered turn, as JSON text without markers."""
    messages: list[Any] = json.loads(recorded.raw)["messages"]
    while messages and messages[-1]["role"] != "assistant":
        messages.pop()
    return [json.dumps(unmarked(message)) for message in messages]


def test_three_turns_with_two_tools_and_thinking(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """[context 6, 2] [providers 3] Every request is accepted, repeats its predecessor, and reads the cache."""
    caplog.set_level(logging.DEBUG)
    answers: list[Answer] = [
        reply(Thinking("both"), Text("I look."), ToolUse("look", {"path": "a"}), ToolUse("look", {"path": "b"})),
        reply(Thinking("seen"), "They hold words."),
        reply("Yes."),
        rate_limited("1"),
        reply("Of course."),
    ]
    posts: queue.Queue[str] = queue.Queue()
    with serving(*answers) as server:
        provider = Anthropic(api_key=KEY, base_url=server.url, timeout=20)
        ada = Resident("ada", "claude-opus-5-5", "You are ada. " * 60, tools=[look])
        with Runtime.open(tmp_path / "room", [ada], provider) as runtime:
            traces = runtime.subscribe(10_000)

            @runtime.publisher("chat")
            def publish(post: Post) -> str:
                posts.put(post.text)
                return post.key

            told = [talk(runtime, traces, text, number) for number, text in enumerate(("look", "sure?", "really?"))]
            said = [posts.get(timeout=30) for _ in range(4)]
        rounds = server.log.rounds()
    assert said == ["I look.", "They hold words.", "Yes.", "Of course."]
    assert [recorded.error.status if recorded.error else None for recorded in rounds] == [None, None, None, 429, None]
    for before, after in pairwise(rounds):
        assert before.member("tools") == after.member("tools")
        assert unmarked(json.loads(before.raw)["system"]) == unmarked(json.loads(after.raw)["system"])
        kept = last_answered(before)
        assert [json.dumps(unmarked(m)) for m in json.loads(after.raw)["messages"]][: len(kept)] == kept
    answered = [recorded.message for recorded in rounds[1:] if recorded.message is not None]
    assert all(message["usage"]["cache_read_input_tokens"] > 0 for message in answered)
    everything = caplog.text + repr(told) + repr(provider)
    assert KEY not in everything
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path
