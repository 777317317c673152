"""Asking the stand-in without a socket, and a clock that only a test moves.

Owns: nothing but these. `ask` puts a body through the whole service as the server would.
"""

import json
from collections.abc import Collection
from dataclasses import replace

from tests.messages_api.models import DEFAULT_MODELS, ModelTable, table
from tests.messages_api.service import Answer, Service
from tests.messages_api.wire import JsonObject
from tests.messages_api_tests.building import TOOLS

HEADERS = {"x-api-key": "k", "anthropic-version": "2026-10-21", "content-type": "application/json"}


class Clock:
    """Seconds, moved by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def models(minimum: int = 0) -> ModelTable:
    """The default table, every model caching from so many tokens on."""
    return table(*(replace(model, cache_minimum=minimum) for model in DEFAULT_MODELS.values()))


def ask(service: Service, request: JsonObject, betas: Collection[str] = TOOLS, path: str = "/v1/messages") -> Answer:
    """The answer to a body; a reply counts as begun."""
    headers = {**HEADERS, "anthropic-beta": ",".join(sorted(betas))}
    answer = service.answer(service.log.open(path, headers, json.dumps(request).encode()))
    answer.begin()
    return answer


def told(service: Service, request: JsonObject, betas: Collection[str] = TOOLS) -> JsonObject:
    """The message that answers a legal body."""
    answer = ask(service, request, betas)
    assert answer.status == 200, answer.body
    return answer.body


def said(message: JsonObject) -> JsonObject:
    """A reply as it goes back."""
    return {"role": "assistant", "content": message["content"]}
