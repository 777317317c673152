"""Rounds of the Anthropic provider over the real SDK, against the stand-in on a loopback socket."""

import asyncio
from collections.abc import Sequence
from typing import Any

from manyminds.actors.providers.anthropic import Anthropic
from manyminds.messages.blocks import (
    Text,
    ToolDef,
)
from manyminds.messages.request import (
    Done,
    ErrorRecord,
    Event,
    Msg,
    Request,
    RoundFailed,
)
from tests.messages_api.replies import Answer
from tests.messages_api.server import MessagesServer
from tests.messages_api_tests.sdk import serving

MODEL = "claude-opus-5-5"
LOOK = ToolDef("look", "Looks.", '{"type":"object","properties":{}}')
HELLO = Request(MODEL, (Msg("user", (Text("hello"),)),), ("You are ada.",), (LOOK,), agent="ada")
KEY = "sk-ant-planted-7f3a9"


def provider(server: MessagesServer, **options: Any) -> Anthropic:
    """The provider, pointed at the stand-in."""
    options = {"api_key": KEY, "timeout": 30.0, **options}
    return Anthropic(base_url=server.url, **options)


async def one_round(model: Anthropic, request: Request) -> list[Event]:
    """The events of one round, on a loop and a client of its own."""
    events = [event async for event in model.stream(request)]
    await model.close()
    return events


def events_of(*answers: Answer, requests: Sequence[Request] = (HELLO,), **options: Any) -> list[list[Event]]:
    """The events of each request, answered in turn. Each ends in one terminal, which is the last event."""
    with serving(*answers) as server:
        model = provider(server, **options)
        rounds = [asyncio.run(one_round(model, request)) for request in requests]
    for events in rounds:
        assert [isinstance(event, (Done, RoundFailed)) for event in events] == [False] * (len(events) - 1) + [True]
    return rounds


def done_of(answer: Answer) -> Done:
    """The end of a round that went well."""
    end = events_of(answer)[0][-1]
    assert isinstance(end, Done), end
    return end


def error_of(answer: Answer, **options: Any) -> ErrorRecord:
    """The error of a round that failed."""
    end = events_of(answer, **options)[0][-1]
    assert isinstance(end, RoundFailed), end
    return end.error
