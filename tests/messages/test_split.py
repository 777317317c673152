"""Long text into parts that a platform takes."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, cast

import pytest

from manyminds.messages.errors import InvalidSetting
from manyminds.messages.posts import LengthUnit
from manyminds.messages.split import clusters, length, split

UNITS: tuple[LengthUnit, ...] = ("chars", "bytes", "utf16")
FAMILY = "👨‍👩‍👧‍👦"  # 7 code points, 11 UTF-16 units, 25 bytes
FLAGS = "🇩🇪🇫🇷"


@pytest.mark.parametrize(
    ("text", "chars", "size", "utf16"),
    [
        ("", 0, 0, 0),
        ("abc", 3, 3, 3),
        ("é", 1, 2, 1),
        ("日", 1, 3, 1),
        ("😀", 1, 4, 2),
        (FAMILY, 7, 25, 11),
        ("\ud83d", 1, 3, 1),
    ],
)
def test_length(text: str, chars: int, size: int, utf16: int) -> None:
    """[S31] The platform's unit: code points, bytes of UTF-8, UTF-16 units."""
    assert [length(text, unit) for unit in UNITS] == [chars, size, utf16]


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("", []),
        ("ab", ["a", "b"]),
        ("e\u0301a", ["e\u0301", "a"]),
        (f"a{FAMILY}b", ["a", FAMILY, "b"]),
        (FLAGS, ["🇩🇪", "🇫🇷"]),
        ("👍🏽👍", ["👍🏽", "👍"]),
        ("❤\ufe0fx", ["❤\ufe0f", "x"]),
        ("a\r\nb", ["a", "\r\n", "b"]),
        (" \u0301x", [" ", "\u0301", "x"]),
    ],
)
def test_clusters(text: str, signs: list[str]) -> None:
    """[S31] What is read as one sign stays one piece."""
    assert list(clusters(text)) == signs


TABLE: list[tuple[str, str, int, LengthUnit, tuple[str, ...]]] = [
    ("it fits", "  as it is \n", 100, "chars", ("  as it is \n",)),
    ("exactly", "abcde", 5, "chars", ("abcde",)),
    ("blank", " \n ", 1, "chars", ()),
    ("words", "aaa bbb ccc", 7, "chars", ("aaa bbb", "ccc")),
    ("a word's end before the limit", "aaa bbb ccc", 9, "chars", ("aaa bbb", "ccc")),
    ("a word that is too long", "abcdefgh", 3, "chars", ("abc", "def", "gh")),
    ("lines before words", "one two\nthree four", 14, "chars", ("one two", "three four")),
    ("paragraphs before lines", "one\ntwo\n\nsix\nten\nfive", 14, "chars", ("one\ntwo", "six\nten\nfive")),
    ("indentation at a line's start stays", "aaaa\n  bbbb", 6, "chars", ("aaaa", "  bbbb")),
    ("bytes", "äöü", 4, "bytes", ("äö", "ü")),
    ("utf-16", "😀😀😀", 4, "utf16", ("😀😀", "😀")),
    ("no cut inside a pair", "a😀😀", 4, "utf16", ("a😀", "😀")),
    ("no cut inside a code point", "a😀", 4, "bytes", ("a", "😀")),
    ("no cut inside a sign", f"ab{FAMILY}", 25, "bytes", ("ab", FAMILY)),
    ("marks stay with their base", "aae\u0301", 3, "chars", ("aa", "e\u0301")),
    ("flags stay whole", FLAGS, 3, "chars", ("🇩🇪", "🇫🇷")),
    ("a sign over the limit is cut between code points", FAMILY, 8, "bytes",
     ("👨\u200d", "👩\u200d", "👧\u200d", "👦")),
    ("a fence is closed and opened again", "```py\none = 1\ntwo = 2\n```", 22, "chars",
     ("```py\none = 1\n```", "```py\ntwo = 2\n```")),
    ("a longer fence, of tildes", "~~~~ sh\none = 1\ntwo = 2\n~~~~", 26, "chars",
     ("~~~~ sh\none = 1\n~~~~", "~~~~ sh\ntwo = 2\n~~~~")),
    ("indentation in a block stays", "```\nif x:\n    yy = 1\n```", 18, "chars",
     ("```\nif x:\n```", "```\n    yy = 1\n```")),
    ("a long line in a block keeps its spaces", "```\naaaa bbbb\n```", 16, "chars",
     ("```\naaaa \n```", "```\nbbbb\n```")),
    ("a block goes whole into the next part", "some words here\n```\nabcdefg\n```", 18, "chars",
     ("some words here", "```\nabcdefg\n```")),
    ("no empty block before a cut", "some words\n```\nlonger code\n```", 19, "chars",
     ("some words", "```\nlonger code\n```")),
    ("after a block plain text goes on", "```\naaaaaaa\n```\nbbb ccc", 15, "chars", ("```\naaaaaaa\n```", "bbb ccc")),
    ("a block that nobody closed is closed", "```\naaaaaa\nbbbbbb", 16, "chars",
     ("```\naaaaaa\n```", "```\nbbbbbb\n```")),
    ("a closing of more marks than needed makes no empty block", "```\naaaaaaaa\n``````", 16, "chars",
     ("```\naaaaaaaa\n```",)),
    ("marks that take most of a part are plain text", "```\nabc\n```", 8, "chars", ("```\nabc", "```")),
    ("backticks inside a line are no fence", "```a``` bbb", 8, "chars", ("```a```", "bbb")),
]


