"""Shapes: what a value in a tool call must look like, as JSON schema, as words, and as a strict reader.

A reader gives the Python value a hint promises or raises `Mismatch` with every problem it found; it never turns
one kind of value into another (no "5" for 5, no 1 for true). Pure; `hints` builds shapes, `tools` uses them.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard

_SHOWN = 80
_ARTICLES = {"string": "a string", "integer": "an integer", "number": "a number", "boolean": "true or false"}


class Mismatch(Exception):
    """A value that does not fit; `problems` says where, what was expected and what was given."""

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class Shape(Protocol):
    """What a value must look like."""

    @property
    def expects(self) -> str:
        """The shape in words, for an error text."""
        ...

    def schema(self) -> dict[str, Any]:
        """Its JSON schema."""
        ...

    def read(self, value: Any, path: str) -> Any:
        """The Python value. Raises Mismatch, naming `path`."""
        ...


def given(value: Any) -> str:
    """A JSON value in words, its kind first, cut to a line."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    text = json.dumps(value, ensure_ascii=False)
    kinds = {str: "the string", int: "the integer", float: "the number", list: "the array", dict: "the object"}
    return f"{kinds[type(value)]} {text if len(text) <= _SHOWN else text[: _SHOWN - 1] + '…'}"


def wrong(shape: Shape, value: Any, path: str) -> Mismatch:
    """The mismatch of a value that is not of this shape at all."""
    return Mismatch(f"{path}: expected {shape.expects}, was given {given(value)}")


@dataclass(frozen=True, slots=True)
class Anything:
    """Any JSON value."""

    expects: str = "any JSON value"

    def schema(self) -> dict[str, Any]:
        """No demands."""
        return {}

    def read(self, value: Any, path: str) -> Any:
        """The value as it is."""
        return value


