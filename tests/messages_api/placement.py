"""Where a system message may stand inside `messages` (providers.md 1.4, rules 1 to 5).

Owns: the judgement of placement. Consecutive system messages are judged as one section; an entry without content,
which only sets an output option, is bound by none of the rules and is looked through. Pure; expects a request whose
form was checked.

A request does not carry stop reasons, so rule 5 is read from what it holds: a section that follows an assistant turn
can only be one that continues a paused turn, and there text is taken and a tool block is not.
"""

from collections.abc import Sequence
from itertools import groupby

from .errors import ApiError, at, invalid
from .wire import SERVER_RESULTS, TOOL_CHANGES, JsonObject, blocks, carries_content

FIRST = "use the top-level 'system' parameter for the initial system prompt"
SPLITS_CALL = "role 'system' must not come between a 'tool_use' and its 'tool_result'"
FOLLOWS = "role 'system' must follow a 'user' message or an 'assistant' message that ends in a server tool result"
PRECEDES = "role 'system' must precede an 'assistant' message or end the array"
PAUSED = "tool_addition/tool_removal is not allowed directly after a paused 'assistant' turn"


def judge_placement(messages: Sequence[JsonObject]) -> ApiError | None:
    """The first section that stands where none may."""
    for index, message in enumerate(messages):
        if message["role"] == "system" and not carries_content(message) and not message.get("output_config"):
            return at(f"messages.{index}", "role 'system' must have content or output_config")
    shown = [
        (index, message)
        for index, message in enumerate(messages)
        if message["role"] != "system" or carries_content(message)
    ]
    runs = [list(run) for _, run in groupby(shown, key=lambda entry: entry[1]["role"])]
    for number, run in enumerate(runs):
        if run[0][1]["role"] == "system":
            error = _judge_section(runs, number)
            if error:
                return error
    return None


def _judge_section(runs: Sequence[Sequence[tuple[int, JsonObject]]], number: int) -> ApiError | None:
    """One run of system messages; `runs` are the conversation's runs of one role each."""
    section = [message for _, message in runs[number]]
    if number == 0:
        return at("messages.0", FIRST) if runs[0][0][0] == 0 else invalid(FOLLOWS)
    before = [message for _, message in runs[number - 1]]
    follower = runs[number + 1][0][1]["role"] if number + 1 < len(runs) else None
    if _pending(runs, number):
        return invalid(SPLITS_CALL)
    if before[-1]["role"] == "assistant":
        last = blocks(before[-1]["content"])[-1:]
        if not last or last[0]["type"] not in SERVER_RESULTS:
            return invalid(FOLLOWS)
    if follower not in (None, "assistant"):
        return invalid(PRECEDES)
    changes = any(block["type"] in TOOL_CHANGES for message in section for block in blocks(message["content"]))
    if before[-1]["role"] == "assistant" and changes:
        return invalid(PAUSED)
    return None


def _pending(runs: Sequence[Sequence[tuple[int, JsonObject]]], number: int) -> bool:
    """Whether a call of the assistant turn before this section still waits for its result there."""
    called: set[str] = set()
    for run in runs[:number]:
        for _, message in run:
            if message["role"] == "system":
                continue
            found = blocks(message["content"])
            called |= {block["id"] for block in found if block["type"] == "tool_use"}
            called -= {block["tool_use_id"] for block in found if block["type"] == "tool_result"}
    return bool(called)
