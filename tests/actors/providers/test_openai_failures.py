"""Every way in which a round of OpenAI fails, over the real SDK and a socket, and the record that it ends in."""

import asyncio

import pytest

from manyminds.actors.providers.openai import OpenAI
from manyminds.messages.request import Done, Event, RoundFailed
from tests.actors.providers.openai_rounds import HELLO, KEY, error_of, one_round, provider, serving
from tests.messages_api.faults import Cut, EmptyStream, EndEarly, Hold
from tests.responses_api import replies
from tests.responses_api.errors import ResponsesError, error, invalid
from tests.responses_api.faults import (
    BAD_REQUESTS,
    Failed,
    Fault,
    StreamError,
    out_of_quota,
    overloaded,
    rate_limited,
    server_error,
)
from tests.responses_api.replies import Answer, Call, reply

pytestmark = pytest.mark.socket

KINDS = {
    "too-long": "context_length", "no-additional-tools": "system_change_refused",
    "no-developer-role": "system_change_refused", "unverified-reasoning": "thinking_binding",
    "reasoning-alone": "thinking_binding",
}
FAILURES: dict[str, tuple[ResponsesError, tuple[str, bool, float | None]]] = {
    **{name: (given, (KINDS.get(name, "invalid_request"), False, None)) for name, given in BAD_REQUESTS.items()},
    "a local server's too long": (
        ResponsesError(400, "exceed_context_size_error", "the request exceeds the available context size", "400"),
        ("context_length", False, None)),
    "an item that is not kept": (
        error(404, "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."),
        ("thinking_binding", False, None)),
    "policy": (invalid("not allowed", code="bio_policy"), ("refusal", False, None)),
    "401": (error(401, "Incorrect API key", "invalid_api_key"), ("auth", False, None)),
    "403": (error(403, "Country not supported"), ("auth", False, None)),
    "404": (error(404, "The model 'x' does not exist.", "model_not_found"), ("invalid_request", False, None)),
    "409": (error(409, "conflict"), ("server", True, None)),
    "413": (error(413, "too large"), ("context_length", False, None)),
    "422": (error(422, "unprocessable"), ("invalid_request", False, None)),
    "429": (rate_limited("7"), ("rate_limit", True, 7.0)),
    "429 in milliseconds": (rate_limited("7", retry_after_ms="1500"), ("rate_limit", True, 1.5)),
    "429 without a wait": (rate_limited(None), ("rate_limit", True, None)),
    "429 that is not to be retried": (rate_limited("7", x_should_retry="false"), ("rate_limit", False, 7.0)),
    "quota": (out_of_quota(), ("rate_limit", False, None)),
    "500": (server_error(), ("server", True, None)),
    "500 about context": (error(500, "maximum context length", None), ("server", True, None)),
    "503": (overloaded(), ("overloaded", True, None)),
    "503 without a code": (error(503, "Loading model"), ("overloaded", True, None)),
    "504": (error(504, "too slow"), ("timeout", True, None)),
}


@pytest.mark.parametrize(("given", "expected"), FAILURES.values(), ids=FAILURES)
def test_an_error_before_the_stream(given: ResponsesError, expected: tuple[str, bool, float | None]) -> None:
    """[providers 2.2] Kind by code, then status, then words; the stated wait; status and id are kept."""
    found = error_of(given)
    assert (found.kind, found.retryable, found.retry_after) == expected
    assert (found.http_status, found.request_id, found.before_send) == (given.status, "req_000001", False)
    assert given.message in found.text


def test_what_to_do_where_nothing_is_found() -> None:
    """A 404 names both of its likely causes."""
    text = error_of(FAILURES["404"][0]).text
    assert "check the model's name" in text
    assert "Responses API" in text


HELLO_CUT = replies.Text("abc", cut=1)
STREAMED: dict[str, tuple[ResponsesError, str, bool]] = {
    "server": (server_error(), "server", True),
    "nothing known": (error(500, "strange"), "server", True),
    "rate limit": (rate_limited(), "rate_limit", True),
    "quota": (out_of_quota(), "rate_limit", False),
    "overloaded": (overloaded(), "overloaded", True),
    "too long": (BAD_REQUESTS["too-long"], "context_length", False),
    "invalid prompt": (invalid("flagged", code="invalid_prompt"), "invalid_request", False),
    "image": (invalid("bad image", code="image_parse_error"), "invalid_request", False),
    "additional tools": (BAD_REQUESTS["no-additional-tools"], "system_change_refused", False),
    "reasoning": (BAD_REQUESTS["unverified-reasoning"], "thinking_binding", False),
    "policy": (invalid("no", code="misalignment_policy_violation"), "refusal", False),
}


