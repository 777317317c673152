"""Calls of a host's tools: which arguments reach the function, and what a bad call is told."""

import asyncio
import functools
import json
from collections.abc import Callable, Sequence
from typing import (
    Annotated,
    Any,
    Literal,
)

import pytest

from manyminds.actors.tools import BadCall, Tool, ToolContext, tool
from manyminds.messages.errors import Error
from tests.actors.tool_kinds import (
    CONTEXT,
    Colour,
    Level,
    Query,
    Spot,
    call,
    complaint,
    roll,
    schema,
    taking,
)


@pytest.mark.parametrize(
    ("hint", "json_value", "value"),
    [
        (str, '"é"', "é"),
        (int, "5", 5),
        (float, "5", 5.0),
        (float, "5.5", 5.5),
        (bool, "true", True),
        (None, "null", None),
        (Any, '{"a": [1]}', {"a": [1]}),
        (list, '[1, "a"]', [1, "a"]),
        (list[float], "[1, 2.5]", [1.0, 2.5]),
        (tuple, "[1]", (1,)),
        (tuple[int, ...], "[1, 2]", (1, 2)),
        (tuple[int, str], '[1, "a"]', (1, "a")),
        (tuple[()], "[]", ()),
        (dict[str, float], '{"a": 1}', {"a": 1.0}),
        (Literal["a", 1, True], "true", True),
        (Literal["a", 1, True], "1", 1),
        (Colour, '"blue"', Colour.BLUE),
        (Level, "2", Level.HIGH),
        (int | None, "null", None),
        (float | int, "3", 3),
        (int | float, "3.0", 3.0),
        (str | Spot, '{"x": 1}', Spot(1, 0.0, [])),
        (Spot, '{"x": 1, "y": 2, "tags": ["a"]}', Spot(1, 2.0, ["a"])),
        (Query, '{"words": "a"}', {"words": "a"}),
        (list[Colour | None], '["red", null]', [Colour.RED, None]),
        (Sequence[int], "[1]", [1]),
    ],
)
def test_a_call_that_fits_gives_what_the_hint_promises(hint: Any, json_value: str, value: Any) -> None:
    """[tools] The value and its very type."""
    got = call(taking(hint), f'{{"it": {json_value}}}')
    assert got == value
    assert type(got) is type(value)
    assert repr(got) == repr(value)  # the items' types as well


@pytest.mark.parametrize(
    ("hint", "json_value", "problem"),
    [
        (int, '"5"', 'it: expected an integer, was given the string "5"'),
        (int, "5.0", "it: expected an integer, was given the number 5.0"),
        (int, "true", "it: expected an integer, was given true"),
        (str, "5", "it: expected a string, was given the integer 5"),
        (str, "null", "it: expected a string, was given null"),
        (bool, "1", "it: expected true or false, was given the integer 1"),
        (bool, '"true"', 'it: expected true or false, was given the string "true"'),
        (float, "true", "it: expected a number, was given true"),
        (float, "9007199254740993", "it: expected a number, was given the integer 9007199254740993"),
        (list[int], "5", "it: expected an array, each item an integer, was given the integer 5"),
        (list[int], '[1, "a"]', 'it[1]: expected an integer, was given the string "a"'),
        (list[int], '"[1]"', 'it: expected an array, each item an integer, was given the string "[1]"'),
        (tuple[int, str], "[1]", "it: expected an array of exactly 2: [an integer, a string], was given the array [1]"),
        (dict[str, int], '{"a": "x"}', 'it.a: expected an integer, was given the string "x"'),
        (dict, "[]", "it: expected an object, was given the array []"),
        (Literal["a", 1], "true", 'it: expected one of "a", 1, was given true'),
        (Colour, '"RED"', 'it: expected one of "red", "blue", was given the string "RED"'),
        (int | None, '"x"', 'it: expected an integer or null, was given the string "x"'),
        (Spot, '{"y": 1}', "it.x: missing, expected an integer"),
        (Spot, '{"x": 1, "z": 2}', "it.z: not known here; it takes x, y, tags"),
        (Spot | None, '{"x": "a"}', 'it.x: expected an integer, was given the string "a"'),
        (Spot, '{"x": -1}', 'it: was given the object {"x": -1}, which is refused (ValueError: x is below 0)'),
        (Query, '{"words": "a", "limit": null}', "it.limit: expected an integer, was given null"),
    ],
)
def test_a_call_that_does_not_fit_is_told_what_was_expected_and_given(
    hint: Any, json_value: str, problem: str
) -> None:
    """[tools] Nothing is turned into another kind of value silently."""
    assert f"\n- {problem}\n" in complaint(taking(hint), f'{{"it": {json_value}}}')


