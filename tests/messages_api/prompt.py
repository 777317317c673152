"""A request as the prompt it becomes: pieces in the order tools, system, messages, each with its canonical text.

Owns: what counts as the same prompt (markers do not; the order of keys inside a schema or an input does) and what
besides the pieces invalidates a cached prefix from which level on (providers.md 1.7, 1.8). Used by the cache, the
token count and the diagnosis. Pure; expects a valid request.
"""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from .markers import ONE_HOUR, last_cacheable, lifetime, marks
from .wire import JsonObject, Place, bare, bare_block, blocks, canonical, listed, section, tokens

Level: TypeAlias = Literal["tools", "system", "messages"]


@dataclass(frozen=True, slots=True)
class Piece:
    """One tool or block. `ttl` is the lifetime of the breakpoint at its end, None without one."""

    level: Level
    text: str
    ttl: str | None = None

    @property
    def tokens(self) -> int:
        """Its tokens by the fixed rule."""
        return tokens(self.text)


def render(request: JsonObject, dropped: Collection[Place] = ()) -> tuple[Piece, ...]:
    """The prompt of a request, without the thinking blocks in `dropped`."""
    tools = [tool for tool in listed(request, "tools") if not tool.get("defer_loading")]
    pieces = [Piece("tools", canonical(bare(tool)), lifetime(tool)) for tool in tools]
    pieces += [Piece("system", canonical(bare(block)), lifetime(block)) for block in blocks(request.get("system"))]
    top = lifetime(request)
    automatic = last_cacheable(request) if top else None
    for index, message in enumerate(request["messages"]):
        for number, block in enumerate(blocks(message.get("content"))):
            place = (index, number)
            if place in dropped or _cleared(request, index):
                continue
            ttl = _longest([mark[1] for mark in marks(block)]) or (top if place == automatic else None)
            pieces.append(Piece("messages", f"{message['role']} {canonical(bare_block(block))}", ttl))
    return tuple(pieces)


def _longest(ttls: Sequence[str]) -> str | None:
    return (ONE_HOUR if ONE_HOUR in ttls else ttls[0]) if ttls else None


def _cleared(request: JsonObject, index: int) -> bool:
    """A system message with `clear_at: next_user_message` is shown only until a later user message stands."""
    messages: list[JsonObject] = request["messages"]
    if messages[index].get("clear_at") != "next_user_message":
        return False
    return any(message["role"] == "user" for message in messages[index + 1 :])


def keys(request: JsonObject, pieces: Sequence[Piece]) -> tuple[str, ...]:
    """For each piece, the key of the prefix that ends with it. Equal keys are equal prompts so far.

    The model and an empty tool head count from the start; `speed` from the first system block on; tool choice,
    thinking settings and the presence of images from the first message on.
    """
    marks_of: dict[Level, str] = {
        "tools": canonical([request["model"], _late_first_tool(request)]),
        "system": canonical(request.get("speed")),
        "messages": canonical(settings(request)),
    }
    order: tuple[Level, ...] = ("tools", "system", "messages")
    running = hashlib.sha256()
    entered = 0
    found: list[str] = []
    for piece in pieces:
        while entered <= order.index(piece.level):
            running.update(f"\x00{marks_of[order[entered]]}".encode())
            entered += 1
        running.update(f"\x01{piece.level} {piece.text}".encode())
        found.append(running.hexdigest())
    return tuple(found)


def settings(request: JsonObject) -> list[object]:
    """What, besides the messages, a cached prefix of messages depends on."""
    thinking = {key: value for key, value in section(request, "thinking").items() if key != "block_binding"}
    held = [block for message in request["messages"] for block in blocks(message.get("content"))]
    inner = [deep for block in held if block["type"] == "tool_result" for deep in blocks(block.get("content"))]
    images = any(block["type"] == "image" for block in [*held, *inner])
    return [request.get("tool_choice"), thinking, images]


def _late_first_tool(request: JsonObject) -> bool:
    """A head without a tool on offer, and one defined later: the start of the prompt changes (providers.md 1.7)."""
    if any(not tool.get("defer_loading") for tool in listed(request, "tools")):
        return False
    return any(
        block["type"] == "tool_addition" and block["tool"]["type"] == "tool_definition"
        for message in request["messages"]
        for block in blocks(message.get("content"))
    )


def count(pieces: Sequence[Piece]) -> int:
    """Tokens of a prompt."""
    return sum(piece.tokens for piece in pieces)
