"""Properties of stream and delivery over random text (prose 6.1, 6.4, 14)."""

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
TEXTS = st.lists(st.sampled_from(WORDS), max_size=24).map("".join)
PLAIN = TEXTS.filter(lambda text: "{" not in text)


def registry(token: str) -> Resolution:
    """Three channels, and one name that breaks the registry."""
    if token == "#broken":
        raise RuntimeError(token)
    return Resolved(CHANNELS[token]) if token in CHANNELS else Unresolved("no-match")


def counted(amount: Amount) -> settings:
    """300 examples, 20,000 under --whole."""
    return settings(
        max_examples=amount(300, 20_000), deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )


@st.composite
def cut_texts(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> list[list[str]]:
    """A few segments, each cut at random places."""
    segments_: list[list[str]] = []
    for text in draw(st.lists(texts, min_size=1, max_size=3)):
        marks = sorted(draw(st.lists(st.integers(0, len(text)), max_size=12)))
        segments_.append([text[a:b] for a, b in pairwise([0, *marks, len(text)])])
    return segments_


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
    @given(cut_texts(TEXTS), st.sampled_from([None, "words", "{{un", UNSENT]))
    def holds(cut: list[list[str]], retained: str | None) -> None:
        whole = [["".join(chunks)] for chunks in cut]
        assert streamed(mode, cut, retained) == streamed(mode, whole, retained)

    holds()


@pytest.mark.parametrize("mode", MODES)
def test_the_router_is_the_table(mode: str, amount: Amount) -> None:
    """In slices or a character at a time: table 6.3 [prose 6.3]."""

    @counted(amount)
    @given(cut_texts(PLAIN))
    def holds(cut: list[list[str]]) -> None:
        def where(token: str) -> Place | None:
            return place(CHANNELS.get(token))

        table = TableRouter(mode, where, HOME)
        router = StreamRouter(prose_mode(mode), RoundTargets(registry), HOME)
        for chunks in cut:
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
    @given(cut_texts(TEXTS))
    def holds(cut: list[list[str]]) -> None:
        asked: list[tuple[int, str]] = []
        targets = RoundTargets(registry)

        def asking(ordinal: int, token: str) -> Resolution:
            asked.append((ordinal, token))
            return targets(ordinal, token)

        router = StreamRouter(prose_mode(mode), asking, HOME)
        blocks: list[Piece] = []
        for chunks in cut:
            for chunk in chunks:
                router.feed(chunk)
            router.end_run()
            blocks += [("text", "".join(chunks)), ("break", "")]
        by_stream = list(asked)
        asked.clear()
        freeze(prose_mode(mode), segments(blocks), asking)
        assert asked == by_stream

    holds()


BLOCKS = st.lists(st.tuples(st.sampled_from(["text", "text", "break", "other"]), TEXTS), max_size=5)
CALLS = st.sampled_from(
    [[], [], [], [RoundCall("step")], [RoundCall("say")], [RoundCall("host--skip_reply")], [RoundCall("think")]]
)
ROUNDS = st.lists(st.tuples(BLOCKS, CALLS, st.booleans()), min_size=1, max_size=4)
OUTCOMES = st.lists(st.sampled_from(["delivered", "delivered", "failed", "unknown"]), max_size=6)


def run(mode: str, rounds: Sequence[tuple[list[Piece], list[RoundCall], bool]], turn: PureTurn) -> PureTurn:
    """The rounds, one turn."""
    for blocks, calls, abandoned in rounds:
        turn.round(blocks, calls, think_is_private=True, abandoned=abandoned)
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
    @given(ROUNDS, OUTCOMES)
    def holds(rounds: list[tuple[list[Piece], list[RoundCall], bool]], outcomes: list[str]) -> None:
        if any(UNSENT in text for blocks, _, _ in rounds for _, text in blocks):
            return
        turn = PureTurn(mode, dict(CHANNELS), "home", outcomes=list(outcomes), early=early)  # type: ignore[arg-type]
        run(mode, rounds, turn)
        assert bare(turn.streamed) == bare(posted(turn))

    holds()


@pytest.mark.parametrize("mode", MODES)
def test_stream_is_what_was_delivered(mode: str, amount: Amount) -> None:
    """Where no round is withheld and no post fails, already the deltas are [prose 6.4]."""

    @counted(amount)
    @given(ROUNDS)
    def holds(rounds: list[tuple[list[Piece], list[RoundCall], bool]]) -> None:
        kept = [([(k, t.replace(UNSENT, "")) for k, t in blocks], list[RoundCall](), False) for blocks, _, _ in rounds]
        turn = run(mode, kept, PureTurn(mode, dict(CHANNELS), "home"))
        assert bare(turn.emitted) == bare(posted(turn))

    holds()


@pytest.mark.parametrize("mode", MODES)
def test_one_token_in_the_stream(mode: str, amount: Amount) -> None:
    """A token with words behind it streams as it is delivered, where nothing bounces before [prose 6.4]."""

    @counted(amount)
    @given(PLAIN, PLAIN, st.sampled_from(["kept words", "a\n\nb", "{{", None]))
    def holds(before: str, after: str, words: str | None) -> None:
        turn = PureTurn(mode, dict(CHANNELS), "home")
        turn.begin(None if words is None else Retained("d-old", words))
        turn.round([("text", before + UNSENT + after)])
        turn.end()
        if not turn.bounced:
            assert bare(turn.emitted) == bare(posted(turn))

    holds()
