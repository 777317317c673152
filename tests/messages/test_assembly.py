"""Rows into a request's messages: what goes out of each, and the request-only turns."""

from typing import Any

import pytest

from manyminds.messages.assembly import assemble, extend, prompt_stamp, shown
from manyminds.messages.blocks import (
    Block,
    Image,
    Opaque,
    RedactedThinking,
    SystemChange,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from manyminds.messages.request import Msg
from manyminds.messages.rows import Placed, Row

A = frozenset({"a", "former"})
PIC = Image("image/png", b"x")
CALL = ToolCall("c1", "look", '{"at":"sky"}')
RESULT = ToolResult("c1", (Text("blue"),))
CHANGE = SystemChange(system=("Be brief.",))
EARLIER = Msg("user", (Text("[Earlier messages left out]"),))
CONTINUE = Msg("user", (Text("[Continue]"),))
HI = Msg("user", (Text("hi"),))


def row(who: str, *content: Block, opening: str = "", turn: int | None = None, **metadata: Any) -> Row:
    """A row of this participant, of a turn where one is named."""
    return Row("r", who, content, metadata, opening=opening, turn=turn, heard=None if turn is None else 0)


def placed(*rows: Row) -> list[Placed]:
    """The rows at positions 1, 2, …."""
    return [Placed(number, item) for number, item in enumerate(rows, 1)]


def said(text: str = "hi") -> Row:
    """Somebody's words."""
    return row("ann", Text(text))


SHOWN: list[tuple[str, Row, tuple[Block, ...]]] = [
    ("own: verbatim, thinking and calls too",
     row("a", Thinking("t", "s"), RedactedThinking("d"), Text("x"), CALL, turn=1),
     (Thinking("t", "s"), RedactedThinking("d"), Text("x"), CALL)),
    ("own: an unknown block goes back", row("a", Opaque("{}"), turn=1), (Opaque("{}"),)),
    ("own: two texts stay two", row("a", Text("x"), Text("y"), turn=1), (Text("x"), Text("y"))),
    ("own: blank text is stripped", row("a", Text(" \n"), CALL, Text(""), turn=1), (CALL,)),
    ("own by a former name", row("former", Thinking("t"), Text("x")), (Thinking("t"), Text("x"))),
    ("own: no opening", row("a", Text("x"), opening="a: "), (Text("x"),)),
    ("another's: opening before the first text", row("ann", Text("x"), Text("y"), opening="ann: "),
     (Text("ann: x"), Text("y"))),
    ("another's: opening past a picture", row("ann", PIC, Text("x"), opening="ann in #tea: "),
     (PIC, Text("ann in #tea: x"))),
    ("another's: opening past blank text", row("ann", Text(" "), Text("x"), opening="ann: "), (Text("ann: x"),)),
    ("another's: a picture alone still says whose", row("ann", PIC, opening="ann: "), (Text("ann:"), PIC)),
    ("another agent's: text and images only",
     row("b", Thinking("t", "s"), RedactedThinking("d"), Text("x"), CALL, PIC, Opaque("{}"), opening="b: ", turn=4),
     (Text("b: x"), PIC)),
    ("another agent's calls alone: dropped", row("b", Thinking("t"), CALL, opening="b: ", turn=4), ()),
    ("another agent's results: dropped", row("b", RESULT, turn=4), ()),
    ("blank: dropped", row("ann", Text(" \t\n"), opening="ann: "), ()),
    ("a notice: no opening", row("user", Text("[note]"), system=True), (Text("[note]"),)),
    ("a change", row("host", CHANGE), (CHANGE,)),
    ("blank text in a result", row("a", ToolResult("c1", (Text(""), PIC)), turn=1), (ToolResult("c1", (PIC,)),)),
]


@pytest.mark.parametrize(("name", "item", "blocks"), SHOWN, ids=[case[0] for case in SHOWN])
def test_what_a_row_shows(name: str, item: Row, blocks: tuple[Block, ...]) -> None:
    """[agents 2.4, 2.5] Own rows verbatim but blank text; of another's only text and images, with its opening."""
    assert shown(item, A) == blocks


REQUESTS: list[tuple[str, list[Row], tuple[Msg, ...]]] = [
    ("one row is one message", [said(), said("you")], (HI, Msg("user", (Text("you"),)))),
    ("own rows are assistant", [said(), row("a", Text("x"), turn=1), said()],
     (HI, Msg("assistant", (Text("x"),)), HI)),
    ("own neighbours are not merged", [said(), row("a", Text("x"), turn=1), row("a", Text("y"), turn=2), said()],
     (HI, Msg("assistant", (Text("x"),)), Msg("assistant", (Text("y"),)), HI)),
    ("all results of a round are one user message, rows handed over stand after it",
     [said(), row("a", CALL, turn=1), row("a", RESULT, ToolResult("c2", ()), turn=1), said()],
     (HI, Msg("assistant", (CALL,)), Msg("user", (RESULT, ToolResult("c2", ()))), HI)),
    ("results that were replaced one by one are one message",
     [said(), row("a", CALL, turn=1), row("a", RESULT, turn=1), row("a", ToolResult("c2", ()), turn=1)],
     (HI, Msg("assistant", (CALL,)), Msg("user", (RESULT, ToolResult("c2", ()))))),
    ("a request may end on results", [said(), row("a", CALL, turn=1), row("a", RESULT, turn=1)],
     (HI, Msg("assistant", (CALL,)), Msg("user", (RESULT,)))),
    ("it never begins with an own row", [row("a", Text("x"), turn=1), said()],
     (EARLIER, Msg("assistant", (Text("x"),)), HI)),
    ("nor behind a change", [row("host", CHANGE), row("a", Text("x"), turn=1), said()],
     (EARLIER, Msg("change", (CHANGE,)), Msg("assistant", (Text("x"),)), HI)),
    ("nor behind a row that shows nothing", [row("b", CALL, turn=3), row("a", Text("x"), turn=1), said()],
     (EARLIER, Msg("assistant", (Text("x"),)), HI)),
    ("ends on the own turn", [said(), row("a", Text("x"), turn=1)], (HI, Msg("assistant", (Text("x"),)), CONTINUE)),
    ("ends on the own turn, then a change",
     [said(), row("a", Text("x"), turn=1), row("host", CHANGE)],
     (HI, Msg("assistant", (Text("x"),)), Msg("change", (CHANGE,)), CONTINUE)),
    ("ends on the own turn, then an injection",
     [said(), row("a", Text("x"), turn=1), row("user", Text("inj"), kind="injection")],
     (HI, Msg("assistant", (Text("x"),)), Msg("user", (Text("inj"),)), CONTINUE)),
    ("both, one order",
     [said(), row("a", Text("x"), turn=1), row("host", CHANGE), row("user", Text("inj"), kind="injection")],
     (HI, Msg("assistant", (Text("x"),)), Msg("change", (CHANGE,)), Msg("user", (Text("inj"),)), CONTINUE)),
    ("both, the other order",
     [said(), row("a", Text("x"), turn=1), row("user", Text("inj"), kind="injection"), row("host", CHANGE)],
     (HI, Msg("assistant", (Text("x"),)), Msg("user", (Text("inj"),)), Msg("change", (CHANGE,)), CONTINUE)),
    ("ends on the own turn, then a row that shows nothing",
     [said(), row("a", Text("x"), turn=1), row("b", CALL, turn=2)],
     (HI, Msg("assistant", (Text("x"),)), CONTINUE)),
    ("a change after somebody's words needs no prompt", [said(), row("host", CHANGE)],
     (HI, Msg("change", (CHANGE,)))),
    ("nothing said yet", [], (CONTINUE,)),
    ("only a change", [row("host", CHANGE)], (Msg("change", (CHANGE,)), CONTINUE)),
]


@pytest.mark.parametrize(("name", "rows", "messages"), REQUESTS, ids=[case[0] for case in REQUESTS])
def test_a_request(name: str, rows: list[Row], messages: tuple[Msg, ...]) -> None:
    """[agents 2.4, 2.5, 2.8] Roles, the request's beginning and its tail, `[Continue]` after whole tails."""
    assert assemble(placed(*rows), A, changes=True) == messages


def test_change_rows_stay_out_on_head() -> None:
    """[declarations H1] In mode `head` change rows, whoever's, stay out of the request."""
    rows = placed(said(), row("a", Text("x"), turn=1), row("host", CHANGE))
    assert assemble(rows, A) == (HI, Msg("assistant", (Text("x"),)), CONTINUE)


def test_a_prompt_that_was_answered_is_shown_again_before_its_answer() -> None:
    """[agents 2.4] Later compiles show the request-only turn again, before the first surviving stamped row."""
    stamp: dict[str, Any] = {"promptedBy": {"turn": 2, "text": "[Continue]"}}
    rows = placed(said(), row("a", Text("x"), turn=1), row("a", Text("y"), turn=2, **stamp), said("ok"))
    said_x, said_y = Msg("assistant", (Text("x"),)), Msg("assistant", (Text("y"),))
    assert assemble(rows, A) == (HI, said_x, CONTINUE, said_y, Msg("user", (Text("ok"),)))
    assert assemble(rows[2:], A) == (CONTINUE, said_y, Msg("user", (Text("ok"),)))


def test_a_prompt_stands_once_before_several_rows_that_answered_it() -> None:
    """[agents 2.4] Several rows of one answer bear the stamp; another agent's stamp shows nothing."""
    stamp: dict[str, Any] = {"promptedBy": {"turn": 2, "text": "[Continue]"}}
    rows = placed(said(), row("a", Text("x"), turn=2, **stamp), row("a", Text("y"), turn=2, **stamp), said())
    assert assemble(rows, A) == (HI, CONTINUE, Msg("assistant", (Text("x"),)), Msg("assistant", (Text("y"),)), HI)
    assert assemble(placed(said(), row("b", Text("x"), turn=2, **stamp)), A) == (HI, Msg("user", (Text("x"),)))


def test_only_a_request_that_ends_on_the_prompt_stamps_its_answer() -> None:
    """[agents 2.4] Rows stored in reply to `[Continue]` are stamped, others are not."""
    assert prompt_stamp((HI, CONTINUE), 7) == {"promptedBy": {"turn": 7, "text": "[Continue]"}}
    assert prompt_stamp((HI,), 7) == {}
    assert prompt_stamp((CONTINUE, HI), 7) == {}
    assert prompt_stamp((), 7) == {}


def test_a_stream_grows_by_the_round_its_results_and_what_was_handed_over() -> None:
    """[agents 5.3] Round n+1's request is round n's, plus the round verbatim, its results, and the rows after them."""
    blocks = (Thinking("t", "s"), Text("  "), Text("I look"), CALL)
    handed = placed(row("ann", Text("wait"), opening="ann: "), row("host", CHANGE), row("b", CALL, turn=1))
    grown = (
        HI, Msg("assistant", (Thinking("t", "s"), Text("I look"), CALL)), Msg("user", (RESULT,)),
        Msg("user", (Text("ann: wait"),)),
    )
    assert extend((HI,), blocks, (RESULT,), handed, A) == grown
    assert extend((HI,), blocks, (RESULT,), handed, A, changes=True) == (*grown, Msg("change", (CHANGE,)))
