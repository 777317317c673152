"""The tools on offer: a walk over the head's tools and then over every change, in order.

Owns: resolving references, conflicts of names by tool family, the limits (providers.md 1.5), and the answer to "which
tools is the model offered at the end" that tests compare with the client's own account. A tool that was ever defined
stays resolvable after its removal; a deferred one holds its name but is not on offer until a reference adds it.
Pure; expects a request whose form was checked.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from .errors import ApiError, at, invalid
from .wire import TOOL_CHANGES, JsonObject, bare, blocks, canonical, listed

UNRESOLVED = "tool_reference_unresolved"
CONFLICT = "tool_name_conflict"
LIMIT = "available_tools_limit_exceeded"

Key: TypeAlias = tuple[str, str]
"""What a definition stands under: a tool's name, an MCP server's name, or a nameless toolset's family."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Most deferred tools, most tools defined in `messages`, most bytes of those, most bytes of tools on offer."""

    deferred: int = 10_000
    inline: int = 10_000
    inline_bytes: int = 4 * 2**20
    rendered_bytes: int = 4 * 2**20


def family(definition: Mapping[str, object]) -> str:
    """A definition's kind: its type (`custom` when absent) without its date and without `_toolset`."""
    return re.sub(r"_\d{8}$", "", str(definition.get("type") or "custom")).removesuffix("_toolset")


def key_of(definition: JsonObject) -> Key:
    """What the definition stands under; a later definition under the same key replaces it."""
    if "name" in definition:
        return ("tool", definition["name"])
    if "mcp_server_name" in definition:
        return ("mcp", definition["mcp_server_name"])
    return ("toolset", family(definition))


def names_of(definition: JsonObject) -> list[str]:
    """The names under which the model calls what this definition offers, as far as the request tells."""
    if "name" in definition:
        return [definition["name"]]
    server = definition.get("mcp_server_name")
    return [f"{server}_{tool['name']}" for tool in listed(definition, "tools")]


def _size(definition: JsonObject) -> int:
    return len(canonical(definition).encode())


@dataclass(slots=True)
class Offer:
    """The state of the walk. `available` holds deferred ones too; `shown` are the keys the model sees."""

    limits: Limits
    servers: frozenset[str]
    defined: dict[Key, JsonObject] = field(default_factory=dict[Key, JsonObject])
    available: dict[Key, JsonObject] = field(default_factory=dict[Key, JsonObject])
    shown: set[Key] = field(default_factory=set[Key])
    holders: dict[str, str] = field(default_factory=dict[str, str])
    inline: int = 0
    inline_bytes: int = 0

    def offered(self) -> tuple[JsonObject, ...]:
        """The definitions on offer, without markers, in order of their first appearance."""
        return tuple(tool for key, tool in self.available.items() if key in self.shown)

    def define(self, given: JsonObject) -> ApiError | None:
        """Makes a definition available under its key, in the place of an earlier one."""
        definition = bare(given)
        key, kind = key_of(definition), _holder(definition)
        for name in names_of(definition):
            if self.holders.get(name, kind) != kind:
                return invalid(f"tool name '{name}' is already held by an available tool of another kind", CONFLICT)
        self.withdraw(key, keep_place=True)
        self.defined[key] = self.available[key] = definition
        self.holders.update(dict.fromkeys(names_of(definition), kind))
        if not definition.get("defer_loading"):
            self.shown.add(key)
        return None

    def offer(self, key: Key) -> ApiError | None:
        """Offers again, or for the first time, what was defined earlier."""
        error = self.define({**self.defined[key]})
        self.shown.add(key)
        return error

    def withdraw(self, key: Key, keep_place: bool = False) -> None:
        """Takes a tool off the offer; it stays defined."""
        for name in names_of(self.available.get(key, {"name": ""})):
            self.holders.pop(name, None)
        self.shown.discard(key)
        if not keep_place:
            self.available.pop(key, None)

    def judge_limits(self) -> ApiError | None:
        """The tools available after a message against the limits."""
        deferred = sum(bool(tool.get("defer_loading")) for tool in self.available.values())
        rendered = sum(_size(tool) for tool in self.offered())
        limits = self.limits
        for number, most, what in (
            (deferred, limits.deferred, "deferred tools"),
            (self.inline, limits.inline, "tools defined after the first user message"),
            (self.inline_bytes, limits.inline_bytes, "bytes of tool definitions in `messages`"),
            (rendered, limits.rendered_bytes, "bytes of rendered tool text"),
        ):
            if number > most:
                return invalid(f"too many {what}: {number} exceeds the limit of {most}", LIMIT)
        return None


