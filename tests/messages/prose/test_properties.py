"""Properties of stream and delivery over random text (prose 6.1, 6.4, 14)."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.prose_table import TableRouter
from manyminds.messages.places import Place
from manyminds.messages.prose import (
    UNSENT,
    Piece,
    PostOutcome,
    Resolution,
    Resolved,
    Retained,
    RoundCall,
    RoundTargets,
    StreamRouter,
    Unresolved,
    freeze,
    prose_mode,
    segments,
    without_whitespace,
)
from tests.messages.prose.pure_turn import PureTurn, place
from tests.messages.prose.samples import HOME

pytestmark = pytest.mark.timeout(1800)

Amount = Callable[[int, int], int]

MODES = ("explicit", "hybrid", "locus")
CHANNELS = {"#a": "a", "#b": "b", "@m": "m"}
WORDS = [
    ">", ">>", ">>>", ">>#a ", ">>>#b ", ">>> #a\n", ">>skip_reply ", ">>>skip_reply\n", ">>#no ", ">>>#no x", "#a",
    "#b", "@m", "skip_reply", "!", " ! ", "x", "word", "é", "{", "{{", "}}", "{{uns", UNSENT,
    "\n", "\n", "\n", "\n\n", " ", "  ", "\t", "\r", "\v", "\u00a0", "\ufeff", "\u2028", "\u3000", "\u0085", "\x1c",
]  # fmt: skip
CUT, SEGMENT, BLOCK, BREAK, OTHER, ROUND, SAY, SKIP, THINK, ABANDON = map(chr, range(0xE800, 0xE80A))
CONTROLS = (CUT, SEGMENT, BLOCK, BREAK, OTHER, ROUND, SAY, SKIP, THINK, ABANDON)
CALLS = {SAY: RoundCall("say"), SKIP: RoundCall("host--skip_reply"), THINK: RoundCall("think")}


def scripts(controls: str, size: int = 30, words: Sequence[str] = WORDS) -> st.SearchStrategy[str]:
    """Texts of the words with controls between them.

    Drawn as one text, a character a word or a control, which is many times faster than drawing lists; half of
    them are long, since what is drawn freely is short.
    """
    parts = {chr(0xE000 + number): part for number, part in enumerate([*words, *controls])}
    letters = "".join(parts)
    drawn = st.text(letters, max_size=size // 2) | st.text(letters, min_size=size // 2, max_size=size)
    return drawn.map(lambda letters: "".join(parts[letter] for letter in letters))


PLAIN_WORDS = [word for word in WORDS if "{" not in word]
TOKENLESS_WORDS = [word for word in WORDS if word != UNSENT]


def cut_up(script: str) -> list[list[str]]:
    """The segments of a script, each in its chunks."""
    return [segment.split(CUT) for segment in script.split(SEGMENT)]


def uncut(cut: list[list[str]]) -> list[list[str]]:
    """The same segments, each whole."""
    return [["".join(chunks)] for chunks in cut]


def blocks_of(script: str) -> list[Piece]:
    """The blocks of a round's script."""
    blocks: list[Piece] = []
    for part in re.split(f"(?=[{BLOCK}{BREAK}{OTHER}])", script):
        head = part[:1]
        if head == BREAK:
            blocks.append(("break", ""))
        if head == OTHER:
            blocks.append(("other", "thought"))
        blocks.append(("text", "".join(char for char in part if char not in CONTROLS)))
    return blocks


def registry(token: str) -> Resolution:
    """Three channels, and one name that breaks the registry."""
    if token == "#broken":
        raise RuntimeError(token)
    return Resolved(CHANNELS[token]) if token in CHANNELS else Unresolved("no-match")


def counted(amount: Amount) -> settings:
    """300 examples, 20,000 under --whole."""
    return settings(
        max_examples=amount(300, 20_000), deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
    )


def streamed(mode: str, cut: Sequence[Sequence[str]], retained: str | None = None) -> dict[Place, str]:
    """What the segments stream, checked against the deltas given out."""
    router = StreamRouter(prose_mode(mode), RoundTargets(registry), HOME, retained)
    given_out: dict[Place, str] = {}
    for chunks in cut:
        for chunk in chunks:
            deltas = router.feed(chunk)
            assert all(text for _, text in deltas)
            assert all(one != other for (one, _), (other, _) in pairwise(deltas))
            for at, text in deltas:
                given_out[at] = given_out.get(at, "") + text
        for at, text in router.end_run():
            given_out[at] = given_out.get(at, "") + text
    assert given_out == router.by_channel()
    return given_out


@pytest.mark.parametrize("mode", MODES)
def test_any_cut_gives_the_same_text(mode: str, amount: Amount) -> None:
    """Output does not depend on chunking, with the token and without, and is all that was given out [prose 6.1]."""

    @counted(amount)
    @given(scripts(CUT * 4 + SEGMENT), st.sampled_from([None, "words", "{{un", UNSENT]))
    def holds(script: str, retained: str | None) -> None:
        cut = cut_up(script)
        assert streamed(mode, cut, retained) == streamed(mode, uncut(cut), retained)

    holds()


