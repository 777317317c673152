"""Checks of a JSON value's form, put together from small ones.

Owns: the few kinds of check (a plain kind, at least, one of, list, object with known fields, object told apart by
`type`) and their messages, worded as the provider's own. A check takes the value and its path and returns the first
error or None. It is a value that shows its parts, so that a test can walk a whole form and break every rule in it.
What the fields are is `fields.py`'s matter. Pure.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from .errors import ApiError, at
from .wire import JsonObject, as_list, as_object

Check: TypeAlias = Callable[[object, str], ApiError | None]

NO_OBJECT = "Input should be a valid dictionary or object"
EXTRA = "Extra inputs are not permitted"
MISSING = "Field required"


def join(path: str, name: str | int) -> str:
    """A path one step further."""
    return f"{path}.{name}" if path else str(name)


@dataclass(frozen=True, slots=True)
class Plain:
    """A value of one kind. `wanted`: what is said of another."""

    wanted: str
    fits: Callable[[object], bool]

    def __call__(self, value: object, path: str) -> ApiError | None:
        return None if self.fits(value) else at(path, f"Input should be {self.wanted}")


anything = Plain("anything", lambda _: True)
text = Plain("a valid string", lambda value: isinstance(value, str))
flag = Plain("a valid boolean", lambda value: isinstance(value, bool))
mapping = Plain("a valid dictionary", lambda value: isinstance(value, dict))
number = Plain("a valid number", lambda value: isinstance(value, int | float) and not isinstance(value, bool))
integer = Plain("a valid integer", lambda value: isinstance(value, int) and not isinstance(value, bool))


@dataclass(frozen=True, slots=True)
class AtLeast:
    """An integer not below `least`."""

    least: int

    def __call__(self, value: object, path: str) -> ApiError | None:
        if not isinstance(value, int) or isinstance(value, bool):
            return integer(value, path)
        return None if value >= self.least else at(path, f"Input should be greater than or equal to {self.least}")


@dataclass(frozen=True, slots=True)
class Matching:
    """A string that the whole pattern describes."""

    pattern: str

    def __call__(self, value: object, path: str) -> ApiError | None:
        if not isinstance(value, str):
            return text(value, path)
        fits = re.fullmatch(self.pattern, value)
        return None if fits else at(path, f"String should match pattern '^{self.pattern}$'")


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of these strings."""

    values: tuple[str, ...]

    def __call__(self, value: object, path: str) -> ApiError | None:
        named = " or ".join(filter(None, [", ".join(f"'{one}'" for one in self.values[:-1]), f"'{self.values[-1]}'"]))
        return None if value in self.values else at(path, f"Input should be {named}")


def one_of(*values: str) -> OneOf:
    """One of these strings."""
    return OneOf(values)


@dataclass(frozen=True, slots=True)
class Nullable:
    """What passes the inner check, or null."""

    inner: Check

    def __call__(self, value: object, path: str) -> ApiError | None:
        return None if value is None else self.inner(value, path)


@dataclass(frozen=True, slots=True)
class Many:
    """A list whose items pass the inner check."""

    inner: Check

    def __call__(self, value: object, path: str) -> ApiError | None:
        items = as_list(value)
        if items is None:
            return at(path, "Input should be a valid list")
        errors = (self.inner(item, join(path, index)) for index, item in enumerate(items))
        return next((error for error in errors if error), None)


@dataclass(frozen=True, slots=True)
class TextOr:
    """A string, or what passes the inner check."""

    inner: Check

    def __call__(self, value: object, path: str) -> ApiError | None:
        return None if isinstance(value, str) else self.inner(value, path)


@dataclass(frozen=True, slots=True)
class Fields:
    """An object with the required fields and, unless `more`, none but the known ones, which include them."""

    required: frozenset[str]
    known: Mapping[str, Check]
    more: bool = False

    def __call__(self, value: object, path: str) -> ApiError | None:
        held = as_object(value)
        if held is None:
            return at(path, NO_OBJECT)
        return self._missing(held, path) or self._unknown(held, path) or self._wrong(held, path)

    def _missing(self, held: JsonObject, path: str) -> ApiError | None:
        needed = (name for name in self.known if name in self.required)
        return next((at(join(path, name), MISSING) for name in needed if name not in held), None)

    def _unknown(self, held: JsonObject, path: str) -> ApiError | None:
        extra = () if self.more else (name for name in held if name not in self.known)
        return next((at(join(path, name), EXTRA) for name in extra), None)

    def _wrong(self, held: JsonObject, path: str) -> ApiError | None:
        errors = (self.known[name](value, join(path, name)) for name, value in held.items() if name in self.known)
        return next((error for error in errors if error), None)


def fields(required: Mapping[str, Check], others: Mapping[str, Check] | None = None, more: bool = False) -> Fields:
    """An object with these fields and, unless `more`, no other one."""
    return Fields(frozenset(required), {**required, **(others or {})}, more)


@dataclass(frozen=True, slots=True)
class Tagged:
    """An object whose `type` says which check it has to pass; the path names the type, as the provider's does."""

    kinds: Mapping[str, Check]
    default: str | None = None

    def __call__(self, value: object, path: str) -> ApiError | None:
        held = as_object(value)
        if held is None:
            return at(path, NO_OBJECT)
        kind = held.get("type", self.default)
        kind = self.default if kind is None else kind
        if kind is None:
            return at(join(path, "type"), MISSING)
        if not isinstance(kind, str) or kind not in self.kinds:
            found = f"Input tag '{kind}' found using 'type' does not match any of the expected tags"
            return at(path, f"{found}: {', '.join(repr(one) for one in self.kinds)}")
        return self.kinds[kind](held, join(path, kind))
