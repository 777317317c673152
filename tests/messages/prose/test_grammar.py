"""The explicit and hybrid grammars, case by case (prose 4.1-4.4)."""

import pytest

from manyminds.messages.errors import InvalidSetting
from manyminds.messages.prose import UNSENT, Envelope, envelopes, prose_mode
from manyminds.messages.prose.grammar import only_unsent, substitute, unfinished_unsent


def plain(text: str) -> Envelope:
    """An unprefixed envelope."""
    return Envelope(text, text)


def to(target: str, body: str, text: str, mark: bool = False) -> Envelope:
    """An envelope with a target."""
    return Envelope(text, body, target, mark=mark)


def bad(text: str) -> Envelope:
    """A malformed envelope of hybrid."""
    return Envelope(text, text[3:], malformed=True)


EXPLICIT = {
    "a body beside its target": (">>#t hi", [to("#t", "hi", ">>#t hi")]),
    "a body on the next line": (">>#t\nhi\nho", [to("#t", "hi\nho", ">>#t\nhi\nho")]),
    "only one newline is swallowed": (">>#t\n\nbody", [to("#t", "\nbody", ">>#t\n\nbody")]),
    "blanks before the newline too": (">>#t \t \n x", [to("#t", " x", ">>#t \t \n x")]),
    "all blanks before the body": (">>#t  \t x", [to("#t", "x", ">>#t  \t x")]),
    "a target alone": (">>#t", [to("#t", "", ">>#t")]),
    "the mark": (">>#t ! x", [to("#t", "x", ">>#t ! x", mark=True)]),
    "the mark glued to the body": (">>#t !x", [to("#t", "x", ">>#t !x", mark=True)]),
    "a second bang is body": (">>#t !! x", [to("#t", "! x", ">>#t !! x", mark=True)]),
    "one mark only": (">>#t ! !x", [to("#t", "!x", ">>#t ! !x", mark=True)]),
    "the mark alone": (">>#t !", [to("#t", "", ">>#t !", mark=True)]),
    "the mark, then a newline": (">>#t !\n\nx", [to("#t", "\nx", ">>#t !\n\nx", mark=True)]),
    "a bang in the target is no mark": (">>#t!", [to("#t!", "", ">>#t!")]),
    "a mark on the next line is body": (">>#t\n! x", [to("#t", "! x", ">>#t\n! x")]),
    "CR stays with the body": (">>#t\r\nx", [to("#t", "\r\nx", ">>#t\r\nx")]),
    "NBSP stays and bars the mark": (">>#t\u00a0! x", [to("#t", "\u00a0! x", ">>#t\u00a0! x")]),
    "VT after blanks is body": (">>#t \v! x", [to("#t", "\v! x", ">>#t \v! x")]),
    "U+0085 does not end a target": (">>#t\u0085x y", [to("#t\u0085x", "y", ">>#t\u0085x y")]),
    "U+001C does not end a target": (">>#t\x1cx y", [to("#t\x1cx", "y", ">>#t\x1cx y")]),
    "three arrows name a strange target": (">>>#t x", [to(">#t", "x", ">>>#t x")]),
    "text before the first prefix": ("a\nb\n>>#t x", [plain("a\nb"), to("#t", "x", ">>#t x")]),
    "only whitespace before it": (" \n\t\n>>#t x", [to("#t", "x", ">>#t x")]),
    "indentation before a prefix": ("a\n \u2003\r>>#t x", [plain("a"), to("#t", "x", ">>#t x")]),
    "BOM before a prefix": ("\ufeff>>#t x", [to("#t", "x", ">>#t x")]),
    "U+0085 before arrows is text": ("\u0085>>#t x", [plain("\u0085>>#t x")]),
    "other indentation is kept": (">>#t a\n  b", [to("#t", "a\n  b", ">>#t a\n  b")]),
    "arrows inside a line": ("a >>#t x", [plain("a >>#t x")]),
    "a quoted arrow": (">> x", [plain(">> x")]),
    "a quoted arrow before NBSP": (">>\u00a0#t x", [plain(">>\u00a0#t x")]),
    "a bare arrow keeps its newline": (">>#t a\n>>\nb", [to("#t", "a\n>>\nb", ">>#t a\n>>\nb")]),
    "a bare arrow at the end": (">>#t a\n>>", [to("#t", "a\n>>", ">>#t a\n>>")]),
    "one arrow is text": (">#t x", [plain(">#t x")]),
    "LS does not begin a line": ("a\u2028>>#t x", [plain("a\u2028>>#t x")]),
    "LS is indentation of its line": ("a\n\u2028>>#t x", [plain("a"), to("#t", "x", ">>#t x")]),
    "a private envelope": (">>skip_reply ! x", [to("skip_reply", "x", ">>skip_reply ! x", mark=True)]),
    "two places": (">>#a x\n>>#b y", [to("#a", "x", ">>#a x"), to("#b", "y", ">>#b y")]),
    "bodies are not trimmed": (">>#a x\n\n>>#b y", [to("#a", "x\n", ">>#a x\n"), to("#b", "y", ">>#b y")]),
    "targets in a row": (">>#a\n>>#b\ny", [to("#a", "", ">>#a"), to("#b", "y", ">>#b\ny")]),
}

