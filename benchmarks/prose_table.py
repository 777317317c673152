"""The stream router's table (prose 6.3) written as one call a character: the slow, plain form.

The benchmark measures the router against it, and the tests hold the router to its output. It knows nothing
of `{{unsent}}`, rounds or envelopes, and takes nothing from the router but the grammar's constants.
"""

from collections.abc import Callable

from manyminds.messages.places import Place
from manyminds.messages.prose.grammar import PRIVATE_TARGET
from manyminds.messages.prose.whitespace import BLANKS, WHITESPACE


class TableRouter:
    """Explicit, hybrid or locus, one character a step. `resolve` gives a place, or none."""

    def __init__(self, mode: str, resolve: Callable[[str], Place | None], target: Place | None = None) -> None:
        self.mode = mode
        self.resolve = resolve
        self.arrows = {"explicit": 2, "hybrid": 3}.get(mode, 0)
        self.routed: list[tuple[Place, str]] = []
        self.state: Callable[[str], None]
        self.target = target
        self.out: list[str] = []
        self.runs: list[tuple[Place, list[str]]] = []
        self.line_start()

    def line_start(self) -> None:
        """Back to the start of a line."""
        self.state = self.line if self.arrows else self.body
        self.held = ""
        self.token = ""
        self.marked = False

    def feed(self, text: str) -> list[tuple[Place, str]]:
        """Route a delta; adjacent deltas for one place are merged."""
        for char in text:
            self.state(char)
        return self.drain()

    def drain(self) -> list[tuple[Place, str]]:
        """What was emitted since the last time, a delta a run."""
        self.aim(self.target)
        deltas: list[tuple[Place, str]] = []
        for place, chars in self.runs:
            text = "".join(chars)
            self.routed.append((place, text))
            if deltas and deltas[-1][0] == place:
                text = deltas.pop()[1] + text
            deltas.append((place, text))
        self.runs.clear()
        return deltas

    def aim(self, target: Place | None) -> None:
        """The current target; what was emitted to the one before is a run."""
        if self.out and self.target is not None:
            self.runs.append((self.target, self.out))
            self.out = []
        self.target = target

    def emit(self, text: str) -> None:
        """To the current target, if there is one."""
        if self.target is not None and text:
            self.out.append(text)

    def release(self, char: str) -> None:
        """Emit what was held, and take the input as body."""
        self.emit(self.held)
        self.held = ""
        self.state = self.body
        self.body(char)

    def nobody(self, char: str) -> None:
        """A prefix without a target."""
        self.aim(None)
        self.line_start()
        if char != "\n":
            self.state = self.body

    def begin_token(self, char: str) -> None:
        """The first character of a target."""
        self.held = ""
        self.token = char
        self.state = self.in_token

    def apply(self) -> None:
        """The target counts from here."""
        self.aim(None if self.token == PRIVATE_TARGET else self.resolve(self.token))

    def line(self, char: str) -> None:
        """State: line start."""
        if char == "\n":
            self.emit(self.held + char)
            self.held = ""
        elif char in WHITESPACE:
            self.held += char
        elif char == ">":
            self.held += char
            self.count = 1
            self.state = self.in_arrows
        else:
            self.release(char)

    def in_arrows(self, char: str) -> None:
        """State: arrows."""
        if self.count < self.arrows:
            if char == ">":
                self.held += char
                self.count += 1
            else:
                self.release(char)
        elif self.mode == "explicit":
            if char in WHITESPACE:
                self.release(char)
            else:
                self.begin_token(char)
        elif char in BLANKS:
            self.held = ""
            self.state = self.gap
        else:
            self.gap(char)

    def gap(self, char: str) -> None:
        """State: gap (hybrid)."""
        if char in BLANKS:
            return
        if char in WHITESPACE:
            self.nobody(char)
        else:
            self.begin_token(char)

    def in_token(self, char: str) -> None:
        """State: token."""
        if char not in WHITESPACE:
            self.token += char
            return
        self.apply()
        self.line_start()
        if char in BLANKS:
            self.state = self.after
        elif char != "\n":
            self.state = self.body
            self.body(char)

    def after(self, char: str) -> None:
        """State: after."""
        if char in BLANKS:
            return
        if char == "!" and not self.marked:
            self.marked = True
        elif char == "\n":
            self.line_start()
        else:
            self.state = self.body
            self.body(char)

    def body(self, char: str) -> None:
        """State: body."""
        if self.target is not None:
            self.out.append(char)
        if char == "\n" and self.arrows:
            self.line_start()

    def end_segment(self) -> list[tuple[Place, str]]:
        """A run has ended: settle what is pending."""
        if self.state == self.in_token:
            self.apply()
        elif self.state == self.gap or (self.state == self.in_arrows and self.mode == "hybrid" and self.count == 3):
            self.aim(None)
        elif self.state == self.in_arrows:
            self.emit(self.held)
        self.line_start()
        return self.drain()

    def by_channel(self) -> dict[Place, str]:
        """Everything emitted, by place."""
        parts: dict[Place, list[str]] = {}
        for place, text in self.routed:
            parts.setdefault(place, []).append(text)
        return {place: "".join(texts) for place, texts in parts.items()}
