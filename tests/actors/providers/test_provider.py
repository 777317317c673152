"""What the runtime may take for granted of any adapter."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from manyminds.actors.providers.provider import Provider, RefusedBeforeSending, WrappingProvider, refusal
from manyminds.actors.providers.scripted import ABLE, Scripted
from manyminds.actors.spec import Resident
from manyminds.messages.blocks import SystemChange, Text, ToolDef
from manyminds.messages.errors import ProviderError
from manyminds.messages.request import Capabilities, Done, Event, Limit, Limits, Msg, Request
from tests.actors.simulated import SimulatedHouse

LOOK = ToolDef("look", "", "{}")
HELLO = Request("any", (Msg("user", (Text("hello"),)),), agent="ada")


def request_with(*changes: SystemChange, tools: tuple[ToolDef, ...] = ()) -> Request:
    """A request whose last message is a change."""
    return replace(HELLO, messages=(*HELLO.messages, Msg("change", changes)), tools=tools)


class Forgetful(Provider):
    """An adapter whose author wrote `stream` and nothing else."""

    def __init__(self) -> None:
        self.name = "forgetful"
        self.sent = 0

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        self.sent += 1
        yield Done("end_turn", (Text("hi"),))


class Careless:
    """An adapter that derives from nothing and checks nothing."""

    name = "careless"
    able = Capabilities()

    def capabilities(self, model: str) -> Capabilities:
        return self.able

    def check(self, request: Request) -> None:
        return None

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        yield Done("end_turn", ())

    async def count_tokens(self, request: Request) -> int | None:
        return None


def test_an_adapter_that_says_nothing_can_do_nothing() -> None:
    """[providers 2.2] The default capabilities are nothing, so a forgotten override refuses rather than sends."""
    forgetful = Forgetful()
    with pytest.raises(RefusedBeforeSending, match="capabilities") as refused:
        forgetful.check(HELLO)
    assert isinstance(refused.value, ProviderError)
    assert refused.value.error.kind == "unsupported"
    assert refused.value.error.before_send
    assert refused.value.error.http_status is None
    assert refusal(forgetful, HELLO) == refused.value.error
    assert forgetful.sent == 0


def test_a_wrapper_around_it_does_not_make_it_able() -> None:
    """[providers 2.2] [context 6, invariant 7]"""
    assert refusal(WrappingProvider(Forgetful()), HELLO) is not None


def test_an_adapter_that_checks_nothing_is_checked_by_its_capabilities() -> None:
    """[providers 2.2] A check that says yes does not outweigh capabilities that say nothing."""
    assert refusal(Careless(), HELLO) is not None


def test_a_check_that_breaks_sends_nothing() -> None:
    """[providers 2.2] Any exception of the check is a refusal before sending, not an exception in the agent."""

    class Broken(Scripted):
        def check(self, request: Request) -> None:
            raise KeyError("table")

    error = refusal(Broken("hi"), HELLO)
    assert error is not None
    assert (error.kind, error.before_send, error.retryable) == ("unsupported", True, False)
    assert "KeyError" in error.text


ADDED = SystemChange(defined=(LOOK,))
REMOVED = SystemChange(removed=("look",))
WORDS = SystemChange(system=("more",))
NONE = Capabilities(answers=True)


@pytest.mark.parametrize(
    ("able", "changes", "tools", "missing"),
    [
        (NONE, (), (), None),
        (NONE, (WORDS,), (), "system text"),
        (replace(NONE, system_text=True), (WORDS,), (), None),
        (replace(NONE, system_text=True), (ADDED,), (), "an added tool"),
        (replace(NONE, tool_add="reference"), (ADDED,), (), "an added tool"),
        (replace(NONE, tool_add="definition"), (ADDED,), (), None),
        (replace(NONE, tool_add="definition"), (ADDED,), (LOOK,), "a redefined tool"),
        (replace(NONE, tool_add="definition"), (ADDED, ADDED), (), "a redefined tool"),
        (replace(NONE, tool_add="definition", tool_redefine=True), (ADDED,), (LOOK,), None),
        (replace(NONE, tool_add="definition"), (REMOVED,), (LOOK,), "a removed tool"),
        # Removed, then defined again: an addition, no redefinition.
        (replace(NONE, tool_add="definition", tool_remove=True), (REMOVED, ADDED), (LOOK,), None),
        (NONE, (WORDS, REMOVED, ADDED), (LOOK,), "an added tool and a removed tool and system text"),
        (ABLE, (WORDS, REMOVED, ADDED, ADDED), (LOOK,), None),
    ],
)
def test_each_kind_of_change_is_asked_for_by_itself(
    able: Capabilities, changes: tuple[SystemChange, ...], tools: tuple[ToolDef, ...], missing: str | None
) -> None:
    """[declarations E3] [context 6, invariant 7]"""
    error = refusal(Scripted("hi", capabilities=able), request_with(*changes, tools=tools) if changes else HELLO)
    if missing is None:
        assert error is None
    else:
        assert error is not None
        assert error.kind == "system_change_refused"
        assert error.before_send
        assert error.is_400_class()
        assert f"cannot carry {missing} in" in error.text


def test_a_wrapper_delegates_everything() -> None:
    """[providers 2.2] capabilities, check, stream and count_tokens are the inner provider's."""
    inner = Scripted("hi", name="inner", capabilities={"able": ABLE})
    wrapper = WrappingProvider(inner)

    async def use() -> tuple[list[Event], int | None]:
        return [event async for event in wrapper.stream(HELLO)], await wrapper.count_tokens(HELLO)

    events, tokens = asyncio.run(use())
    assert wrapper.name == "inner"
    assert wrapper.capabilities("able") == ABLE
    assert wrapper.capabilities("any") == Capabilities()
    assert refusal(wrapper, replace(HELLO, model="able")) is None
    assert refusal(wrapper, HELLO) is not None
    assert isinstance(events[-1], Done)
    assert inner.requests == (HELLO,)
    assert tokens == 2  # "hello": 5 / 2.9, rounded up


