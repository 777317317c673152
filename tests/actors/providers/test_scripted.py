"""`Scripted`: which reply, in which events, when, and what it remembers."""

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from typing import TypeVar

import pytest

from manyminds.actors.providers.scripted import (
    Answer,
    Reply,
    Scripted,
    call,
    fail,
    newest_results,
    newest_text,
    say,
    think,
)
from manyminds.messages.blocks import (
    Block,
    RedactedThinking,
    Text,
    Thinking,
    ToolCall,
    ToolDef,
    ToolResult,
    text_of,
)
from manyminds.messages.errors import InvalidSetting
from manyminds.messages.request import (
    BlockEnd,
    BlockStart,
    Capabilities,
    Done,
    ErrorRecord,
    Event,
    Msg,
    Request,
    RoundFailed,
    Started,
    TextDelta,
    ThinkingDelta,
    Usage,
)

T = TypeVar("T")


def asked(text: str = "hello", agent: str = "ada", *more: Msg) -> Request:
    """A request of one user message, and more."""
    return Request("m", (Msg("user", (Text(text),)), *more), agent=agent)


async def events_of(provider: Scripted, request: Request) -> list[Event]:
    """The whole round."""
    return [event async for event in provider.stream(request)]


def run(provider: Scripted, request: Request) -> list[Event]:
    """The whole round, in a loop of its own."""
    return asyncio.run(events_of(provider, request))


def content(provider: Scripted, request: Request) -> tuple[Block, ...]:
    """The blocks of a round that must end well."""
    last = run(provider, request)[-1]
    assert isinstance(last, Done), last
    return last.content


def words(provider: Scripted, text: str = "hello", agent: str = "ada") -> str:
    """The text of the reply, or the kind of the failure."""
    last = run(provider, asked(text, agent))[-1]
    return text_of(last.content) if isinstance(last, Done) else f"failed: {failed(last).kind}"


def failed(event: Event) -> ErrorRecord:
    """The record of a failed round."""
    assert isinstance(event, RoundFailed)
    return event.error


