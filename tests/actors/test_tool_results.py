"""What is refused when a tool is made, and what becomes of what its function gives."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import (
    Any,
    Literal,
    cast,
)

import pytest

from manyminds.actors.tools import BadCall, Tool
from manyminds.messages.blocks import Image, Text, ToolResult
from manyminds.messages.errors import InvalidSetting
from tests.actors.tool_kinds import (
    Box,
    Colour,
    Level,
    Lost,
    Odd,
    Pair,
    Spot,
    T,
    Tree,
    roll,
    schema,
    taking,
)


@pytest.mark.parametrize(
    ("hint", "instead"),
    [
        (bytes, "base64"),
        (set[int], "take a list"),
        (frozenset, "take a list"),
        (Callable[[], int], "cannot pass a function"),
        (complex, "convert inside"),
        (Pair, "dataclass"),
        (Box[int], "convert inside"),
        (T, "convert inside"),
        (dict[int, str], "must be str"),
        (list[bytes], "base64"),
        (int | bytes, "base64"),
        (Literal[b"x"], "no JSON scalar"),
        (Literal[Colour.RED], "no JSON scalar"),
        (Odd, "no JSON scalar"),
        (Tree, "holds itself"),
        (Lost, "cannot be looked up"),
        ("Missing", "outside any function"),
        (5, "convert inside"),
    ],
)
def test_a_hint_that_json_cannot_say_is_refused(hint: Any, instead: str) -> None:
    """[tools] InvalidSetting names the tool, the parameter and what to do."""
    with pytest.raises(InvalidSetting, match="parameter 'it' of tool 'give_back'") as refused:
        taking(hint)
    assert instead in str(refused.value)


def no_hint(a, b: int) -> None:  # type: ignore[no-untyped-def]  # noqa: D103  # pyright: ignore
    pass


def any_number(*words: str) -> None:  # noqa: D103
    pass


def any_names(**words: str) -> None:  # noqa: D103
    pass


def number_or_word(n: int = "x") -> None:  # type: ignore[assignment]  # noqa: D103  # pyright: ignore
    pass


def whole_number(n: int = 1.5) -> None:  # type: ignore[assignment]  # noqa: D103  # pyright: ignore
    pass


def other_word(n: Literal["a", "b"] = "c") -> None:  # type: ignore[assignment]  # noqa: D103  # pyright: ignore
    pass


def without_end(n: float = float("inf")) -> None:  # noqa: D103
    pass


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (cast("Callable[..., Any]", no_hint), "parameter 'a' of tool 'no_hint' cannot be used: it has no type hint"),
        (any_number, "parameter 'words' of tool 'any_number' cannot be used: .*take a list"),
        (any_names, "parameter 'words' of tool 'any_names' cannot be used: .*a dict"),
        (number_or_word, "parameter 'n' .*its default: expected an integer, was given the string .*change the default"),
        (whole_number, "its default: expected an integer, was given the number 1.5"),
        (other_word, "its default: expected one of"),
        (without_end, "its default inf is no JSON; use None"),
    ],
)
def test_a_parameter_that_cannot_be_checked_is_refused(function: Callable[..., Any], told: str) -> None:
    """[tools]"""
    with pytest.raises(InvalidSetting, match=told):
        Tool.of(function)


def test_a_default_that_fits_is_told() -> None:
    """[tools] A whole number for a float, an enum's member, None for anything: what people write is taken."""

    def paint(
        a: float = 1, b: Colour = Colour.RED, c: int = None, d: str | int = 3,  # type: ignore[assignment]  # noqa: RUF013  # pyright: ignore
    ) -> None:
        pass

    told = {name: field.get("default") for name, field in schema(Tool.of(paint))["properties"].items()}
    assert told == {"a": 1, "b": "red", "c": None, "d": 3}


