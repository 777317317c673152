"""The heads of the server's answers and the limits of a provider, over the real SDK: who waits, and for how long."""

from typing import Any

import pytest

from manyminds.actors.providers.provider import WrappingProvider
from manyminds.actors.runtime import Runtime
from manyminds.actors.spec import Resident
from manyminds.messages.mail import AskState, provider_address
from tests.actors.on_threads import message, runtime
from tests.flows.claude import ENDS, MODEL, ada, claude, turn, until
from tests.messages_api.faults import rate_limited
from tests.messages_api.replies import ToolUse, reply
from tests.messages_api_tests.sdk import serving

pytestmark = [pytest.mark.socket, pytest.mark.pool, pytest.mark.timeout(120)]


def head(requests: tuple[int, int], tokens: tuple[int, int] | None = None) -> dict[str, str]:
    """The lines of an answer's head: (limit, what is left) of requests and of tokens."""
    lines: dict[str, str] = {}
    for kind, stated in (("requests", requests), ("tokens", tokens)):
        if stated is not None:
            lines[f"anthropic-ratelimit-{kind}-limit"] = str(stated[0])
            lines[f"anthropic-ratelimit-{kind}-remaining"] = str(stated[1])
            lines[f"anthropic-ratelimit-{kind}-reset"] = "2026-12-01T00:00:00Z"
    return lines


def gate(opened: Runtime) -> dict[str, Any]:
    """What the provider's gate says of itself."""
    answer = opened._opened.system.ask(provider_address("anthropic"), AskState, 5.0)
    return dict(answer.value)


def test_a_normal_answers_head_feeds_the_buckets() -> None:
    """[agents 6.1] Without limits of the host's nothing is known; the head of a 200 says what is left of each."""
    answer = reply("hi", headers=head((60, 30), (60_000, 600)))
    with serving(answer) as server, runtime(claude(server), None, [ada()]) as (opened, _):
        assert (gate(opened)["requests"], gate(opened)["tokens"]) == (None, None)
        assert turn(opened, opened.subscribe(), "ada: hello").name == "inference:completed"
        state = gate(opened)
    assert 30 <= state["requests"] < 60
    assert 600 <= state["tokens"] < 60_000


def test_the_next_request_waits_for_what_the_head_says() -> None:
    """[agents 6.1] Nothing is left after the first round: the second one of the same turn waits to be let in."""
    with serving(reply(ToolUse("weather", {"city": "Riga"}), headers=head((1, 0))), reply("never")) as server:
        with runtime(claude(server), None, [ada()]) as (opened, _):
            traces = opened.subscribe()
            opened.receive(message("ada: weather?", to="ada"))
            waited = until(traces, "provider:limited", *ENDS)
            assert waited.name == "provider:limited"
            assert (waited.fields["provider"], waited.fields["waiting"]) == ("anthropic", 1)
            assert 0 < waited.fields["seconds"] <= 60
            assert gate(opened)["waiting"] == ["ada"]
            assert opened.cancel("ada")
        assert len(server.log.rounds()) == 1


def test_another_agent_waits_as_well() -> None:
    """[agents 6.1] What the head of one agent's answer says holds the other one of the same provider."""
    bob = Resident("bob", MODEL)
    answers = (reply("hi", headers=head((1, 0))), reply("never"))
    with serving(*answers) as server:
        with runtime(claude(server), None, [ada(), bob]) as (opened, _):
            traces = opened.subscribe()
            assert turn(opened, traces, "ada: hello").name == "inference:completed"
            opened.receive(message("bob: hello", "#b", to="bob"))
            waited = until(traces, "provider:limited", *ENDS)
            assert (waited.name, 0 < waited.fields["seconds"] <= 60) == ("provider:limited", True)
            assert gate(opened)["waiting"] == ["bob"]
        assert len(server.log.rounds()) == 1


def test_the_head_of_a_429_feeds_them_too() -> None:
    """[agents 6.1] It states no wait, so that the sender goes by the ladder; the others go by what its head says."""
    lines = {name.replace("-", "_"): value for name, value in head((1, 0)).items()}
    with serving(rate_limited(None, **lines), reply("never")) as server:
        with runtime(claude(server), None, [ada(), Resident("bob", MODEL)]) as (opened, _):
            traces = opened.subscribe()
            opened.receive(message("ada: hello", to="ada"))
            assert until(traces, "inference:failed", *ENDS).fields["delay"] == 1.0
            assert opened.cancel("ada")
            opened.receive(message("bob: hello", "#b", to="bob"))
            waited = until(traces, "provider:limited")
            assert 0 < waited.fields["seconds"] <= 60
        assert len(server.log.rounds()) == 1


@pytest.mark.parametrize("wrapped", [False, True])
def test_limits_of_the_hosts_own(wrapped: bool) -> None:
    """[agents 6.1] `requests_per_minute` holds without any word of the server, through a wrapper too."""
    with serving(reply(ToolUse("weather", {"city": "Riga"})), reply("Sunny.")) as server:
        model = claude(server, requests_per_minute=1)
        with runtime(WrappingProvider(model) if wrapped else model, None, [ada()]) as (opened, _):
            traces = opened.subscribe()
            opened.receive(message("ada: weather?", to="ada"))
            waited = until(traces, "provider:limited", *ENDS)
            assert (waited.name, 0 < waited.fields["seconds"] <= 60) == ("provider:limited", True)
            assert opened.cancel("ada")
        assert len(server.log.rounds()) == 1