@pytest.mark.parametrize("mode", MODES)
def test_the_router_is_the_table(mode: str, amount: Amount) -> None:
    """In slices or a character at a time: table 6.3 [prose 6.3]."""

    @counted(amount)
    @given(scripts(CUT * 4 + SEGMENT, words=PLAIN_WORDS))
    def holds(script: str) -> None:
        def where(token: str) -> Place | None:
            return place(CHANNELS.get(token))

        table = TableRouter(mode, where, HOME)
        router = StreamRouter(prose_mode(mode), RoundTargets(registry), HOME)
        for chunks in cut_up(script):
            deltas = [delta for chunk in chunks for delta in router.feed(chunk)]
            assert _by_place([*deltas, *router.end_segment()]) == _by_place(
                [*table.feed("".join(chunks)), *table.end_segment()]
            )
        assert router.by_channel() == table.by_channel()

    holds()


def _by_place(deltas: Sequence[tuple[Place, str]]) -> dict[Place, str]:
    found: dict[Place, str] = {}
    for at, text in deltas:
        found[at] = found.get(at, "") + text
    return found


@pytest.mark.parametrize("mode", ["explicit", "hybrid"])
def test_admission_asks_nothing_new(mode: str, amount: Amount) -> None:
    """Stream and admission see the same envelopes: each target asked by the stream is admission's [prose 13, gap 4]."""

    @counted(amount)
    @given(scripts(CUT * 4 + SEGMENT))
    def holds(script: str) -> None:
        asked: list[tuple[int, str]] = []
        targets = RoundTargets(registry)

        def asking(ordinal: int, token: str) -> Resolution:
            asked.append((ordinal, token))
            return targets(ordinal, token)

        router = StreamRouter(prose_mode(mode), asking, HOME)
        blocks: list[Piece] = []
        for chunks in cut_up(script):
            for chunk in chunks:
                router.feed(chunk)
            router.end_run()
            blocks.append(("text", "".join(chunks)))
            blocks.append(("break", ""))
        by_stream = list(asked)
        asked.clear()
        freeze(prose_mode(mode), segments(blocks), asking)
        assert asked == by_stream

    holds()


OUTCOMES = st.lists(st.sampled_from(["delivered", "delivered", "failed", "unknown"]), max_size=6)


def run(script: str, turn: PureTurn) -> PureTurn:
    """The rounds of a script, one turn."""
    for part in script.split(ROUND):
        calls = [call for control, call in CALLS.items() if control in part]
        turn.round(blocks_of(part), calls, think_is_private=True, abandoned=ABANDON in part)
    turn.end()
    return turn


def bare(texts: dict[str, str]) -> dict[str, str]:
    """By channel, without whitespace and without empty channels."""
    return {at: found for at, text in texts.items() if (found := without_whitespace(text))}


def posted(turn: PureTurn) -> dict[str, str]:
    """The confirmed posts, one text a channel."""
    found: dict[str, str] = {}
    for at, text in turn.delivered:
        found[at] = found.get(at, "") + text
    return found


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_complete_is_what_was_delivered(mode: str, early: bool, amount: Amount) -> None:
    """Per channel, whitespace aside: withheld, abandoned and failed text in neither [prose 6.4, 13 gap 1]."""

    @counted(amount)
    @given(scripts(ROUND * 2 + BREAK * 2 + BLOCK + OTHER + SAY + SKIP + THINK + ABANDON, 40, TOKENLESS_WORDS), OUTCOMES)
    def holds(script: str, outcomes: list[PostOutcome]) -> None:
        turn = run(script, PureTurn(mode, dict(CHANNELS), "home", outcomes=list(outcomes), early=early))
        assert bare(turn.streamed) == bare(posted(turn))

    holds()


@pytest.mark.parametrize("mode", MODES)
def test_stream_is_what_was_delivered(mode: str, amount: Amount) -> None:
    """Where no round is withheld and no post fails, already the deltas are [prose 6.4]."""

    @counted(amount)
    @given(scripts(ROUND * 2 + BREAK * 2 + BLOCK + OTHER, 40, TOKENLESS_WORDS))
    def holds(script: str) -> None:
        turn = run(script, PureTurn(mode, dict(CHANNELS), "home"))
        assert bare(turn.emitted) == bare(posted(turn))

    holds()


@pytest.mark.parametrize("mode", MODES)
def test_one_token_in_the_stream(mode: str, amount: Amount) -> None:
    """A token with words behind it streams as it is delivered, where nothing bounces before [prose 6.4]."""

    @counted(amount)
    @given(
        scripts("", 12, PLAIN_WORDS),
        scripts("", 12, PLAIN_WORDS),
        st.sampled_from(["kept words", "a\n\nb", "{{", None]),
    )
    def holds(before: str, after: str, words: str | None) -> None:
        turn = PureTurn(mode, dict(CHANNELS), "home")
        turn.begin(None if words is None else Retained("d-old", words))
        turn.round([("text", before + UNSENT + after)])
        turn.end()
        if not turn.bounced:
            assert bare(turn.emitted) == bare(posted(turn))

    holds()
