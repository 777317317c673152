"""What follows a request that fails, through a whole house: sends counted, waits, holds, exhaustion and its alert."""

import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest

from manyminds.actors.faults import Faults
from manyminds.actors.providers.scripted import Scripted, fail
from manyminds.actors.spec import Resident
from manyminds.messages.blocks import text_of
from manyminds.messages.mail import provider_address
from manyminds.messages.request import ErrorRecord, Event, Request
from tests.actors.simulated import SimulatedHouse, request_texts, variations

# No stream is cut: sends are counted. No kill of an agent either, since a turn that is resumed sends again.
SURE = Faults(commit_refused=0.03, map_full=0.01, parked=0.2)
BAD = ErrorRecord("invalid_request", "no such field", http_status=400)
BUSY = ErrorRecord("server", "boom", True, http_status=500)
LONG = ErrorRecord("context_length", "the context is too long", http_status=400)
STATED = ErrorRecord("rate_limit", "slow down", True, 2.0, 429)
HOLD = ErrorRecord("rate_limit", "this would exceed your organization's acceleration limit", True, http_status=429)


class Timed(Scripted):
    """A scripted model that writes down when each request came."""

    def __init__(self, *replies: Any, **options: Any) -> None:
        super().__init__(*replies, **options)
        self.house: SimulatedHouse | None = None
        self.times: list[tuple[float, str]] = []

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        """Play one round."""
        assert self.house is not None
        self.times.append((self.house.simulation.clock.now(), request.agent))
        async for event in super().stream(request):
            yield event

    def gaps(self, agent: str = "ada") -> list[float]:
        """Seconds between the agent's requests."""
        mine = [at for at, who in self.times if who == agent]
        return [round(later - earlier, 3) for earlier, later in itertools.pairwise(mine)]


def town(seed: int, model: Timed, *names: str, **options: Any) -> SimulatedHouse:
    """A house of these residents."""
    house = SimulatedHouse(seed, [Resident(name, "m") for name in names or ("ada",)], model, **options)
    model.house = house
    return house


def asked(house: SimulatedHouse, text: str = "hm?", channel: str = "#a", to: str = "ada") -> None:
    """One message, and everything that follows."""
    house.insist(house.message(text, channel, to=to))
    house.run()


def operator_lines(house: SimulatedHouse, kind: str) -> int:
    """How many operator lines of a kind there were."""
    return sum(fields["kind"] == kind for fields in house.traced("operator"))


@pytest.mark.parametrize("error", [BAD, LONG, ErrorRecord("auth", "no key", http_status=401)])
def test_what_cannot_pass_is_sent_once(seeds: list[int], error: ErrorRecord) -> None:
    """[agents 6.1 of its invariants] Not retryable: exactly one send; the agent is told, the wake is settled."""
    for seed in seeds:
        for setting in variations(SURE):
            model = Timed(fail(error), otherwise="never")
            with town(seed, model, **setting) as house:
                asked(house)
                house.finish()
                assert len(model.times) == 1
                [notice] = house.notices("inference-failed")
                assert error.text in text_of(notice.content)
                assert (house.turns(), house.pending(), house.platform.posts) == ([], [], [])


def test_what_may_pass_is_sent_four_times(seeds: list[int]) -> None:
    """[agents 6.1 of its invariants] Retryable: 1+3 sends, 1, 2 and 4 s apart; then exhausted."""
    for seed in seeds:
        for setting in variations(SURE):
            model = Timed(*[fail(BUSY)] * 4, otherwise="never")
            with town(seed, model, **setting) as house:
                asked(house)
                house.finish()
                assert model.gaps() == [1.0, 2.0, 4.0]
                assert len(house.notices("inference-failed")) == 1
                assert len(house.traced("inference:exhausted")) == 1


def test_a_retry_that_succeeds_leaves_no_trace_in_the_history(seeds: list[int]) -> None:
    """[agents 6.1] The same logical turn with the same trigger: one turn, the same request, no notice."""
    for seed in seeds:
        for setting in variations(SURE):
            model = Timed(fail(BUSY), fail(BUSY), "well")
            with town(seed, model, **setting) as house:
                asked(house)
                house.finish()
                assert model.gaps() == [1.0, 2.0]
                assert len({tuple(request_texts(request)) for request in model.requests}) == 1
                assert house.last_turn("ada") == 1
                assert house.platform.texts() == ["well"]
                assert house.notices("inference-failed") == []


def test_a_stated_wait_is_kept_by_all_of_the_provider(seeds: list[int]) -> None:
    """[S17; agents 6.1] 429 with retry-after 2 s: exactly one retry at 2 s or later; the other agents wait as well."""
    for seed in seeds:
        for setting in variations(SURE):
            model = Timed().then(fail(STATED), "well", agent="ada").then("me too", agent="bob")
            with town(seed, model, "ada", "bob", **setting) as house:
                house.insist(house.message("ada?", to="ada"))
                house.run(lambda: bool(house.traced("provider:cooldown")))
                over = house.simulation.clock.now() + 2.0
                house.insist(house.message("bob?", "#b", to="bob"))
                house.finish()
                assert [who for _, who in model.times].count("ada") == 2
                assert all(at >= over for at, _ in model.times[1:])
                assert len(model.times) == 3
                assert sorted(house.platform.texts()) == ["me too", "well"]
                steps = [line for line in house.simulation.trace_log if "provider" in line]
                assert len(steps) < 40, "a busy loop"


