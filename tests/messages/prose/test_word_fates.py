"""What becomes of each word of random turns: one fate, in its own channel, in the order written (prose 5, 7)."""

import re
from collections.abc import Callable
from itertools import count, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyminds.messages.prose import PostOutcome, lifted
from tests.messages.prose.pure_turn import PureTurn
from tests.messages.prose.test_properties import (
    ABANDON,
    BLOCK,
    BREAK,
    CALLS,
    CHANNELS,
    ROUND,
    SAY,
    SKIP,
    THINK,
    blocks_of,
    counted,
    scripts,
)

pytestmark = pytest.mark.timeout(1800)

RESTART, REFUSED, RENAME, FRESH, SLOW, INJECTED = map(chr, range(0xE820, 0xE826))
OWN = (RESTART, REFUSED, RENAME, FRESH, SLOW, INJECTED)
MODES = ("explicit", "hybrid", "locus", "disabled")
ARROWS = {"explicit": ">>", "hybrid": ">>>"}
W = "W "
# A token stands alone in its envelope: beside it, words would be copied together with others, into a second draft.
WORDS = [
    W, W, "\n" + W, "\n>a " + W, "\n>b ! " + W, "\n>m\n" + W, "\n>no " + W, "\n>skip_reply " + W, "\n> \n" + W,
    "\n>a {{unsent}}\n>b " + W, "\n>b {{unsent}}\n>skip_reply " + W, "\n>skip_reply {{unsent}}\n>a " + W,
    "\n>no {{unsent}}\n>a " + W, "\n\n",
]
PREFIXES = {"a": "#a", "b": "#b", "m": "@m", "no": "#no", "skip_reply": "skip_reply", " ": " "}
CONTROLS = ROUND * 4 + SAY + SKIP + THINK + ABANDON + BREAK + BLOCK + "".join(OWN)
OUTCOMES = st.lists(st.sampled_from(["delivered", "delivered", "failed", "unknown", "queued"]), max_size=8)
WORD = re.compile(r"w\d+w")
Amount = Callable[[int, int], int]


class Told:
    """A random story, told to a turn, and what was meant by its words."""

    def __init__(self, mode: str, script: str, outcomes: list[PostOutcome], early: bool) -> None:
        numbers = count()
        self.turn = PureTurn(mode, dict(CHANNELS), "home", outcomes=outcomes, early=early)
        self.admitted: list[str] = []
        self.given_up: list[str] = []
        self.meant: dict[str, str] = {}
        arrow = ARROWS.get(mode, "")
        script = re.sub(r">(a|b|m|no|skip_reply| )", lambda found: f"{arrow}{PREFIXES[found[1]]}", script)
        for part in script.split(ROUND):
            self._round(re.sub("W", lambda _: f"w{next(numbers)}w", part))
        self.turn.end()

    def _round(self, part: str) -> None:
        turn, text = self.turn, "".join(char for char in part if char not in OWN)
        if FRESH in part:
            retained = turn.routing.retained
            turn.end()
            turn.begin(retained)
        if INJECTED in part:
            turn.routing = lifted(turn.routing)
        if REFUSED in part:
            self.given_up += WORD.findall(text)  # the guard's batch was refused: nothing of the attempt counts
            return
        (self.given_up if ABANDON in part else self.admitted).extend(WORD.findall(text))
        self._note(text)
        moved = {"#a": CHANNELS["#b"], "#b": CHANNELS["#a"]} if RENAME in part else None
        early, turn.early = turn.early, turn.early and SLOW not in part
        calls = [call for control, call in CALLS.items() if control in part]
        turn.round(blocks_of(text), calls, think_is_private=True, abandoned=ABANDON in part, rebind=moved)
        turn.early = early
        if RESTART in part:
            turn.close_stream()
            turn.open_stream()

    def _note(self, text: str) -> None:
        """The words on a line of their own prefix: where that target leads while the round is written."""
        arrow = ARROWS.get(self.turn.mode)
        plain = "".join(char for char in text if ord(char) < 0xE000)
        for target, rest in re.findall(rf"^{arrow}(#a|#b) (.*)$", plain, re.MULTILINE) if arrow else ():
            self.meant.update(dict.fromkeys(WORD.findall(rest), self.turn.channels[target]))

    def fates(self, word: str) -> list[str]:
        """What has become of a word; one of them, if all is well."""
        turn = self.turn
        waits = [post for post in turn.waiting if word in post.text]
        flying = {post.copied for post in waits}
        kept = [draft for draft in turn.drafts.values() if word in draft.text and draft.id not in flying]
        delivered = any(word in text for _, text in turn.delivered)
        found: set[str] = {turn.states[draft.id] for draft in kept}
        found |= {"waiting" for _ in waits} | {"kept back" for text in turn.kept_back if word in text}
        if delivered:
            found.add("delivered")
        return sorted(found) + ["twice"] * (len(kept) > 1)


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_each_word_has_one_fate(mode: str, early: bool, amount: Amount) -> None:
    """[prose 5, 7, 8, 9, 13] Whatever restarts, is refused, renamed, fails or is slow: delivered, kept as one draft,
    waiting, set aside, private or counted; in no other channel; in order; and given-up attempts have none."""

    @counted(amount)
    @given(scripts(CONTROLS, 40, WORDS), OUTCOMES)
    def holds(script: str, outcomes: list[PostOutcome]) -> None:
        told = Told(mode, script, list(outcomes), early)
        turn = told.turn
        for word in told.admitted:
            assert len(told.fates(word)) == 1, (word, told.fates(word))
        for word in told.given_up:
            assert told.fates(word) == []
        copied = {word for draft in turn.drafts.values() for word in WORD.findall(draft.text)}
        said = [(channel, word) for channel, text in turn.delivered for word in WORD.findall(text)]
        for channel, word in said:
            assert channel == told.meant.get(word, channel) or word in copied
        numbers = [int(word[1:-1]) for _, word in said if word not in copied]
        assert all(one < other for one, other in pairwise(numbers))

    holds()
