"""Records as bytes."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import msgpack
import pytest

from manyminds.messages.address import Address
from manyminds.messages.blocks import (
    Image,
    Opaque,
    RedactedThinking,
    SystemChange,
    Text,
    Thinking,
    ToolCall,
    ToolDef,
    ToolResult,
)
from manyminds.messages.codec import FORMAT, decode, encode, record
from manyminds.messages.errors import RecordSetAside
from manyminds.messages.places import ChannelRef, Place
from manyminds.messages.posts import Attempt, OutboxEntry
from manyminds.messages.registry import AgentRecord, ChannelRecord, Roles
from manyminds.messages.request import ErrorRecord, Msg
from manyminds.messages.rows import Placed, Row
from manyminds.messages.turns import ExplicitSend, Round, Turn
from manyminds.messages.wakes import Answered, Wake

# Without types: msgpack has none that a strict checker could follow.
WIRE: Any = msgpack
TEA = ChannelRef("irc", "#tea")
ROW = Row(
    "r1", "ann", (Text("hé 😀"), Image("image/png", b"\x00\xff", "hash"), ToolResult("c", (Text("x"),), True)),
    {"kind": "x", "tags": ["a", "b"], "author": {"id": "1", "name": "Ann"}, "system": False, "n": None},
    12.5, 3, 9, "ann: ",
)
WAKE = Wake(4, "tea", "channel-message", 1.5, TEA, "t", True, "ann", 3, 7, "r1", True, "sys")
ROUND = Round(1, (Text("I look"), ToolCall("c", "look", "{}", "cut")), 9, 8, (ExplicitSend("c", 2),))
# A stored tag never changes: what was written once must be read for ever.
RECORDS: list[tuple[str, object]] = [
    ("text", Text("hé\n😀")),
    ("image", Image("image/png", b"\x00\xff")),
    ("thinking", Thinking("t", "s", 4)),
    ("redacted", RedactedThinking("d", None)),
    ("call", ToolCall("c", "look", '{"a": 1}', "")),
    ("result", ToolResult("c", (Text("x"), Image("image/png", b"")))),
    ("tool", ToolDef("look", "Looks.", "{}")),
    ("change", SystemChange(("a",), (ToolDef("b", "", "{}"),), ("s",))),
    ("opaque", Opaque("{}")),
    ("row", ROW),
    ("placed", Placed(7, ROW)),
    ("channel", TEA),
    ("place", Place(TEA, "t")),
    ("wake", WAKE),
    ("answered", Answered(TEA, 5)),
    ("send", ExplicitSend("c", 1)),
    ("round", ROUND),
    ("turn", Turn("main", "tea", 1, 2, 0, "hybrid", 1.5, (WAKE,), 3, 9, 8, Place(TEA), sent_to=(TEA,), round=ROUND)),
    ("roles", Roles(default_delivery=True)),
    ("agent", AgentRecord("tea", "resident", "m", "main", 2, Roles(), message_peers=("dock",), home=TEA)),
    ("channel-entry", ChannelRecord(TEA, "dm", "Ann", "closed", "agent-tool", 1.0)),
    ("msg", Msg("user", (Text("hi"),), cache=True)),
    ("error", ErrorRecord("server", "boom", True, 2.0, 500)),
    ("attempt", Attempt(1.0, "unknown", "timeout")),
    ("outbox", OutboxEntry("tea", 1, 2, 3, 0, 1, TEA, None, "hi", "k", 1.0, attempts=(Attempt(1.0),))),
]


def packed(value: object) -> bytes:
    """msgpack's bytes of plain values."""
    return bytes(WIRE.packb(value, use_bin_type=True))


def ext(tag: str, fields: dict[str, Any]) -> Any:
    """A registered record as msgpack holds it."""
    return WIRE.ExtType(7, packed([tag, fields]))


