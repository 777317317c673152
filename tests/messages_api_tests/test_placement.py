"""Where a system message may stand: every rule of providers.md 1.4, and its nearest legal neighbour."""

import pytest

from tests.messages_api.betas import OUTPUT_CONFIG
from tests.messages_api.placement import FIRST, FOLLOWS, PAUSED, PRECEDES, SPLITS_CALL
from tests.messages_api.wire import JsonObject
from tests.messages_api_tests.building import (
    TOOLS,
    a,
    add,
    body,
    call,
    judged,
    refused,
    remove,
    result,
    s,
    searched,
    tool,
    u,
)

EFFORT: JsonObject = {"role": "system", "content": [], "output_config": {"effort": "low"}}

REFUSED: dict[str, tuple[list[JsonObject], str]] = {
    "after an assistant turn": ([u(), a(), s(), a()], FOLLOWS),
    "after an assistant turn, at the end": ([u(), a(), s()], FOLLOWS),
    "before a user message": ([u(), s(), u()], PRECEDES),
    "before a user message, run of two": ([u(), s(), s(), u(), a(), u()], PRECEDES),
    "first, with text": ([s(), u()], FIRST),
    "first, and alone": ([s()], FIRST),
    "between a call and its result": ([u(), a([call()]), s(), u([result()])], SPLITS_CALL),
    "between two results": (
        [u(), a([call("c1"), call("c2")]), u([result("c1")]), s(), u([result("c2")])],
        SPLITS_CALL,
    ),
    "tool block after a paused turn": ([u(), a(searched()), s(add(tool("late")))], PAUSED),
    "removal among texts after a paused turn": ([u(), a(searched()), s("x"), s("y", remove("look"))], PAUSED),
    "after a server call without its result": ([u(), a(searched()[:1]), s()], FOLLOWS),
}
ACCEPTED = {
    "after a user message, at the end": [u(), s()],
    "after a user message, before the assistant": [u(), s(), a(), u()],
    "after two user messages": [u(), u(), s(), a(), u()],
    "run of two": [u(), s(), s("other"), a(), u()],
    "after tool results": [u(), a([call()]), u([result()]), s()],
    "after all results of parallel calls": [
        u(), a([call("c1"), call("c2")]), u([result("c1")]), u([result("c2")]), s(), a(), u(),
    ],
    "tool blocks after a user message": [u(), s(add(tool("late")), remove("look")), a(), u()],
    "text after a paused turn": [u(), a(searched()), s()],
    "text after a paused turn that went on": [u(), a(searched()), s(), a(), u()],
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_a_misplaced_section_is_refused(case: str) -> None:
    """[providers 1.4] rules 1 to 5, each with the text of its family."""
    messages, message = REFUSED[case]
    assert message in refused(body(*messages, tools=[tool()])).message


@pytest.mark.parametrize("case", ACCEPTED, ids=str)
def test_the_nearest_legal_place_is_accepted(case: str) -> None:
    """[providers 1.4] the neighbours of the refused ones."""
    assert judged(body(*ACCEPTED[case], tools=[tool()])) is None


def test_known_texts() -> None:
    """[providers 1.5] the texts that a client may recognise a refused change by."""
    assert refused(body(s(), u())).message == (
        "messages.0: use the top-level 'system' parameter for the initial system prompt"
    )
    assert refused(body(u(), s(), u())).message == "role 'system' must precede an 'assistant' message or end the array"


@pytest.mark.parametrize(
    "messages",
    [
        [EFFORT, u()],
        [u(), EFFORT, u()],
        [u(), a(), EFFORT, u()],
        [u(), a(), u(), EFFORT, s(), EFFORT, a(), u()],
    ],
)
def test_an_entry_that_only_sets_effort_is_bound_by_no_rule(messages: list[JsonObject]) -> None:
    """[providers 1.4] empty content with `output_config.effort` stands anywhere and splits no section."""
    assert judged(body(*messages), TOOLS | {OUTPUT_CONFIG}) is None


EMPTY: JsonObject = {"role": "system", "content": [], "output_config": {}}
REFUSED_EFFORT: dict[str, tuple[list[JsonObject], str]] = {
    "neither content nor an output option": ([u(), EMPTY], "must have content or output_config"),
    "a section behind an entry that only sets effort": ([EFFORT, s(), u()], FOLLOWS),
    "nothing but entries that set effort": ([EFFORT, EFFORT], 'first message must use the "user" role'),
}


@pytest.mark.parametrize("case", REFUSED_EFFORT)
def test_what_an_entry_without_content_does_not_change(case: str) -> None:
    """[providers 1.1, 1.4] It has to say something, stands for no user message, and hides no section."""
    messages, message = REFUSED_EFFORT[case]
    assert message in refused(body(*messages), TOOLS | {OUTPUT_CONFIG}).message


def test_an_entry_that_says_something_is_accepted() -> None:
    """[providers 1.1] The neighbours: content beside an empty option, a user message before the section."""
    for messages in ([u(), {**EMPTY, "content": "note"}], [EFFORT, u(), s()], [EFFORT, u()]):
        assert judged(body(*messages), TOOLS | {OUTPUT_CONFIG}) is None


SENT = (
    "u1 s1",
    "u1 a1 u2 s1",
    "u1 u2 s1 a1 u3",
    "u1 s1 a1 u2 s2 s3",
    "u1 a1 u2 u3 s1 a2 u4",
)


@pytest.mark.parametrize("sent", SENT)
def test_every_sent_order_of_the_table_is_legal(sent: str) -> None:
    """[providers 1.4] the right column of the placement table (a user turn added where it ends in the assistant's)."""
    made = {"u": u, "a": a, "s": s}
    assert judged(body(*(made[item[0]](item) for item in sent.split()))) is None


@pytest.mark.parametrize("compiled", ["u1 a1 s1 u2", "u1 s1 u2 a1 u3", "s1 u1", "u1 a1 s1 u2 u3 a2 u4", "u1 a1 s1"])
def test_every_compiled_order_that_has_to_move_is_refused_as_it_is(compiled: str) -> None:
    """[providers 1.4] the left column of the table, sent without placement."""
    made = {"u": u, "a": a, "s": s}
    refused(body(*(made[item[0]](item) for item in compiled.split())))
