"""A message becomes a turn becomes words: the whole way, under every seed."""

from manyminds.actors.providers.scripted import Scripted, call
from manyminds.actors.spec import Resident
from tests.actors.simulated import SimulatedHouse, request_texts


def weather(city: str) -> str:
    """The weather.

    Args:
        city: Where.
    """
    return f"sunny in {city}"


def test_a_mention_is_answered_through_a_tool(seeds: list[int]) -> None:
    """[design, the way of a message] One mention: one turn, one tool call, one post, one receipt."""
    for seed in seeds:
        model = Scripted(call("weather", city="Riga"), "It is sunny.")
        with SimulatedHouse(seed, [Resident("ada", "m", tools=[weather])], model) as house:
            accepted = house.say("ada: how is the weather?", to="ada")
            house.run()

            assert accepted.woken == ("ada",)
            assert house.platform.texts("#a") == ["It is sunny."]
            assert house.turns() == []
            assert house.pending() == []
            assert [row.participant for row in house.log()] == ["zoe", "ada", "ada", "ada", "user"]
            assert len(house.notices("delivery-receipt")) == 1
            assert request_texts(model.requests[0]) == ["zoe: ada: how is the weather?"]


def test_it_survives_parking_and_faults(seeds: list[int]) -> None:
    """[design, "How actors run"] Parked at a third and with commits refused, the outcome is the same."""
    from manyminds.actors.faults import Faults

    for seed in seeds:
        model = Scripted(otherwise="yes")
        faults = Faults(commit_refused=0.05, map_full=0.02, parked=0.2)
        with SimulatedHouse(seed, [Resident("ada", "m")], model, park_rate=0.33, faults=faults) as house:
            for number in range(5):
                house.simulation.faults.off()
                house.say(f"ada: {number}", to="ada")
            house.run()
            assert house.turns() == []
            assert house.pending() == []
            assert house.platform.texts("#a") != []