class Clock:
    """Runs a coroutine on a loop whose clock jumps over every wait."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.now = 0.0
        self.loop.time = lambda: self.now  # type: ignore[method-assign]
        select = self.loop._selector.select  # type: ignore[attr-defined]  # pyright: ignore

        def jump(timeout: float | None) -> object:
            self.now += max(timeout or 0.0, 0.0)
            return select(0)  # pyright: ignore

        self.loop._selector.select = jump  # type: ignore[attr-defined]  # pyright: ignore

    def run(self, work: Awaitable[T]) -> T:
        async def whole() -> T:
            return await work

        try:
            return self.loop.run_until_complete(whole())
        finally:
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.close()


def test_one_round_is_streamed_as_an_adapter_does() -> None:
    """[providers 2.2] Started, the blocks in order with their deltas, one terminal event, last."""
    provider = Scripted(say(think("hm"), "abcde", call("look", at="door")), chunk=2)
    events = run(provider, asked())
    done = events[-1]
    assert isinstance(done, Done)
    thought, text, look = done.content
    assert thought == Thinking("hm", "signed")
    assert text == Text("abcde")
    assert isinstance(look, ToolCall)
    assert (look.name, look.arguments) == ("look", '{"at": "door"}')
    assert events == [
        Started("msg_1", "m", Usage(fresh=2)),
        BlockStart(0, "thinking"), ThinkingDelta("hm", 0), BlockEnd(0, thought),
        BlockStart(1, "text"), TextDelta("ab", 1), TextDelta("cd", 1), TextDelta("e", 1), BlockEnd(1, text),
        BlockStart(2, "call"), BlockEnd(2, look),
        done,
    ]  # fmt: skip
    assert done.stop_reason == "tool_use"


@pytest.mark.parametrize(
    ("chunk", "deltas"),
    [
        (1, ["a", "b", "c", "d", "é", "🙂", "g"]),
        (3, ["abc", "dé🙂", "g"]),
        (7, ["abcdé🙂g"]),
        (100, ["abcdé🙂g"]),
        ([1, 3], ["a", "bcd", "é🙂g"]),
        ((2, 1), ["ab", "c", "d", "é", "🙂", "g"]),
    ],
)
def test_text_is_cut_as_asked(chunk: int | list[int], deltas: list[str]) -> None:
    """[scripted: streams of deltas] Lengths in code points, the last one repeated; by provider or by reply."""
    for provider in (Scripted("abcdé🙂g", chunk=chunk), Scripted(say("abcdé🙂g", chunk=chunk), chunk=2)):
        assert [event.text for event in run(provider, asked()) if isinstance(event, TextDelta)] == deltas


@pytest.mark.parametrize("chunk", [0, -1, [], [3, 0]])
def test_a_cut_of_nothing_is_refused(chunk: int | list[int]) -> None:
    """A length below 1 would never end."""
    with pytest.raises(InvalidSetting, match="at least 1"):
        Scripted(chunk=chunk)
    with pytest.raises(InvalidSetting, match="at least 1"):
        say("x", chunk=chunk)


def test_replies_are_given_in_order_and_once() -> None:
    """[scripted: sequences]"""
    provider = Scripted("one", "two", otherwise="rest")
    assert provider.left == 2
    assert [words(provider) for _ in range(4)] == ["one", "two", "rest", "rest"]
    assert provider.left == 0


def test_a_request_that_no_rule_answers_fails_and_says_so() -> None:
    """[scripted: rules] The script is wrong, so the round fails for good and names agent and text."""
    provider = Scripted("one").then("x", agent="bob").always("y", when="door")
    assert words(provider) == "one"
    error = failed(run(provider, asked("what now?"))[-1])
    assert error.kind == "unsupported"
    assert not error.retryable
    assert "'ada'" in error.text
    assert "'what now?'" in error.text
    assert "always(" in error.text


def test_rules_match_by_text_by_function_and_by_agent() -> None:
    """[scripted: rules] An agent's own rules go first; then the first that matches."""
    provider = (
        Scripted()
        .always("a door", when="door")
        .always("many", when=lambda request: len(request.messages) > 1)
        .always("anything")
        .always("bob's", agent="bob", when="door")
        .then("bob once", agent="bob")
    )
    assert words(provider, "the door") == "a door"
    assert words(provider, "the roof") == "anything"
    assert words(provider, "the door", "bob") == "bob's"
    assert words(provider, "the roof", "bob") == "bob once"
    assert words(provider, "the roof", "bob") == "anything"
    assert content(provider, asked("x", "ada", Msg("user", (Text("y"),)))) == (Text("many"),)


def test_a_text_rule_looks_at_what_was_not_answered_yet() -> None:
    """[scripted: rules] Else a rule would fire again at every later turn."""
    provider = Scripted(otherwise="no").always("yes", when="door")
    old = Msg("user", (Text("the door"),))
    request = Request("m", (old, Msg("assistant", (Text("ok"),)), Msg("user", (Text("and?"),))))
    assert content(provider, request) == (Text("no"),)
    assert newest_text(request) == "and?"


def test_functions_of_the_request_plain_and_async() -> None:
    """[scripted: callables] They may give any kind of reply, a function included."""

    async def later(request: Request) -> Answer:
        await asyncio.sleep(0)
        return lambda _: f"later {request.agent}"

    assert words(Scripted(lambda request: f"now {request.agent}")) == "now ada"
    assert words(Scripted(later)) == "later ada"
    assert words(Scripted().always(lambda _: fail("overloaded"))) == "failed: overloaded"


def test_newest_results_are_those_not_answered_yet() -> None:
    """[scripted: callables] What a script needs to go on after a tool round."""
    first, second = ToolResult("c1", (Text("1"),)), ToolResult("c2", (Text("2"),))
    request = Request(
        "m",
        (
            Msg("user", (first,)),
            Msg("assistant", (ToolCall("c2", "t", "{}"),)),
            Msg("user", (second,)),
            Msg("user", (Text("hey"),)),
        ),
    )
    assert newest_results(request) == (second,)


def test_a_failure_comes_once_or_always() -> None:
    """[scripted: failures]"""
    once = Scripted(fail("rate_limit", retry_after=3.0), otherwise="fine")
    assert failed(run(once, asked())[-1]) == ErrorRecord(
        "rate_limit", "scripted failure: rate_limit", retryable=True, retry_after=3.0
    )
    assert words(once) == "fine"
    always = Scripted().always(ErrorRecord("auth", "no key"))
    assert [words(always), words(always)] == ["failed: auth"] * 2
    assert not failed(run(Scripted(fail("auth")), asked())[-1]).retryable


