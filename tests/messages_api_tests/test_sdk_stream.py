"""The real SDK against the stand-in where all goes well: streams, tools, thinking, changes, cache, counts."""

import asyncio
import json
from itertools import pairwise
from typing import Any

import pytest

from tests.messages_api.betas import BINDING, INLINE_TOOLS
from tests.messages_api.recording import extends
from tests.messages_api.replies import Redacted, Text, Thinking, ToolUse, Whole, always, refusal, reply
from tests.messages_api.wire import JsonObject
from tests.messages_api_tests.building import MARK, MODEL, add, body, remove, result, s, searched, t, tool, u
from tests.messages_api_tests.sdk import client, serving

pytestmark = pytest.mark.socket
BETAS = [INLINE_TOOLS, BINDING]


async def streamed(sdk: Any, request: JsonObject, betas: list[str] | None = None) -> tuple[list[Any], Any]:
    """The events of a stream and the message they add up to."""
    async with sdk.beta.messages.stream(**request, betas=betas or BETAS) as stream:
        events = [event async for event in stream]
        return events, await stream.get_final_message()


def content(message: Any) -> list[JsonObject]:
    """A reply's blocks as they go back."""
    return [block.to_dict() for block in message.content]


def test_a_stream_of_every_kind_of_block() -> None:
    """[providers 3.3] the SDK puts together what was scripted, however it was cut."""
    given = reply(
        Thinking("a long thought", cut=3),
        Redacted(),
        Text("hello, wörld", cut=1),
        ToolUse("look", {"path": "a.txt", "deep": {"x": [1, 2]}}, id="c1", cut=2),
    )

    async def talk() -> Any:
        with serving(given) as server:
            async with client(server.url) as sdk:
                return await streamed(sdk, body(tools=[tool()]))

    events, message = asyncio.run(talk())
    thinking, redacted, text, call = content(message)
    assert (thinking["thinking"], redacted["type"], text["text"]) == (
        "a long thought",
        "redacted_thinking",
        "hello, wörld",
    )
    assert call == {"type": "tool_use", "id": "c1", "name": "look", "input": {"path": "a.txt", "deep": {"x": [1, 2]}}}
    assert message.stop_reason == "tool_use"
    assert [event.text for event in events if event.type == "text"] == list("hello, wörld")
    assert "ping" not in {event.type for event in events}
    assert message.model == MODEL


def test_a_plain_reply_and_keep_alive() -> None:
    """[providers 3.4] the same message as one JSON, over one connection, with a request id."""

    async def talk() -> Any:
        with serving(script=always("hi")) as server:
            async with client(server.url) as sdk:
                made = [await sdk.messages.create(**body()) for _ in range(3)]
                return made, [one.request_id for one in server.log.all()]

    made, ids = asyncio.run(talk())
    assert [message.content[0].text for message in made] == ["hi"] * 3
    assert [message._request_id for message in made] == ids == ["req_000001", "req_000002", "req_000003"]


def test_what_is_recorded() -> None:
    """[providers 3.2] raw bytes, parsed body, betas, headers, the answer; the query string is not part of the path."""

    async def talk() -> Any:
        with serving(script=always("hi")) as server:
            async with client(server.url) as sdk:
                await sdk.beta.messages.create(**body(), betas=BETAS, extra_query={"beta": "true"})
                return server.log.all()[0]

    one = asyncio.run(talk())
    assert json.loads(one.raw) == one.request == body()
    assert one.betas == set(BETAS)
    assert one.headers["authorization"] == "Bearer test"
    assert one.path == "/v1/messages"
    assert one.message["content"] == [{"type": "text", "text": "hi"}]


def test_a_conversation_with_changes_keeps_thinking_and_cache() -> None:
    """[context 6.24, 6.28] tools declared in the middle: each request extends the one before, reads all it wrote."""
    script = [
        reply(Thinking("which?"), ToolUse("look", {"a": 1})),
        reply(Thinking("so"), "found"),
        reply(Thinking("now"), ToolUse("write", {"b": 2})),
        reply("done"),
    ]

    async def talk() -> Any:
        with serving(*script) as server:
            async with client(server.url) as sdk:
                messages: list[JsonObject] = []
                replies: list[Any] = []

                async def turn(*said: JsonObject) -> None:
                    messages.extend(said)
                    request = body(*messages, tools=[tool()], system=[t("be brief", cache_control=MARK)])
                    _, message = await streamed(sdk, {**request, "cache_control": MARK})
                    replies.append(message)
                    messages.append({"role": "assistant", "content": content(message)})

                await turn(u("q1"))
                await turn(u([result(replies[-1].content[1].id)]), s("note", add(tool("write"))))
                await turn(u("q2"), s(remove("look")))
                await turn(u([result(replies[-1].content[1].id)]))
                return replies, server.log.rounds()

    replies, rounds = asyncio.run(talk())
    assert all(extends(before, after) for before, after in pairwise(rounds))
    assert all(message.input_transformations == [] for message in replies)
    read = [message.usage.cache_read_input_tokens for message in replies]
    written = [message.usage.cache_creation_input_tokens for message in replies]
    assert read[0] == 0
    assert read[1:] == [before + more for before, more in zip(read, written, strict=True)][:-1]
    assert all(message.usage.input_tokens == 0 for message in replies)


