"""What counts as whitespace in prose routing, said once (prose 1).

The ECMAScript set, which is neither `str.isspace` nor `\\s`: U+FEFF belongs to it, U+0085 and U+001C-001F
do not. Grammar, router, segments and resolving all take set, strips and pattern classes from here; none
writes its own. A *blank* is only U+0020 and U+0009; a *newline* only U+000A.
"""

from typing import Final

NEWLINE: Final = "\n"
BLANKS: Final = " \t"
WHITESPACE: Final = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)

_INDENT: Final = WHITESPACE.replace(NEWLINE, "")

# Bodies of pattern classes. None of the characters means anything inside brackets.
SPACE_CLASS: Final = f"[{WHITESPACE}]"
WORD_CLASS: Final = f"[^{WHITESPACE}]"
INDENT_CLASS: Final = f"[{_INDENT}]"
BLANK_CLASS: Final = f"[{BLANKS}]"


def strip(text: str) -> str:
    """The text without whitespace at either end."""
    return text.strip(WHITESPACE)


def only_whitespace(text: str) -> bool:
    """Whether nothing but whitespace is in the text; true of the empty text."""
    return not text.strip(WHITESPACE)


def without_whitespace(text: str) -> str:
    """The text with every whitespace character dropped: how stream and delivery are compared (prose 6.4)."""
    return text.translate(_DROP)


_DROP: Final = {ord(c): None for c in WHITESPACE}
