"""Rounds of the OpenAI provider over the real SDK, against the stand-in on a loopback socket."""

import asyncio
from collections.abc import Sequence
from typing import Any

from manyminds.actors.providers.openai import OpenAI
from manyminds.messages.blocks import Text, ToolDef
from manyminds.messages.request import Done, ErrorRecord, Event, Msg, Request, RoundFailed
from tests.responses_api.models import Model, table
from tests.responses_api.replies import Answer, Queue
from tests.responses_api.server import ResponsesServer
from tests.responses_api.service import Service

MODEL = "gpt-6-sol"
LOOK = ToolDef("look", "Looks.", '{"type":"object","properties":{}}')
HELLO = Request(MODEL, (Msg("user", (Text("hello"),)),), ("You are ada.",), (LOOK,), agent="ada")
KEY = "sk-proj-planted-7f3a9"
# Caching from the first token on, so that short conversations show it.
MODELS = table(
    Model(MODEL, cache_minimum=0, cache_step=1), Model("gpt-5.6-sol", True, True, 0, 1),
    Model("gpt-4.1", reasons=False, cache_minimum=0, cache_step=1), Model("local", reasons=False),
)


def serving(*answers: Answer, keyed: bool = True) -> ResponsesServer:
    """A running stand-in that gives these answers in turn."""
    return ResponsesServer(Service(Queue(answers), MODELS, keyed=keyed))


def provider(server: ResponsesServer, **options: Any) -> OpenAI:
    """The provider, pointed at the stand-in as if it were OpenAI's own server."""
    options = {"api_key": KEY, "timeout": 30.0, "transport": "api", **options}
    return OpenAI(base_url=server.base_url, **options)


async def one_round(model: OpenAI, request: Request) -> list[Event]:
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
