"""The cache of prefixes: what a request reads, writes and pays in full.

A text of n characters from the user is the piece `user {"text":"...","type":"text"}`, n + 30 characters, a quarter of
that in tokens, rounded up: 8 characters give 10 tokens. A block of the head's system text is 5 characters shorter and
gives 9; from the assistant it is 5 longer and gives 11; in a system message it is 2 longer and gives 10. The tool
`{"input_schema":{"type":"object"},"name":"abcd"}` is 48 characters, 12 tokens.
"""

from typing import Any

import pytest

from tests.messages_api.betas import BINDING, CLEAR_AT, DIAGNOSIS
from tests.messages_api.prompt import count, render
from tests.messages_api.replies import Queue, always, reply
from tests.messages_api.service import Service
from tests.messages_api.wire import JsonObject
from tests.messages_api_tests.asking import Clock, ask, models, told
from tests.messages_api_tests.building import HOUR, MARK, TOOLS, a, add, body, call, result, s, t, tool, u

EIGHT = "12345678"
M: JsonObject = {"cache_control": MARK}


def service(clock: Clock | None = None, minimum: int = 0) -> Service:
    """A service whose usual model caches from `minimum` tokens on."""
    return Service(always("ok"), models(minimum), clock or Clock())


def usage(at: Service, request: JsonObject, betas: frozenset[str] = TOOLS) -> tuple[int, int, int]:
    """Tokens read, written, paid in full."""
    found = told(at, request, betas)["usage"]
    return (found["cache_read_input_tokens"], found["cache_creation_input_tokens"], found["input_tokens"])


def block(number: int, **more: Any) -> JsonObject:
    """A text block of 10 tokens, told apart by its number."""
    return t(f"{number:08}", **more)


def test_tokens_by_the_fixed_rule() -> None:
    """[providers 3.8] characters / 4, rounded up, a piece at a time."""
    assert count(render(body(u([t(EIGHT)])))) == 10
    assert count(render(body(u(EIGHT)))) == 10
    assert count(render(body(u([t("1234567890")])))) == 10
    assert count(render(body(u([t("12345678901")])))) == 11
    assert count(render(body(u([t(EIGHT)]), system=EIGHT, tools=[tool("abcd")]))) == 31


def test_a_first_request_writes_and_a_second_reads() -> None:
    """[providers 1.8] write at the breakpoint, pay what follows it, read it the next time."""
    at = service()
    request = body(u([block(1, **M), block(2)]))
    assert usage(at, request) == (0, 10, 10)
    assert usage(at, request) == (10, 0, 10)


def test_without_a_marker_nothing_is_cached() -> None:
    """[providers 1.8] caching is opt-in."""
    at = service()
    assert usage(at, body(u([block(1), block(2)]))) == (0, 0, 20)
    assert usage(at, body(u([block(1), block(2)]))) == (0, 0, 20)


def test_the_automatic_marker() -> None:
    """[providers 1.8] the top-level field marks the last block that may carry a marker."""
    at = service()
    assert usage(at, body(u([block(1), block(2)]), **M)) == (0, 20, 0)
    assert usage(at, body(u([block(1), block(2)]), a("ok"), u([block(3)]), **M))[0] == 20


def test_appending_writes_only_what_is_new() -> None:
    """[context 6.28] a moved marker reads the previous end by looking back."""
    at = service()
    usage(at, body(u([block(1, **M)])))
    assert usage(at, body(u([block(1)]), u([block(2, **M)]))) == (10, 10, 0)
    assert usage(at, body(u([block(1)]), u([block(2)]), u([block(3, **M)]), u([block(4)]))) == (20, 10, 10)


@pytest.mark.parametrize(("behind", "read"), [(19, 10), (20, 0)])
def test_a_breakpoint_looks_back_twenty_blocks(behind: int, read: int) -> None:
    """[providers 1.8] itself the first of the twenty: a write 19 blocks back is found, one 20 back is not."""
    at = service()
    usage(at, body(u([block(0, **M)])))
    grown = [block(number) for number in range(behind + 1)]
    grown[-1] = {**grown[-1], **M}
    assert usage(at, body(u(grown)))[0] == read


def test_the_longest_prefix_of_any_breakpoint_counts() -> None:
    """[providers 2.3] an old endpoint marked again is found where the newest marker cannot see it."""
    at = service()
    usage(at, body(u([block(0, **M)])))
    grown = [block(number) for number in range(40)]
    grown[39] = {**grown[39], **M}
    grown[0] = {**grown[0], **M}
    assert usage(at, body(u(grown))) == (10, 390, 0)


CHANGED: dict[str, tuple[JsonObject, int]] = {
    "nothing": ({}, 31),
    "the markers": ({"system": [t(EIGHT)], "tools": [tool("abcd")]}, 31),
    "a tool": ({"tools": [tool("abce", **M)]}, 0),
    "a schema's key order": (
        {"tools": [{"name": "abcd", "input_schema": {"properties": {}, "type": "object"}, **M}]},
        0,
    ),
    "system": ({"system": [t("1234567X", **M)]}, 12),
    "tool choice": ({"tool_choice": {"type": "any"}}, 21),
    "thinking settings": ({"thinking": {"type": "adaptive"}}, 21),
    "speed": ({"speed": "fast"}, 12),
    "the model": ({"model": "claude-opus-5"}, 0),
    "max_tokens": ({"max_tokens": 5}, 31),
    "effort": ({"output_config": {"effort": "low"}}, 31),
}


