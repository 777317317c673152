"""The streak, its wakes and bounced marks (prose 8.3, 8.4), and what complete carries (prose 13, gap 1)."""

from manyminds.messages.prose import Judged, Link, StreakEvent, StreamedPiece, StreamedText, judge
from tests.messages.prose.samples import A, B


def bounce(round_: int, ordinal: int = 0, mark: bool = False, kept: str | None = None) -> StreakEvent:
    """A bounce at its place in the chain."""
    return StreakEvent(Link(round_, ordinal), bounced=True, kept=kept, mark=mark)


def confirmed(round_: int, ordinal: int = 0) -> StreakEvent:
    """A confirmation that resets the streak."""
    return StreakEvent(Link(round_, ordinal), bounced=False)


def test_two_wakes_in_a_row() -> None:
    """Streak 1 and 2 ask for a wake, 3 and up do not [prose 8.3]."""
    assert judge(0, [bounce(1), bounce(2), bounce(3)]) == Judged(3, (1, 2))
    assert judge(2, [bounce(1)]) == Judged(3)


def test_a_confirmation_resets() -> None:
    """Counted in the chain's order, whatever order the outcomes came in [prose 8.3]."""
    assert judge(2, [bounce(3), confirmed(2), bounce(1)]) == Judged(1, (3,))
    assert judge(5, [confirmed(1)]) == Judged(0)


def test_a_round_asks_once() -> None:
    """Each bounce of a round counts; its wakes are one [prose 8.3]."""
    assert judge(0, [bounce(1, 0), bounce(1, 1), bounce(1, 2)]) == Judged(3, (1,))


def test_words_sent_or_set_aside_cancel_the_wake() -> None:
    """A wake is not wanted for words delivered or set aside before the turn ended [prose 8.3]."""
    events = [bounce(1, kept="d-1"), bounce(2, kept="d-2")]
    assert judge(0, events, frozenset({"d-1"})) == Judged(2, (2,))


def test_bounced_marks() -> None:
    """A bounced envelope's mark counts while the streak is at most 2 [prose 8.4]."""
    assert judge(1, [bounce(1, mark=True)]).continuation
    assert not judge(2, [bounce(1, mark=True)]).continuation
    assert not judge(0, [bounce(1)]).continuation


def test_complete_carries_admitted_text() -> None:
    """Admitted envelopes only, by rounds; a chunked channel with nothing admitted is closed empty [prose 13, 1]."""
    text = StreamedText()
    text.merge(2, [StreamedPiece(0, A, ["c"])], {0})
    text.merge(1, [StreamedPiece(0, A, ["a", "b"]), StreamedPiece(1, B, ["x"]), StreamedPiece(-1, A, ["\n"])], {0})
    assert text.complete() == {A: "abc", B: ""}


def test_a_failed_post_is_withdrawn() -> None:
    """A post that has failed by then is not carried; an abandoned attempt never is [prose 13, gap 1]."""
    text = StreamedText()
    text.merge(1, [StreamedPiece(0, A, ["a"])], {0})
    text.merge(2, [StreamedPiece(0, B, ["b"])], ())
    text.withdraw(1, 0)
    text.withdraw(7, 0)
    assert text.complete() == {A: "", B: ""}
