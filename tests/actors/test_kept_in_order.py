"""What was accepted is kept once and in order, and heard once, whatever dies: crashes at any step, faults all along."""

import asyncio
import random
import re
from collections import Counter

from manyminds.actors.faults import Faults
from manyminds.actors.providers.scripted import Answer, Scripted, call, newest_results, newest_text
from manyminds.actors.spec import Resident
from manyminds.actors.tools import ToolContext
from manyminds.messages.blocks import ToolCall, ToolResult, text_of
from manyminds.messages.request import Request
from manyminds.messages.rows import Row
from tests.actors.simulated import SimulatedHouse, variations

NAMES = ("ada", "bob")
ROUGH = Faults(commit_refused=0.1, map_full=0.02, killed=0.02, parked=0.1)


class Town:
    """Two residents with a tool that writes down each call, and a host that numbers its messages."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(f"{seed}/town")
        self.ran: list[str] = []
        self.model = Scripted(otherwise=self.answer)
        self.accepted: list[str] = []

    async def look(self, minutes: float, context: ToolContext) -> str:
        """Look around."""
        self.ran.append(context.call_id)
        await asyncio.sleep(minutes)
        return "nothing"

    def answer(self, request: Request) -> Answer:
        """Look around at what is new, then quote its numbers."""
        if newest_results(request) and self.draw.random() < 0.7:
            return f"{request.agent} is done"
        numbers = " ".join(re.findall(r"n\d+", newest_text(request)))
        if self.draw.random() < 0.2:
            return f"{request.agent}: {numbers}"
        return [f"{request.agent}: {numbers}", *(call("look", minutes=m) for m in self.draw.sample([0.0, 0.5, 7.0], 2))]

    def residents(self) -> list[Resident]:
        """Both."""
        return [Resident(name, "m", tools=[self.look]) for name in NAMES]

    def hand_in(self, house: SimulatedHouse) -> None:
        """One message, to anybody or nobody."""
        number = f"n{len(self.accepted) + 1}"
        to = self.draw.choice([*NAMES, *NAMES, None])
        house.insist(house.message(number, self.draw.choice(["#a", "#b"]), to=to, id=number))
        self.accepted.append(number)


def check_log(house: SimulatedHouse, town: Town) -> None:
    """[agents 4.4] Everything accepted is in log or inbox, once, in the order in which it was accepted."""
    kept = [text_of(row.content) for row in (*house.log(), *house.waiting()) if row.participant == "zoe"]
    assert kept == town.accepted


def check_pairs(rows: list[Row]) -> None:
    """[agents 5.1] Results stand right behind their calls, one each."""
    for index, row in enumerate(rows):
        calls = [b.id for b in row.content if isinstance(b, ToolCall)]
        if calls:
            answers = [b.call_id for b in rows[index + 1].content if isinstance(b, ToolResult)]
            assert answers == calls
    counted = Counter(b.call_id for row in rows for b in row.content if isinstance(b, ToolResult))
    assert all(count == 1 for count in counted.values())


def check_turns(house: SimulatedHouse, town: Town) -> None:
    """[agents 5.3] One terminal for each turn, no turn that ended goes on, no call ran twice."""
    assert house.turns() == []
    assert house.pending() == []
    assert max(Counter(town.ran).values(), default=0) <= 1
    seen: dict[str, int] = {}
    for row in house.log():
        if row.turn is not None:
            assert row.turn >= seen.get(row.participant, 0), f"turn {row.turn} of {row.participant} spoke after its end"
            seen[row.participant] = row.turn
    ids = Counter(row.id for row in house.log())
    assert [row_id for row_id, count in ids.items() if count > 1] == []


def test_nothing_is_lost_or_moved(seeds: list[int]) -> None:
    """[agents 4.4, 4.10, 5.1] Crashes at any step under rough faults: once each, in order, calls with their results."""
    for seed in seeds:
        for setting in variations(ROUGH):
            town = Town(seed)
            with SimulatedHouse(seed, town.residents(), town.model, **setting) as house:
                for _ in range(6):
                    for _ in range(town.draw.randrange(4)):
                        town.hand_in(house)
                    for _ in range(town.draw.randrange(60)):
                        house.simulation.step()
                    if town.draw.random() < 0.4:
                        house.crash()
                        check_log(house, town)
                house.settle()
                check_log(house, town)
                check_pairs(house.log())
                check_turns(house, town)
