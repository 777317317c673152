"""A host's tools: what a function becomes, in words and as a schema."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Optional

import pytest

from manyminds.actors.tools import Tool
from tests.actors.tool_kinds import (
    Colour,
    Level,
    Query,
    Spot,
    UserId,
    call,
    complaint,
    roll,
    schema,
    taking,
)


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
