"""Claude on other platforms: what goes there, under which beta, and what is refused before anything is sent."""

import asyncio
from dataclasses import replace
from typing import Any, TypeAlias, cast

import anthropic
import pytest

from manyminds.actors.providers.anthropic import Anthropic
from manyminds.actors.providers.anthropic_models import CHANGES, MODELS, Transport, capabilities_of
from manyminds.actors.providers.anthropic_wire import INLINE_TOOLS, TOOL_REFERENCES
from manyminds.actors.providers.provider import refusal
from manyminds.messages.blocks import SystemChange, ToolDef
from manyminds.messages.request import Done, ErrorRecord, Msg, Request, RoundFailed
from tests.actors.providers.rounds import HELLO, KEY, LOOK, MODEL, one_round
from tests.messages_api.errors import api_error
from tests.messages_api.faults import overloaded
from tests.messages_api.models import Model, table
from tests.messages_api.replies import Queue, reply
from tests.messages_api.server import MessagesServer
from tests.messages_api.service import Service

pytestmark = pytest.mark.socket
SEE = ToolDef("see", "Sees.", '{"type":"object"}')
WORDS = SystemChange(system=("more",))
ADDED, GONE = SystemChange(defined=(SEE,)), SystemChange(removed=("look",))
REDEFINED, BACK = SystemChange(defined=(replace(LOOK, description="Looks well."),)), SystemChange(defined=(LOOK,))
BY_REFERENCE = table(Model(MODEL, tool_changes="reference"))
"""What Bedrock and Google Cloud serve: a definition in `messages` is a 400 there."""


def with_changes(*changes: SystemChange) -> Request:
    """A request that ends in these changes."""
    return replace(HELLO, messages=(*HELLO.messages, *(Msg("change", (change,)) for change in changes)))


def platform(server: MessagesServer, transport: Transport) -> Anthropic:
    """The provider over a client that the host makes, with retries that the host forgot to switch off."""
    client = (
        (lambda: anthropic.AsyncAnthropicFoundry(api_key=KEY, base_url=server.url))
        if transport == "foundry" else (lambda: anthropic.AsyncAnthropic(api_key=KEY, base_url=server.url))
    )
    return Anthropic(transport=transport, client=client)


Changes: TypeAlias = tuple[SystemChange, ...]
CARRIED: dict[str, tuple[Changes, frozenset[str]]] = {
    "no change": ((), frozenset()),
    "text": ((WORDS,), frozenset()),
    "a removal": ((GONE,), frozenset({TOOL_REFERENCES})),
    "text and a removal": ((WORDS, GONE), frozenset({TOOL_REFERENCES})),
}


@pytest.mark.parametrize("transport", ["bedrock", "vertex"])
@pytest.mark.parametrize(("changes", "betas"), CARRIED.values(), ids=CARRIED)
def test_what_goes(transport: Transport, changes: Changes, betas: frozenset[str]) -> None:
    """[providers 1.2, 1.3] Text and references, where they took effect, under the older beta exactly when needed."""
    with MessagesServer(Service(Queue([reply("ok")]), BY_REFERENCE)) as server:
        assert isinstance(asyncio.run(one_round(platform(server, transport), with_changes(*changes)))[-1], Done)
        (sent,) = server.log.rounds()
    assert sent.error is None
    assert sent.betas == betas
    assert [block["text"] for block in sent.request["system"]] == ["You are ada."]
    shown = {WORDS: {"type": "text", "text": "more"},
             GONE: {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "look"}}}
    assert sent.request["messages"][1:] == [{"role": "system", "content": [shown[one]]} for one in changes]


def test_a_request_without_changes_goes_to_foundry() -> None:
    """[providers 1.3] Every platform answers."""
    with MessagesServer(Service(Queue([reply("ok")]), BY_REFERENCE)) as server:
        assert isinstance(asyncio.run(one_round(platform(server, "foundry"), HELLO))[-1], Done)
        assert [one.betas for one in server.log.rounds()] == [frozenset()]


