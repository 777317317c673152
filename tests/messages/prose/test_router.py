"""The stream router: its contract, substitution, rounds (prose 6)."""

import pytest

from manyminds.messages.errors import InvalidSetting
from manyminds.messages.places import Place
from manyminds.messages.prose import Resolution, Resolved, RoundTargets, StreamRouter, Unresolved, prose_mode
from tests.messages.prose.pure_turn import place

A, B, HOME = "a", "b", "home"


def answer(ordinal: int, token: str) -> Resolution:
    """`#a` and `#b` are channels."""
    return Resolved(token[1:]) if token in ("#a", "#b") else Unresolved("no-match")


def router(mode: str = "explicit", target: str | None = None, retained: str | None = None) -> StreamRouter:
    """A router over the two channels."""
    return StreamRouter(prose_mode(mode), answer, place(target), retained)


def routed(made: StreamRouter, *texts: str) -> dict[str, str]:
    """What the texts, fed one after another, end up as."""
    for text in texts:
        made.feed(text)
    made.finish()
    return {at.at.channel: text for at, text in made.by_channel().items()}


def deltas(found: list[tuple[Place, str]]) -> list[tuple[str, str]]:
    """The deltas by channel id."""
    return [(at.at.channel, text) for at, text in found]


# Each row of table 6.3, one case or more: text, and what each channel gets. Explicit starts nowhere.
EXPLICIT: dict[str, tuple[str, dict[str, str]]] = {
    "line start: newline emits what is held": (">>#a x\n \t\ny", {A: "x\n \t\ny"}),
    "line start: held whitespace and a word": (">>#a x\n  y", {A: "x\n  y"}),
    "arrows, too few": (">>#a x\n  >y", {A: "x\n  >y"}),
    "arrows, too few, then newline": (">>#a x\n>\n>>#b y", {A: "x\n>\n", B: "y"}),
    "arrows, exactly two, then whitespace": (">>#a x\n >>\u00a0#b", {A: "x\n >>\u00a0#b"}),
    "arrows, exactly two, then newline": (">>#a x\n>>\n>>#b y", {A: "x\n>>\n", B: "y"}),
    "indentation before a prefix is dropped": (">>#a x\n \u2003>>#b y", {A: "x\n", B: "y"}),
    "token: newline swallowed": (">>#a\nx", {A: "x"}),
    "token: one newline only": (">>#a\n\nx", {A: "\nx"}),
    "token: other whitespace is body": (">>#a\r\nx", {A: "\r\nx"}),
    "token: other whitespace is no line start": (">>#a\u00a0>>#b x", {A: "\u00a0>>#b x"}),
    "token: then at line start": (">>#a\n>>#b x", {B: "x"}),
    "after: blanks, mark, blanks": (">>#a \t! \tx", {A: "x"}),
    "after: the second bang is body": (">>#a !! x", {A: "! x"}),
    "after: newline swallowed": (">>#a ! \n>>#b x", {B: "x"}),
    "after: CR is body": (">>#a !\r\nx", {A: "\r\nx"}),
    "after: arrows are body": (">>#a >>#b x", {A: ">>#b x"}),
    "body: a line of its own opens": (">>#a x\n>>#b y", {A: "x\n", B: "y"}),
    "body: arrows inside a line": (">>#a x >>#b y", {A: "x >>#b y"}),
    "nowhere before the first prefix": ("x\n>>#a y", {A: "y"}),
    "private": (">>#a x\n>>skip_reply y\nz\n>>#b w", {A: "x\n", B: "w"}),
    "unresolved": (">>#a x\n>>#no y\nz", {A: "x\n"}),
    "end: arrows": (">>#a x\n>>", {A: "x\n>>"}),
    "end: too few arrows": (">>#a x\n>", {A: "x\n>"}),
    "end: a token takes effect": (">>#a x\n>>#b", {A: "x\n"}),
    "end: held whitespace is dropped": (">>#a x\n  ", {A: "x\n"}),
}

HYBRID: dict[str, tuple[str, dict[str, str]]] = {
    "two arrows are text": ("x\n>>#a y", {HOME: "x\n>>#a y"}),
    "a gap": ("x\n>>> \t#a y", {HOME: "x\n", A: "y"}),
    "no gap": (">>>#a y", {A: "y"}),
    "a gap, then newline": ("x\n>>> \ny", {HOME: "x\n"}),
    "arrows, then newline, then a prefix": ("x\n>>>\n>>>#a y", {HOME: "x\n", A: "y"}),
    "arrows, then other whitespace": ("x\n>>>\u00a0>>>#a y", {HOME: "x\n"}),
    "a gap, then other whitespace": ("x\n>>> \u00a0#a y", {HOME: "x\n"}),
    "four arrows": (">>>>#a y", {}),
    "a target of its own": (">>>#a x\n>>>#b y", {A: "x\n", B: "y"}),
    "end: too few arrows": ("x\n>>", {HOME: "x\n>>"}),
}


