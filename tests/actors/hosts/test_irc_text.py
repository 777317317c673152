"""IRC's rules about words, as tables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyminds.actors.hosts import irc_text


@pytest.mark.parametrize(
    ("mapping", "name", "folded"),
    [
        ("ascii", "Ada[M]~", "ada[m]~"),
        ("rfc1459", "Ada[M]\\~", "ada{m}|^"),
        ("rfc1459-strict", "Ada[M]\\~", "ada{m}|~"),
        ("something else", "Ada[M]", "ada[m]"),
    ],
)
def test_names_fold_as_the_server_says(mapping: str, name: str, folded: str) -> None:
    """Names are compared under the server's CASEMAPPING."""
    assert irc_text.fold(name, mapping) == folded


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("ada: hi", ("ada",)),
        ("hi @ada", ("ada",)),
        ("ADA, hi", ("ada",)),
        ("tell ada's cat", ("ada",)),
        ("bert, ada: both of you", ("bert", "ada")),
        ("is ada_ there", ("ada",)),  # the nick that ada has for now
        ("adam says hi", ()),
        ("radar", ()),
        ("ada-maria", ()),
        ("xada: hi", ()),
        ("(ada)", ("ada",)),
        ("nobody here", ()),
        ("Brr[T] is bert", ("bert",)),
    ],
)
def test_a_nick_addresses_as_a_whole_word(text: str, names: tuple[str, ...]) -> None:
    """A nick as a whole word, in any case, addresses its resident; residents come in the order of their names."""
    assert irc_text.mentioned(text, {"ada": "ada", "ada_": "ada", "bert": "bert"}) == names


def test_mentions_follow_the_case_mapping() -> None:
    """Under rfc1459 `{` and `[` are one letter in two cases, under ascii they are not."""
    assert irc_text.mentioned("bot{1}: hi", {"bot[1]": "bot"}, "rfc1459") == ("bot",)
    assert irc_text.mentioned("bot{1}: hi", {"bot[1]": "bot"}, "ascii") == ()


@pytest.mark.parametrize(
    ("raw", "seen"),
    [
        ("hello", "hello"),
        ("\x01ACTION waves\x01", "* mira waves"),
        ("\x01ACTION waves", "* mira waves"),
        ("\x01VERSION\x01", None),
        ("\x01PING 123\x01", None),
        ("\x02bold\x02 and \x0304,12red\x03 and \x1dslanted\x0f", "bold and red and slanted"),
        ("\x0312", None),
        ("   ", None),
    ],
)
def test_what_people_see_of_a_line(raw: str, seen: str | None) -> None:
    """An action reads `* nick does`; other CTCP and lines of nothing are not handed in; colours are taken off."""
    assert irc_text.readable(raw, "mira") == seen


@pytest.mark.parametrize(
    ("name", "nick"), [("ada", "ada"), ("Ada Lovelace", "Ada_Lovelace"), ("4x", "_4x"), ("-x", "_-x"), ("zoë", "zo_")]
)
def test_a_name_becomes_a_nick(name: str, nick: str) -> None:
    """What no nick may hold becomes an underscore, and a nick begins with neither digit nor hyphen."""
    assert irc_text.nick_for(name) == nick


def test_other_nicks_keep_within_the_limit() -> None:
    """[done-when 2] Nicks have at most 9 characters on some servers: alternatives are cut to fit, and differ."""
    others = irc_text.other_nicks("lovelaced", 9)
    assert others[:3] == ["lovelace_", "lovelac__", "lovelace1"]
    assert all(len(other) <= 9 and other != "lovelaced" for other in others)
    assert irc_text.other_nicks("ada")[:2] == ["ada_", "ada__"]


def test_room_is_what_the_prefix_leaves() -> None:
    """512 bytes hold `:nick!user@host PRIVMSG target :text` and CR LF."""
    assert irc_text.room_for_text("ada!~ada@127.0.0.1", "#a") == 512 - len(":ada!~ada@127.0.0.1 PRIVMSG #a :") - 2


@pytest.mark.parametrize(
    ("text", "room", "expected"),
    [
        ("one\ntwo\r\nthree\rfour", 100, ["one", "two", "three", "four"]),
        ("one\n\n  \ntwo", 100, ["one", "two"]),
        ("  indented", 100, ["  indented"]),
        ("aaaa bbbb cccc", 10, ["aaaa bbbb", "cccc"]),
        ("aaaaaaaaaaaa", 5, ["aaaaa", "aaaaa", "aa"]),
        ("ääää", 5, ["ää", "ää"]),
        ("😀😀😀", 9, ["😀😀", "😀"]),
        ("👩‍🚀👩‍🚀", 15, ["👩‍🚀", "👩‍🚀"]),
        ("e\u0301e\u0301", 4, ["e\u0301", "e\u0301"]),
        ("\x01ACTION x\x01 \x00", 100, ["ACTION x"]),
        ("", 100, []),
    ],
)
def test_text_becomes_lines(text: str, room: int, expected: list[str]) -> None:
    """[S31] Line breaks make lines, blank lines go, long lines are cut at blanks, never inside a sign."""
    assert irc_text.lines(text, room) == expected


@given(st.text(max_size=300), st.integers(4, 80))
def test_no_line_is_over_its_room_and_nothing_is_lost(text: str, room: int) -> None:
    """[S31] Every line fits in bytes, holds whole code points, and all but white space and NUL arrives in order."""
    lines = irc_text.lines(text, room)

    assert all(len(line.encode()) <= room for line in lines)
    assert not any(sign in line for line in lines for sign in "\r\n\x00\x01")
    sent, meant = ("".join(part.split()) for part in ("".join(lines), text.replace("\x00", "").replace("\x01", "")))
    assert sent == meant


def test_a_prefix_that_leaves_no_room_is_named() -> None:
    """A target so long that no character fits is an error that says so."""
    with pytest.raises(ValueError, match="no line of IRC"):
        irc_text.lines("x", 3)