HYBRID = {
    "a body beside its target": (">>>#t hi", [to("#t", "hi", ">>>#t hi")]),
    "a gap": (">>> \t #t\nhi", [to("#t", "hi", ">>> \t #t\nhi")]),
    "a mark": (">>>#t !\nhi", [to("#t", "hi", ">>>#t !\nhi", mark=True)]),
    "four arrows": (">>>>#t x", [to(">#t", "x", ">>>>#t x")]),
    "two arrows are text": (">>#t x\n> y", [plain(">>#t x\n> y")]),
    "a body ending in NBSP": (">>>#t\u00a0x", [to("#t", "\u00a0x", ">>>#t\u00a0x")]),
    "bare": (">>>", [bad(">>>")]),
    "bare with a blank": (">>> ", [bad(">>> ")]),
    "bare with a tab": (">>>\t", [bad(">>>\t")]),
    "then a newline": (">>>\nx", [bad(">>>\nx")]),
    "then CRLF": (">>>\r\nx", [bad(">>>\r\nx")]),
    "then NBSP": (">>>\u00a0#t x", [bad(">>>\u00a0#t x")]),
    "then a gap and NBSP": (">>> \u00a0#t x", [bad(">>> \u00a0#t x")]),
    "indented, after text": ("a\n \u3000>>> #t x", [plain("a"), to("#t", "x", ">>> #t x")]),
    "malformed between two": (
        "a\n>>>\nb\n>>>#t c",
        [plain("a"), bad(">>>\nb"), to("#t", "c", ">>>#t c")],
    ),
    "private": (">>>skip_reply x", [to("skip_reply", "x", ">>>skip_reply x")]),
}


@pytest.mark.parametrize(("text", "expected"), EXPLICIT.values(), ids=EXPLICIT.keys())
def test_explicit(text: str, expected: list[Envelope]) -> None:
    """Splitting, prefix, mark, quoted arrow [prose 4.1, 3.5]."""
    assert envelopes("explicit", text) == expected


@pytest.mark.parametrize(("text", "expected"), HYBRID.values(), ids=HYBRID.keys())
def test_hybrid(text: str, expected: list[Envelope]) -> None:
    """Three arrows open whatever follows; without a target they are malformed [prose 4.2]."""
    assert envelopes("hybrid", text) == expected


@pytest.mark.parametrize("mode", ["locus", "disabled"])
def test_no_parsing_without_prefixes(mode: str) -> None:
    """Locus and disabled parse nothing [prose 4.3]."""
    text = ">>#t x\n>>>#t y"
    assert envelopes(prose_mode(mode), text) == [plain(text)]


def test_private_is_exact() -> None:
    """Only `skip_reply`, exactly, is private [prose 4.1]."""
    words = [envelopes("explicit", f">>{name} x")[0].private for name in ("skip_reply", "Skip_reply", "x--skip_reply")]
    assert words == [True, False, False]


def test_modes() -> None:
    """Four modes; anything else is a configuration error that names them [prose 2]."""
    assert [prose_mode(name) for name in ("locus", "hybrid", "explicit", "disabled")] == [
        "locus", "hybrid", "explicit", "disabled",
    ]  # fmt: skip
    with pytest.raises(InvalidSetting, match="locus, hybrid, explicit, disabled"):
        prose_mode("loud")


def test_substitution_is_literal() -> None:
    """Every token, literally; nothing retained leaves nothing; a token in the words is not expanded [prose 4.4]."""
    assert substitute(f"a {UNSENT} b {UNSENT}", "$& \\1 {{unsent}}") == "a $& \\1 {{unsent}} b $& \\1 {{unsent}}"
    assert substitute(f"a{UNSENT}b", None) == "ab"


@pytest.mark.parametrize(
    ("text", "expected"),
    [(UNSENT, True), (f" \n{UNSENT}\u00a0", True), (f"{UNSENT}.", False), (UNSENT * 2, False), ("", False)],
)
def test_token_alone(text: str, expected: bool) -> None:
    """A text that is just the token, trimmed [prose 8.2]."""
    assert only_unsent(text) is expected


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0), ("a", 0), ("a{", 1), ("a{{", 2), ("{{{", 2), ("{{unsent}", 9), ("{{unsent}}", 0), ("{{x", 0),
        ("{{un{", 1),
    ],
)  # fmt: skip
def test_what_may_become_a_token(text: str, count: int) -> None:
    """At most nine characters are held back for a partial token [prose 6.4]."""
    assert unfinished_unsent(text) == count
