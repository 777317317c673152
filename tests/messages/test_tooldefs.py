"""Tool definitions in canonical form."""

import json
from typing import Any, cast

import pytest

from manyminds.messages.blocks import SystemChange, ToolDef
from manyminds.messages.errors import InvalidSetting
from manyminds.messages.tooldefs import canonical, change_json, check_tools, define, normal, same

CANONICAL: list[tuple[Any, str]] = [
    ({"b": 1, "a": 2}, '{"a":2,"b":1}'),
    ({"a": None, "b": {"c": None, "d": []}}, '{"b":{"d":[]}}'),
    ({"enum": [None, "x"]}, '{"enum":[null,"x"]}'),
    ({"t": ("a", {"z": None, "y": 1})}, '{"t":["a",{"y":1}]}'),
    ({"ü": "日本"}, '{"ü":"日本"}'),
    ({"a": True, "b": 1.5}, '{"a":true,"b":1.5}'),
    ({}, "{}"),
]


@pytest.mark.parametrize(("value", "text"), CANONICAL)
def test_canonical(value: Any, text: str) -> None:
    """[declarations F2; context 5] Compact, keys sorted, unset keys dropped at every depth, non-ASCII kept."""
    assert canonical(value) == text


@pytest.mark.parametrize("value", [{1: "x"}, {"a": float("nan")}, {"a": float("inf")}, {"a": object()}, {"a": {1, 2}}])
def test_what_json_cannot_say_is_refused(value: Any) -> None:
    """[declarations F2] A schema is plain JSON; anything else is a named error."""
    with pytest.raises(InvalidSetting, match="schema"):
        canonical(value)


def test_key_order_and_unset_fields_do_not_count() -> None:
    """[declarations F2; context 6.4] Two ways to write one definition are the same definition."""
    one = define("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string", "default": None}}})
    other = define("look", "Looks.", {"properties": {"at": {"type": "string"}}, "type": "object"})
    assert one == other
    assert same(one, ToolDef("look", "Looks.", '{ "type": "object", "properties": {"at": {"type": "string"}} }'))


@pytest.mark.parametrize(
    "other",
    [
        define("look2", "Looks.", {"type": "object"}),
        define("look", "Looks!", {"type": "object"}),
        define("look", "Looks.", {"type": "x"}),
    ],
)
def test_what_counts(other: ToolDef) -> None:
    """[declarations F2] Name, description and schema each count."""
    assert not same(define("look", "Looks.", {"type": "object"}), other)


def test_a_tool_without_a_schema_takes_nothing() -> None:
    """[declarations F2] The default is an object without properties."""
    assert define("look").schema == '{"properties":{},"type":"object"}'


@pytest.mark.parametrize("name", ["", "  ", None, 3])
def test_a_name_is_needed(name: Any) -> None:
    """[declarations F2] Tools are compared by name, so each has one."""
    with pytest.raises(InvalidSetting, match="name"):
        define(cast(str, name))


def test_wrong_parts_are_named() -> None:
    """[rules] The error says which tool and which part."""
    with pytest.raises(InvalidSetting, match="description of tool 'look'"):
        define("look", cast(str, 3))
    with pytest.raises(InvalidSetting, match="schema of tool 'look'"):
        define("look", "", cast(Any, ["x"]))
    with pytest.raises(InvalidSetting, match="schema of tool 'look'"):
        normal(ToolDef("look", "", "{"))
    with pytest.raises(InvalidSetting, match="schema of tool 'look'"):
        normal(ToolDef("look", "", "[]"))


def test_two_tools_of_one_name_are_refused() -> None:
    """[declarations F5; context 6.5] Heads without duplicate names: refused up front, even if they say the same."""
    look, hear = define("look"), define("hear")
    assert check_tools([look, hear]) == (look, hear)
    assert check_tools([ToolDef("look", "", '{ "b": 1, "a": null }')]) == (ToolDef("look", "", '{"b":1}'),)
    with pytest.raises(InvalidSetting, match="'look'"):
        check_tools([look, hear, look])


def test_a_change_as_json() -> None:
    """[context 5] Compact, empty parts left out, the schema as an object and not as text, non-ASCII kept."""
    change = SystemChange(("a",), (define("look", "Schaut.", {"type": "object"}),), ("日",))
    text = change_json(change)
    assert " " not in text
    assert "日" in text
    assert json.loads(text) == {
        "type": "system_change",
        "removed": ["a"],
        "defined": [{"name": "look", "description": "Schaut.", "input_schema": {"type": "object"}}],
        "system": ["日"],
    }
    assert change_json(SystemChange(removed=("a",))) == '{"type":"system_change","removed":["a"]}'
