"""The ECMAScript whitespace set, once (prose 1)."""

import pytest

from manyminds.messages.prose.whitespace import WHITESPACE, only_whitespace, strip, without_whitespace

# Written out from prose 1, not from the code.
LISTED = [
    *range(0x9, 0xE), 0x20, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF,
]  # fmt: skip


def test_the_set() -> None:
    """Whitespace is exactly the listed characters [prose 1]."""
    assert sorted(map(ord, WHITESPACE)) == sorted(LISTED)


@pytest.mark.parametrize("code", LISTED)
def test_every_one_is_stripped(code: int) -> None:
    """Each of them is trimmed, skipped and dropped [prose 1]."""
    char = chr(code)
    assert strip(f"{char}a{char}b{char}") == f"a{char}b"
    assert only_whitespace(char + char)
    assert without_whitespace(f"a{char}b") == "ab"


@pytest.mark.parametrize("code", [0x1C, 0x1D, 0x1E, 0x1F, 0x85, 0x180E, 0x200B, 0x2060])
def test_lookalikes_are_text(code: int) -> None:
    """U+001C-001F and U+0085, whitespace to Python, are text here [prose 1]."""
    char = chr(code)
    assert strip(f"{char}a") == f"{char}a"
    assert not only_whitespace(char)


def test_empty_is_only_whitespace() -> None:
    """An empty text is all whitespace [prose 1]."""
    assert only_whitespace("")
    assert strip(" \n") == ""
