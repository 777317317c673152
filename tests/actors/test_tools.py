"""A host's tools: what a function becomes, which calls reach it, and what comes back."""

import asyncio
import dataclasses
import enum
import functools
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Optional,
    TypedDict,
    TypeVar,
    cast,
)

import pytest

from manyminds.actors.tools import BadCall, Tool, ToolContext, tool
from manyminds.messages.blocks import Image, Text, ToolResult
from manyminds.messages.errors import Error, InvalidSetting
from manyminds.messages.places import ChannelRef

CONTEXT = ToolContext("ada", 7, "c1", ChannelRef("irc", "#den"))
UserId = NewType("UserId", str)
T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Odd(enum.Enum):
    PAIR = (1, 2)


@dataclasses.dataclass(frozen=True)
class Spot:
    """A spot on the map.

    Attributes:
        x: steps to the east
    """

    x: int
    y: float = 0.0
    tags: list[str] = dataclasses.field(default_factory=list[str])

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x is below 0")


@dataclasses.dataclass
class Tree:
    name: str
    below: "list[Tree]"


@dataclasses.dataclass
class Lost:
    where: "Nowhere"  # type: ignore[name-defined]  # noqa: F821  # pyright: ignore


class Query(TypedDict):
    words: str
    limit: NotRequired[Annotated[int, "at most so many"]]


class Pair(NamedTuple):
    a: int


class Box(Generic[T]):
    pass


def taking(hint: Any) -> Tool:
    """A tool with one parameter `it` of this hint, which gives it back."""

    def give_back(it: Any) -> Any:
        return it

    give_back.__annotations__ = {"it": hint}
    return Tool.of(give_back)


def schema(made: Tool) -> dict[str, Any]:
    """The schema as a value."""
    read: dict[str, Any] = json.loads(made.definition.schema)
    return read


def call(made: Tool, arguments: str) -> Any:
    """What the function gives for a call."""
    return made.invoke(made.parse(arguments), CONTEXT)


def complaint(made: Tool, arguments: str) -> str:
    """What a bad call is told."""
    with pytest.raises(BadCall) as bad:
        made.parse(arguments)
    return str(bad.value)


def roll(sides: int, count: int = 1) -> list[int]:
    """Roll dice.

    Each die is fair.

    Args:
        sides: how many sides
            a die has
        count (int): how many dice

    Returns:
        What was rolled.
    """
    return [sides] * count


# --- the definition


def test_a_plain_function_becomes_a_definition() -> None:
    """[tools] Name, description from the docstring, schema from hints and the docstring's arguments."""
    made = Tool.of(roll)
    assert (made.name, made.is_async) == ("roll", False)
    assert made.definition.description == "Roll dice.\n\nEach die is fair.\n\nReturns:\n    What was rolled."
    assert schema(made) == {
        "type": "object",
        "properties": {
            "sides": {"type": "integer", "description": "how many sides a die has"},
            "count": {"type": "integer", "description": "how many dice", "default": 1},
        },
        "required": ["sides"],
        "additionalProperties": False,
    }


def test_a_definition_is_canonical() -> None:
    """[declarations F2] The same function gives the same bytes, keys sorted and no spaces."""
    text = Tool.of(roll).definition.schema
    assert text == Tool.of(roll).definition.schema
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))


def test_a_function_without_arguments_or_docstring() -> None:
    """[tools]"""

    def ping() -> None:
        pass

    made = Tool.of(ping)
    assert made.definition.description == ""
    assert schema(made) == {"type": "object", "properties": {}, "additionalProperties": False}
    assert call(made, "{}") is None
    assert call(made, "") is None
    assert "takes nothing" in complaint(made, '{"a": 1}')


