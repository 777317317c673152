"""Every fault of the wire through the whole runtime: the error's record, the ladder's step, and no tool that runs."""

from dataclasses import replace
from typing import Any

import pytest

from manyminds.actors.traces import Trace
from manyminds.messages.request import ErrorKind, ErrorRecord
from tests.actors.on_threads import message, runtime
from tests.flows.claude import ENDS, Noting, ada, claude, turn, until
from tests.messages_api.errors import api_error
from tests.messages_api.faults import (
    BAD_REQUESTS,
    Cut,
    EmptyStream,
    EndEarly,
    Hold,
    StreamError,
    overloaded,
    rate_limited,
    server_error,
    spend_limited,
)
from tests.messages_api.replies import Answer, Text, Thinking, ToolUse, partial_call, refusal, reply
from tests.messages_api_tests.sdk import serving

pytestmark = [pytest.mark.socket, pytest.mark.pool, pytest.mark.timeout(120)]


TEXT = Text("hello", cut=1)
CALL = ToolUse("weather", {"city": "Riga"}, cut=4)
ID = "req_000001"
UNRESOLVED, CONFLICT, LIMIT = "tool_reference_unresolved", "tool_name_conflict", "available_tools_limit_exceeded"


def before(kind: ErrorKind, status: int, code: str, wait: float | None = None, retry: bool = False) -> ErrorRecord:
    """The record of an error that came in the place of a stream; its text is compared apart."""
    return ErrorRecord(kind, "", retry, wait, status, code, request_id=ID)


def within(kind: ErrorKind, code: str = "", retry: bool = True) -> ErrorRecord:
    """The record of a failure inside a 200: it has no status."""
    return ErrorRecord(kind, "", retry, None, None, code, request_id=ID)


LOST = ErrorRecord("network", "", True)
SERVER = "the connection to the model's server at 127.0.0.1:"
INVALID = "invalid_request_error"
KINDS: dict[str, tuple[ErrorKind, str]] = {
    "unknown-tool": ("system_change_refused", UNRESOLVED),
    "name-conflict": ("system_change_refused", CONFLICT),
    "too-many-tools": ("system_change_refused", LIMIT),
    "no-system-role": ("system_change_refused", INVALID),
    "misplaced": ("system_change_refused", INVALID),
    "first-system": ("system_change_refused", INVALID),
    "no-tool-changes": ("system_change_refused", INVALID),
    "extra-input": ("invalid_request", INVALID),
    "thinking-binding": ("thinking_binding", INVALID),
    "too-long": ("context_length", INVALID),
}


def inside(answer: Answer, after: int = 3) -> Answer:
    """The error as an event of a stream that had begun."""
    return reply(TEXT, faults=[StreamError(answer, after)])  # type: ignore[arg-type]


LADDER: dict[str, tuple[Answer, ErrorRecord, str, float | None]] = {
    "429 with retry-after": (
        rate_limited("7"), before("rate_limit", 429, "rate_limit_error", 7.0, True), "answered with 429", 7.0),
    "429 without": (
        rate_limited(None), before("rate_limit", 429, "rate_limit_error", None, True), "answered with 429", 1.0),
    "spend limit": (
        spend_limited(), before("rate_limit", 429, "enforced_spend_limit_reached"), "usage limits", None),
    "529": (overloaded(), before("overloaded", 529, "overloaded_error", None, True), "Overloaded", 1.0),
    "500": (server_error(), before("server", 500, "api_error", None, True), "Internal server error", 1.0),
    "504": (server_error(504), before("timeout", 504, "timeout_error", None, True), "answered with 504", 1.0),
    "401": (
        api_error(401, "invalid x-api-key"), before("auth", 401, "authentication_error"), "check the key", None),
    "404": (api_error(404, "model: x"), before("invalid_request", 404, "not_found_error"), "model: x", None),
    "413": (api_error(413, "too large"), before("context_length", 413, "request_too_large"), "too large", None),
    **{f"400 {name}": (error, before(KINDS[name][0], 400, KINDS[name][1]), error.message, None)
       for name, error in BAD_REQUESTS.items()},
    **{f"400 inside the stream, {name}": (inside(error), within(*KINDS[name], retry=False), "as 400", None)
       for name, error in BAD_REQUESTS.items()},
    "529 inside the stream": (
        inside(overloaded()), within("overloaded", "overloaded_error"), "as 529: Overloaded", 1.0),
    "529 inside the stream, at its start": (
        inside(overloaded(), 0), within("overloaded", "overloaded_error"), "as 529: Overloaded", 1.0),
    "500 inside the stream": (inside(server_error()), within("server", "api_error"), "as 500", 1.0),
    "429 inside the stream": (
        inside(rate_limited("7")), within("rate_limit", "rate_limit_error"), "as 429", 1.0),
    "an end without message_stop": (reply(TEXT, faults=[EndEarly()]), within("truncated"), "before the message", 1.0),
    "an end within a call": (reply(CALL, faults=[EndEarly(5)]), within("truncated"), "before the message", 1.0),
    "an end after a call": (reply(CALL, faults=[EndEarly()]), within("truncated"), "before the message", 1.0),
    "an end within thinking": (
        reply(Thinking("hm", cut=1), faults=[EndEarly(3)]), within("truncated"), "before the message", 1.0),
    "an empty stream": (reply(faults=[EmptyStream()]), within("truncated"), "before the message", 1.0),
    "a cut before the answer": (reply(faults=[Cut(None)]), LOST, SERVER, 1.0),
    "a cut socket": (reply(TEXT, faults=[Cut(4)]), LOST, SERVER, 1.0),
    "a cut socket within a call": (reply(CALL, faults=[Cut(5)]), LOST, SERVER, 1.0),
    "a cut socket after a call": (reply(CALL, faults=[Cut(10)]), LOST, SERVER, 1.0),
}  # fmt: skip


