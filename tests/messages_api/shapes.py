"""Checks of a JSON value's form, put together from small ones.

Owns: the few kinds of check (text, number, one of, list, object with known fields, object told apart by `type`) and
their messages, worded as the provider's own. A check takes the value and its path and returns the first error or
None. What the fields are is `fields.py`'s matter. Pure.
"""

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from .errors import ApiError, at
from .wire import JsonObject, as_list, as_object

Check: TypeAlias = Callable[[object, str], ApiError | None]


def join(path: str, name: str | int) -> str:
    """A path one step further."""
    return f"{path}.{name}" if path else str(name)


def anything(value: object, path: str) -> ApiError | None:
    """Any value."""
    return None


def text(value: object, path: str) -> ApiError | None:
    """A string."""
    return None if isinstance(value, str) else at(path, "Input should be a valid string")


def flag(value: object, path: str) -> ApiError | None:
    """A boolean."""
    return None if isinstance(value, bool) else at(path, "Input should be a valid boolean")


def mapping(value: object, path: str) -> ApiError | None:
    """An object with any fields."""
    return None if isinstance(value, dict) else at(path, "Input should be a valid dictionary")


def number(value: object, path: str) -> ApiError | None:
    """A number; `true` is none."""
    real = isinstance(value, int | float) and not isinstance(value, bool)
    return None if real else at(path, "Input should be a valid number")


def whole(least: int) -> Check:
    """An integer not below `least`."""

    def check(value: object, path: str) -> ApiError | None:
        if isinstance(value, bool) or not isinstance(value, int):
            return at(path, "Input should be a valid integer")
        return None if value >= least else at(path, f"Input should be greater than or equal to {least}")

    return check


def matching(pattern: str) -> Check:
    """A string that the whole pattern describes."""
    compiled = re.compile(pattern)

    def check(value: object, path: str) -> ApiError | None:
        if not isinstance(value, str):
            return text(value, path)
        return None if compiled.fullmatch(value) else at(path, f"String should match pattern '^{pattern}$'")

    return check


def one_of(*values: str) -> Check:
    """One of these strings."""
    named = " or ".join(filter(None, [", ".join(f"'{value}'" for value in values[:-1]), f"'{values[-1]}'"]))

    def check(value: object, path: str) -> ApiError | None:
        return None if value in values else at(path, f"Input should be {named}")

    return check


def optional(inner: Check) -> Check:
    """The inner check, or null."""
    return lambda value, path: None if value is None else inner(value, path)


def many(inner: Check) -> Check:
    """A list whose items pass the inner check."""

    def check(value: object, path: str) -> ApiError | None:
        items = as_list(value)
        if items is None:
            return at(path, "Input should be a valid list")
        errors = (inner(item, join(path, index)) for index, item in enumerate(items))
        return next((error for error in errors if error), None)

    return check


def text_or(inner: Check) -> Check:
    """A string, or what passes the inner check."""
    return lambda value, path: None if isinstance(value, str) else inner(value, path)


def fields(required: Mapping[str, Check], others: Mapping[str, Check] | None = None, more: bool = False) -> Check:
    """An object with these fields and, unless `more`, no other one."""
    known = {**required, **(others or {})}

    def check(value: object, path: str) -> ApiError | None:
        held = as_object(value)
        if held is None:
            return at(path, "Input should be a valid dictionary or object")
        return _missing(held, required, path) or _unknown(held, known, more, path) or _wrong(held, known, path)

    return check


def tagged(kinds: Mapping[str, Check], default: str | None = None) -> Check:
    """An object whose `type` says which check it has to pass; the path names the type, as the provider's does."""
    expected = ", ".join(f"'{kind}'" for kind in kinds)

    def check(value: object, path: str) -> ApiError | None:
        held = as_object(value)
        if held is None:
            return at(path, "Input should be a valid dictionary or object")
        kind = held.get("type", default)
        kind = default if kind is None else kind
        if kind is None:
            return at(join(path, "type"), "Field required")
        if not isinstance(kind, str) or kind not in kinds:
            found = f"Input tag '{kind}' found using 'type' does not match any of the expected tags"
            return at(path, f"{found}: {expected}")
        return kinds[kind](held, join(path, kind))

    return check


def _missing(held: JsonObject, required: Mapping[str, Check], path: str) -> ApiError | None:
    return next((at(join(path, name), "Field required") for name in required if name not in held), None)


def _unknown(held: JsonObject, known: Mapping[str, Check], more: bool, path: str) -> ApiError | None:
    extra = () if more else (name for name in held if name not in known)
    return next((at(join(path, name), "Extra inputs are not permitted") for name in extra), None)


def _wrong(held: JsonObject, known: Mapping[str, Check], path: str) -> ApiError | None:
    errors = (known[name](value, join(path, name)) for name, value in held.items() if name in known)
    return next((error for error in errors if error), None)