def _holder(definition: JsonObject) -> str:
    server = definition.get("mcp_server_name")
    return family(definition) if server is None else f"mcp server {server}"


def walk(request: JsonObject, limits: Limits) -> Offer | ApiError:
    """Head, then changes; the offer at the end of `messages`, or the first error."""
    offer = Offer(limits, frozenset(server["name"] for server in listed(request, "mcp_servers")))
    error = _walk_head(offer, listed(request, "tools"))
    if error:
        return error
    for message in request["messages"]:
        changed = False
        for block in _changes(message):
            changed = True
            error = _apply(offer, block)
            if error:
                return error
        error = offer.judge_limits() if changed else None
        if error:
            return error
    return _judge_choice(request, offer) or offer


def _walk_head(offer: Offer, tools: list[JsonObject]) -> ApiError | None:
    for index, tool in enumerate(tools):
        if key_of(tool) in offer.defined:
            return at("tools", "Tool names must be unique.")
        if "mcp_server_name" in tool and tool["mcp_server_name"] not in offer.servers:
            return at(f"tools.{index}", f"MCP server '{tool['mcp_server_name']}' not found in mcp_servers")
        if offer.define(tool):
            return at("tools", "Tool names must be unique.")
    return None


def _changes(message: JsonObject) -> Iterator[JsonObject]:
    """The changes of a message: those of a system message, and those a compaction stands for."""
    for block in blocks(message.get("content")):
        if block["type"] in TOOL_CHANGES or block["type"] == "mcp_tool_listing":
            yield block
        elif block["type"] == "compaction":
            yield from listed(block, "tool_changes")


def _apply(offer: Offer, block: JsonObject) -> ApiError | None:
    if block["type"] == "mcp_tool_listing":
        known = ("mcp", block["mcp_server_name"]) in offer.defined
        return None if known else _unknown(block["mcp_server_name"])
    tool = block["tool"]
    if tool["type"] == "tool_definition":
        return _define(offer, tool["definition"])
    key = ("tool", tool["name"]) if tool["type"] == "tool_reference" else ("mcp", tool["server_name"])
    named = tool.get("name", tool.get("server_name"))
    if key not in offer.defined:
        return _unknown(named)
    if tool["type"] == "mcp_tool_reference":
        listed = offer.defined[key].get("tools")
        known = listed is None or named in [entry["name"] for entry in listed]
        return None if known else _unknown(named)
    if block["type"] == "tool_removal":
        offer.withdraw(key)
        return None
    return offer.offer(key)


def _define(offer: Offer, definition: JsonObject) -> ApiError | None:
    server = definition.get("mcp_server_name")
    if server is not None and server not in offer.servers:
        return _unknown(server)
    offer.inline += 1
    offer.inline_bytes += _size(definition)
    return offer.define(definition)


def _unknown(name: object) -> ApiError:
    return invalid(f"tool_addition/tool_removal references unknown tool '{name}'", UNRESOLVED)


def _judge_choice(request: JsonObject, offer: Offer) -> ApiError | None:
    choice = request.get("tool_choice")
    if choice is None or choice["type"] != "tool":
        return None
    found = any(choice["name"] in names_of(tool) for tool in offer.offered())
    return None if found else at("tool_choice", f"Tool '{choice['name']}' not found in provided tools")


def offered_tools(request: JsonObject) -> tuple[JsonObject, ...]:
    """The tools the model is offered at the end of a valid request (context.md 6, invariant 3).

    Raises ValueError with the error's message for a request that the walk refuses.
    """
    end = walk(request, Limits())
    if isinstance(end, ApiError):
        raise ValueError(end.message)
    return end.offered()


def offered_texts(request: JsonObject) -> tuple[str, ...]:
    """The system texts the model has been shown at the end of a request: the head's, then each added one."""
    system = request.get("system")
    added = [
        block
        for message in request["messages"]
        if message["role"] == "system"
        for block in blocks(message.get("content"))
        if block["type"] == "text"
    ]
    return tuple(block["text"] for block in [*blocks(system), *added])
