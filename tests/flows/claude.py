"""The runtime over the real SDK, pointed at the strict stand-in: a resident, her provider, and how requests compare."""

import re
from collections.abc import AsyncIterator, Iterator
from itertools import pairwise
from typing import Any

from manyminds.actors.providers.anthropic import Anthropic
from manyminds.actors.providers.provider import WrappingProvider
from manyminds.actors.runtime import Runtime
from manyminds.actors.spec import Resident
from manyminds.actors.traces import Trace
from manyminds.messages.request import ErrorRecord, Event, Request, RoundFailed
from tests.actors.on_threads import message
from tests.messages_api.recording import Recorded, list_items
from tests.messages_api.server import MessagesServer

MODEL = "claude-opus-5-5"
KEY = "sk-ant-planted-51c0ffee"
BOUND = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"}}
ENDS = ("inference:completed", "inference:turn_ended", "inference:exhausted", "inference:aborted")
MARKER = re.compile(r',"cache_control":\{[^{}]*\}')


def ada(ran: list[str] | None = None) -> Resident:
    """A resident with a tool, whose calls are noted."""

    def weather(city: str) -> str:
        """The weather.

        Args:
            city: Where.
        """
        (ran if ran is not None else []).append(city)
        return f"sunny in {city}"

    return Resident("ada", MODEL, "You are ada. " + "Be brief. " * 50, tools=[weather], thinking=BOUND)


def claude(server: MessagesServer, **options: Any) -> Anthropic:
    """The provider, pointed at the stand-in."""
    return Anthropic(api_key=KEY, base_url=server.url, **options)


def until(traces: Iterator[Trace], *names: str) -> Trace:
    """The next trace of one of these names."""
    return next(trace for trace in traces if trace.name in names)


def turn(opened: Runtime, traces: Iterator[Trace], text: str) -> Trace:
    """Say something to ada and wait for her turn's end."""
    opened.receive(message(text, to="ada"))
    return until(traces, *ENDS)


def bare(one: Recorded) -> tuple[str, str, tuple[str, ...]]:
    """The raw bytes of tools, system and messages, cache markers taken out."""
    tools, system, messages = (MARKER.sub("", one.member(name)) for name in ("tools", "system", "messages"))
    assert "cache_control" not in tools + system + messages
    return tools, system, list_items(messages)


def assert_all_extend(rounds: tuple[Recorded, ...]) -> None:
    """Every request begins with the one before it, to the byte."""
    for earlier, later in pairwise(rounds):
        before, now = bare(earlier), bare(later)
        assert now[:2] == before[:2]
        assert now[2][: len(before[2])] == before[2]


class Noting(WrappingProvider):
    """A host's wrapper that notes every failed round."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self.errors: list[ErrorRecord] = []

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        """The inner round."""
        async for event in super().stream(request):
            if isinstance(event, RoundFailed):
                self.errors.append(event.error)
            yield event