def failed(answer: Answer, ran: list[str], **options: Any) -> tuple[Trace, ErrorRecord]:
    """What one message comes to whose request is answered so: the turn's end or its retry, and the error's record."""
    with serving(answer) as server:
        model = Noting(claude(server, **options))
        with runtime(model, None, [ada(ran)]) as (opened, board):
            traces = opened.subscribe()
            opened.receive(message("ada: hello", to="ada"))
            ended = until(traces, "inference:failed", *ENDS)
            if ended.name == "inference:failed":
                assert opened.cancel("ada")
        assert len(server.log.rounds()) == 1
    assert board.posts == []
    (error,) = model.errors
    return ended, error


@pytest.mark.parametrize(("answer", "record", "words", "delay"), LADDER.values(), ids=LADDER)
def test_a_failure_takes_its_step_of_the_ladder(
    answer: Answer, record: ErrorRecord, words: str, delay: float | None
) -> None:
    """[agents 6.1] [providers 2.2] Its record in full; then sent again after the stated wait or after 1 s, or given up
    at once; no tool runs, nothing is posted, and it is never a normal end.
    """
    ran: list[str] = []
    ended, error = failed(answer, ran)
    assert replace(error, text="") == record
    assert words in error.text
    if delay is None:
        assert (ended.name, ended.fields["errorType"]) == ("inference:exhausted", record.kind)
    else:
        assert (ended.name, ended.fields["kind"], ended.fields["delay"]) == ("inference:failed", record.kind, delay)
    assert ended.fields["error"] == error.text
    assert ran == []


@pytest.mark.parametrize("after", [None, 1, 4])
def test_a_server_that_is_silent_fails_the_request(after: int | None) -> None:
    """[providers 2.1.7] A byte that does not come, first or later, is a timeout on the ladder's first step."""
    ended, error = failed(reply(TEXT, faults=[Hold(after=after)]), [], timeout=0.3)
    assert replace(error, text="") == ErrorRecord("timeout", "", True)
    assert error.text.endswith("did not answer in time")
    assert (ended.name, ended.fields["kind"], ended.fields["delay"]) == ("inference:failed", "timeout", 1.0)


def test_a_server_that_is_not_there_fails_the_request() -> None:
    """[providers 2.1.7] A retry on the ladder's first step; the text says where and what to look at."""
    with serving() as server:
        model = Noting(claude(server))
    with runtime(model, None, [ada()]) as (opened, _):
        traces = opened.subscribe()
        opened.receive(message("ada: hello", to="ada"))
        failed = until(traces, "inference:failed", *ENDS)
        assert opened.cancel("ada")
    assert (failed.name, failed.fields["kind"], failed.fields["delay"]) == ("inference:failed", "network", 1.0)
    assert failed.fields["error"].endswith("failed (ConnectError); is it there, and is its address right?")
    assert [replace(error, text="") for error in model.errors] == [LOST]


def test_a_slow_first_byte_is_waited_for() -> None:
    """[providers 3.6] Slow is not broken: what comes in time is an answer like any other."""
    held = Hold()
    with serving(reply("late", faults=[held])) as server, runtime(claude(server), None, [ada()]) as (opened, board):
        traces = opened.subscribe()
        opened.receive(message("ada: hello", to="ada"))
        assert held.gate.reached.wait(30)
        assert board.posts == []
        held.gate.open()
        assert until(traces, "inference:failed", *ENDS).name == "inference:completed"
        assert board.next().text == "late"


def test_after_its_wait_the_same_request_is_sent_again() -> None:
    """[agents 6.1] What a 429 asks for is waited for, then the same bytes go out, and the turn ends well."""
    with serving(rate_limited("0.01"), reply("hello")) as server:
        with runtime(claude(server), None, [ada()]) as (opened, board):
            traces = opened.subscribe()
            opened.receive(message("ada: hello", to="ada"))
            assert until(traces, "inference:failed").fields["delay"] == 0.01
            assert until(traces, "inference:completed")
            assert board.next().text == "hello"
        first, second = server.log.rounds()
    assert first.raw == second.raw


@pytest.mark.parametrize(("category", "words"), [("cyber", "the model refused to answer (cyber)"),
                                                 (None, "the model refused to answer")])
def test_a_refusal_is_given_up_with_its_category(category: str | None, words: str) -> None:
    """[providers 2.2] The model's own refusal, in a 200: no failure of the wire, and not asked again."""
    with serving(refusal(category, "no")) as server:
        model = Noting(claude(server))
        with runtime(model, None, [ada()]) as (opened, board):
            ended = turn(opened, opened.subscribe(), "ada: hello")
        assert len(server.log.rounds()) == 1
    assert (ended.name, ended.fields["errorType"], ended.fields["error"]) == ("inference:exhausted", "refusal", words)
    assert model.errors == []
    assert board.posts == []


def test_a_truncated_call_is_never_run() -> None:
    """[providers 2.1.9] The model is told why, in a legal request, and goes on."""
    ran: list[str] = []
    cut = partial_call("weather", '{"city":"Riga","more":"hel')
    with serving(cut, reply("Sorry.")) as server, runtime(claude(server), None, [ada(ran)]) as (opened, board):
        assert turn(opened, opened.subscribe(), "ada: weather?").name == "inference:completed"
        assert board.next().text == "Sorry."
    _, second = server.log.rounds()
    result = second.request["messages"][-1]["content"][0]
    assert (result["type"], result["is_error"]) == ("tool_result", True)
    assert ran == []
    assert second.error is None
