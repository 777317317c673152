"""What an agent is told of its prose mode, and the help it can ask for (prose 12)."""

from typing import Any

import pytest

from manyminds.actors.faults import Faults
from manyminds.actors.providers.scripted import Scripted, call, newest_results
from manyminds.actors.spec import Resident
from manyminds.messages.blocks import text_of
from manyminds.messages.prose_notices import PROSE_HELP
from manyminds.messages.registry import ProseMode
from manyminds.storage import registry
from tests.actors.simulated import SimulatedHouse, variations

ROUGH = Faults(commit_refused=0.1, map_full=0.02, killed=0.04, parked=0.2)


def notices(house: SimulatedHouse) -> list[str]:
    """The mode notices, in order."""
    return [text_of(row.content) for row in house.notices("prose-routing-primer")]


def turn_in(house: SimulatedHouse, mode: ProseMode, model: Scripted) -> None:
    """Start anew with this mode, and have one turn."""
    house.declare([Resident("ada", "m", prose=mode)], model)
    house.crash()
    house.insist(house.message("ada?", to="ada"))
    house.finish()


def test_each_change_is_announced_once(seeds: list[int]) -> None:
    """[prose 12] Explicit, hybrid and the way back to locus have a notice each; disabled is recorded without a word."""
    for seed in seeds:
        for setting in variations(ROUGH):
            model = Scripted(otherwise=call("skip_reply"))
            with SimulatedHouse(seed, [Resident("ada", "m")], model, **setting) as house:
                modes: list[ProseMode] = [
                    "locus", "explicit", "explicit", "hybrid", "hybrid", "disabled", "disabled", "locus", "locus",
                ]
                for mode in modes:
                    turn_in(house, mode, model)
                first, second, third = notices(house)
                assert ">>#" in first
                assert ">>>" not in first
                assert "prose_help" in first
                assert ">>>#" in second
                assert "only the words after it" in second
                assert "by itself again" in third


def test_default_locus_stores_and_says_nothing() -> None:
    """[prose 12] Never anything else: nothing is stored, nothing is said."""
    with SimulatedHouse(1, [Resident("ada", "m")], Scripted(otherwise="hello")) as house:
        house.say("ada?", to="ada")
        house.run()
        with house.simulation.store.snapshot() as snap:
            assert registry.setting(snap, "mode:ada") is None
        assert notices(house) == []


@pytest.mark.parametrize("mode", ["locus", "hybrid", "disabled"])
def test_help_is_there_in_explicit_alone(mode: ProseMode) -> None:
    """[prose 2, 12] No other mode has the tool; a call of it is answered by the tools that there are."""
    model = Scripted(call("prose_help"), otherwise=call("skip_reply"))
    with SimulatedHouse(1, [Resident("ada", "m", prose=mode)], model) as house:
        house.say("ada?", to="ada")
        house.run()
        assert all(tool.name != "prose_help" for tool in model.requests[0].tools)
        [result] = newest_results(model.requests[1])
        assert result.is_error
        assert "no tool 'prose_help'" in text_of(result.content)


def test_help_is_an_ordinary_result(seeds: list[int]) -> None:
    """[prose 12] The syntax as a tool result; the turn goes on, and its next words are posted; no prompt teaches it."""
    for seed in seeds:
        model = Scripted(call("prose_help"), ">>#a as it says", otherwise=call("skip_reply"))
        ada = Resident("ada", "m", prose="explicit", system="You are ada.")
        with SimulatedHouse(seed, [ada], model) as house:
            house.say("ada?", to="ada")
            house.run()
            [result] = newest_results(model.requests[1])
            assert (text_of(result.content), result.is_error) == (PROSE_HELP, False)
            assert house.platform.texts("#a") == ["as it says"]
            assert house.last_turn("ada") == 1
            assert all(">>" not in str(request.system) for request in model.requests)


def test_help_says_what_the_grammar_does() -> None:
    """[prose 4.1, 12] Each form that the help shows is read as the help says."""
    from manyminds.messages.prose.grammar import envelopes

    shown: dict[str, Any] = {}
    for line in PROSE_HELP.splitlines():
        if line.startswith("  >>"):
            form = line.strip().split("   ")[0]
            [envelope] = envelopes("explicit", form)
            shown[form] = (envelope.target, envelope.body, envelope.mark, envelope.private)
    assert shown == {
        ">>#channel words": ("#channel", "words", False, False),
        ">>@name words": ("@name", "words", False, False),
        ">>#channel ! words": ("#channel", "words", True, False),
        ">>skip_reply words": ("skip_reply", "words", False, True),
        ">>#channel {{unsent}}": ("#channel", "{{unsent}}", False, False),
        ">>skip_reply {{unsent}}": ("skip_reply", "{{unsent}}", False, True),
    }
