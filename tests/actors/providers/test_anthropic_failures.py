"""Every way in which a round fails, over the real SDK and a socket, and the record that it ends in."""

import asyncio

import pytest

from manyminds.actors.providers.anthropic import Anthropic
from manyminds.messages.errors import InvalidSetting
from manyminds.messages.request import (
    Done,
    Event,
    RoundFailed,
)
from tests.actors.providers.rounds import HELLO, KEY, error_of, one_round, provider
from tests.messages_api import replies
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
    server_error,
    spend_limited,
)
from tests.messages_api.replies import Answer, ToolUse, reply
from tests.messages_api_tests.sdk import serving

pytestmark = pytest.mark.socket

INVALID = {"extra-input": "invalid_request", "thinking-binding": "thinking_binding", "too-long": "context_length"}
FAILURES: dict[str, tuple[ApiError, tuple[str, bool, float | None]]] = {
    **{name: (error, (INVALID.get(name, "system_change_refused"), False, None))
       for name, error in BAD_REQUESTS.items()},
    "401": (api_error(401, "invalid x-api-key"), ("auth", False, None)),
    "402": (api_error(402, "no credit"), ("auth", False, None)),
    "403": (api_error(403, "not allowed"), ("auth", False, None)),
    "404": (api_error(404, "model: x"), ("invalid_request", False, None)),
    "408": (ApiError(408, "timeout_error", "slow"), ("timeout", True, None)),
    "409": (api_error(409, "conflict"), ("server", True, None)),
    "413": (api_error(413, "too large"), ("context_length", False, None)),
    "429": (rate_limited("7"), ("rate_limit", True, 7.0)),
    "429 in milliseconds": (rate_limited("7", retry_after_ms="1500"), ("rate_limit", True, 1.5)),
    "429 without a wait": (rate_limited(None), ("rate_limit", True, None)),
    "429 that is not to be retried": (rate_limited("7", x_should_retry="false"), ("rate_limit", False, 7.0)),
    "spend limit": (spend_limited(), ("rate_limit", False, None)),
    "contract limit": (spend_limited("contract_spend_limit_reached"), ("rate_limit", False, None)),
    "ramp limit": (spend_limited("ramp_limit_exceeded"), ("rate_limit", False, None)),
    "500": (server_error(), ("server", True, None)),
    "500 about context": (api_error(500, "prompt is too long"), ("server", True, None)),
    "503": (server_error(503), ("server", True, None)),
    "504": (server_error(504), ("timeout", True, None)),
    "529": (overloaded(), ("overloaded", True, None)),
    "529 with a wait": (overloaded(retry_after="3"), ("overloaded", True, 3.0)),
}


@pytest.mark.parametrize(("given", "expected"), FAILURES.values(), ids=FAILURES)
def test_an_error_before_the_stream(given: ApiError, expected: tuple[str, bool, float | None]) -> None:
    """[providers 1.5, 2.2] Kind by code, then status, then words; the stated wait; status and id are kept."""
    error = error_of(given)
    assert (error.kind, error.retryable, error.retry_after) == expected
    assert (error.http_status, error.request_id, error.before_send) == (given.status, "req_000001", False)
    assert given.message in error.text
    assert error.is_400_class() == (given.status == 400 and error.kind != "thinking_binding")


STREAMED = {
    name: FAILURES[name] for name in (*BAD_REQUESTS, "401", "413", "429", "spend limit", "500", "504", "529")
}


@pytest.mark.parametrize("after", [1, 3])
@pytest.mark.parametrize(("given", "expected"), STREAMED.values(), ids=STREAMED)
def test_an_error_inside_the_stream(given: ApiError, expected: tuple[str, bool, float | None], after: int) -> None:
    """[providers 2.1.5] The same kind as before the stream, by the error's type; no status, since it was a 200."""
    error = error_of(reply(replies.Text("abc", cut=1), faults=[StreamError(given, after)]))
    assert (error.kind, error.retryable, error.retry_after) == (*expected[:2], None)
    assert (error.http_status, error.request_id) == (None, "req_000001")
    assert error.is_400_class() == (given.status == 400 and error.kind != "thinking_binding")


