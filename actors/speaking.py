"""Speaking: one physical stream's words while they are written, and their verdict at each round's end (prose 6, 13).

A plain object owned by TurnRun; a replaced stream gets a new one. Feeds the router, tells channels the chunks that
their surface wants, and at the verdict lets admission reuse the answers that the stream has shown. Closes every
channel that got chunks, on every way out, with the text that was admitted. What is published is decided by admission
alone.
"""

from collections.abc import Iterable, Sequence

from ..messages.assembly import prompt_stamp
from ..messages.mail import Chunk, Complete, channel_address
from ..messages.places import Place
from ..messages.prose import Delta, Link, RoundTargets, StreamedText, StreamRouter
from ..messages.request import BlockStart, Done, Event, Msg, TextDelta
from ..messages.speech import routing_of
from ..messages.turns import Turn
from .admitting import Words, words
from .desk import Desk
from .parking import park, scripts_of
from .targets import resolver


class Speaking:
    """The words of one stream of a turn."""

    def __init__(self, desk: Desk, turn: Turn, inference: str) -> None:
        self._desk = desk
        self._inference = inference
        self._index = 0
        self._chunked: dict[Place, None] = {}
        self._text = StreamedText()
        self._router: StreamRouter | None = None
        self._targets = RoundTargets(resolver(desk.system.store))
        self._in_text = False
        self._joining = False
        self.shown: list[str] = []
        self._holds = False
        self._waiting: list[Event] = []
        if turn.mode != "disabled" and not turn.silent and not desk.spec.wrapper_guard:
            routing = routing_of(turn, desk.book.retained())
            self._router = StreamRouter(
                routing.mode, self._targets, routing.unprefixed_to, routing.retained_text
            )

    def begin_round(self, turn: Turn) -> None:
        """A round begins: its own answers, and where the turn's words go now (prose 13, gap 4 and 5)."""
        self._targets = RoundTargets(resolver(self._desk.system.store))
        self._in_text = self._joining = False
        self.shown = []
        self._holds = self._desk.spec.result_guard and turn.rounds > 0
        self._waiting = []
        if self._router is not None:
            routing = routing_of(turn, self._desk.book.retained())
            self._router.begin_round(self._targets, routing.unprefixed_to, routing.retained_text)

    def event(self, event: Event) -> None:
        """An event of the round's stream; held back while the round's batch may yet be refused (prose 6.5)."""
        if self._holds:
            self._waiting.append(event)
        else:
            self._show(event)

    def _show(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self._in_text = True
            self._feed("\n" + event.text if self._joining else event.text)
            self._joining = False
        elif isinstance(event, BlockStart):
            if event.kind == "text":
                self._joining = self._in_text
            elif event.kind in ("tool_use", "call"):
                self._end_run()

    def _feed(self, text: str) -> None:
        self.shown.append(text)
        if self._router is not None:
            self._send(self._router.feed(text))

    def _end_run(self) -> None:
        self._in_text = self._joining = False
        if self._router is not None:
            self._send(self._router.end_run())

    def _send(self, deltas: Iterable[Delta]) -> None:
        for place, text in deltas:
            surface = self._desk.surfaces.get(place.at.server)
            if surface is not None and surface.chunk is not None and not surface.strict:
                self._chunk(place, text)

    def _chunk(self, place: Place, text: str) -> None:
        self._chunked[place] = None
        mail = Chunk(self._inference, place.thread, self._index, text)
        self._index += 1
        self._desk.system.tell(channel_address(place.at), mail)

    def interrupt(self, turn: Turn) -> str:
        """The round is cut for good: its text, if some surface was shown it; `complete` carries that (19.13)."""
        if self._router is None or not self._chunked:
            return ""
        self._send(self._router.end_segment())
        pieces = self._router.round_pieces()
        if not pieces:
            return ""
        self._text.merge(turn.rounds + 1, pieces, {piece.ordinal for piece in pieces})
        self._router.reset_round()
        return "".join(self.shown)

    # --- verdicts

    def admit(self, turn: Turn, done: Done, messages: Sequence[Msg], *, live: bool) -> Words:
        """The round's words as its end found them; where a script runs in it, parked until the verdict."""
        for event in self._waiting:
            self._show(event)
        self._waiting = []
        if self._router is not None:
            self._send(self._router.end_segment())
        scripts = scripts_of(self._desk, done.calls)
        if scripts:
            prompted = bool(prompt_stamp(messages, turn.number))
            return park(self._desk, turn, done, scripts, self._targets, prompted)
        said = words(self._desk, turn, done, messages, self._targets, live=live)
        self.judged(turn.rounds + 1, said.admitted)
        return said

    def judged(self, round_: int, admitted: frozenset[int]) -> None:
        """The verdict on the round that was last written: what `complete` carries, and a strict surface is shown."""
        if self._router is None:
            return
        pieces = self._router.round_pieces()
        self._text.merge(round_, pieces, admitted)
        for piece in pieces:
            surface = self._desk.surfaces.get(piece.place.at.server)
            strict = surface is not None and surface.chunk is not None and surface.strict
            if strict and piece.ordinal in admitted:
                self._chunk(piece.place, piece.text)

    def abandon(self, turn: Turn) -> None:
        """The round's attempt is given up: nothing of it counts (prose 6.5)."""
        self._waiting = []
        if self._router is not None:
            self._text.merge(turn.rounds + 1, self._router.round_pieces(), ())
            self._router.reset_round()

    def withdraw(self, link: Link) -> None:
        """A post has failed or was held back: its text is not carried by the end of the stream."""
        self._text.withdraw(link.round, link.ordinal)

    def close(self) -> None:
        """Close every channel that got chunks, with its admitted text; it never waits for a post."""
        carried = self._text.complete()
        for place in self._chunked:
            mail = Complete(self._inference, place.thread, carried.get(place, ""))
            self._desk.system.tell(channel_address(place.at), mail)
        self._chunked = {}
