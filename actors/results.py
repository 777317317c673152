"""Results of tools: what a function gave or raised, as the block that answers its call.

Pure. A result holds text and images only; anything else is said as JSON where JSON can say it, and is an error
result where it cannot, never a guess.
"""

import dataclasses
import enum
import inspect
import json
from collections.abc import Mapping
from typing import Any, TypeGuard, cast

from ..messages.blocks import Image, Text, ToolResult


def success(tool: str, call_id: str, value: object) -> ToolResult:
    """The result of a call. None is an empty result; text and blocks are as they are, all else is JSON."""
    if isinstance(value, ToolResult):
        return dataclasses.replace(value, call_id=call_id)
    try:
        return ToolResult(call_id, _content(value))
    except (TypeError, ValueError, RecursionError) as exc:
        text = f"{tool} ran, but what it returned cannot be sent ({exc}); it may return str, JSON, Text and Image"
        return ToolResult(call_id, (Text(text),), is_error=True)


def failure(tool: str, call_id: str, error: BaseException, *, bare: bool = False) -> ToolResult:
    """The error result of a call. `bare`: the error's text says it all."""
    said = str(error)
    text = said if bare else f"{tool} raised {type(error).__name__}" + (f": {said}" if said else "")
    return ToolResult(call_id, (Text(text),), is_error=True)


def _content(value: object) -> tuple[Text | Image, ...]:
    if value is None:
        return ()
    if isinstance(value, (Text, Image)):
        return (value,)
    if isinstance(value, str) and not isinstance(value, enum.Enum):
        return (Text(value),)
    if _is_array(value) and any(isinstance(item, (Text, Image)) for item in value):
        return tuple(block for item in value for block in _content(item))
    return (Text(json.dumps(_plain(value), ensure_ascii=False, allow_nan=False)),)


def _plain(value: object) -> Any:
    """The value in dicts, lists and scalars. Raises TypeError for what has no JSON form."""
    if isinstance(value, enum.Enum):
        return _plain(value.value)
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {_key(key): _plain(item) for key, item in cast("Mapping[object, object]", value).items()}
    if _is_array(value):
        return [_plain(item) for item in value]
    if inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()
        raise TypeError("it is an awaitable: write the tool with async def, or await inside")
    raise TypeError(f"a {type(value).__name__} has no JSON form")


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"the key {key!r} is no str")
    return key


def _is_array(value: object) -> TypeGuard[list[object] | tuple[object, ...]]:
    return isinstance(value, (list, tuple))
