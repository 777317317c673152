"""Tool definitions and changes in canonical form: the bytes that are compared, priced, hashed and sent.

Key order and unset fields do not count: keys are sorted and a key whose value is None is dropped, at every
depth (declarations F2). A None inside a list is a value and stays. Pure; the registry of tools and the heads
of requests use it, nothing here knows which tools exist.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

from .blocks import SystemChange, ToolDef
from .errors import InvalidSetting


def canonical(value: Any) -> str:
    """The canonical JSON text of a value: compact, keys sorted, None keys dropped, non-ASCII kept.

    Raises InvalidSetting for what JSON cannot say: another type, a key that is not a str, NaN or an infinity.
    """
    try:
        return json.dumps(
            _without_unset(value), ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False
        )
    except (TypeError, ValueError) as exc:
        raise InvalidSetting(f"a tool's schema must be plain JSON values: {exc}") from exc


def _without_unset(value: Any) -> Any:
    if _is_mapping(value):
        return {_key(key): _without_unset(item) for key, item in value.items() if item is not None}
    if _is_list(value):
        return [_without_unset(item) for item in value]
    return value


def _is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(value, Mapping)


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, (list, tuple))


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise InvalidSetting(f"a key of a tool's schema must be a str, not {type(key).__name__}")
    return key


def define(name: str, description: str = "", schema: Mapping[str, Any] | None = None) -> ToolDef:
    """A tool with its schema in canonical form. Without a schema it takes no arguments.

    Raises InvalidSetting for an empty name or a schema that is no JSON object.
    """
    if not isinstance(name, str) or not name.strip():
        raise InvalidSetting("a tool needs a name that is a str and not blank")
    if not isinstance(description, str):
        raise InvalidSetting(f"the description of tool {name!r} must be a str, not {type(description).__name__}")
    if schema is None:
        schema = {"type": "object", "properties": {}}
    if not isinstance(schema, Mapping):
        raise InvalidSetting(f"the schema of tool {name!r} must be a mapping, not {type(schema).__name__}")
    return ToolDef(name, description, canonical(schema))


def normal(tool: ToolDef) -> ToolDef:
    """The definition with its schema text in canonical form. Raises InvalidSetting where it is no JSON object."""
    try:
        schema = json.loads(tool.schema)
    except ValueError as exc:
        raise InvalidSetting(f"the schema of tool {tool.name!r} is no JSON text: {exc}") from exc
    if not isinstance(schema, dict):
        raise InvalidSetting(f"the schema of tool {tool.name!r} must be a JSON object")
    return ToolDef(tool.name, tool.description, canonical(schema))


def same(one: ToolDef, other: ToolDef) -> bool:
    """Whether two definitions say the same (declarations F2)."""
    return one == other or normal(one) == normal(other)


def check_tools(tools: Iterable[ToolDef]) -> tuple[ToolDef, ...]:
    """The tools in canonical form, in their order.

    Raises InvalidSetting where two have one name: a head with duplicates cannot be folded (declarations F5).
    """
    checked: dict[str, ToolDef] = {}
    for tool in tools:
        if tool.name in checked:
            raise InvalidSetting(f"two tools are named {tool.name!r}; give one of them another name")
        checked[tool.name] = normal(tool)
    return tuple(checked.values())


def change_json(change: SystemChange) -> str:
    """The compact JSON of a change block, as it is priced (context.md 5). Empty parts are left out."""
    parts: dict[str, Any] = {"type": "system_change"}
    if change.removed:
        parts["removed"] = list(change.removed)
    if change.defined:
        parts["defined"] = [_definition(tool) for tool in change.defined]
    if change.system:
        parts["system"] = list(change.system)
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


def _definition(tool: ToolDef) -> dict[str, Any]:
    named = {"name": tool.name, "description": tool.description or None, "input_schema": json.loads(tool.schema)}
    return {key: value for key, value in named.items() if value is not None}