@pytest.mark.parametrize(("text", "expected"), EXPLICIT.values(), ids=EXPLICIT.keys())
def test_explicit(text: str, expected: dict[str, str]) -> None:
    """Table 6.3 in explicit mode, whole and a character at a time [prose 6.3]."""
    assert routed(router(), text) == expected
    assert routed(router(), *text) == expected


@pytest.mark.parametrize(("text", "expected"), HYBRID.values(), ids=HYBRID.keys())
def test_hybrid(text: str, expected: dict[str, str]) -> None:
    """Table 6.3 in hybrid mode [prose 6.3]."""
    assert routed(router("hybrid", HOME), text) == expected
    assert routed(router("hybrid", HOME), *text) == expected


@pytest.mark.parametrize("end", [">>>", ">>> \t"])
def test_hybrid_bare_prefix_at_the_end_holds(end: str) -> None:
    """Arrows or a gap at the end of a segment: the next segment goes nowhere [prose 6.3]."""
    made = router("hybrid", HOME)
    made.feed("x\n" + end)
    made.end_segment()
    assert routed(made, "y") == {HOME: "x\n"}


def test_locus_streams_everything() -> None:
    """In locus mode all is body, whitespace and prefixes too [prose 6.3]."""
    assert routed(router("locus", HOME), "\n ", ">>#a x\n", ">>>#b {{unsent}}\n ") == {
        HOME: "\n >>#a x\n>>>#b {{unsent}}\n "
    }


def test_disabled_has_no_router() -> None:
    """Disabled mode has no router [prose 6.2]."""
    with pytest.raises(InvalidSetting):
        router("disabled", HOME)


def test_a_null_target_emits_nothing() -> None:
    """Without a target nothing is routed, in any mode [prose 6.1]."""
    for mode in ("locus", "hybrid", "explicit"):
        assert routed(router(mode), "x\ny {{unsent}}\n  z") == {}


def test_adjacent_deltas_are_merged() -> None:
    """One delta for each change of place, an envelope to nobody in between or not [prose 6.1]."""
    found = router(target=A).feed("x\n y\n>>#a z\n>>skip_reply w\n>>#a v\n>>#b u")
    assert deltas(found) == [(A, "x\n y\nz\nv\n"), (B, "u")]


def test_holds_back_only_a_lines_start() -> None:
    """A body is handed through at once; only what may open an envelope waits [prose 6.1]."""
    made = router(target=A)
    assert deltas(made.feed("wor")) == [(A, "wor")]
    assert deltas(made.feed("d > x\n")) == [(A, "d > x\n")]
    assert deltas(made.feed("  ")) == []
    assert deltas(made.feed(">")) == []
    assert deltas(made.feed("y")) == [(A, "  >y")]


def test_end_of_segment_is_line_start() -> None:
    """The next segment may open an envelope; no separator is emitted; the target stays [prose 6.1]."""
    made = router()
    made.feed(">>#a x")
    assert made.end_segment() == []
    made.feed("y")
    made.end_segment()
    assert routed(made, ">>#b z") == {A: "xy", B: "z"}


def test_retarget() -> None:
    """Sets the target and returns to line start; what was held is dropped [prose 6.1]."""
    made = router(target=A)
    made.feed("x\n  >>")
    made.retarget(place(B))
    made.feed("y")
    made.retarget(None)
    assert routed(made, "z") == {A: "x\n", B: "y"}


def test_a_resolver_that_raises_is_nobody() -> None:
    """An exception never reaches the token loop; its envelope goes nowhere [prose 6.1]."""

    def broken(ordinal: int, token: str) -> Resolution:
        raise RuntimeError(token)

    made = StreamRouter("explicit", broken, place(A))
    assert routed(made, "x\n>>#b y\nz") == {A: "x\n"}


def test_tool_block_inside_a_round_explicit() -> None:
    """Back to the last target that resolved in the round, else the turn's destination [prose 6.4, 3]."""
    made = router(target=HOME)
    made.feed(">>#no x")
    made.end_run()
    made.feed("to the turn's")
    made.end_run()
    made.feed(">>#a y\n>>skip_reply z")
    made.end_run()
    assert routed(made, "to the round's") == {HOME: "to the turn's", A: "y\nto the round's"}


def test_tool_block_inside_a_round_hybrid() -> None:
    """Hybrid does not retarget there: a private envelope holds what follows [prose 6.4, 3]."""
    made = router("hybrid", HOME)
    made.feed(">>>#a y\n>>>skip_reply z")
    made.end_run()
    assert routed(made, "nowhere") == {A: "y\n"}


def test_a_new_round_forgets_the_rounds_target() -> None:
    """What stands after a tool block is that of this round [prose 6.4, 3]."""
    made = router(target=HOME)
    made.feed(">>#a x")
    made.end_segment()
    made.begin_round(answer, place(HOME))
    made.feed(">>#no y")
    made.end_run()
    assert routed(made, "z") == {A: "x", HOME: "z"}


