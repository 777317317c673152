"""Residents of one room: who is primary, who is woken, who reads what, and what a start does to their records."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from manyminds.actors.house import ROOM
from manyminds.actors.providers.replies import Reply
from manyminds.actors.providers.scripted import Scripted
from manyminds.actors.runtime import Runtime
from manyminds.actors.spec import Resident
from manyminds.messages.assembly import CONTINUE
from manyminds.messages.blocks import text_of
from manyminds.messages.errors import InvalidSetting
from manyminds.messages.mail import DIRECTORY, Answer, Enlist, Refused
from manyminds.messages.registry import AgentRecord
from manyminds.messages.wakes import Wake
from manyminds.storage import registry, wakes
from tests.actors.simulated import SimulatedHouse, request_texts, variations

ADA, BOB, EVE = (Resident(name, "m") for name in ("ada", "bob", "eve"))


def agents(house: SimulatedHouse) -> dict[str, AgentRecord]:
    """The agents that live, by the store."""
    with house.simulation.store.snapshot() as snap:
        return {record.name: record for record in registry.agents(snap)}


def primary(house: SimulatedHouse) -> list[str]:
    """Who has default delivery."""
    return [name for name, record in agents(house).items() if record.roles.default_delivery]


def restart(house: SimulatedHouse, residents: list[Resident], model: Scripted, **options: Any) -> None:
    """The process ends and is started again with other residents."""
    house.declare(residents, model)
    house.crash()


def test_the_first_resident_alone_has_default_delivery(seeds: list[int]) -> None:
    """[agents 1.1] [agents 1.2] Exactly one, the first declared, also after a start that names them otherwise."""
    for seed in seeds:
        for settings in variations():
            model = Scripted(otherwise="yes")
            with SimulatedHouse(seed, [ADA, BOB, EVE], model, **settings) as house:
                assert primary(house) == ["ada"]
                restart(house, [BOB, EVE, ADA], model)
                assert primary(house) == ["bob"]
                restart(house, [EVE, ADA], model)
                assert primary(house) == ["eve"]
                assert list(agents(house)) == ["ada", "eve"]


def test_a_second_default_delivery_is_refused(seeds: list[int]) -> None:
    """[agents 1.1] A second registration with default delivery is refused and leaves nothing registered."""
    for seed in seeds:
        for settings in variations():
            with SimulatedHouse(seed, [ADA, BOB], Scripted(otherwise="yes"), **settings) as house:
                before = agents(house)
                eve = replace(before["ada"], name="eve", incarnation=1)
                ops = (registry.put_agent(eve), registry.set_incarnation("eve", 1))
                answer = house.simulation.ask(DIRECTORY, lambda reply: Enlist((eve,), ops, reply), 5.0)  # noqa: B023
                assert isinstance(answer, Refused), (seed, settings)
                assert "default delivery" in answer.error
                assert agents(house) == before
                assert house.insist(house.message("eve: there?", to="eve")).woken == ()
                second = replace(eve, roles=before["bob"].roles)
                while not isinstance(answer, Answer):  # the store may refuse it for a while
                    ops = (registry.put_agent(second), registry.set_incarnation("eve", 1))
                    answer = house.simulation.ask(
                        DIRECTORY, lambda reply: Enlist((second,), ops, reply), 5.0  # noqa: B023
                    )
                assert primary(house) == ["ada"]


@pytest.mark.parametrize(
    ("residents", "words"),
    [
        ([ADA, ADA], "two residents are named 'ada'"),
        ([Resident("", "m")], "must not be empty"),
        ([], "at least one Resident"),
        ([ADA, Resident("bob", "")], "model"),
    ],
)
def test_a_refused_declaration_opens_nothing(residents: list[Resident], words: str, tmp_path: Any) -> None:
    """[agents 1.1] A name twice, an empty name, nobody, no model: refused before anything is there."""
    folder = tmp_path / "house"
    with pytest.raises(InvalidSetting, match=words):
        Runtime.open(folder, residents, Scripted())
    assert not folder.exists()


def test_a_message_that_names_nobody_wakes_all_residents(seeds: list[int]) -> None:
    """[agents 1.4] Each has one turn, which hears it; nothing remains queued for anybody."""
    for seed in seeds:
        for settings in variations():
            model = Scripted(otherwise="yes")
            with SimulatedHouse(seed, [ADA, BOB, EVE], model, wake_on="all", **settings) as house:
                assert house.insist(house.message("good morning")).woken == ("ada", "bob", "eve")
                house.settle()
                for name in ("ada", "bob", "eve"):
                    assert house.last_turn(name) == 1, (seed, settings, name)
                    assert "zoe: good morning" in request_texts(model.requests_of(name)[0])
                assert house.pending() == []
                assert len(house.platform.posts) == 3


def test_the_next_incarnation_of_one_identity(seeds: list[int]) -> None:
    """[agents 1.8] A start: incarnation + 1, the same createdAt and message peers, whoever crashed."""
    for seed in seeds:
        for settings in variations():
            model = Scripted(otherwise="yes")
            with SimulatedHouse(seed, [ADA, BOB], model, **settings) as house:
                created = {name: record.created_at for name, record in agents(house).items()}
                known = replace(agents(house)["ada"], message_peers=("bob",))
                house.write(registry.put_agent(known))
                for starts in range(2, 5):
                    house.simulation.advance(100.0)
                    house.insist(house.message("ada: hello", to="ada"))
                    house.crash()
                    for name, record in agents(house).items():
                        assert record.incarnation == starts, (seed, settings, name)
                        assert record.created_at == created[name]
                    assert agents(house)["ada"].message_peers == ("bob",)
                house.settle()
                assert len(set(created.values())) == 1


def test_an_agent_that_is_no_longer_declared_is_not_woken(seeds: list[int]) -> None:
    """[agents 1.1] [agents 1.2] Its record has ended; nothing names it any more, and the others go on."""
    for seed in seeds:
        for settings in variations():
            model = Scripted(otherwise="yes")
            with SimulatedHouse(seed, [ADA, BOB], model, wake_on="all", **settings) as house:
                house.insist(house.message("hello"))
                house.settle()
                restart(house, [ADA], model)
                assert house.insist(house.message("bob: still there?", to="bob")).woken == ("ada",)
                house.settle()
                assert house.last_turn("bob") == 1
                assert house.last_turn("ada") == 2
                with house.simulation.store.snapshot() as snap:
                    ended = list(registry.ended_agents(snap))
                assert [(record.name, record.ended_reason) for record in ended] == [("bob", "not-configured")]
                assert house.waiting() == []
                assert house.pending() == []


def test_an_agent_that_is_gone_holds_nobody_up(seeds: list[int]) -> None:
    """[agents 1.2] [design, "inbox"] Its cut turn and its wakes wait for it; what others hear goes on into the log."""
    for seed in seeds:
        for settings in variations():
            model = Scripted(otherwise="yes")
            model.always(Reply(hangs=True), when="first", agent="bob")
            with SimulatedHouse(seed, [ADA, BOB], model, **settings) as house:
                house.insist(house.message("bob: first", to="bob"))
                house.run(until=lambda: bool(model.requests))  # noqa: B023
                house.insist(house.message("bob: second", to="bob"))
                restart(house, [ADA], model)
                house.insist(house.message("by the way"))
                house.settle()
                assert house.waiting() == [], (seed, settings)
                assert house.texts() == ["bob: first", "bob: second", "by the way"]
                model.always("back", agent="bob", when="by the way")
                restart(house, [ADA, BOB], model)
                house.simulation.advance(1.0)
                house.cancel("bob")
                house.settle()
                assert house.turns() == [], (seed, settings)
                assert house.pending() == [], (seed, settings)


def test_one_is_woken_and_both_read(seeds: list[int]) -> None:
    """[agents 2.1] A row for bob wakes bob alone, and stands in ada's next request."""
    for seed in seeds:
        for settings in variations():
            model = Scripted(otherwise="yes")
            with SimulatedHouse(seed, [ADA, BOB], model, **settings) as house:
                assert house.insist(house.message("bob: the key is 7", to="bob")).woken == ("bob",)
                house.simulation.faults.off()
                house.run()
                assert model.requests_of("ada") == ()
                assert house.insist(house.message("ada: which key?", to="ada")).woken == ("ada",)
                house.settle()
                heard = request_texts(model.requests_of("ada")[-1])
                assert heard[0] == "zoe: bob: the key is 7"
                assert heard[-1] == "zoe: ada: which key?"
                assert "bob: yes" in heard
                assert house.last_turn("ada") == house.last_turn("bob") == 1


