"""Turns that the server pauses over the real SDK: the strict stand-in takes back what it said, thinking and all."""

from itertools import pairwise

import pytest

from tests.actors.on_threads import message, runtime
from tests.flows.claude import ENDS, ada, bare, claude, turn, until
from tests.messages_api.faults import Hold, rate_limited
from tests.messages_api.recording import Recorded
from tests.messages_api.replies import Thinking, ToolUse, Whole, reply
from tests.messages_api_tests.building import searched
from tests.messages_api_tests.sdk import serving

pytestmark = [pytest.mark.socket, pytest.mark.pool, pytest.mark.timeout(120)]
ASKED, FOUND = (Whole(block) for block in searched())
ASKED_AGAIN, FOUND_AGAIN = (Whole(block) for block in searched("srv2"))


def content(one: Recorded) -> list[object]:
    """What a request was answered with."""
    return list((one.message or {})["content"])


def test_a_paused_turn_goes_back_as_it_is() -> None:
    """[providers 2.2, 1.6] Request n+1 is request n and one assistant message with all that was said so far, to the
    byte; its thinking passes the check of its prefix; what was heard meanwhile comes in the next turn.
    """
    held = Hold(after=1)
    answers = (
        reply(Thinking("hm"), "Let me see.", ASKED, stop_reason="pause_turn"),
        reply(FOUND, Thinking("well"), ASKED_AGAIN, stop_reason="pause_turn", faults=[held]),
        reply(FOUND_AGAIN, "It is sunny."), reply("I heard you."),
    )
    with serving(*answers) as server:
        with runtime(claude(server), None, [ada()]) as (opened, board):
            traces = opened.subscribe()
            opened.receive(message("ada: weather?", to="ada"))
            assert held.gate.reached.wait(30)
            opened.receive(message("ada: and you?", author="max", to="ada"))
            held.gate.open()
            assert [until(traces, *ENDS).name for _ in range(2)] == ["inference:completed"] * 2
            texts = [board.next().text for _ in range(2)]
        rounds = server.log.rounds()
    assert [one.error for one in rounds] == [None] * 4
    assert [text.split() for text in texts] == [["Let", "me", "see.", "It", "is", "sunny."], ["I", "heard", "you."]]
    said: list[object] = []
    asked = bare(rounds[0])
    for earlier, later in pairwise(rounds[:3]):
        said += content(earlier)
        *messages, last = later.request["messages"]
        assert last == {"role": "assistant", "content": said}
        assert len(messages) == len(asked[2])
        assert (*bare(later)[:2], bare(later)[2][:-1]) == asked
        assert later.betas == rounds[0].betas
    whole = {"role": "assistant", "content": [*said, *content(rounds[2])]}
    assert rounds[3].request["messages"][len(asked[2])] == whole
    assert bare(rounds[3])[2][: len(asked[2])] == asked[2]


def test_a_pause_before_a_call() -> None:
    """[providers 2.2] The pieces and the call are one assistant turn, its results follow; the tool runs once."""
    ran: list[str] = []
    answers = (
        reply(Thinking("hm"), ASKED, stop_reason="pause_turn"),
        reply(FOUND, "One moment.", ToolUse("weather", {"city": "Riga"})),
        reply(ASKED_AGAIN, stop_reason="pause_turn"), reply(FOUND_AGAIN, "Sunny."),
    )
    with serving(*answers) as server:
        with runtime(claude(server), None, [ada(ran)]) as (opened, _):
            assert turn(opened, opened.subscribe(), "ada: weather?").name == "inference:completed"
        rounds = server.log.rounds()
    assert [one.error for one in rounds] == [None] * 4
    assert ran == ["Riga"]
    before = rounds[0].request["messages"]
    third = rounds[2].request["messages"]
    assert [m["role"] for m in third[len(before) :]] == ["assistant", "user"]
    assert third[len(before)]["content"] == [*content(rounds[0]), *content(rounds[1])]
    assert [block["type"] for block in third[-1]["content"]] == ["tool_result"]
    assert bare(rounds[3])[2][:-1] == bare(rounds[2])[2]
    assert rounds[3].request["messages"][-1]["content"] == content(rounds[2])


def test_a_failure_after_a_pause_sends_the_first_request_again() -> None:
    """[agents 6.1] The same bytes as before the pause: nothing of the attempt that was given up is in it."""
    answers = (reply("Wait.", ASKED, stop_reason="pause_turn"), rate_limited("0.01"), reply("Sunny."))
    with serving(*answers) as server:
        with runtime(claude(server), None, [ada()]) as (opened, board):
            assert turn(opened, opened.subscribe(), "ada: weather?").name == "inference:completed"
            assert board.next().text == "Sunny."
        first, second, third = server.log.rounds()
    assert len(second.request["messages"]) == len(first.request["messages"]) + 1
    assert third.raw == first.raw
