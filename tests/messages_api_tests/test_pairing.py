"""Turns, calls and results: each refusal with its legal neighbour."""

import pytest

from tests.messages_api.pairing import BLANK_TEXT, EMPTY_TEXT, NO_PREFILL
from tests.messages_api.wire import JsonObject
from tests.messages_api_tests.building import a, body, call, judged, refused, result, s, searched, t, u

OLD = {"model": "claude-sonnet-4-5"}
CASES: dict[str, tuple[JsonObject, JsonObject, str]] = {
    "no message": ({**body(), "messages": []}, body(), "at least one message is required"),
    "assistant first": (body(a(), u()), body(u(), a(), u()), 'first message must use the "user" role'),
    "assistant last": (body(u(), a()), body(u(), a(), u()), NO_PREFILL),
    "assistant last, on a model without prefill": (body(u(), a()), body(u(), a(), **OLD), NO_PREFILL),
    "assistant last, not paused": (body(u(), a([*searched(), t("so")])), body(u(), a(searched())), NO_PREFILL),
    "empty user message": (body(u("")), body(u("x")), "messages.0: all messages must have non-empty content"),
    "empty assistant message": (body(u(), a([]), u()), body(u(), a([t("x")]), u()), "messages.1: all messages must"),
    "empty text block": (body(u([t("x"), t("")])), body(u([t("x"), t(".")])), EMPTY_TEXT),
    "blank text block": (body(u([t(" \n")])), body(u([t(" x")])), BLANK_TEXT),
    "empty text in system": (body(system=[t("")]), body(system=[t("x")]), f"system: {EMPTY_TEXT}"),
    "empty text in a system message": (body(u(), s("")), body(u(), s("x")), EMPTY_TEXT),
    "empty text in a result": (
        body(u(), a([call()]), u([result(content=[t("")])])),
        body(u(), a([call()]), u([result(content="")])),
        EMPTY_TEXT,
    ),
    "call without a result": (
        body(u(), a([call()]), u()),
        body(u(), a([call()]), u([result()])),
        "`tool_use` ids were found without `tool_result` blocks immediately after: c1",
    ),
    "call at the end": (
        body(u(), a([call()]), **OLD),
        body(u(), a([t("x")]), **OLD),
        "`tool_use` ids were found without `tool_result` blocks immediately after: c1",
    ),
    "one of two results": (
        body(u(), a([call("c1"), call("c2")]), u([result("c1")])),
        body(u(), a([call("c1"), call("c2")]), u([result("c2"), result("c1")])),
        "immediately after: c2",
    ),
    "result one turn late": (
        body(u(), a([call()]), u(), a(), u([result()])),
        body(u(), a([call()]), u([result()]), a(), u()),
        "immediately after: c1",
    ),
    "result without a call": (
        body(u([result()])),
        body(u(), a([call()]), u([result()])),
        "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: c1",
    ),
    "result of an older call again": (
        body(u(), a([call()]), u([result()]), a(), u([result()])),
        body(u(), a([call()]), u([result()]), a(), u()),
        "messages.4.content.0: unexpected `tool_use_id`",
    ),
    "two results of one call": (
        body(u(), a([call()]), u([result(), result()])),
        body(u(), a([call()]), u([result(), t("x")])),
        "each tool_use must have a single result",
    ),
    "text before the result": (
        body(u(), a([call()]), u([t("x"), result()])),
        body(u(), a([call()]), u([result(), t("x")])),
        "immediately after: c1",
    ),
    "user message before the result": (
        body(u(), a([call()]), u("x"), u([result()])),
        body(u(), a([call()]), u([result()]), u("x")),
        "immediately after: c1",
    ),
    "one id twice": (
        body(u(), a([call("c1"), call("c1")]), u([result("c1")])),
        body(u(), a([call("c1"), call("c2")]), u([result("c1"), result("c2")])),
        "messages.1.content.1: `tool_use` ids must be unique",
    ),
    "one id in two turns": (
        body(u(), a([call()]), u([result()]), a([call()]), u([result()])),
        body(u(), a([call()]), u([result()]), a([call("c2")]), u([result("c2")])),
        "messages.3.content.0: `tool_use` ids must be unique",
    ),
    "server call without a result": (
        body(u(), a([searched()[0], t("x")]), u()),
        body(u(), a([*searched(), t("x")]), u()),
        "server tool use with id srv1 was found without a corresponding result block",
    ),
    "server result without a call": (
        body(u(), a(searched()[1:]), u()),
        body(u(), a(searched()), u()),
        "unexpected `tool_use_id` found in `web_search_tool_result` blocks: srv1",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_turns(case: str) -> None:
    """[providers 3.7] what has to stand together; the nearest legal conversation passes."""
    wrong, right, message = CASES[case]
    assert message in refused(wrong).message
    assert judged(right) is None


def test_a_paused_turn_may_be_sent_back_as_it_is() -> None:
    """[providers 2.2] `pause_turn`: the assistant turn goes back last, even before its server tool has answered."""
    assert judged(body(u(), a(searched()[:1]))) is None


def test_a_compaction_may_come_first() -> None:
    """[providers 1.9] a compaction block stands for what it summarises, so no user turn stands before it."""
    assert judged(body(a([{"type": "compaction", "content": "before"}]), u())) is None
