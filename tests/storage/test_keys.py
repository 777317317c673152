"""Keys: order, length, and that different parts never make the same key."""

import hashlib
import struct

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from manyminds.storage.keys import LAST, LAYOUT, LONGEST_KEY, TABLES, between, key, number, under

NAMES = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=12),  # lone surrogates too
    st.sampled_from(["", "\x00", "\x01", "\x00\x01", "\x01\x01", "a\x00", "a", "a\x01", "é" * 47, "é" * 48, "x" * 95,
                     "x" * 96, "x" * 500, "x" * 501, "\ud800", "\ufffd"]),
)
NUMBERS = st.integers(0, LAST)
PARTS = st.lists(st.one_of(NAMES, NUMBERS), max_size=5).map(tuple)


@settings(deadline=None)
@given(PARTS, PARTS)
@example(("a", "b"), ("a\x00b",))
@example(("a\x00b", "c"), ("a", "b\x00c"))
@example(("\x00",), ("\x01\x01",))
@example(("\x00",), ("\x01",))
@example(("", "a"), ("a", ""))
@example(("\ud800",), ("?",))
@example(("\ud800",), ("\ud801",))
@example(("x" * 500,), ("x" * 501,))
def test_different_parts_make_different_keys(one: tuple[str | int, ...], other: tuple[str | int, ...]) -> None:
    """[design, Keys] names that are empty, very long, with NUL or surrogates never collide, alone or composed."""
    if all(type(a) is type(b) for a, b in zip(one, other, strict=False)):
        assert (key(*one) == key(*other)) == (one == other)


def test_long_names_are_hashed() -> None:
    """[design, Keys] a hash is marked by a byte that begins no UTF-8, so it is never taken for a name."""
    assert key("x" * 95) == b"x" * 95 + b"\x00"
    assert key("x" * 96) == b"\xff" + hashlib.sha256(b"x" * 96).digest()
    assert len(key("\x00" * 60)) == 33


@settings(deadline=None)
@given(PARTS, PARTS, st.one_of(NAMES, NUMBERS))
def test_a_range_holds_what_is_under_it(
    one: tuple[str | int, ...], other: tuple[str | int, ...], last: str | int
) -> None:
    """[design, Keys] a range is a scan: it holds every longer key of these parts, and nobody else's."""
    start, stop = under(*one)
    assert start <= key(*one, last) < stop
    longer = key(*other, last)
    if [type(p) for p in other[: len(one)]] == [type(p) for p in one] and len(other) >= len(one):
        assert (start <= longer < stop) == (other[: len(one)] == one)


@settings(deadline=None)
@given(NAMES, NAMES, NAMES, NAMES, NUMBERS, NUMBERS, NUMBERS)
def test_keys_are_short_enough(a: str, b: str, c: str, d: str, x: int, y: int, z: int) -> None:
    """[design, Keys] LMDB refuses keys over 511 bytes: four names and seven numbers stay under it."""
    assert 0 < len(key(a, b, c, d, x, y, z, x, y, z, x)) <= LONGEST_KEY


def test_numbers_sort_as_numbers() -> None:
    """[design, Keys] fixed width, big-endian."""
    values = [0, 1, 255, 256, 65535, 65536, 2**32, 2**63, LAST]
    assert sorted(key("r", v) for v in values) == [key("r", v) for v in values]
    assert [number(key("r", v)) for v in values] == values
    assert key(1) == b"\x00\x00\x00\x00\x00\x00\x00\x01"
    assert key("ab") == b"ab\x00"
    assert key() == b""


@pytest.mark.parametrize("value", [-1, LAST + 1])
def test_numbers_out_of_range(value: int) -> None:
    """A number that has no place in the order is refused."""
    with pytest.raises(ValueError, match="cannot be part of a key"):
        key(value)


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_moments_sort_as_moments(one: float, other: float) -> None:
    """Times before 1970 too. Only the two zeros differ without being unequal."""
    if one == other and struct.pack(">d", one) != struct.pack(">d", other):
        return
    assert (key(one) < key(other)) == (one < other)


@pytest.mark.parametrize(
    ("after", "upto", "inside", "outside"),
    [
        (0, 3, [1, 2, 3], [0, 4]),
        (2, 2, [], [2, 3]),
        (5, 2, [], [2, 3, 4, 5]),
        (0, LAST, [1, LAST], [0]),
        (LAST, LAST, [], [LAST]),
        (LAST - 1, LAST, [LAST], [LAST - 1]),
    ],
)
def test_between(after: int, upto: int, inside: list[int], outside: list[int]) -> None:
    """after < n <= upto, up to the largest number there is."""
    start, stop = between(("room",), after, upto)
    assert all(start <= key("room", n) < stop for n in inside)
    assert not any(start <= key("room", n) < stop for n in outside)
    assert not start <= key("rooms", 2) < stop


def test_every_table_has_its_layout() -> None:
    """[storage contract] every key layout in one table; a handful of tables."""
    assert set(LAYOUT) == TABLES
    assert all(LAYOUT.values())
    assert len(TABLES) < 64
