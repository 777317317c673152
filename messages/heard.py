"""The order of rows as one agent heard them (agents.md 2.5).

Two residents may be in turns at once; then a row can stand in the log before a turn's rows and yet have been
heard after them. Each row that a turn produced stores the watermark of its request, and this order follows
it, so that no agent's next request moves what it was already sent. The identity for a room with one agent.
Pure; decides order only, never what is shown.
"""

from collections.abc import Sequence

from .blocks import ToolCall, ToolResult
from .rows import Placed, Row


def is_turn_row(row: Row, voices: frozenset[str]) -> bool:
    """Whether a turn of this agent produced the row. An own-voice row that no turn produced orders as another's."""
    return row.turn is not None and row.participant in voices


def _heard(placed: Placed) -> int:
    return placed.position if placed.row.heard is None else placed.row.heard


def _answers(row: Row) -> list[str]:
    return [block.call_id for block in row.content if isinstance(block, ToolResult)]


def _rounds(own: Sequence[Placed]) -> list[list[Placed]]:
    """Own turn rows in order, results beside the row that holds their calls."""
    rounds: list[list[Placed]] = []
    by_call: dict[str, int] = {}
    for placed in own:
        at = next((by_call[call] for call in _answers(placed.row) if call in by_call), None)
        if at is None:
            at = len(rounds)
            rounds.append([])
        rounds[at].append(placed)
        by_call.update((block.id, at) for block in placed.row.content if isinstance(block, ToolCall))
    return rounds


def as_heard(rows: Sequence[Placed], voices: frozenset[str]) -> list[Placed]:
    """The rows in the order in which the agent of these voices heard them.

    Another's row stands before an own row exactly when its position is at most that row's `heard`; own results
    stand with their calls; positions decide the rest.
    """
    ordered = sorted(rows, key=lambda placed: placed.position)
    others = [placed for placed in ordered if not is_turn_row(placed.row, voices)]
    if len(others) == len(ordered):
        return ordered
    result: list[Placed] = []
    taken = 0
    for own in _rounds([placed for placed in ordered if is_turn_row(placed.row, voices)]):
        while taken < len(others) and others[taken].position <= _heard(own[0]):
            result.append(others[taken])
            taken += 1
        result.extend(own)
    result.extend(others[taken:])
    return result


def clean_cut(rows: Sequence[Placed], voices: frozenset[str], since: int | None = None) -> bool:
    """Whether no older row can stand inside these newest rows, so that a newest-first reader may stop.

    `since`: the lowest position that was read, where the view hid rows below the first one. True means that the
    order of the whole log ends with the order of these rows. A reader at the log's start need not ask.
    """
    if not rows:
        return True
    lowest = min(placed.position for placed in rows) if since is None else since
    called: set[str] = set()
    for placed in sorted(rows, key=lambda item: item.position):
        if not is_turn_row(placed.row, voices):
            continue
        # An older row past this watermark would stand behind this row; a result without its call stands further back.
        if lowest > _heard(placed) + 1 or any(call not in called for call in _answers(placed.row)):
            return False
        called.update(block.id for block in placed.row.content if isinstance(block, ToolCall))
    return True
