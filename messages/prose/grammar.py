"""The grammar of prose routing: what opens an envelope, what its prefix says (prose 4.1-4.4).

Owns the prefix constants, the quoted-arrow rule and the token `{{unsent}}`. The gateway parses whole
segments here; the stream router walks the same constants and patterns in chunks. Never resolves a target
and keeps no state.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast, get_args

from ..errors import InvalidSetting
from ..registry import ProseMode
from .whitespace import BLANK_CLASS, INDENT_CLASS, NEWLINE, WORD_CLASS, only_whitespace, strip

ARROW: Final = ">"
MARK: Final = "!"
PRIVATE_TARGET: Final = "skip_reply"
UNSENT: Final = "{{unsent}}"


@dataclass(frozen=True, slots=True)
class Grammar:
    """One prefixed mode: how many arrows, and what arrows without a target mean.

    `quotes`: arrows before whitespace or at a line's end are ordinary text (explicit). Otherwise blanks may
    stand between arrows and target, and arrows without a target are malformed (hybrid).
    """

    arrows: int
    quotes: bool
    opening: re.Pattern[str]
    prefix: re.Pattern[str]

    @property
    def arrow(self) -> str:
        """The arrows as written."""
        return ARROW * self.arrows


def _grammar(arrows: int, quotes: bool) -> Grammar:
    arrow = ARROW * arrows
    ahead = f"(?={WORD_CLASS})" if quotes else ""
    gap = "" if quotes else f"{BLANK_CLASS}*+"
    return Grammar(
        arrows,
        quotes,
        re.compile(f"^{INDENT_CLASS}*+{arrow}{ahead}", re.MULTILINE),
        re.compile(f"{arrow}{gap}({WORD_CLASS}++)(?:{BLANK_CLASS}++({MARK}))?+{BLANK_CLASS}*+{NEWLINE}?+"),
    )


GRAMMARS: Final[Mapping[str, Grammar]] = {"explicit": _grammar(2, quotes=True), "hybrid": _grammar(3, quotes=False)}


@dataclass(frozen=True, slots=True)
class Envelope:
    """A piece of a segment with one addressing decision.

    `text` is all of it as written, from its arrows on. `body` is what follows the prefix; of an unprefixed
    envelope the same as `text`; of a malformed one what follows the arrows. Neither is trimmed (prose 3.5).
    """

    text: str
    body: str
    target: str | None = None
    malformed: bool = False
    mark: bool = False

    @property
    def private(self) -> bool:
        """Addressed to nobody, on purpose (prose 4.1)."""
        return self.target == PRIVATE_TARGET

    @property
    def prefixed(self) -> bool:
        """Whether it begins with a prefix, whole or malformed."""
        return self.malformed or self.target is not None


def prose_mode(text: str) -> ProseMode:
    """The mode of this name; `InvalidSetting` for anything else (prose 2)."""
    modes = get_args(ProseMode)
    if text not in modes:
        raise InvalidSetting(f"prose mode {text!r} is not known; use one of {', '.join(modes)}")
    return cast("ProseMode", text)


def envelopes(mode: ProseMode, segment: str) -> list[Envelope]:
    """The envelopes of a segment in order; locus and disabled parse nothing (prose 4.3)."""
    grammar = GRAMMARS.get(mode)
    if grammar is None:
        return [] if only_whitespace(segment) else [Envelope(segment, segment)]
    openings = list(grammar.opening.finditer(segment))
    ends = [opening.start() - 1 for opening in openings] + [len(segment)]
    lead = segment[: max(ends[0], 0)]
    found = [] if only_whitespace(lead) else [Envelope(lead, lead)]
    for opening, end in zip(openings, ends[1:], strict=True):
        found.append(_prefixed(grammar, segment[opening.end() - grammar.arrows : end]))
    return found


def _prefixed(grammar: Grammar, text: str) -> Envelope:
    prefix = grammar.prefix.match(text)
    if prefix is None:
        return Envelope(text, text[grammar.arrows :], malformed=True)
    return Envelope(text, text[prefix.end() :], prefix[1], mark=prefix[2] is not None)


def has_unsent(text: str) -> bool:
    """Whether the token `{{unsent}}` stands in the text."""
    return UNSENT in text


def only_unsent(text: str) -> bool:
    """Whether the text is the token and nothing else, whitespace aside (prose 8.2)."""
    return strip(text) == UNSENT


def substitute(text: str, retained: str | None) -> str:
    """Every token replaced with the retained words, literally; with nothing retained, by nothing (prose 4.4)."""
    return text.replace(UNSENT, retained or "")


def unfinished_unsent(text: str) -> int:
    """How many characters at the end of the text may be the beginning of a token: 0 to 9 (prose 6.4)."""
    longest = min(len(UNSENT) - 1, len(text))
    return next((n for n in range(longest, 0, -1) if text.endswith(UNSENT[:n])), 0)