@pytest.mark.parametrize("case", CHANGED)
def test_what_a_change_of_one_level_costs(case: str) -> None:
    """[providers 1.8] tools, then system, then messages: a level and everything after it.

    The tool is 12 tokens, the system block 9 and the message 10.
    """
    at = service()
    first = body(u([t(EIGHT, **M)]), tools=[tool("abcd", **M)], system=[t(EIGHT, **M)])
    assert sum(usage(at, first)) == 31
    changed, read = CHANGED[case]
    assert usage(at, {**first, **changed})[0] == read


def test_a_declared_tool_writes_only_itself_and_a_head_move_everything() -> None:
    """[context 6.28] the numbers that this whole project is about."""
    early = [u([block(number)]) if number % 2 == 0 else a(f"{number:08}") for number in range(10)]
    early.append(u([block(10, **M)]))
    declared, moved = service(), service()
    for at in (declared, moved):
        assert usage(at, body(*early, tools=[tool()]))[0] == 0
    later = [*early[:-1], u([block(10)]), a("00000011"), u([block(12, **M)])]
    whole = count(render(body(*later, tools=[tool()])))
    before = count(render(body(*early, tools=[tool()])))
    with_change = [*early[:-1], u([block(10)]), s(add(tool("b"))), a("00000011"), u([block(12, **M)])]
    read, written, fresh = usage(declared, body(*with_change, tools=[tool()]))
    assert (read, fresh) == (before, 0)
    assert written < whole / 2
    assert usage(moved, body(*later, tools=[tool(), tool("b")]))[0] == 0


def test_an_empty_tool_head_makes_the_first_declared_tool_a_whole_miss() -> None:
    """[providers 1.7] and with one tool in the head it does not."""
    for tools, read in (([], 0), ([tool("x", defer_loading=True)], 0), ([tool()], 22)):
        at = service()
        usage(at, body(u([block(1, **M)]), tools=tools))
        grown = usage(at, body(u([block(1, **M)]), s(add(tool("b"))), tools=tools))
        assert grown[0] == read
        assert usage(at, body(u([block(1, **M)]), s(add(tool("b"))), a(), u([block(2)]), tools=tools))[0] > 0


def test_below_the_minimum_caching_is_silently_off() -> None:
    """[providers 1.8] neither written nor read; at the minimum it works."""
    for minimum, written in ((11, 0), (10, 10)):
        at = service(minimum=minimum)
        assert usage(at, body(u([block(1, **M)])))[1] == written
        assert usage(at, body(u([block(1, **M)])))[0] == written


def test_five_minutes_from_the_last_use() -> None:
    """[providers 1.8] an entry lives on while it is read, and is gone once it was not."""
    clock = Clock()
    at = service(clock)
    request = body(u([block(1, **M)]))
    usage(at, request)
    clock.now += 299
    assert usage(at, request) == (10, 0, 0)
    clock.now += 299
    assert usage(at, request) == (10, 0, 0)
    clock.now += 300
    assert usage(at, request) == (0, 10, 0)


def test_an_hour_beside_five_minutes() -> None:
    """[providers 1.8] lifetimes are told apart in usage and in time."""
    clock = Clock()
    at = service(clock)
    request = body(u([block(1, **M), block(2)]), system=[t(EIGHT, cache_control=HOUR)])
    found = told(at, request)["usage"]
    assert found["cache_creation"] == {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 9}
    clock.now += 301
    assert usage(at, request) == (9, 10, 10)
    clock.now += 3599
    assert usage(at, request) == (9, 10, 10)
    clock.now += 3600
    assert usage(at, request) == (0, 19, 10)


def test_a_prefix_is_usable_from_the_reply_s_first_byte_on() -> None:
    """[providers 1.8] an answer that never began has written nothing."""
    at = service()
    recorded = at.log.open(
        "/v1/messages",
        {"x-api-key": "k", "anthropic-version": "1", "content-type": "application/json"},
        b'{"model":"claude-opus-5-5","max_tokens":5,"cache_control":{"type":"ephemeral"},'
        b'"messages":[{"role":"user","content":"12345678"}]}',
    )
    assert at.answer(recorded).body["usage"]["cache_creation_input_tokens"] == 10
    assert usage(at, body(u(EIGHT), **M)) == (0, 10, 0)
    assert usage(at, body(u(EIGHT), **M)) == (10, 0, 0)


def test_a_marker_within_a_definition_or_a_result_is_a_breakpoint() -> None:
    """[providers 1.4] it ends where its block ends."""
    for messages in (
        [u([block(1)]), s(add(tool("b", **M)))],
        [u([block(1)]), a([call()]), u([result(content=[t("x", **M)])])],
    ):
        at = service()
        written = usage(at, body(*messages, tools=[tool()]))
        assert written[2] == 0
        assert usage(at, body(*messages, tools=[tool()])) == (written[1], 0, 0)