@pytest.mark.parametrize(("tag", "value"), RECORDS, ids=[case[0] for case in RECORDS])
def test_each_record_comes_back_as_it_was(tag: str, value: object) -> None:
    """[design, "What lasts": codec] Every kind of record, equal after bytes, of its own class."""
    back = decode(encode(value))
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize(("tag", "value"), RECORDS, ids=[case[0] for case in RECORDS])
def test_each_record_bears_its_format_and_tag(tag: str, value: object) -> None:
    """[design, "What lasts": codec] A format version in every record, and a tag that never changes."""
    version, body = WIRE.unpackb(encode(value), strict_map_key=False)
    assert version == FORMAT == 1
    assert body.code == 7
    assert WIRE.unpackb(body.data, strict_map_key=False)[0] == tag


def test_plain_values_and_records_in_them() -> None:
    """[design, "What lasts": codec] Lists and mappings of records; a platform's name may hold a lone surrogate."""
    value = {"a": [Text("x"), 1, None], 7: TEA, "s": "\ud83d", "b": b"\x00"}
    assert decode(encode(value)) == value


def test_sequences_of_records_are_tuples_and_free_form_ones_lists() -> None:
    """[messages.codec] Fields of records are tuples again; inside metadata a sequence is a list."""
    back = decode(encode(Row("r", "ann", (Text("x"),), {"tags": ["a"]})))
    assert isinstance(back.content, tuple)
    assert back.metadata == {"tags": ["a"]}


def test_a_field_that_was_added_later_has_its_default() -> None:
    """[messages.codec] Fields are written by name, so an old record lacks only what it did not know."""
    old = ext("row", {"id": "r", "participant": "ann", "content": [ext("text", {"text": "hi"})]})
    assert decode(packed([1, old])) == Row("r", "ann", (Text("hi"),))


BROKEN: list[tuple[str, bytes, str]] = [
    ("empty", b"", "torn"),
    ("no format", packed("hi"), "no format version"),
    ("a list too long", packed([1, 2, 3]), "no format version"),
    ("another format", packed([2, "hi"]), "format 2"),
    ("an unknown tag", packed([1, ext("of tomorrow", {})]), "of tomorrow"),
    ("an unknown extension", packed([1, WIRE.ExtType(9, b"")]), "code 9"),
    ("an unknown field", packed([1, ext("text", {"text": "a", "size": 3})]), "torn"),
    ("a missing field", packed([1, ext("text", {})]), "torn"),
    ("bytes behind it", encode(Text("a")) + b"\x00", "torn"),
    ("no msgpack", b"\xc1\xc1\xc1", "torn"),
]


@pytest.mark.parametrize(("what", "data", "words"), BROKEN, ids=[case[0] for case in BROKEN])
def test_what_cannot_be_read_is_set_aside_by_name(what: str, data: bytes, words: str) -> None:
    """[design, "What lasts": codec] A record of another version, or a torn one, is named, never guessed at."""
    with pytest.raises(RecordSetAside, match=words):
        decode(data)


def test_every_torn_record_is_set_aside() -> None:
    """[design, "What lasts": codec] Cut at any byte, no part of a record passes for a whole one."""
    for _, value in RECORDS:
        data = encode(value)
        for end in range(len(data)):
            with pytest.raises(RecordSetAside):
                decode(data[:end])


def test_a_changed_byte_is_a_value_or_is_set_aside(amount: Callable[[int, int], int]) -> None:
    """[design, "What lasts": codec] Whatever stands in the file, a reader meets one error and goes on."""
    dice = Random(11)
    for _ in range(amount(300, 20_000)):
        data = bytearray(encode(dice.choice(RECORDS)[1]))
        data[dice.randrange(len(data))] = dice.randrange(256)
        try:
            decode(bytes(data))
        except RecordSetAside:
            continue


@dataclass(frozen=True)
class Stranger:
    """A class that nobody registered."""

    name: str = "x"


def test_a_class_that_is_not_registered_cannot_be_stored() -> None:
    """[messages.codec] A programming mistake is a TypeError that names the class and the remedy."""
    with pytest.raises(TypeError, match="Stranger is not registered"):
        encode(Stranger())
    with pytest.raises(TypeError, match="Address"):
        encode([Address("agent", "tea")])


def test_a_tag_is_given_once() -> None:
    """[messages.codec] Two classes under one tag could not be told apart."""
    with pytest.raises(ValueError, match="'text' is taken by Text"):
        record("text")(Stranger)
