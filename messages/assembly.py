"""Request assembly: compiled rows, in the order in which the agent heard them, become a request's messages.

Owns what of a row goes out, the two request-only turns, and how a live stream's next request grows out of its
last one (agents.md 2.4, 2.5, 5.3). `extend` gives byte for byte what a compile at that point would give.
Never chooses rows (strategies), never hides any (views), never merges neighbours of one role.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .blocks import Block, Image, ReplyBlock, Text, ToolResult
from .request import Msg
from .rows import Placed, Row, is_change
from .views import is_injection

EARLIER = "[Earlier messages left out]"
CONTINUE = "[Continue]"
PROMPTED_BY = "promptedBy"


def _kept(block: Block) -> Block | None:
    """The block as it goes out, None for blank text (agents.md 2.4)."""
    if isinstance(block, Text):
        return block if block.text.strip() else None
    if isinstance(block, ToolResult):
        content = tuple(part for part in block.content if not isinstance(part, Text) or part.text.strip())
        return block if content == block.content else replace(block, content=content)
    return block


def _without_blank(blocks: Iterable[Block]) -> tuple[Block, ...]:
    return tuple(kept for kept in map(_kept, blocks) if kept is not None)


def _opened(opening: str, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """The blocks with the opening before the first text, or as a text of its own where there are only images."""
    if not opening or not blocks:
        return blocks
    for index, block in enumerate(blocks):
        if isinstance(block, Text):
            return (*blocks[:index], Text(opening + block.text), *blocks[index + 1:])
    return (Text(opening.rstrip()), *blocks)


def shown(row: Row, voices: frozenset[str]) -> tuple[Block, ...]:
    """The blocks of a row that go out to the agent of these voices; empty where the row is dropped.

    Of an own row all but blank text, verbatim; of another's only text and images, with its opening; of a change
    row its changes.
    """
    if is_change(row):
        return row.content
    blocks = _without_blank(row.content)
    if row.participant in voices:
        return blocks
    return _opened(row.opening, tuple(block for block in blocks if isinstance(block, (Text, Image))))


def _prompt(text: str) -> Msg:
    return Msg("user", (Text(text),))


def _is_results(row: Row, voices: frozenset[str]) -> bool:
    return row.participant in voices and any(isinstance(block, ToolResult) for block in row.content)


class _Draft:
    """Messages in the making, and what the tail rules need to know of them."""

    def __init__(self, voices: frozenset[str], changes: bool) -> None:
        self.messages: list[Msg] = []
        self.own_turn_last = False
        self._voices = voices
        self._changes = changes
        self._prompted: set[tuple[str, object, int | None, str]] = set()
        self._results_of: Row | None = None

    def add(self, row: Row) -> None:
        """Append what the row shows."""
        blocks = shown(row, self._voices)
        if not blocks:
            return
        if is_change(row):
            if self._changes:
                self.messages.append(Msg("change", blocks))
                self._results_of = None
            return
        if _is_results(row, self._voices):
            self._add_results(row, blocks)
            return
        self._results_of = None
        own = row.participant in self._voices
        if own:
            self._prompt_again(row)
        self.messages.append(Msg("assistant" if own else "user", blocks))
        if not is_injection(row):
            self.own_turn_last = own

    def _add_results(self, row: Row, blocks: tuple[Block, ...]) -> None:
        # Results that were replaced one by one still are one round's, and so one message.
        if self._results_of is not None:
            blocks = (*self.messages.pop().content, *blocks)
        self.messages.append(Msg("user", blocks))
        self._results_of = row
        self.own_turn_last = False

    def _prompt_again(self, row: Row) -> None:
        """The request-only turn that the row answered, before the first surviving row of that answer."""
        stamp: Mapping[str, Any] | None = row.metadata.get(PROMPTED_BY)
        if stamp is None:
            return
        text = str(stamp.get("text", CONTINUE))
        # A row's `heard` tells one request of a turn from the next.
        key = (row.participant, stamp.get("turn"), row.heard, text)
        if key not in self._prompted:
            self._prompted.add(key)
            self.messages.append(_prompt(text))


def assemble(rows: Sequence[Placed], voices: frozenset[str], *, changes: bool = False) -> tuple[Msg, ...]:
    """The messages of a request from compiled rows in heard order (agents.md 2.4, 2.5).

    `voices`: the agent's name and its self participants. `changes`: whether the request carries change rows
    (declarations, mode `entries`). A request always holds a user turn: one that would hold none, or end on the
    agent's own turn, ends with `[Continue]`.
    """
    draft = _Draft(voices, changes)
    for placed in rows:
        draft.add(placed.row)
    messages = draft.messages
    first = next((message for message in messages if message.role != "change"), None)
    if first is not None and first.role == "assistant":
        messages.insert(0, _prompt(EARLIER))
    if draft.own_turn_last or all(message.role != "user" for message in messages):
        messages.append(_prompt(CONTINUE))
    return tuple(messages)


def extend(
    messages: tuple[Msg, ...], blocks: tuple[ReplyBlock, ...], results: Sequence[ToolResult],
    injected: Sequence[Placed], voices: frozenset[str], *, changes: bool = False,
) -> tuple[Msg, ...]:
    """The next request of a live stream: the last one, the round's blocks, its results, and the rows handed over.

    `injected`: the rows of the agent's view past its old watermark, in log order, own turn rows left out. Equal
    to `assemble` of the rows as they then stand, where the round's row carries `prompt_stamp(messages, turn)`.
    """
    draft = _Draft(voices, changes)
    spoken = _without_blank(blocks)
    if spoken:
        draft.messages.append(Msg("assistant", spoken))
        draft.own_turn_last = True
    if results:
        draft.messages.append(Msg("user", _without_blank(results)))
        draft.own_turn_last = False
    for placed in injected:
        draft.add(placed.row)
    if draft.own_turn_last:
        draft.messages.append(_prompt(CONTINUE))
    return (*messages, *draft.messages)


def prompt_stamp(messages: Sequence[Msg], turn: int) -> dict[str, Any]:
    """Metadata for the row that answers this request: which request-only turn it was prompted by, {} for none.

    Later compiles show that turn again before the row, so that no byte before it moves (agents.md 2.4).
    """
    if messages and messages[-1].role == "user" and messages[-1].content == (Text(CONTINUE),):
        return {PROMPTED_BY: {"turn": turn, "text": CONTINUE}}
    return {}