def test_a_wrapper_may_promise_less_than_it_wraps() -> None:
    """[declarations E3] What the wrapper's own capabilities exclude is refused, whatever the inner one can do."""

    class Plain(WrappingProvider):
        def capabilities(self, model: str) -> Capabilities:
            return replace(super().capabilities(model), system_text=False)

    assert refusal(Plain(Scripted("hi")), request_with(WORDS)) is not None
    assert refusal(Plain(Scripted("hi")), HELLO) is None


def test_an_adapter_without_stream_cannot_be_made() -> None:
    """[providers 2.2]"""

    class Empty(Provider):
        name = "empty"

    with pytest.raises(TypeError, match="stream"):
        Empty()  # type: ignore[abstract]  # pyright: ignore[reportAbstractUsage]


class Logging(Provider):
    """A wrapper of a host's own that does not derive from WrappingProvider and forgets the capabilities."""

    def __init__(self, inner: Provider) -> None:
        self.name = inner.name
        self.inner = inner

    def stream(self, request: Request) -> AsyncIterator[Event]:
        return self.inner.stream(request)


class Unchecked(Logging):
    """The same with a check that refuses nothing."""

    def check(self, request: Request) -> None:
        return None


class Delegating(WrappingProvider):
    """A wrapper that forgets what it must not break: a check that refuses nothing, around one that can do nothing."""

    def check(self, request: Request) -> None:
        return None


INNER: dict[str, tuple[type[Logging] | type[WrappingProvider], Capabilities]] = {
    "forgets capabilities": (Logging, ABLE),
    "forgets capabilities, checks nothing": (Unchecked, ABLE),
    "forwards what can do nothing, checks nothing": (Delegating, Capabilities()),
}


@pytest.mark.parametrize(("wrapper", "able"), INNER.values(), ids=INNER)
def test_a_wrapper_that_forgets_refuses_in_the_whole_runtime(
    wrapper: type[Logging] | type[WrappingProvider], able: Capabilities, seeds: list[int]
) -> None:
    """[providers 2.2] The turn ends with an error that names what to do; the inner provider is never asked."""
    for seed in seeds:
        inner = Scripted(otherwise="hi", capabilities=able)
        with SimulatedHouse(seed, [Resident("ada", "m")], wrapper(inner)) as house:
            house.say("hm?", to="ada")
            house.settle()
            (ended,) = house.traced("inference:exhausted")
            assert ended["errorType"] == "unsupported"
            assert "let the adapter's capabilities() return" in ended["error"]
            assert house.traced("inference:failed") == []
            assert inner.requests == ()
            assert house.platform.texts() == []


def test_a_wrapper_keeps_to_the_limits_of_what_it_wraps() -> None:
    """[agents 6.1] The host's limits are the inner provider's, unless the wrapper has its own."""

    class Limited(Scripted):
        own_limits = Limits(Limit(5, 5))

    assert WrappingProvider(Scripted("hi")).own_limits is None
    assert WrappingProvider(WrappingProvider(Limited("hi"))).own_limits == Limits(Limit(5, 5))
