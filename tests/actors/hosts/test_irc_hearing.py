"""Who listens in a channel, and that each line comes in once when the listener drops."""

import random

import pytest

from manyminds.actors.hosts.irc_hearing import Hearing, compare


@pytest.mark.parametrize(
    ("handed", "spare", "missed", "ahead"),
    [
        ("abc", "abc", "", ""),
        ("abc", "abcde", "de", ""),
        ("abcde", "abc", "", "de"),
        ("abcde", "cde", "", ""),
        ("cde", "abcdef", "f", ""),
        ("ab", "", "", ""),
        ("", "ab", "ab", ""),
        ("aa", "aaa", "", ""),  # repeated words: the fewest that may be new
        ("xy", "ab", "", ""),
    ],
)
def test_two_windows_of_one_sequence(handed: str, spare: str, missed: str, ahead: str) -> None:
    """What the successor heard tells what is still to come in, and what is not to come in again."""
    assert compare(list(handed), list(spare)) == (list(missed), list(ahead))


def test_the_first_in_listens_until_it_leaves() -> None:
    """The first connection that is up listens; its coming back does not make it the listener again."""
    hearing: Hearing[str] = Hearing()
    hearing.enter("ada")
    hearing.enter("bert")
    assert [hearing.heard("bert", "one"), hearing.heard("ada", "one")] == [False, True]
    assert hearing.leave("ada") == []
    assert hearing.listener == "bert"
    hearing.enter("ada")
    assert [hearing.heard("ada", "two"), hearing.heard("bert", "two")] == [False, True]


def test_a_listener_that_was_silent_before_it_dropped() -> None:
    """Lines that only the successor heard are handed in when the listener is found to be gone."""
    hearing: Hearing[str] = Hearing()
    hearing.enter("ada")
    hearing.enter("bert")
    for who in ("ada", "bert"):
        hearing.heard(who, "one")
    hearing.heard("bert", "two")
    hearing.heard("bert", "three")
    assert hearing.leave("ada") == ["two", "three"]
    assert hearing.heard("bert", "four")


def test_a_successor_that_lags_behind() -> None:
    """Lines that the lost listener handed in already are not handed in again when the successor gets them."""
    hearing: Hearing[str] = Hearing()
    hearing.enter("ada")
    hearing.enter("bert")
    hearing.heard("bert", "one")
    for line in ("one", "two", "three"):
        assert hearing.heard("ada", line)
    assert hearing.leave("ada") == []
    assert [hearing.heard("bert", line) for line in ("two", "three", "four")] == [False, False, True]


@pytest.mark.parametrize("seed", range(20))
def test_each_line_comes_in_once_in_order(seed: int) -> None:
    """Whatever the lags and the drops, distinct lines come in once and in order, as long as one of us hears them."""
    draw = random.Random(seed)
    hearing: Hearing[int] = Hearing()
    taken: list[int] = []
    queues: dict[str, list[int]] = {name: [] for name in ("ada", "bert", "cleo")}
    for name in queues:
        hearing.enter(name)
        if hearing.heard(name, -1):
            taken.append(-1)
    for line in range(60):
        for queue in queues.values():
            queue.append(line)
        for _ in range(draw.randrange(4)):
            name = draw.choice(list(queues))
            if queues[name] and hearing.heard(name, queues[name][0]):
                taken.append(queues[name][0])
            del queues[name][:1]
        if len(queues) > 1 and draw.random() < 0.04:
            name = draw.choice(list(queues))
            del queues[name]
            taken += hearing.leave(name)
    for name, queue in queues.items():
        taken += [line for line in queue if hearing.heard(name, line)]

    assert taken == [-1, *range(60)]