def test_dropped_thinking_is_reported_at_the_start() -> None:
    """[providers 1.6] `drop_block` over a stream: final in `message_start`."""
    drop: JsonObject = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}

    async def talk() -> Any:
        with serving(script=always(Thinking("hm"), "so")) as server:
            async with client(server.url) as sdk:
                _, first = await streamed(sdk, body(u("q1"), system="a"))
                later = body(u("q1"), {"role": "assistant", "content": content(first)}, u("q2"), system="b")
                return await streamed(sdk, {**later, "thinking": drop})

    events, message = asyncio.run(talk())
    starts = [event for event in events if event.type == "message_start"]
    wanted = [{"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "prefix_binding_mismatch"}]
    assert [one.to_dict() for one in starts[0].message.input_transformations] == wanted
    assert message.content[0].type == "thinking"


def test_stop_reasons_and_kinds_that_pass_through() -> None:
    """[providers 2.1.11, 2.2] a refusal with its category, a paused turn, an unknown block and stop reason."""
    unknown = {"type": "hologram", "beam": 3}
    script = [
        refusal("cyber"),
        reply(*(Whole(block) for block in searched()), stop_reason="pause_turn"),
        reply(Whole(unknown), stop_reason="bored"),
    ]

    async def talk() -> Any:
        with serving(*script) as server:
            async with client(server.url) as sdk:
                refused = (await streamed(sdk, body()))[1]
                paused = (await streamed(sdk, body()))[1]
                again = body(u(), {"role": "assistant", "content": content(paused)})
                return refused, paused, (await streamed(sdk, again))[1]

    refused, paused, odd = asyncio.run(talk())
    assert (refused.stop_reason, refused.stop_details.category, refused.content) == ("refusal", "cyber", [])
    assert (paused.stop_reason, content(paused)) == ("pause_turn", searched())
    assert (odd.stop_reason, content(odd)) == ("bored", [unknown])


def test_count_tokens() -> None:
    """[providers 2.1.14] its own path and beta; the number that usage adds up to."""

    async def talk() -> Any:
        with serving(script=always("hi")) as server:
            async with client(server.url) as sdk:
                request = body(u("question"), s(add(tool("late"))), tools=[tool()])
                message = await sdk.beta.messages.create(**request, betas=BETAS)
                del request["max_tokens"]
                counted = await sdk.beta.messages.count_tokens(**request, betas=BETAS)
                return counted.input_tokens, message.usage.input_tokens, server.log.all()[-1]

    counted, used, recorded = asyncio.run(talk())
    assert counted == used
    assert recorded.counting
    assert recorded.betas == {*BETAS, "token-counting-2024-11-01"}


def test_many_at_once() -> None:
    """[providers 3] one thread a connection; every reply goes to whom it belongs."""

    async def talk() -> Any:
        with serving(script=lambda recorded: reply(recorded.request["messages"][0]["content"])) as server:
            async with client(server.url) as sdk:
                return await asyncio.gather(*(sdk.messages.create(**body(u(f"q{n}"))) for n in range(24)))

    assert [message.content[0].text for message in asyncio.run(talk())] == [f"q{n}" for n in range(24)]


def test_the_ga_method_passes_changes_through() -> None:
    """[providers 1.2] unknown blocks untouched, the beta as an extra header."""

    async def talk() -> Any:
        with serving(script=always("hi")) as server:
            async with client(server.url) as sdk:
                given: Any = body(u(), s(add(tool("late"))))
                await sdk.messages.create(**given, extra_headers={"anthropic-beta": INLINE_TOOLS})
                return server.log.all()[0]

    assert asyncio.run(talk()).request["messages"][1] == s(add(tool("late")))