@pytest.mark.parametrize("shape", ["error", "nested", "failed"])
@pytest.mark.parametrize("after", [1, 6])
@pytest.mark.parametrize(("given", "kind", "retryable"), STREAMED.values(), ids=STREAMED)
def test_an_error_inside_the_stream(given: ResponsesError, kind: str, retryable: bool, after: int, shape: str) -> None:
    """[providers 2.2] An `error` event, the same as gateways shape it, and `response.failed` make one record: the same
    kind as before the stream, no status, since it was a 200.
    """
    fault: Fault = Failed(given, after) if shape == "failed" else StreamError(given, after, shape == "nested")
    found = error_of(reply(HELLO_CUT, faults=[fault]))
    assert (found.kind, found.retryable, found.retry_after) == (kind, retryable, None)
    assert (found.http_status, found.request_id) == (None, "req_000001")
    assert given.message in found.text
    assert found.is_400_class() == (kind in ("invalid_request", "system_change_refused"))


LOOKS = Call("look", {"a": "b"}, cut=2)
BROKEN: dict[str, tuple[Answer, str]] = {
    "an end without response.completed": (reply(HELLO_CUT, faults=[EndEarly()]), "truncated"),
    "an end after a text": (reply(HELLO_CUT, faults=[EndEarly(6)]), "truncated"),
    "an end after the start": (reply(HELLO_CUT, faults=[EndEarly(1)]), "truncated"),
    "an end within a call": (reply(LOOKS, faults=[EndEarly(5)]), "truncated"),
    "an end after a call": (reply(LOOKS, faults=[EndEarly()]), "truncated"),
    "an empty stream": (reply(faults=[EmptyStream()]), "truncated"),
    "a cut before the answer": (reply(faults=[Cut(None)]), "network"),
    "a cut after the start": (reply(HELLO_CUT, faults=[Cut(1)]), "network"),
    "a cut in the middle": (reply(HELLO_CUT, faults=[Cut(6)]), "network"),
    "a cut within a call": (reply(LOOKS, faults=[Cut(5)]), "network"),
    "a cut of the last event": (reply(LOOKS, faults=[Cut(9)]), "network"),
}


@pytest.mark.parametrize(("answer", "kind"), BROKEN.values(), ids=BROKEN)
def test_a_stream_that_breaks(answer: Answer, kind: str) -> None:
    """[providers 2.1.6-8] It is never a normal end; it may pass by itself."""
    found = error_of(answer)
    assert (found.kind, found.retryable, found.http_status) == (kind, True, None)


@pytest.mark.parametrize("after", [None, 1, 5])
def test_a_server_that_is_silent(after: int | None) -> None:
    """[providers 2.1.7] Before the first byte and within the stream alike, it is a timeout."""
    found = error_of(reply(HELLO_CUT, faults=[Hold(after=after)]), timeout=0.3)
    assert (found.kind, found.retryable, found.http_status) == ("timeout", True, None)


def test_a_slow_first_byte_is_waited_for() -> None:
    """[providers 3.6] Slow is not broken: what comes in time is a normal round."""
    hold = Hold()
    with serving(reply("late", faults=[hold])) as server:
        model = provider(server)

        async def ask() -> list[Event]:
            asked = asyncio.ensure_future(one_round(model, HELLO))
            await asyncio.to_thread(hold.gate.reached.wait, 30)
            hold.gate.open()
            return await asked

        assert isinstance(asyncio.run(ask())[-1], Done)


def test_a_server_that_is_not_there() -> None:
    """[providers 2.1.7] Nothing listens: network."""
    with serving() as server:
        url = server.base_url
    end = asyncio.run(one_round(OpenAI(api_key=KEY, base_url=url), HELLO))[-1]
    assert isinstance(end, RoundFailed)
    assert (end.error.kind, end.error.retryable) == ("network", True)


def test_a_request_that_cannot_be_written() -> None:
    """[providers 2.2] What has no JSON form fails before anything is sent, and is not tried again."""
    from dataclasses import replace

    with serving() as server:
        end = asyncio.run(one_round(provider(server), replace(HELLO, extra={"metadata": {"x": object()}})))[-1]
        assert isinstance(end, RoundFailed)
        assert (end.error.kind, end.error.retryable, end.error.before_send) == ("invalid_request", False, True)
        assert server.log.all() == ()


def test_cancelling_goes_through_and_closes_the_stream() -> None:
    """[providers 2.1.15, 2.2] CancelledError; the server sees the connection go; the next round works."""
    hold = Hold(after=4)
    with serving(reply(HELLO_CUT, faults=[hold]), reply("again")) as server:
        model = provider(server)

        async def cancelled() -> list[Event]:
            asked = asyncio.ensure_future(one_round(model, HELLO))
            await asyncio.to_thread(hold.gate.reached.wait, 30)
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked
            return await one_round(model, HELLO)

        assert isinstance(asyncio.run(cancelled())[-1], Done)


def test_every_attempt_is_the_runtimes() -> None:
    """[providers 2.1.3] One round is one request, whatever the status says of retries."""
    with serving(server_error(), reply("ok")) as server:
        assert isinstance(asyncio.run(one_round(provider(server), HELLO))[-1], RoundFailed)
        assert len(server.log.rounds()) == 1