HELLO_CUT = replies.Text("hello", cut=1)
BROKEN: dict[str, tuple[Answer, str]] = {
    "an end without message_stop": (reply(HELLO_CUT, faults=[EndEarly()]), "truncated"),
    "an end after a block": (reply(HELLO_CUT, faults=[EndEarly(3)]), "truncated"),
    "an end after the start": (reply(HELLO_CUT, faults=[EndEarly(1)]), "truncated"),
    "an end within a call": (reply(ToolUse("look", {"a": "b"}, cut=2), faults=[EndEarly(4)]), "truncated"),
    "an empty stream": (reply(faults=[EmptyStream()]), "truncated"),
    "a cut before the answer": (reply(faults=[Cut(None)]), "network"),
    "a cut after the start": (reply(HELLO_CUT, faults=[Cut(1)]), "network"),
    "a cut in the middle": (reply(HELLO_CUT, faults=[Cut(4)]), "network"),
    "a cut within a call": (reply(ToolUse("look", {"a": "b"}, cut=2), faults=[Cut(4)]), "network"),
}


@pytest.mark.parametrize(("answer", "kind"), BROKEN.values(), ids=BROKEN)
def test_a_stream_that_breaks(answer: Answer, kind: str) -> None:
    """[providers 2.1.6-8] It is never a normal end; it may pass by itself."""
    error = error_of(answer)
    assert (error.kind, error.retryable, error.http_status) == (kind, True, None)


@pytest.mark.parametrize("after", [None, 1, 4])
def test_a_server_that_is_silent(after: int | None) -> None:
    """[providers 2.1.7] Before the first byte and within the stream alike, it is a timeout."""
    error = error_of(reply(HELLO_CUT, faults=[Hold(after=after)]), timeout=0.3)
    assert (error.kind, error.retryable, error.http_status) == ("timeout", True, None)


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
    """[providers 2.1.7] Nothing listens: network, and the text says where; what else the address holds is not shown."""
    with serving() as server:
        place = server.url.removeprefix("http://")
    end = asyncio.run(one_round(Anthropic(api_key=KEY, base_url=f"http://user:word@{place}"), HELLO))[-1]
    assert isinstance(end, RoundFailed)
    assert (end.error.kind, end.error.retryable) == ("network", True)
    assert end.error.text == (
        f"the connection to the model's server at {place} failed (ConnectError); is it there, and is its address right?"
    )


@pytest.mark.parametrize(
    "address", ["", "nonsense", "localhost:8080", "http://", "https:///v1", "ftp://x", "http://x:99999", "http://x:port",
                "http://two words", "http://x\n", "http://[::1"],
)  # fmt: skip
def test_an_address_that_is_none(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """[house rule] It is named when the provider is made, not taken for a server that is down; an empty one is no
    leave to ask the provider's own. From the environment as well.
    """
    with pytest.raises(InvalidSetting, match="must be http://HOST") as wrong:
        Anthropic(api_key=KEY, base_url=address)
    assert not address or address == "http://" or address not in str(wrong.value)  # it may be a key in the wrong place
    monkeypatch.setenv("ANTHROPIC_BASE_URL", address)
    with pytest.raises(InvalidSetting, match="must be http://HOST"):
        Anthropic(api_key=KEY)


@pytest.mark.parametrize("address", ["http://x", "https://x:8443/v1/", "http://[::1]:80", "HTTP://X"])
def test_an_address_that_is_one(address: str) -> None:
    """[house rule] The neighbours."""
    Anthropic(api_key=KEY, base_url=address)


def test_cancelling_goes_through_and_closes_the_stream() -> None:
    """[providers 2.1.15, 2.2] CancelledError, and the next round over the same client works."""
    hold = Hold(after=2)
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
    with serving(overloaded(x_should_retry="true"), reply("ok")) as server:
        assert isinstance(asyncio.run(one_round(provider(server), HELLO))[-1], RoundFailed)
        assert len(server.log.rounds()) == 1