@dataclass(frozen=True, slots=True)
class Scalar:
    """A str, int, float or bool. A float may be written without a point if it is exactly that number."""

    kind: type
    name: str

    @property
    def expects(self) -> str:
        """Its name with an article."""
        return _ARTICLES[self.name]

    def schema(self) -> dict[str, Any]:
        """The type."""
        return {"type": self.name}

    def read(self, value: Any, path: str) -> Any:
        """The value; a whole number as a float where a float is hinted."""
        if type(value) is self.kind:
            return value
        if self.kind is float and type(value) is int and abs(value) <= 2**53:
            return float(value)
        raise wrong(self, value, path)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few JSON scalars, each standing for a Python value (a literal, an enum's member, None)."""

    options: tuple[tuple[Any, Any], ...]

    @property
    def expects(self) -> str:
        """The choices as JSON."""
        shown = [json.dumps(key, ensure_ascii=False) for key, _ in self.options]
        return shown[0] if len(shown) == 1 else "one of " + ", ".join(shown)

    def schema(self) -> dict[str, Any]:
        """An enum, with its type where that is one."""
        keys: list[object] = [key for key, _ in self.options]
        if keys == [None]:
            return {"type": "null"}
        names: dict[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
        kinds = {names.get(type(key), "null") for key in keys}
        typed = {"type": kinds.pop()} if len(kinds) == 1 else {}
        return {**typed, "enum": keys}

    def read(self, value: Any, path: str) -> Any:
        """What the choice stands for. 1, 1.0 and true are three choices."""
        for key, stands_for in self.options:
            if type(key) is type(value) and key == value:
                return stands_for
        raise wrong(self, value, path)


@dataclass(frozen=True, slots=True)
class ListOf:
    """An array of one shape, as a list or a tuple."""

    item: Shape
    build: Callable[[list[Any]], Any] = list

    @property
    def expects(self) -> str:
        """An array of what."""
        return "an array" if isinstance(self.item, Anything) else f"an array, each item {self.item.expects}"

    def schema(self) -> dict[str, Any]:
        """An array."""
        items = self.item.schema()
        return {"type": "array", **({"items": items} if items else {})}

    def read(self, value: Any, path: str) -> Any:
        """Every item read."""
        if not _is_array(value):
            raise wrong(self, value, path)
        return self.build(_read_all([(self.item, item, f"{path}[{n}]") for n, item in enumerate(value)]))


@dataclass(frozen=True, slots=True)
class Fixed:
    """An array of a fixed length, as a tuple."""

    items: tuple[Shape, ...]

    @property
    def expects(self) -> str:
        """The items in order."""
        return f"an array of exactly {len(self.items)}: [" + ", ".join(item.expects for item in self.items) + "]"

    def schema(self) -> dict[str, Any]:
        """An array whose places are described one by one."""
        places = [item.schema() for item in self.items]
        listed = {"prefixItems": places} if places else {}
        return {"type": "array", **listed, "minItems": len(places), "maxItems": len(places)}

    def read(self, value: Any, path: str) -> Any:
        """Every item read by its own shape."""
        if not _is_array(value) or len(value) != len(self.items):
            raise wrong(self, value, path)
        pairs = zip(self.items, value, strict=True)
        return tuple(_read_all([(shape, item, f"{path}[{n}]") for n, (shape, item) in enumerate(pairs)]))


@dataclass(frozen=True, slots=True)
class DictOf:
    """An object with any keys and values of one shape."""

    value: Shape

    @property
    def expects(self) -> str:
        """An object of what."""
        return "an object" if isinstance(self.value, Anything) else f"an object, each value {self.value.expects}"

    def schema(self) -> dict[str, Any]:
        """An object."""
        values = self.value.schema()
        return {"type": "object", **({"additionalProperties": values} if values else {})}

    def read(self, value: Any, path: str) -> Any:
        """Every value read."""
        if not _is_object(value):
            raise wrong(self, value, path)
        read = _read_all([(self.value, item, f"{path}.{key}") for key, item in value.items()])
        return dict(zip(value, read, strict=True))


@dataclass(frozen=True, slots=True)
class OneOf:
    """A value of one of several shapes; the first that fits reads it, a float last."""

    options: tuple[Shape, ...]

    @property
    def expects(self) -> str:
        """The shapes, or-ed."""
        return " or ".join("null" if _is_null(shape) else shape.expects for shape in self.options)

    def schema(self) -> dict[str, Any]:
        """Any of the schemas."""
        return {"anyOf": [shape.schema() for shape in self.options]}

    def read(self, value: Any, path: str) -> Any:
        """The value as the first shape that fits reads it."""
        problems: list[Mismatch] = []
        # An int also fits a float, so that a float before it would turn it into one.
        for shape in sorted(self.options, key=lambda shape: isinstance(shape, Scalar) and shape.kind is float):
            try:
                return shape.read(value, path)
            except Mismatch as problem:
                problems.append(problem)
        # If the value is of one option's kind and wrong only further inside, that is what the caller must know.
        inside = [problem for problem in problems if not problem.problems[0].startswith(f"{path}: expected ")]
        raise inside[0] if len(inside) == 1 else wrong(self, value, path)


@dataclass(frozen=True, slots=True)
class Field:
    """One property of a record."""

    shape: Shape
    required: bool = True
    description: str = ""
    default: Any = None

    def schema(self) -> dict[str, Any]:
        """The shape's schema with the description and a default that JSON can say."""
        notes = {"description": self.description or None, "default": self.default}
        return {**self.shape.schema(), **{key: note for key, note in notes.items() if note is not None}}


@dataclass(frozen=True, slots=True)
class Record:
    """An object with known properties and no others: a call's arguments, a dataclass, a TypedDict."""

    fields: Mapping[str, Field]
    build: Callable[[dict[str, Any]], Any] = dict
    description: str = ""

    @property
    def expects(self) -> str:
        """The properties in words; those that may be left out have a question mark."""
        shown = [f"{name}{'' if field.required else '?'}: {field.shape.expects}" for name, field in self.fields.items()]
        return "an object {" + ", ".join(shown) + "}"

    def schema(self) -> dict[str, Any]:
        """An object that is closed."""
        required = [name for name, field in self.fields.items() if field.required]
        return {
            "type": "object",
            "properties": {name: field.schema() for name, field in self.fields.items()},
            **({"required": required} if required else {}),
            **({"description": self.description} if self.description else {}),
            "additionalProperties": False,
        }

    def read(self, value: Any, path: str) -> Any:
        """Every property read; what is missing and what is unknown are problems as well."""
        if not _is_object(value):
            raise wrong(self, value, path)
        at = f"{path}." if path else ""
        problems = [
            f"{at}{name}: missing, expected {field.shape.expects}"
            for name, field in self.fields.items()
            if field.required and name not in value
        ]
        known = ", ".join(self.fields) or "nothing"
        problems += [f"{at}{name}: not known here; it takes {known}" for name in value if name not in self.fields]
        pairs = [(self.fields[name].shape, item, f"{at}{name}") for name, item in value.items()
                 if name in self.fields]
        read = dict(zip((name for name in value if name in self.fields), _read_all(pairs, problems), strict=True))
        try:
            return self.build(read)
        except Exception as exc:
            raise Mismatch(f"{path}: was given {given(value)}, which is refused ({type(exc).__name__}: {exc})") from exc


def _is_array(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_null(shape: Shape) -> bool:
    return isinstance(shape, Choice) and [key for key, _ in shape.options] == [None]


def _read_all(pairs: Sequence[tuple[Shape, Any, str]], problems: Sequence[str] = ()) -> list[Any]:
    """Read each value by its shape. Raises one Mismatch with all problems, those already known first."""
    read: list[Any] = []
    found = list(problems)
    for shape, value, path in pairs:
        try:
            read.append(shape.read(value, path))
        except Mismatch as mismatch:
            found += mismatch.problems
    if found:
        raise Mismatch(*found)
    return read
