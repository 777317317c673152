"""Type hints as shapes: which hints a tool's parameter may have, and what each of them asks of a call.

Owns the table of hints. What JSON cannot say, or what could be read in two ways, is refused when the tool is made,
never when it is called. Pure, apart from evaluating annotations that were written as strings.
"""

import collections.abc
import dataclasses
import enum
import inspect
import math
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, is_typeddict

from .docstrings import split_docstring
from .shapes import Anything, Choice, DictOf, Field, Fixed, ListOf, Mismatch, OneOf, Record, Scalar, Shape

_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean"}
_LISTS = (list, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection,
          collections.abc.MutableSequence)
_DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_REQUIREDNESS = tuple(
    getattr(typing, name) for name in ("Required", "NotRequired", "ReadOnly") if hasattr(typing, name)
)
_INSTEAD: dict[Any, str] = {
    bytes: "take a str (base64) and decode it inside",
    set: "take a list and make the set inside",
    frozenset: "take a list and make the set inside",
    collections.abc.Set: "take a list and make the set inside",
    Callable: "a model cannot pass a function",
}


class Inexpressible(Exception):
    """A hint that no call can be checked against; the text says which and what to do."""


def evaluate(annotation: Any, namespace: Mapping[str, Any]) -> Any:
    """The hint behind an annotation; one written as a string is looked up in `namespace`.

    Raises Inexpressible for a name that is not there.
    """
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    try:
        return typing.get_type_hints(holder, globalns=dict(namespace), include_extras=True)["it"]
    except Exception as exc:
        raise Inexpressible(
            f"its hint {annotation!r} cannot be looked up ({type(exc).__name__}: {exc}); "
            "use a type that is defined in the module, outside any function"
        ) from exc


def described(hint: Any) -> tuple[Any, str]:
    """The hint without Annotated, and the description that it carried, or an empty one."""
    text = ""
    while get_origin(hint) is Annotated:
        hint, *notes = get_args(hint)
        text = text or next((note for note in notes if isinstance(note, str)), "")
    return hint, text


def shape_of(hint: Any, within: tuple[type, ...] = ()) -> Shape:
    """The shape of a hint. `within`: the classes it stands in. Raises Inexpressible."""
    hint = _plain(hint)
    if hint in (Any, object):
        return Anything()
    if hint is None or hint is type(None):
        return Choice(((None, None),))
    if isinstance(hint, type) and not isinstance(hint, types.GenericAlias):
        kind: type[Any] = hint
        return _shape_of_class(kind, within)
    return _shape_of_form(hint, within)


def _plain(hint: Any) -> Any:
    """The hint behind Annotated, Required, a NewType and a named alias."""
    while True:
        hint, _ = described(hint)
        if get_origin(hint) in _REQUIREDNESS:
            hint = get_args(hint)[0]
        elif isinstance(hint, typing.NewType):
            hint = hint.__supertype__
        elif type(hint).__name__ == "TypeAliasType":
            hint = hint.__value__
        else:
            return hint


def _shape_of_class(kind: type[Any], within: tuple[type, ...]) -> Shape:
    if kind in _SCALARS:
        return Scalar(kind, _SCALARS[kind])
    if kind in _LISTS:
        return ListOf(Anything())
    if kind is tuple:
        return ListOf(Anything(), tuple)
    if kind in _DICTS:
        return DictOf(Anything())
    if issubclass(kind, enum.Enum):
        return _choice([(member.value, member) for member in kind], kind)
    if kind in within:
        raise Inexpressible(f"{kind.__name__} holds itself; take the inner part as dict or list and check it inside")
    if is_typeddict(kind):
        return _typed_dict(kind, (*within, kind))
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind, (*within, kind))
    raise _refused(kind)