@pytest.mark.parametrize(("name", "text", "limit", "unit", "parts"), TABLE, ids=[case[0] for case in TABLE])
def test_split(name: str, text: str, limit: int, unit: LengthUnit, parts: tuple[str, ...]) -> None:
    """[S31] Paragraph, line, word, sign; fences closed and reopened with their info string."""
    assert split(text, limit, unit) == parts


def test_no_limit() -> None:
    """[S31] Without a limit the text is one part."""
    assert split("a" * 10_000, None) == ("a" * 10_000,)


@pytest.mark.parametrize(
    ("limit", "unit", "least"), [(0, "chars", 1), (-1, "chars", 1), (1, "utf16", 2), (3, "bytes", 4)]
)
def test_an_impossible_limit_says_the_least_that_works(limit: int, unit: LengthUnit, least: int) -> None:
    """[S31] A limit that not every character fits is a wrong setting, whatever the text."""
    with pytest.raises(InvalidSetting, match=f"the least is {least}"):
        split("a", limit, unit)
    assert split("😀", least, unit) == ("😀",)


@pytest.mark.parametrize(("limit", "unit"), [("9", "chars"), (True, "chars"), (9, "words")])
def test_a_limit_of_another_kind_is_refused(limit: Any, unit: Any) -> None:
    """[S31] Limit and unit are checked by name."""
    with pytest.raises(InvalidSetting):
        split("a", limit, cast(LengthUnit, unit))


def test_a_reply_of_5000_characters_with_a_code_block() -> None:
    """[S31] Limit 2,000: parts in order, each block closed where it was cut and opened again as Python."""
    code = "\n".join(f"    value_{number} = {number}" for number in range(220))
    text = f"Here it is.\n\n```python\n{code}\n```\n\n" + "And so on. " * 80
    parts = split(text, 2000)
    assert len(text) > 4500
    assert len(parts) == 3
    assert all(len(part) <= 2000 and part.count("```") % 2 == 0 for part in parts)
    assert parts[0].startswith("Here it is.\n\n```python\n    value_0 = 0\n")
    assert parts[1].startswith("```python\n    value_")
    lines = [line for part in parts for line in part.split("\n") if line.startswith("    value_")]
    assert lines == code.split("\n")


def test_irc_lines_with_emoji() -> None:
    """[S31] 512 bytes, emoji among the words: every part decodes, is within the limit, and cuts at a space."""
    text = f"word {FAMILY} 😀 " * 200
    parts = split(text.strip(), 512, "bytes")
    assert all(len(part.encode()) <= 512 for part in parts)
    assert " ".join(parts) == text.strip()
    assert len(parts) == -(-len(text.encode()) // 512)


def words(dice: Random) -> str:
    """Text of words, emoji, long runs, blank lines and code blocks."""
    some = (
        "a", "word", "longer", "😀", FAMILY, FLAGS, "é", "e\u0301", "x" * 30, "日本語の文章です", "  ", "\n", "\n\n",
        "\n```py\n", "\n```\n", "\n~~~\n", "`c`", "```", "\n    indented",
    )
    return " ".join(dice.choice(some) for _ in range(dice.randint(1, 60)))


def visible(parts: Sequence[str]) -> str:
    """All that is no white space."""
    return "".join("".join(parts).split())


def is_within(short: str, long: str) -> bool:
    """Whether the signs of `short` stand in `long`, in order."""
    signs = iter(long)
    return all(sign in signs for sign in short)


def test_random_text(amount: Callable[[int, int], int]) -> None:
    """[S31] None over the limit, none blank, nothing lost, for any text, limit and unit."""
    for seed in range(amount(300, 20_000)):
        dice = Random(seed)
        text, limit, unit = words(dice), dice.choice((4, 7, 16, 20, 30, 50, 100)), dice.choice(UNITS)
        parts = split(text, limit, unit)
        assert all(length(part, unit) <= limit and part.strip() for part in parts), f"seed {seed}"
        without_marks = visible([text]).replace("`", "").replace("~", "")
        assert is_within(without_marks, visible(parts)), f"seed {seed}"
        if "```" not in text and "~~~" not in text:
            assert visible(parts) == visible([text]), f"seed {seed}"


def test_random_text_keeps_signs_whole(amount: Callable[[int, int], int]) -> None:
    """[S31] Where a part can hold every sign, the parts' signs are the text's."""
    for seed in range(amount(300, 20_000)):
        dice = Random(seed)
        text = "".join(dice.choice(("a", " ", "😀", FAMILY, "🇩🇪", "e\u0301", "👍🏽", "\n")) for _ in range(40))
        parts = split(text, dice.randint(25, 60), "bytes")
        found = [sign for part in parts for sign in clusters(part) if sign.strip()]
        assert found == [sign for sign in clusters(text) if sign.strip()], f"seed {seed}"


def test_random_blocks_are_closed_in_every_part(amount: Callable[[int, int], int]) -> None:
    """[S31] Every part's fences are in pairs, reopened as they were opened, and the code is whole."""
    for seed in range(amount(300, 20_000)):
        dice = Random(seed)
        code = ["c" * dice.randint(1, 12) for _ in range(dice.randint(1, 20))]
        text = "\n".join(["before " * dice.randint(0, 5), "```py", *code, "```", "after " * dice.randint(0, 5)])
        parts = split(text, dice.randint(24, 80))
        for part in parts:
            fences = [line for line in part.split("\n") if line.startswith("```")]
            assert fences == ["```py", "```"] * (len(fences) // 2), f"seed {seed}"
            assert "```py\n```" not in part, f"seed {seed}"
        found = [line for part in parts for line in part.split("\n") if line and set(line) == {"c"}]
        assert found == code, f"seed {seed}"
