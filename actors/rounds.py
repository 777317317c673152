"""What a finished round comes to: its words' outbox entries, its rows, and the turn's record after it.

Functions of the turn and the model's blocks, with the store read only to resolve a named channel. The agent's turn
sends what they return; nothing here writes, tells or waits.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace

from ..messages.assembly import CONTINUE, PROMPTED_BY
from ..messages.blocks import Block, Text, ToolCall, ToolResult, calls, is_thinking, text_of
from ..messages.notices import Notice, inference_failed, notice_row, turn_interrupted
from ..messages.prose.wrapper import imitated
from ..messages.prose_notices import wrapper_contained
from ..messages.request import Done, ErrorRecord, Msg
from ..messages.routing import shown_label
from ..messages.rows import Row
from ..messages.turns import Round, Turn
from ..storage import registry
from .desk import Desk

_log = logging.getLogger(__name__)


def _stamp(turn: Turn, prompted: bool) -> dict[str, object]:
    return {PROMPTED_BY: {"turn": turn.number, "text": CONTINUE}} if prompted else {}


def opening_of(desk: Desk, turn: Turn) -> str:
    """How the turn's words open for the other agents of the room; fixed when the row is stored (agents.md 2.5)."""
    name = desk.spec.present_as or turn.agent
    if turn.locus is None:
        return f"{name}: "
    with desk.system.store.snapshot() as snap:
        known = registry.channels(snap)
    here = next((channel for channel in known if channel.at == turn.locus.at), None)
    if here is None or len(known) < 2:
        return f"{name}: "
    return f"{name} in {shown_label(here.label or here.at.channel, here.kind)}: "


def round_rows(desk: Desk, turn: Turn, results: tuple[ToolResult, ...]) -> tuple[Row, ...]:
    """The two rows of a round that ended in calls: its blocks verbatim, and its results (agents.md 5.3)."""
    round_, now = turn.round, desk.now()
    if round_ is None:
        return ()
    row_id = f"{turn.agent}/{turn.number}/{round_.number}"
    stamp = _stamp(turn, round_.prompted)
    opening = opening_of(desk, turn)
    spoken = Row(f"{row_id}c", turn.agent, round_.blocks, stamp, now, turn.number, round_.watermark, opening)
    answered = Row(f"{row_id}r", turn.agent, results, {"results": True}, now, turn.number, round_.watermark)
    return (spoken, answered) if results else (spoken,)


def refused(done: Done) -> ErrorRecord:
    """The record of an answer that is the model's refusal; the category is the provider's word (providers.md 2.2)."""
    category = str(done.stop_details.get("category") or "")
    return ErrorRecord("refusal", f"the model refused to answer{f' ({category})' if category else ''}", code=category)


def interrupted_rows(desk: Desk, turn: Turn, text: str) -> tuple[Row, ...]:
    """A round that was cut after its text was shown, as far as it was; never posted (agents.md 19.13)."""
    if not text.strip():
        return ()
    row_id, opening = f"{turn.agent}/{turn.number}/cut", opening_of(desk, turn)
    content = (Text(text),)
    return (Row(row_id, turn.agent, content, {"interrupted": True}, desk.now(), turn.number, turn.watermark, opening),)


def contained_call(desk: Desk, turn: Turn, done: Done) -> Row | None:
    """The notice in place of an answer that only imitates a tool's call, where the guard is on (prose 12)."""
    if not desk.spec.wrapper_guard or turn.calls or done.calls:
        return None
    name = imitated(text_of(done.content), desk.tools)
    if name is None:
        return None
    notice = wrapper_contained(name)
    return notice_row(f"{turn.agent}/{turn.number}/contained", notice, desk.now(), turn.agent)


WITHHELD = "withheld: the model refused to go on after it saw this result; what the call did stands"


def withheld_results(desk: Desk, turn: Turn, messages: Sequence[Msg]) -> tuple[Turn, str, Row]:
    """(the turn after its one retry is used, the id of the last round's results row, the row in its place)."""
    row_id = f"{turn.agent}/{turn.number}/{turn.rounds}r"
    answered = next(
        (m.content for m in reversed(messages) if any(isinstance(block, ToolResult) for block in m.content)), ()
    )
    results = tuple(
        ToolResult(block.call_id, (Text(WITHHELD),), True) for block in answered if isinstance(block, ToolResult)
    )
    row = Row(
        f"{row_id}w", turn.agent, results, {"results": True}, desk.now(), turn.number, turn.watermark
    )
    return replace(turn, guarded=True), row_id, row


def closing_rows(desk: Desk, turn: Turn, blocks: Sequence[Block], prompted: bool) -> tuple[Row, ...]:
    """The closing row; none for an output of nothing but thinking or blank text (agents.md 2.4)."""
    kept = tuple(b for b in blocks if not isinstance(b, Text) or b.text.strip())
    if all(is_thinking(b) for b in kept):
        if kept:
            _log.warning("turn %d of %s ended in thinking alone; it is not stored", turn.number, turn.agent)
        return ()
    row_id = f"{turn.agent}/{turn.number}/end"
    stamp, opening = _stamp(turn, prompted), opening_of(desk, turn)
    return (Row(row_id, turn.agent, tuple(blocks), stamp, desk.now(), turn.number, turn.watermark, opening),)


def owed_rows(turn: Turn, where: str, now: float) -> tuple[Row, ...]:
    """The notices that the turn has earned and no row tells yet; `where` they are stored makes their ids."""
    return tuple(
        notice_row(f"{turn.agent}/{turn.number}/{where}{index}", Notice(owed.text, owed.metadata), now, turn.agent)
        for index, owed in enumerate(turn.owed)
    )


def end_rows(
    turn: Turn, ending: str, error: ErrorRecord | None, by: str, streak: int, now: float
) -> tuple[Row, ...]:
    """The notice that an ending owes: a failure's, or a cancel's (agents.md 5.5, 6.2)."""
    row_id = f"{turn.agent}/{turn.number}/ending"
    if ending == "exhausted" and error is not None:
        return (notice_row(row_id, inference_failed(error.text, streak), now, turn.agent),)
    if ending == "cancelled":
        under_way = [call.name for call in calls(turn.round.blocks)] if turn.round is not None else []
        return (notice_row(row_id, turn_interrupted(by, under_way), now, turn.agent),)
    return ()


def calls_of(round_: Round) -> tuple[ToolCall, ...]:
    """The calls of a round, in the order in which they were written."""
    return calls(round_.blocks)