@pytest.mark.parametrize("size", [1, 2, 3, 4, 9, 10, 11, 99])
def test_substitution(size: int) -> None:
    """Bodies stream the retained words; partial tokens and braces stream as written [prose 6.4]."""
    text = ">>#a {{unsent}} {{{unsent}}} {{uns\n{{unsent\n}}{{"
    chunks = [text[at : at + size] for at in range(0, len(text), size)]
    assert routed(router(retained="{{un$&"), *chunks) == {A: "{{un$& {{{un$&} {{uns\n{{unsent\n}}{{"}
    assert routed(router(), *chunks) == {A: " {} {{uns\n{{unsent\n}}{{"}


def test_nine_characters_at_most_wait() -> None:
    """No more than a partial token is held back [prose 6.4]."""
    made = router(target=A, retained="words")
    assert deltas(made.feed("x{{unsent}")) == [(A, "x")]
    assert deltas(made.feed("!")) == [(A, "{{unsent}!")]
    assert deltas(made.feed("{{unsent}")) == []
    assert deltas(made.feed("}")) == [(A, "words")]
    assert made.feed("{{") == []
    assert deltas(made.end_segment()) == [(A, "{{")]


def test_substitution_only_in_bodies() -> None:
    """Hybrid: bodies of prefixed envelopes alone; a sticky round later is not one [prose 4.4]."""
    made = router("hybrid", HOME, "words")
    made.feed("{{unsent}}\n>>>#a {{unsent}}")
    made.end_segment()
    assert routed(made, "{{unsent}}") == {HOME: "{{unsent}}\n", A: "words{{unsent}}"}


def test_snapshot_of_a_round() -> None:
    """The retained words are those of the round's start [prose 6.4]."""
    made = router(target=A, retained="old")
    made.feed("{{unsent}}")
    made.end_segment()
    made.begin_round(answer, place(A), "new")
    assert routed(made, "{{unsent}}") == {A: "oldnew"}


def test_pieces_carry_admissions_ordinals() -> None:
    """One piece an envelope, numbered through the round's segments; loose whitespace belongs to none [prose 13, 1]."""
    made = router(target=HOME)
    made.feed("\n \n>>#a x\n>>#no y\n>>#a z")
    made.end_run()
    made.feed("  \n")
    made.end_run()
    made.feed("bare\n>>#b\nw")
    made.end_segment()
    found = [(piece.ordinal, piece.place.at.channel, piece.text) for piece in made.round_pieces()]
    assert found == [(-1, HOME, "\n \n"), (0, A, "x\n"), (2, A, "z"), (-1, A, "  \n"), (3, A, "bare\n"), (4, B, "w")]


def test_ordinals_of_a_round_begin_at_nought() -> None:
    """Each round counts anew, and its pieces are its own [prose 13, 1]."""
    made = router(target=A)
    made.feed("x")
    made.end_segment()
    made.begin_round(answer, place(A))
    made.feed("y")
    made.end_segment()
    assert [(piece.ordinal, piece.text) for piece in made.round_pieces()] == [(0, "y")]


def test_ordinals_in_locus() -> None:
    """In locus a segment is an envelope; one of whitespace alone is none [prose 4.3]."""
    made = router("locus", HOME)
    made.feed("\n")
    made.feed(" x\n>>#a")
    made.end_run()
    made.feed(" ")
    made.end_run()
    made.feed("y")
    made.end_segment()
    assert [(p.ordinal, p.text) for p in made.round_pieces()] == [(0, "\n x\n>>#a"), (-1, " "), (1, "y")]


def test_reset_of_an_attempt() -> None:
    """An abandoned attempt is dropped, accepted rounds stay; `reset` drops all [prose 6.1, 6.5]."""
    made = router(target=A)
    made.feed("kept")
    made.end_segment()
    made.begin_round(answer, place(A))
    made.feed(">>#b gone")
    made.reset_round()
    made.retarget(place(A))
    made.feed(" again")
    assert {at.at.channel: text for at, text in made.by_channel().items()} == {A: "kept again"}
    made.reset()
    assert routed(made, "anew") == {A: "anew"}


def test_after_a_reset_the_target_stays() -> None:
    """Until it is set, text goes where it went, and is counted anew [prose 6.1, 6.5]."""
    made = router(target=A)
    made.feed("gone")
    made.reset_round()
    made.feed("x")
    assert [(p.ordinal, p.text) for p in made.round_pieces()] == [(0, "x")]
    made.reset()
    assert routed(made, ">>#b y") == {B: "y"}


def test_tokens_are_asked_once_a_round() -> None:
    """Each completed token asks once, by its envelope's ordinal [prose 13, gap 4]."""
    asked: list[tuple[int, str]] = []

    def registry(ordinal: int, token: str) -> Resolution:
        asked.append((ordinal, token))
        return answer(ordinal, token)

    made = StreamRouter("explicit", registry)
    routed(made, *"lead\n>>#a x\n>>skip_reply y\n>>#no z\n>>#a")
    assert asked == [(1, "#a"), (3, "#no"), (4, "#a")]


def test_round_targets_fit() -> None:
    """The round's memo is what the router asks [prose 13, gap 4]."""
    made = StreamRouter("explicit", RoundTargets(lambda token: Resolved(token[1:])))
    assert routed(made, ">>#a x") == {A: "x"}
