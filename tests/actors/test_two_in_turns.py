"""Two residents of one room in turns at once: what each is sent repeats what it was sent before, to the byte."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

from manyminds.actors.composer import Composer
from manyminds.actors.house import ROOM
from manyminds.actors.providers.replies import Piece
from manyminds.actors.providers.scripted import Answer, Scripted, call, think
from manyminds.actors.spec import Resident
from manyminds.messages.assembly import CONTINUE
from manyminds.messages.blocks import Text
from manyminds.messages.mail import Offer, room_address
from manyminds.messages.request import Msg, Request
from manyminds.messages.rows import Row
from manyminds.storage import turns
from tests.actors.simulated import FAULTS, SimulatedHouse, request_texts, variations

NAMES = ("ada", "bob")
ROUNDS = 60


async def look(place: str, minutes: float) -> str:
    """Look around somewhere.

    Args:
        place: Where.
        minutes: How long.
    """
    await asyncio.sleep(minutes)
    return f"nothing at {place}"


def note(text: str) -> str:
    """Write something down.

    Args:
        text: What.
    """
    return "" if text == "blank" else "noted"


class Talk:
    """A model that draws its answers from the seed, and compares each request with what a compile gives then."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(f"{seed}/talk")
        self.house: SimulatedHouse | None = None
        self.differences: list[str] = []
        self.compared = 0
        self.rounds = 0

    def __call__(self, request: Request) -> Answer:
        self.compare(request)
        self.rounds += 1
        if self.rounds > ROUNDS or self.draw.random() < 0.4:
            return [think("so"), f"{request.agent} says {self.rounds}"]
        calls = [
            call("look", place=f"p{self.rounds}", minutes=self.draw.choice([0.0, 0.01, 3.0])),
            call("note", text=self.draw.choice(["x", "blank"])),
            call("think", thought="hm"),
        ]
        chosen = self.draw.sample(calls, self.draw.randint(1, 3))
        words: list[list[Piece]] = [[], [f"{request.agent} looks {self.rounds}"], [think("hm"), " "]]
        return [*self.draw.choice(words), *chosen]

    def compare(self, request: Request) -> None:
        """[agents 5.2] The request is what a compile at the record's watermark gives."""
        assert self.house is not None
        store = self.house.simulation.store
        with store.snapshot() as snap:
            turn = turns.get(snap, ROOM, request.agent)
        assert turn is not None
        composer = Composer(store, self.house.house.specs[request.agent], turn.branch, turn.watermark)
        while not composer.step():
            pass
        self.compared += 1
        if composer.messages() != request.messages:
            self.differences.append(f"{request.agent}, turn {turn.number}, after round {turn.rounds}")


def residents(talk: Callable[[Request], Answer]) -> tuple[list[Resident], Scripted]:
    """Two residents of one model, whose requests take their time."""
    return [Resident(name, "m", tools=[look, note]) for name in NAMES], Scripted(otherwise=talk, delay=0.01)


def converse(house: SimulatedHouse, draw: random.Random, messages: int) -> None:
    """Messages to one or both, in two channels, at any step of the turns that run meanwhile."""
    for number in range(messages):
        to = draw.choice([("ada",), ("bob",), NAMES, ()])
        house.hand_in(house.message(f"message {number}", draw.choice(["#a", "#a", "#b"]), mentions=to))
        for _ in range(draw.choice([0, 5, 40, 200])):
            house.simulation.step()
        if draw.random() < 0.3:
            house.simulation.advance(draw.choice([0.01, 1.0]))


def answered_part(messages: tuple[Msg, ...], answered: bool) -> tuple[Msg, ...]:
    """What the next request must repeat: all of it; without a last `[Continue]` that nobody answered."""
    if not answered and messages and messages[-1].content == (Text(CONTINUE),):
        return messages[:-1]
    return messages


def broken_prefixes(model: Scripted, agent: str) -> list[int]:
    """The numbers of an agent's requests that do not repeat their predecessor."""
    rounds = [done for done in model.rounds if done.request.agent == agent]
    broken: list[int] = []
    for number, (before, after) in enumerate(pairwise(rounds)):
        kept = answered_part(before.request.messages, before.ending == "done")
        if after.request.messages[: len(kept)] != kept:
            broken.append(number + 1)
    return broken


def overlapped(house: SimulatedHouse) -> bool:
    """Whether two turns were alive at once."""
    alive: set[object] = set()
    for trace in house.traces:
        if trace.name == "inference:started":
            alive.add(trace.fields["agentName"])
        elif trace.name in ("inference:completed", "inference:turn_ended", "inference:exhausted"):
            alive.discard(trace.fields["agentName"])
        if len(alive) == 2:
            return True
    return False


def test_each_request_repeats_its_predecessor(seeds: list[int]) -> None:
    """[agents 2.10] [agents 5.2] With tools, two channels and a busy room, nothing that was sent moves a byte."""
    together = 0
    for seed in seeds:
        for settings in variations(replace(FAULTS, stream_cut=0.02)):
            talk = Talk(seed)
            declared, model = residents(talk)
            with SimulatedHouse(seed, declared, model, **settings) as house:
                talk.house = house
                converse(house, random.Random(seed), 8)
                house.settle()
                for name in NAMES:
                    assert broken_prefixes(model, name) == [], (seed, settings, name)
                assert talk.differences == [], (seed, settings)
                assert talk.compared >= len(model.requests)
                assert house.turns() == []
                assert house.pending() == []
                together += overlapped(house)
    assert together > len(seeds), "the turns of the two hardly ever met; the test shows nothing"


HIDDEN: tuple[tuple[str, dict[str, Any]], ...] = (
    ("held", {"tuneOut": {"epochId": "e1"}}),
    ("injected for bob", {"kind": "injection", "agent": "bob", "namespace": "notes"}),
    ("for bob alone", {"system": True, "kind": "routing-notice", "for": "bob"}),
)


def test_a_boundary_hands_over_what_the_view_keeps(seeds: list[int]) -> None:
    """[agents 2.7] [agents 2.2] A live round hears what the next compile shows: nothing held, nothing another's."""
    for seed in seeds:
        for settings in variations():
            model = Scripted(otherwise="so")
            model.then([call("look", place="sea", minutes=1.0)], agent="ada")
            declared = [Resident(name, "m", tools=[look]) for name in NAMES]
            with SimulatedHouse(seed, declared, model, **settings) as house:
                house.insist(house.message("ada: look", to="ada"))
                house.run(until=lambda: len(model.requests) == 1)  # noqa: B023
                house.simulation.faults.off()
                for number, (words, metadata) in enumerate(HIDDEN):
                    row = Row(f"x{number}", "user", (Text(words),), metadata)
                    house.simulation.tell(room_address(ROOM), Offer(row, 10))
                house.insist(house.message("by the way", "#b"))
                house.settle()
                house.insist(house.message("ada: again", to="ada"))
                house.settle()
                live, fresh = (request_texts(request) for request in model.requests_of("ada")[-2:])
                assert any("by the way" in text for text in live), (seed, settings)
                assert fresh[: len(live)] == live, (seed, settings)
                house.insist(house.message("bob: and you?", to="bob"))
                house.settle()
                by_bob = request_texts(model.requests_of("bob")[-1])
                for words, _ in HIDDEN:
                    assert not any(words in text for text in fresh), (seed, settings, words)
                    assert any(words in text for text in by_bob) == ("bob" in words), (seed, settings, words)