CLOUDS: tuple[Transport, ...] = ("bedrock", "vertex")
REFUSED: list[tuple[Transport, Changes, str]] = [
    *((cloud, (ADDED,), "an added tool") for cloud in CLOUDS),
    *((cloud, (REDEFINED,), "a redefined tool") for cloud in CLOUDS),
    *((cloud, (GONE, BACK), "an added tool") for cloud in CLOUDS),
    *((cloud, (WORDS, ADDED), "an added tool") for cloud in CLOUDS),
    ("foundry", (WORDS,), "system text"),
    ("foundry", (GONE,), "a removed tool"),
    ("foundry", (ADDED,), "an added tool"),
]


@pytest.mark.parametrize(("transport", "changes", "words"), REFUSED)
def test_what_is_refused_before_sending(transport: Transport, changes: Changes, words: str) -> None:
    """[providers 1.3, 2.2] [declarations E3] A definition there, any change on Foundry: refused, nothing is sent."""
    with MessagesServer(Service(Queue(), BY_REFERENCE)) as server:
        model, request = platform(server, transport), with_changes(*changes)
        error = refusal(model, request)
        assert isinstance(error, ErrorRecord)
        assert (error.kind, error.before_send, error.http_status) == ("system_change_refused", True, None)
        assert f"cannot carry {words} in" in error.text
        assert server.log.all() == ()


def test_the_same_changes_go_to_the_providers_own_platform() -> None:
    """[providers 1.2, 1.3] By definition, under the newer beta."""
    with MessagesServer(Service(Queue([reply("ok")]))) as server:
        model = Anthropic(api_key=KEY, base_url=server.url)
        assert isinstance(asyncio.run(one_round(model, with_changes(GONE, BACK, ADDED, WORDS)))[-1], Done)
        (sent,) = server.log.rounds()
    assert sent.error is None
    assert sent.betas == frozenset({INLINE_TOOLS})


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("transport", ["bedrock", "vertex", "foundry"])
def test_no_platform_can_do_more_than_the_providers_own(name: str, transport: str) -> None:
    """[providers 1.3] A model that takes no change at home takes none anywhere; none by definition."""
    at_home = MODELS[name]
    able = capabilities_of(f"claude-{name}", cast("Any", transport), {})
    assert able.tool_add in ("none", "reference")
    assert not able.tool_redefine
    assert able.system_text == (at_home.system_text and transport != "foundry")
    assert able.tool_remove == (at_home.tool_remove and transport != "foundry")
    assert not able.sends_system_changes
    assert replace(able, system_text=False, tool_add="none", tool_remove=False, tool_redefine=False) == replace(
        at_home, system_text=False, tool_add="none", tool_remove=False, tool_redefine=False
    )


def test_a_host_that_knows_better_says_so() -> None:
    """[providers 1.3] The table is dated; a host's own row goes before it on any platform, and is believed."""
    with MessagesServer(Service(Queue([reply("ok")]))) as server:
        model = Anthropic(
            transport="foundry", models={MODEL: CHANGES},
            client=lambda: anthropic.AsyncAnthropicFoundry(api_key=KEY, base_url=server.url),
        )
        assert refusal(model, with_changes(ADDED)) is None
        assert isinstance(asyncio.run(one_round(model, with_changes(ADDED)))[-1], Done)


@pytest.mark.parametrize("transport", ["bedrock", "foundry"])
def test_a_hosts_client_retries_nothing_either(transport: Any) -> None:
    """[providers 2.1.3] Its retries are off, whatever it was made with: the runtime's ladder counts every attempt."""
    with MessagesServer(Service(Queue([overloaded(x_should_retry="true")]), BY_REFERENCE)) as server:
        end = asyncio.run(one_round(platform(server, transport), HELLO))[-1]
        assert isinstance(end, RoundFailed)
        assert end.error.kind == "overloaded"
        assert len(server.log.rounds()) == 1


def test_the_key_of_a_hosts_client_is_shown_as_little() -> None:
    """[issue 4, done 7] An answer that gives it back is scrubbed, and nothing else in its text is."""
    told = api_error(401, f"the key {KEY} is not for claude-opus-5-5")
    with MessagesServer(Service(Queue([told]))) as server:
        model = platform(server, "foundry")
        end = asyncio.run(one_round(model, HELLO))[-1]
        assert isinstance(end, RoundFailed)
        assert "the key *** is not for claude-opus-5-5" in end.error.text
        assert KEY not in repr(end) + repr(model) + repr(vars(model))