STRING, INTEGER, NULL = {"type": "string"}, {"type": "integer"}, {"type": "null"}


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (str, STRING),
        (int, INTEGER),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, NULL),
        (Any, {}),
        (object, {}),
        (list, {"type": "array"}),
        (list[int], {"type": "array", "items": INTEGER}),
        (Sequence[str], {"type": "array", "items": STRING}),
        (list[list[int]], {"type": "array", "items": {"type": "array", "items": INTEGER}}),
        (dict, {"type": "object"}),
        (dict[str, Any], {"type": "object"}),
        (Mapping[str, int], {"type": "object", "additionalProperties": INTEGER}),
        (tuple, {"type": "array"}),
        (tuple[int, ...], {"type": "array", "items": INTEGER}),
        (tuple[int, str], {"type": "array", "prefixItems": [INTEGER, STRING], "minItems": 2, "maxItems": 2}),
        (tuple[()], {"type": "array", "minItems": 0, "maxItems": 0}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a", 1, None], {"enum": ["a", 1, None]}),
        (Colour, {"type": "string", "enum": ["red", "blue"]}),
        (Level, {"type": "integer", "enum": [1, 2]}),
        (Optional[int], {"anyOf": [INTEGER, NULL]}),  # noqa: UP045 - the old form is meant
        (int | str | None, {"anyOf": [INTEGER, STRING, NULL]}),
        (Annotated[int, "how many"], {"type": "integer", "description": "how many"}),
        (Annotated[Annotated[int, "inner"], 5, "outer"], {"type": "integer", "description": "inner"}),
        (UserId, STRING),
        ("list[int]", {"type": "array", "items": INTEGER}),
        (
            Query,
            {
                "type": "object",
                "properties": {"words": STRING, "limit": {"type": "integer", "description": "at most so many"}},
                "required": ["words"],
                "additionalProperties": False,
            },
        ),
        (
            Spot,
            {
                "type": "object",
                "description": "A spot on the map.",
                "properties": {
                    "x": {"type": "integer", "description": "steps to the east"},
                    "y": {"type": "number", "default": 0.0},
                    "tags": {"type": "array", "items": STRING},
                },
                "required": ["x"],
                "additionalProperties": False,
            },
        ),
    ],
)
def test_each_hint_has_its_schema(hint: Any, expected: dict[str, Any]) -> None:
    """[tools] The hints that JSON can say."""
    assert schema(taking(hint))["properties"]["it"] == expected


def test_the_hints_description_goes_before_the_docstrings() -> None:
    """[tools]"""

    def look(at: Annotated[str, "the hint's"], up: str) -> None:
        """Look.

        :param at: the docstring's
        :param str up: only in the
            docstring
        :type up: str
        :returns: nothing
        """

    made = Tool.of(look)
    assert made.definition.description == "Look.\n\n:returns: nothing"
    assert schema(made)["properties"]["at"]["description"] == "the hint's"
    assert schema(made)["properties"]["up"]["description"] == "only in the docstring"


def test_a_docstring_with_dashed_sections() -> None:
    """[tools]"""

    def look(at: str, up: str, far: int) -> None:
        """Look.

        Parameters
        ----------
        at, up : str
            where to
            look
        far : int
            how far

        Notes
        -----
        Look twice.
        """

    made = Tool.of(look)
    properties = schema(made)["properties"]
    assert [properties[name]["description"] for name in ("at", "up", "far")] == [
        "where to look", "where to look", "how far",
    ]  # fmt: skip
    assert made.definition.description == "Look.\n\nNotes\n-----\nLook twice."


def test_prose_that_only_looks_like_a_section_stays() -> None:
    """[tools] A heading word inside a sentence, or a heading without a body, is description."""

    def look(at: str) -> None:
        """Arguments

        are welcome: at dawn.
        """

    made = Tool.of(look)
    assert made.definition.description == "Arguments\n\nare welcome: at dawn."
    assert "description" not in schema(made)["properties"]["at"]


# --- calls


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


# --- what is refused when the tool is made


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


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (cast("Callable[..., Any]", no_hint), "parameter 'a' of tool 'no_hint' cannot be used: it has no type hint"),
        (any_number, "parameter 'words' of tool 'any_number' cannot be used: .*take a list"),
        (any_names, "parameter 'words' of tool 'any_names' cannot be used: .*a dict"),
    ],
)
def test_a_parameter_that_cannot_be_checked_is_refused(function: Callable[..., Any], told: str) -> None:
    """[tools]"""
    with pytest.raises(InvalidSetting, match=told):
        Tool.of(function)


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
