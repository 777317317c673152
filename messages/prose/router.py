"""The stream router: text deltas in, (place, text) deltas out, while the model still writes (prose 6).

One object a stream; only the actor that owns the stream touches it. It hands text through in slices and
decides only at line starts, so it costs per line and per chunk, and its output does not depend on how the
text was cut. Advisory: what is published is decided by admission alone. Never raises into the token loop.
"""

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from ..errors import InvalidSetting
from ..places import Place
from ..registry import ProseMode
from .grammar import ARROW, GRAMMARS, MARK, PRIVATE_TARGET, UNSENT, substitute, unfinished_unsent
from .resolve import Resolution, Resolved
from .streamed import Pieces, StreamedPiece
from .whitespace import BLANK_CLASS, BLANKS, INDENT_CLASS, NEWLINE, SPACE_CLASS, WHITESPACE, only_whitespace

Delta: TypeAlias = tuple[Place, str]
Answer: TypeAlias = Callable[[int, str], Resolution]

# The states of table 6.3; _SEGMENT stands for all of it in locus mode until the first word.
_BODY, _LINE, _ARROWS, _GAP, _TOKEN, _AFTER, _SEGMENT = range(7)

_INDENT: Final = re.compile(f"{INDENT_CLASS}*+")
_BLANKS: Final = re.compile(f"{BLANK_CLASS}*+")
_SPACE: Final = re.compile(SPACE_CLASS)
# A newline after which a line may open an envelope, or whose line is not there yet.
_DOUBTFUL: Final = re.compile(rf"{NEWLINE}(?={INDENT_CLASS}*+(?:{ARROW}|\Z))")
_SPECIAL: Final = frozenset(WHITESPACE + ARROW)
_TOKEN_START: Final = UNSENT[0]