def _shape_of_form(hint: Any, within: tuple[type, ...]) -> Shape:
    origin, arguments = get_origin(hint), get_args(hint)
    if not arguments and isinstance(origin, type) and not isinstance(hint, types.GenericAlias):
        return _shape_of_class(origin, within)  # typing.List and its like, bare
    if origin is Literal:
        return _choice([(value, value) for value in arguments], hint)
    if origin in (Union, types.UnionType):
        return OneOf(tuple(shape_of(option, within) for option in arguments))
    if origin in _LISTS:
        return ListOf(shape_of(arguments[0], within))
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return ListOf(shape_of(arguments[0], within), tuple)
    if origin is tuple:
        return Fixed(tuple(shape_of(item, within) for item in arguments))
    if origin in _DICTS:
        if _plain(arguments[0]) is not str:
            raise Inexpressible(f"the keys of {_name(hint)} must be str, since JSON has no others; use dict[str, ...]")
        return DictOf(shape_of(arguments[1], within))
    raise _refused(hint)


def _choice(options: list[tuple[Any, Any]], hint: Any) -> Shape:
    """A choice of JSON scalars, told apart by type and value."""
    for key, _ in options:
        if key is not None and type(key) not in _SCALARS:
            raise Inexpressible(f"{_name(hint)} holds {key!r}, which is no JSON scalar; use str, int or bool values")
    if not options:
        raise Inexpressible(f"{_name(hint)} has nothing to choose from; give it members")
    return Choice(tuple(options))


def _typed_dict(kind: type, within: tuple[type, ...]) -> Shape:
    required: frozenset[str] = getattr(kind, "__required_keys__", frozenset())
    summary, documented = split_docstring(inspect.cleandoc(kind.__doc__ or ""))
    fields = {name: field_of(hint, name in required, documented.get(name, ""), within=within)
              for name, hint in _hints_of(kind).items()}
    return Record(fields, description=summary)


def _hints_of(kind: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(kind, include_extras=True)
    except Exception as exc:
        raise Inexpressible(
            f"the hints of {kind.__name__} cannot be looked up ({type(exc).__name__}: {exc}); "
            "use types that are defined in its module, outside any function"
        ) from exc


def _dataclass(kind: type, within: tuple[type, ...]) -> Shape:
    hints = _hints_of(kind)
    summary, documented = split_docstring(inspect.cleandoc(kind.__doc__ or ""))
    if summary.startswith(f"{kind.__name__}("):
        summary = ""  # the one that dataclass writes: the signature
    fields: dict[str, Field] = {}
    for field in dataclasses.fields(kind):
        if field.init:
            default = None if field.default is dataclasses.MISSING else field.default
            required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
            fields[field.name] = field_of(hints[field.name], required, documented.get(field.name, ""), default, within)
    extra = [name for name in inspect.signature(kind).parameters if name not in fields]
    if extra:
        raise Inexpressible(f"{kind.__name__} is made with {', '.join(extra)}, no field of it; use a plain dataclass")
    make = cast("Callable[..., Any]", kind)
    return Record(fields, lambda values: make(**values), summary)


def field_of(
    hint: Any, required: bool, documented: str = "", default: Any = None, within: tuple[type, ...] = ()
) -> Field:
    """A property: its shape, its description (the hint's before the docstring's) and a default JSON can say."""
    while get_origin(hint) in _REQUIREDNESS:
        hint = get_args(hint)[0]
    _, own = described(hint)
    if isinstance(default, enum.Enum):
        default = default.value
    stated = default if type(default) in _SCALARS or default in ([], (), {}) else None
    shape = shape_of(hint, within)
    if stated is not None and type(stated) in _SCALARS:
        _check_default(shape, stated)
    return Field(shape, required, own or documented, stated)


def _check_default(shape: Shape, default: Any) -> None:
    """A default that is told to the model must be what the model itself may give; None means that there is none."""
    if isinstance(default, float) and not math.isfinite(default):
        raise Inexpressible(f"its default {default} is no JSON; use None, and mean it inside the function")
    try:
        shape.read(default, "its default")
    except Mismatch as mismatch:
        raise Inexpressible(f"{mismatch}; change the default or the hint") from mismatch


def _refused(hint: Any) -> Inexpressible:
    instead = _INSTEAD.get(get_origin(hint) or hint)
    if instead is None:
        instead = (
            "use str, int, float, bool, None, list, dict, tuple, Literal, Enum, a union of these, "
            "a dataclass or a TypedDict, and convert inside the function"
        )
    return Inexpressible(f"its hint {_name(hint)} has no JSON form; {instead}")


def _name(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint)