def test_a_failure_after_some_deltas_is_the_only_terminal() -> None:
    """[scripted: failures] [context 6, invariant 11]"""
    events = run(Scripted(fail("network", "abcdef", after=2), chunk=2), asked())
    assert [type(event) for event in events] == [Started, BlockStart, TextDelta, TextDelta, RoundFailed]
    whole = run(Scripted(fail("network", "ab", call("look"), after=99)), asked())
    assert [type(event) for event in whole][-2:] == [BlockEnd, RoundFailed]
    assert [type(event) for event in run(Scripted(fail("overloaded", "abc")), asked())] == [RoundFailed]


def test_an_exception_leaves_the_stream_as_an_exception() -> None:
    """[scripted: failures] So that a runtime can be tested against an adapter that raises."""
    seen: list[Event] = []
    provider = Scripted(fail(ConnectionError("gone"), "abcd", after=1), OSError("twice"), chunk=2)

    async def read() -> None:
        async for event in provider.stream(asked()):
            seen.append(event)  # noqa: PERF401 - what came before the exception is looked at

    with pytest.raises(ConnectionError, match="gone"):
        asyncio.run(read())
    assert [type(event) for event in seen] == [Started, BlockStart, TextDelta]
    with pytest.raises(OSError, match="twice"):
        run(provider, asked())
    assert [done.ending for done in provider.rounds] == ["raised", "raised"]


def test_a_reply_of_the_wrong_kind_is_named() -> None:
    """A script that gives something else is told what it may give."""
    with pytest.raises(InvalidSetting, match="not int"):
        run(Scripted(lambda _: 5), asked())  # type: ignore[arg-type, return-value]  # pyright: ignore


def test_waits_are_on_the_loops_clock() -> None:
    """[scripted: delays] Of the provider, or of the reply where it says."""
    clock = Clock()
    provider = Scripted("abcd", say("ab", delay=0.0, gap=5.0), chunk=2, delay=60.0, gap=1.0)
    times: list[tuple[str, float]] = []

    async def read() -> None:
        for _ in range(2):
            async for event in provider.stream(asked()):
                if isinstance(event, (Started, TextDelta, Done)):
                    times.append((type(event).__name__, clock.now))  # noqa: PERF401 - read as they come

    clock.run(read())
    assert [name for name, _ in times] == ["Started", "TextDelta", "TextDelta", "Done", "Started", "TextDelta", "Done"]
    assert [at for _, at in times] == pytest.approx([60, 61, 62, 62, 62, 67, 67])


def test_a_hanging_round_ends_only_when_cancelled() -> None:
    """[scripted: delays] [providers 2.2] Cancellation propagates."""
    clock = Clock()
    provider = Scripted(say("abcd", hangs=True, after=1), chunk=2)
    seen: list[Event] = []

    async def read() -> None:
        async for event in provider.stream(asked()):
            seen.append(event)  # noqa: PERF401 - what came before the cancellation is looked at

    async def limited() -> None:
        async with asyncio.timeout(1e6):
            await read()

    with pytest.raises(TimeoutError):
        clock.run(limited())
    assert [type(event) for event in seen] == [Started, BlockStart, TextDelta]
    assert provider.rounds[0].ending == "cancelled"


def test_each_delta_is_a_chance_to_cancel() -> None:
    """[agents 5.5] A stream without waits still lets other tasks in between two deltas."""
    provider = Scripted("abcdef", chunk=1)
    order: list[str] = []

    async def read() -> None:
        async for event in provider.stream(asked()):
            if isinstance(event, TextDelta):
                order.append(event.text)  # noqa: PERF401 - interleaved with the other task

    async def other() -> None:
        for _ in range(20):
            order.append("-")
            await asyncio.sleep(0)

    async def both() -> None:
        await asyncio.gather(read(), other())

    asyncio.run(both())
    assert "ab" not in "".join(order)


