"""The stand-in whole: what the real SDK makes of its streams, its cache, its faults, and the command."""

import asyncio
import json
import signal
import subprocess
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.messages_api.faults import Hold
from tests.messages_api.recording import Recorded
from tests.messages_api.wire import JsonObject
from tests.responses_api.__main__ import FAULTS, options
from tests.responses_api.compose import compose
from tests.responses_api.frames import response_frames
from tests.responses_api.models import Model, table
from tests.responses_api.replies import (
    Answer,
    Call,
    Queue,
    Reasoning,
    Refusal,
    Reply,
    Text,
    Whole,
    always,
    partial_call,
    reply,
)
from tests.responses_api.server import ResponsesServer, extends
from tests.responses_api.service import Service

ROOT = Path(__file__).parents[2]
MODELS = table(Model("thinks", cache_minimum=0, cache_step=1), Model("coarse", True, True, 100, 64))
BODY: JsonObject = {"model": "thinks", "input": [{"role": "user", "content": "hi"}]}
KEYED = {"authorization": "Bearer k"}


def client(url: str, timeout: float = 5) -> AbstractAsyncContextManager[Any]:
    """A client of it; untyped, because these tests send what its types would not let through. `timeout` in seconds."""
    return openai.AsyncOpenAI(api_key="test", base_url=url, max_retries=0, timeout=timeout)


def ask(service: Service, request: JsonObject | bytes, headers: dict[str, str] = KEYED) -> tuple[int, JsonObject]:
    """(status, body) of the answer; a reply counts as begun."""
    raw = request if isinstance(request, bytes) else json.dumps(request).encode()
    answer = service.answer(service.log.open("/v1/responses", headers, raw))
    answer.begin()
    return answer.status, answer.body


def read_of(answered: tuple[int, JsonObject]) -> int:
    """What a reply read from the cache."""
    assert answered[0] == 200, answered
    return int(answered[1]["usage"]["input_tokens_details"]["cached_tokens"])


def test_the_events_of_a_stream() -> None:
    """The order of a response's events, numbered; every one is of a kind that the SDK types."""
    service = Service(models=MODELS)
    thought = (Reasoning(("a", "b")), Reasoning(plain="xy", cut=1))
    given = reply(*thought, Text("hi", cut=1), Refusal("no"), Call("look", "{}"))
    plan = service._cache.look_up(BODY, MODELS["thinks"])
    frames = list(response_frames(*compose(given, BODY, service.new_id, plan)))
    assert [frame.data["sequence_number"] for frame in frames] == list(range(len(frames)))
    item = ["output_item.added", "output_item.done"]
    part = ["content_part.added", "content_part.done"]
    summary = [f"reasoning_summary_{one}" for one in ("part.added", "text.delta", "text.done", "part.done")]
    assert [frame.event.removeprefix("response.") for frame in frames] == [
        "created", "in_progress",
        item[0], *summary, *summary, item[1],
        item[0], "reasoning_text.delta", "reasoning_text.delta", "reasoning_text.done", item[1],
        item[0], part[0], "output_text.delta", "output_text.delta", "output_text.done", part[1], item[1],
        item[0], part[0], "refusal.delta", "refusal.done", part[1], item[1],
        item[0], "function_call_arguments.delta", "function_call_arguments.done", item[1],
        "completed",
    ]
    from openai.types.responses import ResponseStreamEvent
    from pydantic import TypeAdapter

    adapter: Any = TypeAdapter(ResponseStreamEvent)
    for frame in frames:
        adapter.validate_python(frame.data)


@pytest.mark.socket
def test_the_sdks_own_reading() -> None:
    """Streamed and plain alike: the SDK's final response holds what the script said."""
    said = (Reasoning(("hm",), cut=1), Text("hi there", cut=2), Call("look", {"at": "ü"}, cut=3))

    async def go(url: str) -> tuple[Any, Any]:
        async with client(url) as sdk:
            plain = await sdk.responses.create(**BODY)
            async with sdk.responses.stream(**BODY) as stream:
                async for _ in stream:
                    pass
                return plain, await stream.get_final_response()

    with ResponsesServer(Service(always(*said), MODELS)) as server:
        for made in asyncio.run(go(server.base_url)):
            assert made.output_text == "hi there"
            assert [one.type for one in made.output] == ["reasoning", "message", "function_call"]
            assert made.output[2].arguments == '{"at": "ü"}'


def test_what_was_said_is_legal_when_it_comes_back() -> None:
    """A whole response goes back as it is, reasoning included, and so does an item of the provider's own."""
    search = {"type": "web_search_call", "id": "w", "status": "completed"}
    service = Service(Queue([reply(Reasoning(("hm",)), Whole(search), Call("look")), reply("ok")]), MODELS)
    status, first = ask(service, BODY)
    out = {"type": "function_call_output", "call_id": first["output"][2]["call_id"], "output": "a tree"}
    assert (status, ask(service, {**BODY, "input": [*BODY["input"], *first["output"], out]})[0]) == (200, 200)
    assert extends(*service.log.rounds())


