"""What the OpenAI provider is told when it is made: key, address, client, limits, patience; and what an error shows."""

import asyncio
from typing import Any

import openai
import pytest

from manyminds.actors.providers.openai import OpenAI
from manyminds.messages.errors import InvalidSetting, ProviderError
from manyminds.messages.request import Done, Limit, Limits, RoundFailed
from tests.actors.providers.openai_rounds import HELLO, KEY, MODEL, events_of, one_round, provider, serving
from tests.responses_api.errors import error
from tests.responses_api.faults import rate_limited, server_error
from tests.responses_api.replies import reply

pytestmark = pytest.mark.socket


def test_without_a_key_nothing_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that asks for none has errors with all their words."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with serving(error(400, "no check-in"), keyed=False) as server:
        end = asyncio.run(one_round(provider(server, api_key=None), HELLO))[-1]
    assert isinstance(end, RoundFailed)
    assert "no check-in" in end.error.text


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """[providers 2.1] Without one it says which variable to set, and that a local server needs none."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ProviderError, match=r"set OPENAI_API_KEY .*local server may need none: give base_url"):
        OpenAI()
    with pytest.raises(ProviderError, match="OPENAI_API_KEY"):
        OpenAI(base_url="https://eu.api.openai.com/v1")
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    with serving(reply("ok")) as server:
        end = asyncio.run(one_round(OpenAI(base_url=server.base_url), HELLO))[-1]
        assert isinstance(end, Done)
        assert server.log.rounds()[0].headers["authorization"] == f"Bearer {KEY}"


def test_the_address_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """OPENAI_BASE_URL counts as base_url does: no key is needed, and no change is sent."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with serving(reply("ok"), keyed=False) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        model = OpenAI()
        assert not model.capabilities(MODEL).system_text
        assert isinstance(asyncio.run(one_round(model, HELLO))[-1], Done)


@pytest.mark.parametrize("wrong", [{"requests_per_minute": 0}, {"tokens_per_minute": True}, {"transport": "azure"}])
def test_a_wrong_setting_is_named(wrong: dict[str, Any]) -> None:
    """A wrong option is an InvalidSetting that says what was expected."""
    with pytest.raises(InvalidSetting, match=next(iter(wrong))):
        OpenAI(api_key=KEY, **wrong)


def test_a_client_of_the_hosts_own() -> None:
    """What another maker gives is asked; it needs no key of ours, carries no change unless the host says so, and
    retries nothing whatever its own setting.
    """
    with serving(reply("ok"), server_error(), reply("never")) as server:
        model = OpenAI(client=lambda: openai.AsyncOpenAI(api_key="own", base_url=server.base_url, max_retries=5))
        assert not model.capabilities(MODEL).system_text
        assert isinstance(asyncio.run(one_round(model, HELLO))[-1], Done)
        assert isinstance(asyncio.run(one_round(model, HELLO))[-1], RoundFailed)
        assert [one.headers["authorization"] for one in server.log.rounds()] == ["Bearer own"] * 2


@pytest.mark.parametrize("made", [{}, {"api_key": KEY}])
def test_the_key_of_a_hosts_client_is_shown_as_little(made: dict[str, Any]) -> None:
    """[issue 4, done 7] An answer that gives it back is scrubbed, whatever key the provider was given beside it."""
    with serving(error(401, "Incorrect API key provided: sk-own-of-the-host", "invalid_api_key")) as server:
        model = OpenAI(
            client=lambda: openai.AsyncOpenAI(api_key="sk-own-of-the-host", base_url=server.base_url), **made
        )
        end = asyncio.run(one_round(model, HELLO))[-1]
        assert isinstance(end, RoundFailed)
        assert "Incorrect API key provided: ***" in end.error.text
        assert "sk-own-of-the-host" not in repr(end) + repr(model) + repr(vars(model))


@pytest.mark.parametrize("address", ["", "localhost:11434/v1", "http://", "ftp://x", "http://x:port", "http://a b"])
def test_an_address_that_is_none(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """[house rule] It is named when the provider is made, not taken for a server that is down, nor for OpenAI's own.
    From the environment as well.
    """
    with pytest.raises(InvalidSetting, match="must be http://HOST"):
        OpenAI(api_key=KEY, base_url=address)
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    with pytest.raises(InvalidSetting, match="must be http://HOST"):
        OpenAI(api_key=KEY)


@pytest.mark.parametrize(("seconds", "connect"), [(600.0, 10.0), (0.3, 0.3)])
def test_a_connection_is_waited_for_less_long_than_an_answer(seconds: float, connect: float) -> None:
    """[providers 2.1.7] A model may think for minutes; a server that takes no connection is not there."""

    async def wait() -> Any:
        model = OpenAI(api_key=KEY, timeout=seconds)
        client = await model._clients.get()
        await model.close()
        return client.timeout, client.max_retries

    timeout, retries = asyncio.run(wait())
    assert (timeout.read, timeout.connect, retries) == (seconds, connect, 0)


def test_limits_of_an_errors_head() -> None:
    """[agents 6.1] What a 429 says of the limits is heard as an answer's is; silence says nothing."""
    head = {
        "x_ratelimit_limit_requests": "10000", "x_ratelimit_remaining_requests": "0",
        "x_ratelimit_reset_requests": "2h",
    }
    [[told], [silent]] = events_of(rate_limited("7", **head), rate_limited(), requests=(HELLO, HELLO))
    assert isinstance(told, RoundFailed)
    assert told.limits == Limits(Limit(10_000, 0, 7200.0), None)
    assert isinstance(silent, RoundFailed)
    assert silent.limits is None