def test_a_request_does_not_end_on_the_own_turn(seeds: list[int]) -> None:
    """[agents 2.8] [agents 2.4] Woken without a message after its own words: `[Continue]` comes last, and stays there.

    The row that answered it is stamped, so later requests show the same turn at the same place.
    """
    for seed in seeds:
        for settings in variations():
            model = Scripted(otherwise="so")
            with SimulatedHouse(seed, [ADA, BOB], model, **settings) as house:
                house.insist(house.message("ada: hello", to="ada"))
                house.settle()
                for number in (7001, 7002, 7003):
                    house.write(wakes.put(ROOM, Wake(number, "ada", "script:wake", 1.0, suppress_prose=True)))
                    house.crash()
                    house.run()
                house.insist(house.message("ada: well?", to="ada"))
                house.settle()
                requests = model.requests_of("ada")
                for before, after in pairwise(requests):
                    assert after.messages[: len(before.messages)] == before.messages, (seed, settings)
                ends = [request_texts(request)[-1] for request in requests]
                assert ends[0] == "zoe: ada: hello"
                assert ends[1].startswith("[delivered]")
                assert ends[2:] == [CONTINUE, CONTINUE, "zoe: ada: well?"], (seed, settings)


def test_nobody_speaks_in_a_residents_voice(seeds: list[int]) -> None:
    """[agents 2.3] [agents 2.5] A person with a resident's name, or a former one, is another participant."""
    for seed in seeds:
        for settings in variations():
            model = Scripted(otherwise="yes")
            ada = Resident("ada", "m", self_participants=("adele",))
            with SimulatedHouse(seed, [ada, BOB], model, **settings) as house:
                for author in ("ada", "adele", "Bob"):
                    house.insist(house.message("ada: you promised me the key", author=author, to="ada"))
                house.settle()
                request = model.requests_of("ada")[-1]
                theirs = [m for m in request.messages if "promised" in text_of(m.content)]
                assert {m.role for m in theirs} == {"user"}, (seed, settings)
                heard = " | ".join(request_texts(request))
                for plain in ("ada: ada:", "adele: ada:", "Bob: ada:"):
                    assert plain not in heard
