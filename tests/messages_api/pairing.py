"""Turns, calls and results: what must stand together in `messages`.

Owns: roles at the ends of the array, non-empty content, and that each client tool call has exactly one result, first
thing in the very next user turn, and each server tool call its result in its own turn unless that turn is the last
one (it was paused). Consecutive messages of one role are one turn; system messages are looked through, because their
place is `placement.py`'s matter. Pure; expects a request whose form was checked.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from .errors import ApiError, at, invalid
from .models import Model
from .wire import SERVER_CALLS, SERVER_RESULTS, JsonObject, Place, blocks, path_of

EMPTY_TEXT = "text content blocks must be non-empty"
BLANK_TEXT = "text content blocks must contain non-whitespace text"
NO_PREFILL = "This model does not support assistant message prefill. The conversation must end with a user message."


@dataclass(frozen=True, slots=True)
class Turn:
    """Consecutive messages of one role, their blocks with their places."""

    role: str
    held: tuple[tuple[Place, JsonObject], ...]

    def of(self, *kinds: str) -> Iterator[tuple[Place, JsonObject]]:
        """The blocks of these kinds."""
        return ((place, block) for place, block in self.held if block["type"] in kinds)


def turns_of(messages: Sequence[JsonObject]) -> list[Turn]:
    """The user and assistant turns of a conversation."""
    spoken = [(index, message) for index, message in enumerate(messages) if message["role"] != "system"]
    turns: list[Turn] = []
    for role, run in groupby(spoken, key=lambda entry: entry[1]["role"]):
        held = [
            ((index, number), block)
            for index, message in run
            for number, block in enumerate(blocks(message["content"]))
        ]
        turns.append(Turn(role, tuple(held)))
    return turns


def judge_turns(request: JsonObject, model: Model) -> ApiError | None:
    """The first turn, call or result that does not stand as it must."""
    messages: list[JsonObject] = request["messages"]
    turns = turns_of(messages)
    return (
        judge_ends(messages, turns, model)
        or judge_content(messages)
        or judge_texts(request)
        or _judge_ids(turns)
        or judge_calls(turns)
        or judge_server_calls(turns)
    )


def judge_ends(messages: Sequence[JsonObject], turns: Sequence[Turn], model: Model) -> ApiError | None:
    """The first turn is the user's (or a compaction), and the last one is no unfinished assistant turn."""
    if not messages:
        return at("messages", "at least one message is required")
    if not turns:
        return at("messages", 'first message must use the "user" role')
    if turns[0].role == "assistant" and [block["type"] for _, block in turns[0].held[:1]] != ["compaction"]:
        return at("messages", 'first message must use the "user" role')
    last = turns[-1]
    if last.role == "assistant" and not model.prefill and not _paused(last):
        return invalid(NO_PREFILL)
    return None


def _paused(turn: Turn) -> bool:
    return bool(turn.held) and turn.held[-1][1]["type"] in SERVER_CALLS | SERVER_RESULTS | {"compaction"}


def judge_content(messages: Sequence[JsonObject]) -> ApiError | None:
    """Only the last message, if it is the assistant's, may be empty."""
    for index, message in enumerate(messages):
        final = index == len(messages) - 1 and message["role"] == "assistant"
        if message["role"] != "system" and not message["content"] and not final:
            return at(
                f"messages.{index}",
                "all messages must have non-empty content except for the optional final assistant message",
            )
    return None


def judge_texts(request: JsonObject) -> ApiError | None:
    """No text block is empty or blank, neither in `system` nor in a message nor in a tool result."""
    system = request.get("system")
    sections = [("system", [] if isinstance(system, str) else blocks(system))]
    for index, message in enumerate(request["messages"]):
        held = blocks(message.get("content"))
        inner = [deep for block in held if block["type"] == "tool_result" for deep in blocks(block.get("content"))]
        sections.append((f"messages.{index}", [*held, *inner]))
    for path, held in sections:
        for block in held:
            if block["type"] == "text" and not block["text"].strip():
                return at(path, BLANK_TEXT if block["text"] else EMPTY_TEXT)
    return None


def _judge_ids(turns: Sequence[Turn]) -> ApiError | None:
    seen: set[str] = set()
    for turn in turns:
        for place, block in turn.of("tool_use", *SERVER_CALLS):
            if block["id"] in seen:
                return at(path_of(place), "`tool_use` ids must be unique")
            seen.add(block["id"])
    return None


def judge_calls(turns: Sequence[Turn]) -> ApiError | None:
    """Calls and results of client tools."""
    called: list[str] = []
    for turn in [*turns, Turn("user", ())]:
        if turn.role == "assistant":
            called = [block["id"] for _, block in turn.of("tool_use")]
            continue
        error = _judge_results(turn, called)
        if error:
            return error
        called = []
    return None


def _judge_results(turn: Turn, called: Sequence[str]) -> ApiError | None:
    """The results of one user turn against the calls of the assistant turn before it."""
    given: list[str] = []
    for number, (place, block) in enumerate(turn.held):
        if block["type"] != "tool_result":
            continue
        name = block["tool_use_id"]
        if name not in called:
            return at(
                path_of(place),
                f"unexpected `tool_use_id` found in `tool_result` blocks: {name}. Each "
                "`tool_result` block must have a corresponding `tool_use` block in the previous message.",
            )
        if name in given:
            return at(
                path_of(place),
                f"each tool_use must have a single result. Found multiple `tool_result` blocks with id: {name}",
            )
        if number != len(given):
            return _unanswered([name])
        given.append(name)
    missing = [name for name in called if name not in given]
    return _unanswered(missing) if missing else None


def _unanswered(names: Sequence[str]) -> ApiError:
    return at(
        "messages",
        "`tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(names)}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
        "message.",
    )


def judge_server_calls(turns: Sequence[Turn]) -> ApiError | None:
    """Calls and results of tools that the provider runs."""
    for turn in turns:
        if turn.role == "assistant":
            error = _judge_own(turn, turn is turns[-1])
            if error:
                return error
    return None


def _judge_own(turn: Turn, last: bool) -> ApiError | None:
    opened: dict[str, Place] = {}
    for place, block in turn.of(*SERVER_CALLS, *SERVER_RESULTS):
        if block["type"] in SERVER_CALLS:
            opened[block["id"]] = place
        elif opened.pop(block["tool_use_id"], None) is None:
            return at(
                path_of(place), f"unexpected `tool_use_id` found in `{block['type']}` blocks: {block['tool_use_id']}"
            )
    if opened and not last:
        name, place = next(iter(opened.items()))
        return at(path_of(place), f"server tool use with id {name} was found without a corresponding result block")
    return None
