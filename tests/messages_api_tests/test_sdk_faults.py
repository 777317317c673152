"""The real SDK against the stand-in where things go wrong: every refusal and every fault as the SDK shows it."""

import asyncio
import socket
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic.types import AvailableToolsLimitExceededError, ToolNameConflictError, ToolReferenceUnresolvedError

from tests.messages_api.betas import INLINE_TOOLS
from tests.messages_api.errors import ApiError, api_error
from tests.messages_api.faults import (
    BAD_REQUESTS,
    Cut,
    EmptyStream,
    EndEarly,
    Fault,
    Gate,
    Hold,
    StreamError,
    overloaded,
    rate_limited,
    server_error,
    spend_limited,
)
from tests.messages_api.replies import Answer, Text, Thinking, ToolUse, always, partial_call, reply
from tests.messages_api.server import MessagesServer
from tests.messages_api.wire import JsonObject
from tests.messages_api_tests.building import a, add, body, s, tool, u
from tests.messages_api_tests.sdk import client, serving

pytestmark = pytest.mark.socket


async def _stream(server: MessagesServer, request: JsonObject, seen: list[str], timeout: float = 5) -> Any:
    async with (
        client(server.url, timeout) as sdk,
        sdk.beta.messages.stream(**request, betas=[INLINE_TOOLS]) as stream,
    ):
        async for event in stream:
            seen.append(event.type)  # noqa: PERF401 (what came before an exception counts)
        return stream.current_message_snapshot


def streamed(answer: Answer, request: JsonObject | None = None) -> tuple[Any, list[str]]:
    """The outcome of one streamed request: the snapshot, or the exception; and the events seen before."""
    seen: list[str] = []
    with serving(answer) as server:
        try:
            return asyncio.run(_stream(server, request or body(tools=[tool()]), seen)), seen
        except (anthropic.APIError, httpx2.HTTPError, AssertionError, ValueError) as error:
            return error, seen


def broken(*faults: Fault) -> tuple[Any, list[str]]:
    """The outcome of a reply of 12 deltas with these faults."""
    return streamed(reply(Text("hello, world", cut=1), faults=faults))


STATUSES: dict[str, tuple[ApiError, type[Exception], int, str, str | None]] = {
    "400": (BAD_REQUESTS["extra-input"], anthropic.BadRequestError, 400, "invalid_request_error", None),
    "unknown tool": (
        BAD_REQUESTS["unknown-tool"],
        ToolReferenceUnresolvedError,
        400,
        "invalid_request_error",
        "tool_reference_unresolved",
    ),
    "name conflict": (
        BAD_REQUESTS["name-conflict"],
        ToolNameConflictError,
        400,
        "invalid_request_error",
        "tool_name_conflict",
    ),
    "too many tools": (
        BAD_REQUESTS["too-many-tools"],
        AvailableToolsLimitExceededError,
        400,
        "invalid_request_error",
        "available_tools_limit_exceeded",
    ),
    "thinking": (BAD_REQUESTS["thinking-binding"], anthropic.BadRequestError, 400, "invalid_request_error", None),
    "401": (api_error(401, "no"), anthropic.AuthenticationError, 401, "authentication_error", None),
    "403": (api_error(403, "no"), anthropic.PermissionDeniedError, 403, "permission_error", None),
    "413": (api_error(413, "no"), anthropic.ContentTooLargeError, 413, "request_too_large", None),
    "429": (rate_limited(), anthropic.RateLimitError, 429, "rate_limit_error", None),
    "spent": (spend_limited(), anthropic.RateLimitError, 429, "rate_limit_error", "enforced_spend_limit_reached"),
    "500": (server_error(), anthropic.InternalServerError, 500, "api_error", None),
    "503": (server_error(503), anthropic.ServiceUnavailableError, 503, "api_error", None),
    "504": (server_error(504), anthropic.GatewayTimeoutError, 504, "timeout_error", None),
    "529": (overloaded(), anthropic.OverloadedError, 529, "overloaded_error", None),
}


@pytest.mark.parametrize("case", STATUSES)
def test_an_error_before_the_stream(case: str) -> None:
    """[providers 1.5, 2.1.4] class, status, type, code and message as the SDK gives them."""
    answer, kind, status, name, code = STATUSES[case]
    error, seen = streamed(answer)
    assert isinstance(error, kind)
    assert isinstance(error, anthropic.APIStatusError)
    assert (error.status_code, error.type, error.error_code) == (status, name, code)
    assert error.api_message == answer.message
    assert error.request_id == "req_000001"
    assert seen == []