def test_all_problems_are_told_at_once() -> None:
    """[tools] So that the next call can be right."""
    text = complaint(Tool.of(roll), '{"count": "two", "colour": 1}')
    assert text.splitlines() == [
        "roll was not run: its arguments do not fit:",
        "- sides: missing, expected an integer",
        "- colour: not known here; it takes sides, count",
        '- count: expected an integer, was given the string "two"',
        "It expects an object {sides: an integer, count?: an integer}. Call it again with arguments that fit.",
    ]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ('{"sides": 6', "are no JSON"),
        ("six", "are no JSON"),
        ('{"sides": NaN}', "NaN is not JSON"),
        ("[6]", "must be an object, not the array [6]"),
        ("null", "must be an object, not null"),
        ("[" * 100_000, "are no JSON"),
        ('{"sides": ' + "1" * 5000 + "}", "are no JSON"),
        ('{"sides": ' + "[" * 900 + "]" * 900 + "}", ""),
    ],
)
def test_arguments_that_cannot_be_read(arguments: str, told: str) -> None:
    """[tools] Still a text that says what is expected, never another exception."""
    text = complaint(Tool.of(roll), arguments)
    assert text.startswith("roll was not run: ")
    assert told in text
    assert "It expects an object {sides: an integer, count?: an integer}" in text


def test_a_long_value_is_shown_shortened() -> None:
    """[tools] A complaint does not repeat a whole document."""
    assert len(complaint(taking(int), json.dumps({"it": "x" * 10_000}))) < 300


def test_a_bad_call_is_an_error_with_a_name() -> None:
    """[style] Every error is of the one tree."""
    assert issubclass(BadCall, Error)


def test_defaults_are_the_functions_own() -> None:
    """[tools] What is left out is not passed; what is given is, by position or name as the signature wants."""

    def mixed(a: int, b: int = 2, /, c: int = 3, *, d: int = 4, e: int) -> list[int]:
        return [a, b, c, d, e]

    made = Tool.of(mixed)
    assert call(made, '{"a": 1, "e": 5}') == [1, 2, 3, 4, 5]
    assert call(made, '{"a": 9, "b": 8, "c": 7, "d": 6, "e": 5}') == [9, 8, 7, 6, 5]
    assert made.parse('{"a": 1, "e": 5}') == {"a": 1, "e": 5}
    assert schema(made)["required"] == ["a", "e"]


def test_the_context_is_given_and_not_shown() -> None:
    """[tools] A parameter hinted ToolContext, plain, optional or as a string."""

    def whose(context: ToolContext, word: str, other: "ToolContext | None" = None) -> tuple[Any, ...]:
        return context, word, other

    def annotated(word: str, /, at: Annotated[ToolContext, "whose"]) -> tuple[Any, ...]:
        return at, word

    made = Tool.of(whose)
    assert list(schema(made)["properties"]) == ["word"]
    assert call(made, '{"word": "x"}') == (CONTEXT, "x", CONTEXT)
    assert call(Tool.of(annotated), '{"word": "x"}') == (CONTEXT, "x")
    assert "context: not known here" in complaint(made, '{"word": "x", "context": {}}')


def test_async_functions_are_known_as_such() -> None:
    """[tools] Sync or async; also behind a partial, a method, an object, a wrapper."""

    async def fetch(url: str) -> str:
        await asyncio.sleep(0)
        return f"got {url}"

    @functools.wraps(fetch)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return fetch(*args, **kwargs)

    class Fetcher:
        async def __call__(self, url: str) -> str:
            """Fetch."""
            return await fetch(url)

        async def method(self, url: str) -> str:
            return await fetch(url)

    for function in (fetch, wrapped, functools.partial(fetch), Fetcher(), Fetcher().method):
        made = Tool.of(function)
        assert made.is_async
        assert asyncio.run(made.invoke_async(made.parse('{"url": "x"}'), CONTEXT)) == "got x"
    assert Tool.of(Fetcher()).name == "Fetcher"
    assert Tool.of(Fetcher()).definition.description == "Fetch."


def test_what_a_partial_has_bound_is_not_asked_for() -> None:
    """[tools] So a host can hand in its own objects."""

    def query(table: object, words: str, limit: int = 5, *, db: "Callable[..., Any]") -> list[Any]:
        """Ask the table."""
        return [table, words, limit, db]

    bound = functools.partial(query, "users", db=len)
    made = Tool.of(bound)
    assert made.name == "query"
    assert made.definition.description == "Ask the table."
    assert list(schema(made)["properties"]) == ["limit", "words"]
    assert call(made, '{"words": "x"}') == ["users", "x", 5, len]


def test_the_decorator_keeps_the_function_and_names_the_tool() -> None:
    """[tools] `@tool`, with or without options; what Tool.of is told goes before."""

    @tool(name="dice", description="Throw dice.")
    def throw(sides: int) -> int:
        return sides

    @tool
    def plain(sides: int) -> int:
        """Plain."""
        return sides

    class Owner:
        @tool(name="mine")
        def method(self, word: str) -> str:
            """Of an object."""
            return f"{type(self).__name__} {word}"

    assert throw(6) == 6
    assert (Tool.of(throw).name, Tool.of(throw).definition.description) == ("dice", "Throw dice.")
    assert (Tool.of(plain).name, Tool.of(plain).definition.description) == ("plain", "Plain.")
    assert Tool.of(throw, name="other", description="x").name == "other"
    made = Tool.of(Owner().method)
    assert (made.name, call(made, '{"word": "x"}')) == ("mine", "Owner x")
    assert Tool.of(made) is made
