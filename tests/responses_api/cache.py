"""The prompt cache as it works without being asked: any prefix of an earlier prompt is read again.

Owns: what a request reads and pays (providers.md 2.4): the longest run of whole tools, instructions and items with
which an earlier prompt began too, from the model's minimum on, in whole steps. The model, the effort and the text's
form count from the start. Not locked: `service.py` calls it under its own lock.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from tests.messages_api.wire import JsonObject, canonical, listed, section, tokens

from .items import items_of
from .models import Model


@dataclass(frozen=True, slots=True)
class Plan:
    """What one request does with the cache, in tokens; the keys of the prefixes it leaves there."""

    whole: int
    read: int
    written: int
    keys: tuple[str, ...] = ()

    def usage(self, output: int, reasoning: int) -> JsonObject:
        """`usage`, as it stands in the response."""
        return {
            "input_tokens": self.whole,
            "input_tokens_details": {"cached_tokens": self.read, "cache_write_tokens": self.written},
            "output_tokens": output,
            "output_tokens_details": {"reasoning_tokens": reasoning},
            "total_tokens": self.whole + output,
        }


class PromptCache:
    """The prefixes seen so far."""

    def __init__(self) -> None:
        self._keys: set[str] = set()

    def look_up(self, request: JsonObject, model: Model) -> Plan:
        """What a request reads. Changes nothing."""
        running = hashlib.sha256(canonical(_settings(request)).encode())
        whole = found = 0
        keys: list[str] = []
        for piece in pieces(request):
            running.update(f"\x00{piece}".encode())
            keys.append(running.hexdigest())
            whole += tokens(piece)
            found = whole if keys[-1] in self._keys else found
        read = found // model.cache_step * model.cache_step if found >= model.cache_minimum else 0
        return Plan(whole, read, whole - read if model.reports_writes else 0, tuple(keys))

    def commit(self, plan: Plan) -> None:
        """Keep the prefixes; called when the reply begins."""
        self._keys |= set(plan.keys)


def pieces(request: JsonObject) -> Iterator[str]:
    """The prompt in the order in which it is read: tools, instructions, items."""
    yield from (canonical(tool) for tool in listed(request, "tools"))
    if request.get("instructions"):
        yield request["instructions"]
    yield from (canonical(item) for item in items_of(request))


def _settings(request: JsonObject) -> list[object]:
    return [
        request["model"], request.get("prompt_cache_key"), section(request, "reasoning").get("effort"),
        request.get("text"),
    ]
