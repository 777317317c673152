"""Records as bytes: msgpack, a format version in every one.

A class is registered once under a short tag that never changes. Fields are written by name, so a field
with a default may be added later. A record of another version, of an unknown tag, or torn, raises
`RecordSetAside`: the reader names it and goes on, it never guesses. Pure; may be used by every layer.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

import msgpack

from .errors import RecordSetAside

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
    tag = _BY_CLASS.get(type(value))
    if tag is None:
        raise TypeError(f"{type(value).__name__} is not registered with manyminds.messages.codec.record")
    fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    return msgpack.ExtType(_EXT, _pack([tag, fields]))


def _pack(value: Any) -> bytes:
    # Platform names may hold lone surrogates; they must come back as they were.
    return bytes(msgpack.packb(value, default=_default, use_bin_type=True, unicode_errors="surrogatepass"))


def _ext(code: int, data: bytes) -> Any:
    if code != _EXT:
        raise RecordSetAside(f"a record holds an extension of code {code}, which this version does not know")
    tag, fields = _unpack(data)
    cls = _BY_TAG.get(tag)
    if cls is None:
        raise RecordSetAside(f"a record of kind {tag!r} is of a version that this one does not know")
    # Sequence fields of records are tuples; lists live on only inside free-form JSON values.
    return cls(**{name: tuple(v) if type(v) is list else v for name, v in fields.items()})


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
    if not isinstance(outer, list) or len(outer) != 2:
        raise RecordSetAside("a record has no format version; it is torn or was not written by manyminds")
    if outer[0] != FORMAT:
        raise RecordSetAside(f"a record has format {outer[0]!r}, this version reads {FORMAT}")
    return outer[1]
