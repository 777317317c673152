"""Cache markers: where they may be, how many, in which order (providers.md 1.4, 1.8, 2.3).

Owns: finding every `cache_control` of a request in the order tools, system, messages, and the rules on them: at most
four, on a change block or in its definition but not both, not on a deferred definition, longer-lived ones first. A
marker on a thinking block is an unknown key and falls to `fields.py`. Pure.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from .errors import ApiError, at, invalid
from .wire import THINKING, JsonObject, Place, blocks, listed, path_of

MOST = 4
FIVE_MINUTES = "5m"
ONE_HOUR = "1h"


@dataclass(frozen=True, slots=True)
class Marker:
    """One marker: its path, its lifetime, and whether the thing it stands on is a deferred definition."""

    path: str
    ttl: str
    deferred: bool = False


def lifetime(thing: JsonObject) -> str | None:
    """The lifetime of the marker directly on a tool or block, or None without one."""
    marker = thing.get("cache_control")
    return None if marker is None else str(marker.get("ttl", FIVE_MINUTES))


def marks(block: JsonObject) -> Iterator[tuple[str, str, bool]]:
    """The markers of one block as (path below it, lifetime, deferred): within it, then its own."""
    if block["type"] == "tool_addition" and block["tool"]["type"] == "tool_definition":
        definition = block["tool"]["definition"]
        inner = lifetime(definition)
        if inner:
            yield ".tool.definition", inner, bool(definition.get("defer_loading"))
    if block["type"] == "tool_result":
        for number, deep in enumerate(blocks(block.get("content"))):
            inner = lifetime(deep)
            if inner:
                yield f".content.{number}", inner, False
    own = lifetime(block)
    if own:
        yield "", own, False


def markers_of(request: JsonObject) -> Iterator[Marker]:
    """Every marker on a tool or block, in the order in which a prompt is hashed."""
    for index, tool in enumerate(listed(request, "tools")):
        own = lifetime(tool)
        if own:
            yield Marker(f"tools.{index}", own, bool(tool.get("defer_loading")))
    system = request.get("system")
    for index, block in enumerate([] if isinstance(system, str) else blocks(system)):
        own = lifetime(block)
        if own:
            yield Marker(f"system.{index}", own)
    for index, message in enumerate(request["messages"]):
        for number, block in enumerate(blocks(message.get("content"))):
            for below, ttl, deferred in marks(block):
                yield Marker(f"{path_of((index, number))}{below}", ttl, deferred)


def last_cacheable(request: JsonObject) -> Place | None:
    """The last block of `messages` that a marker may stand on: the top-level marker's place."""
    found: Place | None = None
    for index, message in enumerate(request["messages"]):
        for number, block in enumerate(blocks(message.get("content"))):
            if block["type"] not in THINKING:
                found = (index, number)
    return found


def judge_markers(request: JsonObject) -> ApiError | None:
    """The first rule on markers that the request breaks."""
    return _judge_twice(request) or _judge_top(request) or _judge_all(list(markers_of(request)), request)


def _judge_twice(request: JsonObject) -> ApiError | None:
    for index, message in enumerate(request["messages"]):
        for number, block in enumerate(blocks(message.get("content"))):
            if block["type"] == "tool_addition" and len(list(marks(block))) > 1:
                return at(
                    path_of((index, number)),
                    "cache_control may be set on the block or inside the definition, not on both",
                )
    return None


def _judge_top(request: JsonObject) -> ApiError | None:
    """An automatic marker beside an explicit one on the same block has to agree with it."""
    top, place = lifetime(request), last_cacheable(request)
    if top is None or place is None:
        return None
    content = request["messages"][place[0]]["content"]
    own = None if isinstance(content, str) else lifetime(content[place[1]])
    if own is not None and own != top:
        return invalid("cache_control: the ttl of the top-level cache_control differs from that of the last block")
    return None


def _judge_all(found: list[Marker], request: JsonObject) -> ApiError | None:
    place = last_cacheable(request)
    top = lifetime(request)
    if top is not None and place is not None and path_of(place) not in {marker.path for marker in found}:
        found = [*found, Marker("cache_control", top)]
    for marker in found:
        if marker.deferred:
            return at(marker.path, "cache_control cannot be set on a tool with defer_loading")
    if len(found) > MOST:
        return invalid(f"A maximum of {MOST} blocks with cache_control may be provided. Found {len(found)}.")
    short = False
    for marker in found:
        if marker.ttl == ONE_HOUR and short:
            return at(
                marker.path,
                "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. "
                "Note that blocks are processed in the following order: `tools`, `system`, `messages`.",
            )
        short = short or marker.ttl == FIVE_MINUTES
    return None