def test_it_remembers_requests_and_how_rounds_ended() -> None:
    """[scripted: records]"""
    provider = Scripted("one", fail("server"), otherwise="x")
    for agent in ("ada", "bob", "ada"):
        run(provider, asked("hi", agent))
    assert [request.agent for request in provider.requests] == ["ada", "bob", "ada"]
    assert provider.requests_of("ada") == (asked("hi", "ada"), asked("hi", "ada"))
    assert [done.ending for done in provider.rounds] == ["done", "failed", "done"]


def test_a_consumer_that_stops_at_the_terminal_event_has_a_round_that_is_done() -> None:
    """[scripted: records] Closing the stream afterwards is no cancellation; closing it earlier is."""

    async def read(provider: Scripted, until: type) -> None:
        stream = provider.stream(asked())
        async for event in stream:
            if isinstance(event, until):
                break
        await stream.aclose()  # type: ignore[attr-defined]  # pyright: ignore

    provider = Scripted("one", "two")
    asyncio.run(read(provider, Done))
    asyncio.run(read(provider, Started))
    assert [done.ending for done in provider.rounds] == ["done", "cancelled"]


def test_call_ids_are_new_for_every_request_and_the_same_in_every_run() -> None:
    """[scripted: tool calls, deterministic] Also across a restart, where a count from one would repeat old ids."""

    def ids(provider: Scripted, *requests: Request) -> list[str]:
        blocks = [block for request in requests for block in content(provider, request)]
        return [block.id for block in blocks if isinstance(block, ToolCall)]

    def script() -> Scripted:
        return Scripted().always([call("a"), call("b")])

    longer = asked("hello", "ada", Msg("user", (Text("more"),)))
    requests = (asked(), asked("hello", "bob"), longer, asked())
    first = ids(script(), *requests)
    assert len(first) == len(set(first)) == 8
    assert ids(script(), *requests) == first
    assert not set(ids(script(), asked("later"))) & set(first)
    assert ids(Scripted(ToolCall("mine", "a", "{}")), asked()) == ["mine"]


def test_usage_is_counted_from_the_text_or_as_given() -> None:
    """[scripted: usage] [context 5]"""
    request = replace(
        asked("hello world"), system=("x" * 29,), tools=(ToolDef("look", "", '{"type":"object"}'),)
    )
    # "hello world" 11 / 2.9 -> 4; 29 / 2.9 -> 10; the tool 4 + 0 + 17 = 21 / 2.3 -> 10
    expected = Usage(fresh=24, output=10)
    done = run(Scripted("y" * 29), request)[-1]
    assert isinstance(done, Done)
    assert done.usage == expected
    assert asyncio.run(Scripted().count_tokens(request)) == 24
    stated = run(Scripted(say("y", usage=Usage(read=7, output=3))), request)
    assert isinstance(stated[0], Started)
    assert stated[0].usage == Usage(read=7)
    assert isinstance(stated[-1], Done)
    assert stated[-1].usage == Usage(read=7, output=3)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("x", "end_turn"),
        ([], "end_turn"),
        (["x", call("look")], "tool_use"),
        (say("x", stop_reason="max_tokens"), "max_tokens"),
        (say(call("look"), stop_reason="pause_turn"), "pause_turn"),
        (Reply(stop_reason="refusal", stop_details={"category": "x"}), "refusal"),
    ],
)
def test_the_stop_reason_follows_from_the_content_or_is_given(reply: Answer, reason: str) -> None:
    """[providers 2.2]"""
    done = run(Scripted(reply), asked())[-1]
    assert isinstance(done, Done)
    assert done.stop_reason == reason


def test_blocks_of_every_kind_go_out_verbatim() -> None:
    """[providers 1.6]"""
    blocks: list[Answer] = [RedactedThinking("xyz"), Text("a")]
    assert content(Scripted(blocks), asked()) == tuple(blocks)  # type: ignore[arg-type]  # pyright: ignore


def test_what_it_can_do_is_by_model() -> None:
    """[providers 2.2]"""
    able = Capabilities(answers=True, thinking_binds=True)
    provider = Scripted("x", capabilities={"big": able})
    assert provider.capabilities("big") == able
    assert provider.capabilities("small") == Capabilities()
    assert Scripted().capabilities("any").answers