def test_extends_is_about_bytes() -> None:
    """A later request has the earlier one's tools and instructions and begins with its items."""
    def recorded(**fields: Any) -> Recorded:
        return Recorded(1, "/v1/responses", {}, json.dumps({**BODY, **fields}).encode())

    hi = BODY["input"]
    assert extends(recorded(), recorded(input=[*hi, *hi]))
    assert not extends(recorded(), recorded(instructions="a"))
    assert not extends(recorded(), recorded(tools=[]))
    assert not extends(recorded(input=[*hi, *hi]), recorded())


def test_a_prefix_is_read_again() -> None:
    """[providers 2.4] Any run of whole pieces that a begun request had, from the first on; other settings are another
    prompt.
    """
    service = Service(always("ok"), MODELS)
    longer = {**BODY, "input": [*BODY["input"], {"role": "user", "content": "and more"}]}
    short = ask(service, BODY)
    assert read_of(short) == 0
    whole = ask(service, longer)[1]["usage"]
    assert whole["input_tokens_details"]["cached_tokens"] == short[1]["usage"]["input_tokens"] > 0
    assert read_of(ask(service, longer)) == whole["input_tokens"]
    for other in ({"instructions": "x"}, {"reasoning": {"effort": "low"}}, {"prompt_cache_key": "k"}):
        assert read_of(ask(service, {**longer, **other})) == 0


def test_reads_begin_at_a_minimum_and_go_in_steps() -> None:
    """[providers 2.4] Below the minimum nothing is read; what is written is told where the model does."""
    service = Service(always("ok"), MODELS)
    for letters, read in ((300, 0), (800, 192)):
        given = {"model": "coarse", "input": "x" * letters}
        first = ask(service, given)[1]["usage"]
        assert first["input_tokens_details"]["cache_write_tokens"] == first["input_tokens"]
        assert read_of(ask(service, given)) == read


def test_what_is_no_request_is_refused() -> None:
    """Before the validator: no key, no JSON, no object. A keyless server takes a request without one."""
    service = Service(models=MODELS)
    assert ask(service, BODY, {})[0] == 401
    assert ask(service, b"{")[0] == 400
    assert ask(service, b"[]")[0] == 400
    assert ask(Service(models=MODELS, keyed=False), BODY, {})[0] == 200
    assert service.log.rounds()[0].error is not None


def test_a_used_up_queue_says_so() -> None:
    """A test that asks more often than it scripted fails by name."""
    status, given = ask(Service(Queue(), MODELS), BODY)
    assert (status, given["error"]["message"]) == (500, "the script has no answer left")


def test_an_incomplete_reply() -> None:
    """Its last item is incomplete, and the response says why."""
    made = ask(Service(Queue([partial_call("look", '{"a')]), MODELS), BODY)[1]
    assert (made["status"], made["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert (made["output"][0]["status"], made["output"][0]["arguments"]) == ("incomplete", '{"a')


@pytest.mark.socket
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/responses"])
def test_other_paths_are_not_found(path: str) -> None:
    """In this API's shape of an error."""
    async def go(url: str) -> Any:
        async with client(url) as sdk:
            with pytest.raises(openai.NotFoundError) as caught:
                await sdk.post(path.removeprefix("/v1"), cast_to=object, body={})
            return caught.value

    with ResponsesServer(Service(models=MODELS)) as server:
        base = server.base_url if path.startswith("/v1") else server.url
        assert asyncio.run(go(base)).type == "invalid_request_error"


@pytest.mark.socket
@pytest.mark.process
def test_the_command() -> None:
    """`python -m tests.responses_api`: the address first, the faults in turn, a slow one released, then replies."""
    arguments = ("--fault", "429", "--fault", "slow", "--model", "mine", "--reply", "hello", "--no-key")
    command = [sys.executable, "-W", "error", "-m", "tests.responses_api", *arguments]

    async def talk(url: str) -> list[str]:
        async with client(url, timeout=20) as sdk:
            seen: list[str] = []
            for _ in range(3):
                try:
                    seen.append((await sdk.responses.create(model="mine", input="hi")).output_text)
                except openai.RateLimitError as error:
                    seen.append(str(error.code))
            return seen

    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdin is not None
            url = process.stdout.readline().strip()
            process.stdin.write("\n")
            process.stdin.flush()
            assert asyncio.run(talk(url)) == ["rate_limit_exceeded", "ok", "hello"]
        finally:
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (0, "")


def test_every_fault_of_the_command_is_an_answer() -> None:
    """By its name in the help."""
    for name, make in FAULTS.items():
        assert options(["--fault", name]).fault == [name]
        made: Answer = make()
        assert (made.status >= 400) if not isinstance(made, Reply) else (made.items or made.faults)
    slow = FAULTS["slow"]()
    assert isinstance(slow, Reply)
    assert isinstance(slow.faults[0], Hold)