def test_things_that_are_no_function_are_refused() -> None:
    """[tools] A class, a generator, no callable at all, a name that a provider would refuse."""

    def many() -> Iterator[int]:
        yield 1

    async def stream() -> AsyncIterator[int]:
        yield 1

    for function in (many, stream):
        with pytest.raises(InvalidSetting, match="yields"):
            Tool.of(function)
    for thing in (Spot, 5, None):
        with pytest.raises(InvalidSetting, match="must be a function"):
            Tool.of(thing)  # type: ignore[arg-type]  # pyright: ignore
    with pytest.raises(InvalidSetting, match=r"'<lambda>' cannot be the name.*name="):
        Tool.of(lambda: None)
    for name in ("a b", "é", "x" * 65, "a.b"):
        with pytest.raises(InvalidSetting, match="cannot be the name"):
            Tool.of(roll, name=name)
    assert Tool.of(lambda: None, name="nothing").name == "nothing"


# --- results


@pytest.mark.parametrize(
    ("value", "content"),
    [
        (None, ()),
        ("words", (Text("words"),)),
        ("", (Text(""),)),
        (5, (Text("5"),)),
        (True, (Text("true"),)),
        (1.5, (Text("1.5"),)),
        ({"é": [1, None]}, (Text('{"é": [1, null]}'),)),
        ([1, "a"], (Text('[1, "a"]'),)),
        ((1, 2), (Text("[1, 2]"),)),
        ([], (Text("[]"),)),
        (Text("t"), (Text("t"),)),
        (Image("image/png", b"x"), (Image("image/png", b"x"),)),
        (["see:", Image("image/png", b"x"), {"a": 1}], (Text("see:"), Image("image/png", b"x"), Text('{"a": 1}'))),
        (Colour.RED, (Text('"red"'),)),
        (Level.HIGH, (Text("2"),)),
        ({"at": Spot(1)}, (Text('{"at": {"x": 1, "y": 0.0, "tags": []}}'),)),
    ],
)
def test_what_a_function_gives_is_a_result(value: object, content: tuple[Text | Image, ...]) -> None:
    """[tools] str, None, JSON, blocks."""
    assert Tool.of(roll).result("c1", value) == ToolResult("c1", content)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (b"x", "a bytes has no JSON form"),
        ({1, 2}, "a set has no JSON form"),
        ({1: 2}, "the key 1 is no str"),
        ([object()], "a object has no JSON form"),
        (float("nan"), "not JSON compliant"),
    ],
)
def test_what_no_result_can_hold_is_an_error_result(value: object, told: str) -> None:
    """[tools] It says that the tool ran; the model must not think that nothing happened."""
    result = Tool.of(roll).result("c1", value)
    assert result.is_error
    (said,) = result.content
    assert isinstance(said, Text)
    assert said.text.startswith("roll ran, but what it returned cannot be sent")
    assert told in said.text


def test_a_forgotten_await_is_an_error_result() -> None:
    """[tools] A plain function that gives a coroutine: named, and no warning of one never awaited."""

    async def later() -> str:
        return "x"

    result = Tool.of(roll).result("c1", later())
    assert result.is_error
    assert "awaitable" in str(result.content)


def test_an_endless_value_is_an_error_result() -> None:
    """[tools] A list that holds itself."""
    endless: list[Any] = []
    endless.append(endless)
    assert Tool.of(roll).result("c1", endless).is_error


def test_an_exception_is_an_error_result_with_its_type_and_text() -> None:
    """[tools]"""
    made = Tool.of(roll)
    assert made.failure("c1", ValueError("no such die")) == ToolResult(
        "c1", (Text("roll raised ValueError: no such die"),), is_error=True
    )
    assert made.failure("c1", KeyError()).content == (Text("roll raised KeyError"),)
    assert made.failure("c1", BadCall("say more")).content == (Text("say more"),)


def test_a_result_that_is_ready_made_is_taken_for_this_call() -> None:
    """[tools] So a function can say that it failed without raising."""
    given = ToolResult("", (Text("no"),), is_error=True)
    assert Tool.of(roll).result("c1", given) == ToolResult("c1", (Text("no"),), is_error=True)
