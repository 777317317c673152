"""Every way to break a form: a walk through a check that gives a value for each rule in it that breaks that rule alone.

Owns: `sample`, a legal value of a check, and `broken`, the illegal ones, each with the start of the message that has to
be given. Knows the kinds of check and nothing of any field, so that a new field is walked as soon as it is written.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias, cast

from tests.messages_api.fields import Message, input_schema
from tests.messages_api.shapes import (
    EXTRA,
    MISSING,
    NO_OBJECT,
    AtLeast,
    Check,
    Fields,
    Many,
    Matching,
    Nullable,
    OneOf,
    Plain,
    Tagged,
    TextOr,
    join,
)

Broken: TypeAlias = Iterator[tuple[object, str]]
PLAIN: tuple[object, ...] = ("x", True, 1, {}, [])


def sample(check: object) -> object:
    """A legal value, as small as it can be."""
    match check:
        case Plain():
            return next(value for value in PLAIN if check.fits(value))
        case AtLeast(least):
            return least
        case Matching():
            return "x"
        case OneOf(values):
            return values[0]
        case Nullable(inner):
            return sample(inner)
        case Many():
            return []
        case TextOr():
            return "x"
        case Fields(required, known):
            return {name: sample(known[name]) for name in known if name in required}
        case Tagged(kinds):
            kind, inner = next(iter(kinds.items()))
            return {**cast("dict[str, object]", sample(inner)), "type": kind}
        case Message(by_role):
            return {**cast("dict[str, object]", sample(by_role["user"])), "role": "user"}
        case _:
            assert check is input_schema, check
            return {"type": "object"}


def broken(check: object, path: str = "") -> Broken:
    """Values that break one rule each, with the start of the error's message."""
    match check:
        case Plain(wanted):
            wrong = [value for value in PLAIN if not check.fits(value)][:1]
            yield from ((value, f"{path}: Input should be {wanted}") for value in wrong)
        case AtLeast(least):
            yield from ((value, f"{path}: Input should be a valid integer") for value in ("x", True))
            yield least - 1, f"{path}: Input should be greater than or equal to {least}"
        case Matching(pattern):
            yield 5, f"{path}: Input should be a valid string"
            yield "?", f"{path}: String should match pattern '^{pattern}$'"
        case OneOf(values):
            yield "?", f"{path}: Input should be {values[0]!r}" if len(values) == 1 else f"{path}: Input should be '"
        case Nullable(inner) | TextOr(inner):
            yield from broken(inner, path)
        case Many(inner):
            yield 5, f"{path}: Input should be a valid list"
            yield from (([value], message) for value, message in broken(inner, join(path, 0)))
        case Fields():
            yield from _broken_fields(check, path, "")
        case Tagged():
            yield from _broken_tagged(check.kinds, path, "type", lambda kind: join(path, kind))
            if check.default is None:
                yield {}, f"{join(path, 'type')}: {MISSING}"
            yield {"type": "?"}, f"{path}: Input tag '?' found using 'type'"
        case Message(by_role):
            yield from _broken_tagged(by_role, path, "role", lambda _: path)
            yield {}, f"{join(path, 'role')}: {MISSING}"
            yield {"role": "?"}, f"{join(path, 'role')}: Input should be 'user', 'assistant' or 'system'"
        case _:
            assert check is input_schema, check
            yield 5, f"{path}: Input should be a valid dictionary"
            yield {}, f"{path}.type: {MISSING}"
            yield {"type": "string"}, f"{path}.type: Input should be 'object'"
            for union in ("oneOf", "allOf", "anyOf"):
                yield {"type": "object", union: []}, f"{path}: input_schema does not support oneOf, allOf, or anyOf"


def _broken_fields(check: Fields, path: str, tag: str) -> Broken:
    """The ways to break an object; `tag`: the member that says of which kind it is, which is not this one's matter."""
    whole = cast("dict[str, object]", sample(check))
    if not tag:
        yield 5, f"{path}: {NO_OBJECT}" if path else NO_OBJECT
    for name in check.required - {tag}:
        yield {key: value for key, value in whole.items() if key != name}, f"{join(path, name)}: {MISSING}"
    if not check.more:
        yield {**whole, "colour": 1}, f"{join(path, 'colour')}: {EXTRA}"
    for name, inner in check.known.items():
        if name != tag:
            yield from (({**whole, name: value}, message) for value, message in broken(inner, join(path, name)))


def _broken_tagged(kinds: Mapping[str, Check], path: str, tag: str, place: Callable[[str], str]) -> Broken:
    yield 5, f"{path}: {NO_OBJECT}"
    for kind, inner in kinds.items():
        assert isinstance(inner, Fields)
        for value, message in _broken_fields(inner, place(kind), tag):
            yield {**cast("dict[str, object]", value), tag: kind}, message