class StreamRouter:
    """The parser of one stream (prose 6.1).

    `answer(ordinal, token)` resolves a completed target (resolve.RoundTargets); `target` is where unprefixed
    text goes at first, none for nowhere (prose 6.2); `retained` the words that `{{unsent}}` stands for.
    """

    __slots__ = (
        "_answer", "_arrows", "_carry", "_expands", "_held", "_line", "_marked", "_needed", "_parts", "_pieces",
        "_quotes", "_retained", "_runs", "_standing", "_state", "_target", "_whole",
    )  # fmt: skip

    def __init__(
        self, mode: ProseMode, answer: Answer, target: Place | None = None, retained: str | None = None
    ) -> None:
        if mode == "disabled":
            raise InvalidSetting("disabled prose streams nothing: make no router for it")
        grammar = GRAMMARS.get(mode)
        self._whole = grammar is None
        self._needed = grammar.arrows if grammar else 0
        self._quotes = grammar is not None and grammar.quotes
        self._pieces = Pieces()
        self._runs: list[tuple[Place, list[str]]] = []
        self._line: tuple[Place, list[str]] | None = None
        self._held: list[str] = []
        self.begin_round(answer, target, retained)

    # -- the round ---------------------------------------------------------------------------------------

    def begin_round(self, answer: Answer, target: Place | None, retained: str | None = None) -> None:
        """A round begins: its own answers, the turn's destination, a snapshot of the retained text (prose 6.4).

        The first round has begun when the router is made.
        """
        self._answer = answer
        self._retained = retained
        self._pieces.begin_round()
        self.retarget(target)

    def feed(self, text: str) -> list[Delta]:
        """Route one delta; adjacent deltas for one place are merged."""
        line = self._line  # set while inside a body line: nearly all deltas end here
        if line is not None and NEWLINE not in text and _TOKEN_START not in text and text:
            line[1].append(text)
            return [(line[0], text)]
        return self._walk(text)

    def end_segment(self) -> list[Delta]:
        """A run of text has ended: settle what is pending, back to line start (prose 6.3)."""
        self._settle()
        self._flush_carry()
        self._begin_segment()
        return self._drain()

    def end_run(self) -> list[Delta]:
        """A tool block inside a round: also, in explicit, back to the target that stands (prose 6.4, 3)."""
        deltas = self.end_segment()
        if self._quotes:
            self._move(self._standing)
        return deltas

    def finish(self) -> list[Delta]:
        """The stream has ended."""
        return self.end_segment()

    def retarget(self, target: Place | None) -> None:
        """Set the current target and return to line start; what was held there is dropped."""
        self._standing = target
        self._target = target
        self._carry = ""
        self._begin_segment()

    # -- what was routed ---------------------------------------------------------------------------------

    def by_channel(self) -> dict[Place, str]:
        """Everything emitted so far, by place, in order of first emission."""
        return self._pieces.by_place()

    def round_pieces(self) -> list[StreamedPiece]:
        """What this round streamed, one piece an envelope, for the round's verdict (prose 13, gap 1)."""
        return self._pieces.of_round()

    def reset_round(self) -> None:
        """Drop what this round routed; earlier rounds stay (prose 6.5). The target stays until it is set."""
        self._pieces.drop_round()
        self.retarget(self._target)

    def reset(self) -> None:
        """Drop everything routed (prose 6.1). The target stays until it is set."""
        self._pieces.drop_all()
        self.retarget(self._target)

    def _walk(self, text: str) -> list[Delta]:
        at, size = 0, len(text)
        while at < size:
            at = _STEPS[self._state](self, text, at)
        inside = self._state == _BODY and not self._carry
        self._line = (self._target, self._parts) if inside and self._target is not None else None
        return self._drain()

    # -- the states of table 6.3: each takes the text from `at` and gives back where it stopped -----------

    def _segment_step(self, text: str, at: int) -> int:
        if not only_whitespace(text[at:]):
            self._enter_body()
        self._emit(text[at:])
        return len(text)

    def _line_step(self, text: str, at: int) -> int:
        if text[at] not in _SPECIAL:
            self._enter_body()
            return at
        end = _end(_INDENT, text, at)
        if end > at:
            self._held.append(text[at:end])
        if end == len(text):
            return end
        if text[end] == NEWLINE:
            self._release(NEWLINE)
            return end + 1
        if text[end] == ARROW:
            self._state, self._arrows = _ARROWS, 0
        else:
            self._enter_body()
        return end

    def _arrows_step(self, text: str, at: int) -> int:
        char = text[at]
        if self._arrows < self._needed:
            if char == ARROW:
                self._arrows += 1
                self._held.append(char)
                return at + 1
            self._enter_body()
            return at
        if self._quotes and char in WHITESPACE:
            self._enter_body()
            return at
        if char in BLANKS:
            self._state = _GAP
            return at + 1
        return self._begin_token(char, at)

    def _gap_step(self, text: str, at: int) -> int:
        at = _end(_BLANKS, text, at)
        return at if at == len(text) else self._begin_token(text[at], at)

    def _begin_token(self, char: str, at: int) -> int:
        self._held.clear()
        if char in WHITESPACE:
            self._address(None)
            self._state = _LINE if char == NEWLINE else _BODY
            return at + 1
        self._state = _TOKEN
        return at

    def _token_step(self, text: str, at: int) -> int:
        space = _SPACE.search(text, at)
        end = space.start() if space else len(text)
        self._held.append(text[at:end])
        if space is None:
            return end
        self._address(self._take_held())
        if text[end] == NEWLINE:
            self._state = _LINE
            return end + 1
        self._state, self._marked = (_AFTER, False) if text[end] in BLANKS else (_BODY, True)
        return end

    def _after_step(self, text: str, at: int) -> int:
        at = _end(_BLANKS, text, at)
        if at == len(text):
            return at
        if text[at] == MARK and not self._marked:
            self._marked = True
            return at + 1
        if text[at] == NEWLINE:
            self._state = _LINE
            return at + 1
        self._state = _BODY
        return at

    def _body_step(self, text: str, at: int) -> int:
        newline = None if self._whole else _DOUBTFUL.search(text, at)
        if newline is None:
            self._emit(text[at:])
            return len(text)
        self._emit(text[at : newline.end()])
        self._state = _LINE
        return newline.end()

    # -- moving ------------------------------------------------------------------------------------------

    def _begin_segment(self) -> None:
        self._held.clear()
        self._line = None
        self._state = _SEGMENT if self._whole else _LINE
        self._expands = self._quotes
        self._pieces.turn(begun=False)
        self._move(self._target)

    def _settle(self) -> None:
        bare = self._state == _ARROWS and self._arrows == self._needed and not self._quotes
        if self._state == _TOKEN:
            self._address(self._take_held())
        elif bare or self._state == _GAP:
            self._address(None)
        elif self._state == _ARROWS:
            self._enter_body()

    def _enter_body(self) -> None:
        self._state = _BODY
        self._pieces.begun = True
        if self._held:
            self._release("")

    def _address(self, token: str | None) -> None:
        """A prefix is complete: its target counts from here; nobody where it names nobody."""
        self._pieces.turn(begun=True)
        self._move(self._resolved(token))
        self._expands = True
        if self._target is not None:
            self._standing = self._target

    def _resolved(self, token: str | None) -> Place | None:
        if token is None or token == PRIVATE_TARGET:
            return None
        try:
            found = self._answer(self._pieces.ordinal, token)
        except Exception:  # admission asks again and says what is wrong
            return None
        return found.place if isinstance(found, Resolved) else None

    def _move(self, target: Place | None) -> None:
        self._target = target
        self._parts = self._pieces.write_to(target)

    # -- emitting ----------------------------------------------------------------------------------------

    def _take_held(self) -> str:
        held = "".join(self._held)
        self._held.clear()
        return held

    def _release(self, more: str) -> None:
        self._emit(self._take_held() + more)

    def _emit(self, text: str) -> None:
        if self._target is None:
            return
        if self._expands and (self._carry or _TOKEN_START in text):
            text = self._expanded(text)
        self._put(text)

    def _put(self, text: str) -> None:
        target = self._target
        if not text or target is None:
            return
        self._parts.append(text)
        runs = self._runs
        if runs and (runs[-1][0] is target or runs[-1][0] == target):
            runs[-1][1].append(text)
        else:
            runs.append((target, [text]))

    def _expanded(self, text: str) -> str:
        text = self._carry + text
        keep = len(text) - unfinished_unsent(text)
        self._carry = text[keep:]
        return substitute(text[:keep], self._retained)

    def _flush_carry(self) -> None:
        self._put(self._carry)
        self._carry = ""

    def _drain(self) -> list[Delta]:
        if not self._runs:
            return []
        deltas = [(place, parts[0] if len(parts) == 1 else "".join(parts)) for place, parts in self._runs]
        self._runs.clear()
        return deltas


_STEPS: Final = (
    StreamRouter._body_step,
    StreamRouter._line_step,
    StreamRouter._arrows_step,
    StreamRouter._gap_step,
    StreamRouter._token_step,
    StreamRouter._after_step,
    StreamRouter._segment_step,
)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at