def test_retry_after() -> None:
    """[providers 2.1.3] the header reaches whoever owns the policy."""
    error, _ = streamed(rate_limited("2", x_should_retry="true"))
    assert (error.response.headers["retry-after"], error.response.headers["x-should-retry"]) == ("2", "true")


def test_the_sdk_retries_by_itself_unless_told_not_to() -> None:
    """[providers 2.1.3] why clients here have `max_retries=0`: the attempts would be the SDK's own."""

    async def talk(server: MessagesServer) -> None:
        async with client(server.url, retries=1) as sdk:
            await sdk.messages.create(**body())

    with serving(overloaded(retry_after_ms="1"), reply("ok")) as server:
        asyncio.run(talk(server))
        assert len(server.log.all()) == 2


REFUSED: dict[str, tuple[JsonObject, str]] = {
    "misplaced": (body(u(), s(add(tool("b"))), u()), "role 'system' must precede an 'assistant' message or end"),
    "first": (body(s(), u()), "messages.0: use the top-level 'system' parameter"),
    "unresolved": (body(u(), s(add("ghost"))), "tool_addition/tool_removal references unknown tool 'ghost'"),
    "model": ({**body(u(), s()), "model": "claude-sonnet-4-6"}, "role 'system' is not supported on this model"),
    "prefill": (body(u(), a()), "does not support assistant message prefill"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_validator_refuses(case: str) -> None:
    """[providers 1.5] the same exceptions, from real requests."""
    request, message = REFUSED[case]
    error, _ = streamed(reply("ok"), request)
    assert isinstance(error, anthropic.BadRequestError)
    assert message in str(error.api_message)
    assert isinstance(error, ToolReferenceUnresolvedError) is (case == "unresolved")


def test_a_clean_end_without_message_stop_raises_nothing() -> None:
    """[providers 2.1.6] the snapshot has no stop reason, or all of it, but the end was never said."""
    for after, reason in ((4, None), (None, "end_turn")):
        snapshot, seen = broken(EndEarly(after))
        assert snapshot.stop_reason == reason
        assert "message_stop" not in seen
        assert "message_start" in seen


def test_a_cut_socket_raises_the_transports_own_error() -> None:
    """[providers 2.1.7] in the middle of a chunk: raw, not wrapped; what came before was seen."""
    error, seen = broken(Cut(5))
    assert isinstance(error, httpx2.RemoteProtocolError)
    assert not isinstance(error, anthropic.APIError)
    assert seen.count("content_block_delta") == 2


def test_a_cut_before_the_response_is_a_connection_error() -> None:
    """[providers 2.1.7] before the head: wrapped."""
    error, seen = broken(Cut(None))
    assert isinstance(error, anthropic.APIConnectionError)
    assert not isinstance(error, anthropic.APITimeoutError)
    assert seen == []


ERRORS: dict[str, tuple[ApiError, str, str | None]] = {
    "overloaded": (overloaded(), "overloaded_error", None),
    "rate limit": (rate_limited(), "rate_limit_error", None),
    "server": (server_error(), "api_error", None),
    "refused change": (BAD_REQUESTS["unknown-tool"], "invalid_request_error", "tool_reference_unresolved"),
}


@pytest.mark.parametrize("after", [0, 1, 6])
@pytest.mark.parametrize("case", ERRORS)
def test_an_error_inside_the_stream_has_status_200(case: str, after: int) -> None:
    """[providers 2.1.5] told apart by type and code alone."""
    given, name, code = ERRORS[case]
    error, seen = broken(StreamError(given, after))
    assert isinstance(error, anthropic.APIStatusError)
    assert (error.status_code, error.type, error.error_code) == (200, name, code)
    assert ("message_start" in seen) is (after > 0)


def test_an_empty_stream() -> None:
    """[providers 2.1.8] a 200 with nothing in it: `get_final_message` has nothing to give."""

    async def talk(server: MessagesServer) -> None:
        async with client(server.url) as sdk, sdk.messages.stream(**body()) as stream:
            await stream.get_final_message()

    with serving(reply("x", faults=[EmptyStream()])) as server, pytest.raises(AssertionError):
        asyncio.run(talk(server))


def test_partial_tool_json_looks_complete() -> None:
    """[providers 2.1.9] cut by max_tokens: the snapshot shows an input that was never finished."""
    message, _ = streamed(partial_call("look", '{"path":"a.txt","body":"hel', cut=4))
    assert message.stop_reason == "max_tokens"
    assert message.content[0].input == {"path": "a.txt"}


def test_invalid_tool_json_raises_inside_the_iteration() -> None:
    """[providers 2.1.9] text that is no JSON."""
    error, seen = streamed(reply(ToolUse("look", '{"path":oops}')))
    assert isinstance(error, ValueError)
    assert "message_start" in seen


@pytest.mark.parametrize("after", [None, 0, 3])
def test_a_held_byte_comes_when_the_gate_opens(after: int | None) -> None:
    """[providers 3.6] before the head, before the first frame, in the middle; opened by an event, not by time."""
    gate = Gate()

    async def talk(server: MessagesServer) -> list[str]:
        seen: list[str] = []
        task = asyncio.create_task(_stream(server, body(), seen))
        await asyncio.to_thread(gate.reached.wait)
        assert "message_stop" not in seen
        assert ("message_start" in seen) <= (after == 3)
        gate.open()
        await task
        return seen

    with serving(reply(Text("hello", cut=1), faults=[Hold(gate, after)])) as server:
        assert asyncio.run(talk(server))[-1] == "message_stop"


@pytest.mark.parametrize(
    ("after", "seconds", "kind"), [(None, 0.2, anthropic.APITimeoutError), (2, 1.0, httpx2.ReadTimeout)]
)
def test_a_read_timeout_is_wrapped_only_before_the_response(
    after: int | None, seconds: float, kind: type[Exception]
) -> None:
    """[providers 2.1.7] the client gives up first; closing opens the gate."""
    with serving(reply("x", faults=[Hold(after=after)])) as server, pytest.raises(kind):
        asyncio.run(_stream(server, body(), [], seconds))


def test_a_cancelled_stream_closes_cleanly() -> None:
    """[providers 2.1.15] nothing is left open, and the server takes it for a client that left."""
    gate = Gate()

    async def talk(server: MessagesServer) -> None:
        task = asyncio.create_task(_stream(server, body(), []))
        await asyncio.to_thread(gate.reached.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with serving(reply(Thinking("x", cut=1), faults=[Hold(gate, 2)])) as server:
        asyncio.run(talk(server))


def test_close_ends_whoever_waits() -> None:
    """[providers 3.6] a held reply, an idle connection: `close` returns and the client is told."""

    async def talk(server: MessagesServer) -> Any:
        async with client(server.url) as sdk:
            await sdk.messages.create(**body())
            task = asyncio.create_task(sdk.messages.create(**body()))
            await asyncio.to_thread(gate.reached.wait)
            await asyncio.to_thread(server.close)
            with pytest.raises(anthropic.APIConnectionError):
                await task

    gate = Gate()
    server = serving(reply("one"), reply("two", faults=[Hold(gate)]))
    asyncio.run(talk(server))


def test_a_script_that_raises_is_not_hidden() -> None:
    """[house rule] the client sees a cut connection, `close` raises what the script raised."""

    def script(recorded: object) -> Answer:
        raise LookupError("no such answer")

    async def talk(server: MessagesServer) -> None:
        async with client(server.url) as sdk:
            with pytest.raises(anthropic.APIConnectionError):
                await sdk.messages.create(**body())

    server = serving(script=script)
    asyncio.run(talk(server))
    with pytest.raises(LookupError, match="no such answer"):
        server.close()


def raw_exchange(server: MessagesServer, sent: bytes) -> bytes:
    """What comes back for these bytes, until the server closes."""
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


RAW: dict[str, tuple[bytes, bytes]] = {
    "get": (b"GET /v1/messages HTTP/1.1\r\nHost: x\r\n\r\n", b"405 "),
    "another path": (b"POST /v1/complete HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}", b"404 "),
    "no length": (b"POST /v1/messages HTTP/1.1\r\nHost: x\r\n\r\n", b"411 "),
    "too long": (b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 33554433\r\n\r\n", b"413 "),
    "ended early": (b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{}", b"400 "),
}


@pytest.mark.parametrize("case", RAW)
def test_http_that_no_sdk_sends(case: str) -> None:
    """[providers 3.1] the right status, in the provider's JSON."""
    sent, status = RAW[case]
    with serving(script=always("ok")) as server:
        found = raw_exchange(server, sent)
    head, _, text = found.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 " + status)
    assert text.startswith(b'{"type":"error","error":{"type":')


def test_head_and_first_frame_leave_together() -> None:
    """[providers 3] in one write, which is what makes a small reply quick."""
    request = b'{"model":"claude-opus-5","max_tokens":5,"stream":true,"messages":[{"role":"user","content":"x"}]}'
    head = (
        b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nx-api-key: k\r\nanthropic-version: 1\r\n"
        b"content-type: application/json\r\nContent-Length: %d\r\n\r\n" % len(request)
    )
    gate = Gate()
    with serving(reply("x", faults=[Hold(gate, 1)])) as server:
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=5) as connection:
            connection.sendall(head + request)
            assert b"event: message_start" in connection.recv(65536)
            gate.open()