def test_a_marker_within_a_block_may_leave_it() -> None:
    """[providers 1.8] markers are no part of the prompt, wherever they stand."""
    for with_marker, without in (
        ([u([block(1)]), s(add(tool("b", **M)))], [u([block(1)]), s(add(tool("b")))]),
        (
            [u([block(1)]), a([call()]), u([result(content=[t("x", **M)])])],
            [u([block(1)]), a([call()]), u([result(content=[t("x")])])],
        ),
    ):
        at = service()
        written = usage(at, body(*with_marker, tools=[tool()]))[1]
        later = usage(at, body(*without, a("ok"), u([block(2, **M)]), tools=[tool()]))
        assert later[0] == written > 0


def test_the_order_of_outer_keys_does_not_count() -> None:
    """[context 6.4] a tool or a block with its keys in another order is the same prompt."""
    at = service()
    schema: JsonObject = {"type": "object"}
    usage(at, body(u([block(1, **M)]), tools=[{"name": "look", "description": "x", "input_schema": schema}]))
    turned: JsonObject = {**M, "text": f"{1:08}", "type": "text"}
    again = body(u([turned]), tools=[{"input_schema": schema, "description": "x", "name": "look"}])
    assert usage(at, again)[1:] == (0, 0)


def test_images_and_binding_controls() -> None:
    """[providers 1.8] the first image costs the messages level; how a broken binding is answered costs nothing."""
    image: JsonObject = {"type": "image", "source": {"type": "url", "url": "http://127.0.0.1/"}}
    at = service()
    first = body(u([block(1, **M)]), system=[t(EIGHT, **M)], thinking={"type": "adaptive"})
    usage(at, first)
    assert usage(at, body(u([block(1, **M), image]), system=[t(EIGHT, **M)], thinking={"type": "adaptive"}))[0] == 9
    dropping: JsonObject = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    assert usage(at, {**first, "thinking": dropping}, TOOLS | {BINDING}) == (19, 0, 0)


def test_a_cleared_text_leaves_the_prompt() -> None:
    """[SDK clear_at] it is shown until a later user message stands, and then is no longer counted."""
    note = s(EIGHT, clear_at="next_user_message")
    assert count(render(body(u(EIGHT), note))) == 20
    assert count(render(body(u(EIGHT), note, a(EIGHT), u(EIGHT)))) == 31
    assert usage(service(), body(u(EIGHT), note), TOOLS | {CLEAR_AT}) == (0, 0, 20)


DIAGNOSED: dict[str, tuple[JsonObject, JsonObject | None]] = {
    "appended": ({"messages": [u([block(1)]), a(), u([block(2)])]}, None),
    "tools": ({"tools": [tool("b")]}, {"type": "tools_changed", "cache_missed_input_tokens": 31}),
    "system": ({"system": [t("changed!", **M)]}, {"type": "system_changed", "cache_missed_input_tokens": 31}),
    "messages": ({"messages": [u([block(9, **M)])]}, {"type": "messages_changed", "cache_missed_input_tokens": 10}),
    "model": ({"model": "claude-opus-5"}, {"type": "model_changed", "cache_missed_input_tokens": 31}),
    "settings": ({"tool_choice": {"type": "any"}}, {"type": "unavailable"}),
}


@pytest.mark.parametrize("case", DIAGNOSED)
def test_diagnosis(case: str) -> None:
    """[providers 1.8] why a prefix was not reused, against the request that is named."""
    at = service()
    first = body(
        u([block(1, **M)]),
        tools=[tool("abcd")],
        system=[t(EIGHT, **M)],
        diagnostics={"previous_message_id": None},
    )
    betas = TOOLS | {DIAGNOSIS}
    before = told(at, first, betas)
    assert before["diagnostics"] is None
    changed, reason = DIAGNOSED[case]
    after = told(at, {**first, **changed, "diagnostics": {"previous_message_id": before["id"]}}, betas)
    assert after["diagnostics"] == (None if reason is None else {"cache_miss_reason": reason})


def test_diagnosis_of_a_request_that_is_not_known() -> None:
    """[providers 1.8] a name that was never a reply."""
    found = told(service(), body(diagnostics={"previous_message_id": "msg_x"}), TOOLS | {DIAGNOSIS})
    assert found["diagnostics"] == {"cache_miss_reason": {"type": "previous_message_not_found"}}


def test_counting_tokens_is_what_usage_adds_up_to() -> None:
    """[providers 2.1.14] the whole input, changes included."""
    at = Service(Queue([reply("ok")]), models(), Clock())
    request = body(u([block(1, **M)]), s("note", add(tool("b"))), tools=[tool()], system="be brief")
    asked = {key: value for key, value in request.items() if key != "max_tokens"}
    counted = ask(at, asked, path="/v1/messages/count_tokens")
    assert counted.body == {"input_tokens": sum(usage(at, request))}