def test_a_cooldown_is_of_one_provider_only() -> None:
    """[agents 6.1] An agent of another provider does not wait."""
    slow, quick = Timed(fail(STATED), "well", name="slow"), Timed("at once", name="quick")
    residents = [Resident("ada", "m"), Resident("bob", "m", provider=quick)]
    with SimulatedHouse(1, residents, slow) as house:
        slow.house = quick.house = house
        began = house.simulation.clock.now()
        house.say("both?", mentions=("ada", "bob"))
        house.run()
        assert quick.times == [(began, "bob")]
        assert slow.gaps() == [2.0]


def test_a_hold_is_no_failure(seeds: list[int]) -> None:
    """[agents 6.2 of its invariants] No notice, no streak; on release what came meanwhile is one compile a channel."""
    for seed in seeds:
        for setting in variations(SURE):
            model = Timed(fail(HOLD), fail(HOLD), otherwise="well")
            with town(seed, model, **setting) as house:
                house.insist(house.message("first", to="ada"))
                house.run(lambda: bool(house.traced("provider:cooldown")))
                for number in range(3):
                    house.insist(house.message(f"a{number}", to="ada"))
                    house.insist(house.message(f"b{number}", "#b", to="ada"))
                house.finish()
                assert all(65.0 <= gap <= 70.1 for gap in model.gaps()[:2])
                assert house.notices("inference-failed") == []
                assert house.traced("inference:exhausted") == []
                # The turn that was held, and one for each channel that was asked in meanwhile.
                assert house.last_turn("ada") == 3
                assert len(model.times) == 2 + 3
                assert sorted(house.platform.texts("#a")) == ["well"] * 2
                assert house.platform.texts("#b") == ["well"]


def test_held_wakes_of_an_idle_agent_merge(seeds: list[int]) -> None:
    """[agents 6.2 of its invariants, 19.8] Wakes of an agent that another's hold keeps: one compile per channel."""
    for seed in seeds:
        for setting in variations(SURE):
            model = Timed().then(fail(HOLD), "well", agent="ada").always("yes", agent="bob")
            with town(seed, model, "ada", "bob", **setting) as house:
                house.insist(house.message("first", to="ada"))
                house.run(lambda: bool(house.traced("provider:cooldown")))
                for number in range(3):
                    for channel in ("#b", "#c"):
                        house.insist(house.message(f"{channel}{number}", channel, to="bob"))
                house.finish()
                assert [who for _, who in model.times].count("bob") == 2
                assert sorted(post.channel for post in house.platform.posts) == ["#a", "#b", "#c"]
                assert house.pending() == []


def test_a_killed_gate_forgets_nobody(seeds: list[int]) -> None:
    """[design, "Every actor can be rebuilt"] Whoever waits for admission is admitted, though the gate was rebuilt."""
    for seed in seeds:
        for setting in variations(Faults(killed=0.02, parked=0.3)):
            model = Timed().always("yes", agent="bob")
            with town(seed, model, "ada", "bob", **setting) as house:

                def cooling() -> bool:
                    return bool(house.traced("provider:cooldown"))

                model.always(lambda _: "well" if cooling() else fail(STATED), agent="ada")
                house.insist(house.message("ada?", to="ada"))
                house.run(cooling)
                over = house.simulation.clock.now() + 2.0
                house.insist(house.message("bob?", "#b", to="bob"))
                house.simulation.settle()
                house.simulation.kill(provider_address("scripted"))
                house.finish()
                assert (house.turns(), house.pending()) == ([], [])
                if "faults" not in setting:
                    assert all(at >= over for at, who in model.times if who == "bob")


def test_the_context_is_too_long_three_times(seeds: list[int]) -> None:
    """[S16] The history grows by the notices alone; one hard-down alert; others run; later it is answered again."""
    for seed in seeds:
        for setting in variations(SURE):
            model = Timed().then(*[fail(LONG)] * 3, "well again", agent="ada").always("fine", agent="bob")
            with town(seed, model, "ada", "bob", **setting) as house:
                for number in range(3):
                    asked(house, f"q{number}")
                    house.run()
                said = [text_of(row.content) for row in house.log() if row.participant == "zoe"]
                assert said == ["q0", "q1", "q2"]
                kinds = [row.metadata.get("kind") for row in house.log() if row.participant != "zoe"]
                assert kinds == ["inference-failed"] * 3
                assert [row.metadata["consecutive"] for row in house.notices("inference-failed")] == [1, 2, 3]
                assert operator_lines(house, "hard-down") == 1
                asked(house, "bob?", "#b", "bob")
                asked(house, "and now?")
                house.finish()
                assert house.platform.texts("#b") == ["fine"]
                assert house.platform.texts("#a") == ["well again"]
                assert operator_lines(house, "hard-down") == 1


def test_the_streak_ends_with_a_turn_that_completes() -> None:
    """[agents 6.2] Consecutive means consecutive: a completed turn between sets it back, also over a restart."""
    with town(1, Timed(fail(BAD), fail(BAD), "well", fail(BAD))) as house:
        for number in range(4):
            asked(house, f"q{number}")
            house.crash()
            house.run()
        assert [row.metadata["consecutive"] for row in house.notices("inference-failed")] == [1, 2, 1]
        assert operator_lines(house, "hard-down") == 0


def test_the_reason_in_a_notice_is_bounded() -> None:
    """[agents 6.2] Text bounded, no wake."""
    with town(1, Timed(fail(ErrorRecord("invalid_request", "x" * 5000)))) as house:
        asked(house)
        [notice] = house.notices("inference-failed")
        assert len(text_of(notice.content)) < 1000
        assert house.last_turn("ada") == 1
