"""Records as bytes: msgpack, a format version in every one.

A class is registered once under a short tag that never changes. Fields are written by name, so a field
with a default may be added later. A record of another version, of an unknown tag, or torn, raises
`RecordSetAside`: the reader names it and goes on, it never guesses. Pure; may be used by every layer.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

import msgpack as _untyped

from .errors import RecordSetAside

# The library ships no types; what it gives is checked here.
msgpack: Any = _untyped
FORMAT = 1
_EXT = 7
_BY_TAG: dict[str, type] = {}
_BY_CLASS: dict[type, str] = {}
T = TypeVar("T")


def record(tag: str) -> Callable[[type[T]], type[T]]:
    """Class decorator: register a dataclass under `tag` so that it can be stored."""

    def register(cls: type[T]) -> type[T]:
        if tag in _BY_TAG:
            raise ValueError(f"tag {tag!r} is taken by {_BY_TAG[tag].__name__}")
        _BY_TAG[tag] = cls
        _BY_CLASS[cls] = tag
        return cls

    return register


def _default(value: Any) -> Any:
    kind: type[Any] = value.__class__
    tag = _BY_CLASS.get(kind)
    if tag is None:
        raise TypeError(f"{kind.__name__} is not registered with manyminds.messages.codec.record")
    names = [field.name for field in dataclasses.fields(value)]
    fields: dict[str, Any] = {name: getattr(value, name) for name in names}
    return msgpack.ExtType(_EXT, _pack([tag, fields]))


def _pack(value: Any) -> bytes:
    # Platform names may hold lone surrogates; they must come back as they were.
    packed: Any = msgpack.packb(value, default=_default, use_bin_type=True, unicode_errors="surrogatepass")
    return bytes(packed)


def _ext(code: int, data: bytes) -> Any:
    if code != _EXT:
        raise RecordSetAside(f"a record holds an extension of code {code}, which this version does not know")
    unpacked: Any = _unpack(data)
    tag, fields = unpacked
    cls = _BY_TAG.get(tag)
    if cls is None:
        raise RecordSetAside(f"a record of kind {tag!r} is of a version that this one does not know")
    # Sequence fields of records are tuples; lists live on only inside free-form JSON values.
    values: dict[str, Any] = dict(fields)
    return cls(**{name: _frozen(value) for name, value in values.items()})


def _frozen(value: Any) -> Any:
    items: Any = value
    return tuple(items) if type(value) is list else value


def _unpack(data: bytes) -> Any:
    return msgpack.unpackb(data, ext_hook=_ext, raw=False, strict_map_key=False, unicode_errors="surrogatepass")


def encode(value: Any) -> bytes:
    """The bytes of a registered record, or of plain values holding such records.

    Raises TypeError for a class that is not registered.
    """
    return _pack([FORMAT, value])


def decode(data: bytes) -> Any:
    """The value of `encode`'s bytes. Raises RecordSetAside for anything else."""
    try:
        outer = _unpack(bytes(data))
    except RecordSetAside:
        raise
    except Exception as exc:
        why = type(exc).__name__
        raise RecordSetAside(f"a record of {len(data)} bytes cannot be read ({why}); it is torn") from exc
    # A record is [format, value]; a bare value of another shape is somebody else's bytes.
    found: Any = outer
    if type(outer) is not list or len(found) != 2:
        raise RecordSetAside("a record has no format version; it is torn or was not written by manyminds")
    version: Any = found[0]
    value: Any = found[1]
    if version != FORMAT:
        raise RecordSetAside(f"a record has format {version!r}, this version reads {FORMAT}")
    return value
