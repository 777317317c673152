"""The gate of one provider: who is admitted when, by the host's limits, the provider's word and cooldowns."""

import itertools
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pytest

from manyminds.actors.dispatcher import Actor, handles
from manyminds.actors.provider_gate import ProviderGate
from manyminds.actors.providers.scripted import ABLE, Scripted, call, fail, say
from manyminds.actors.simulation import Simulation
from manyminds.actors.spec import Resident
from manyminds.messages.address import Address
from manyminds.messages.mail import (
    Admit,
    Admitted,
    Answer,
    AskState,
    Cooldown,
    GiveBack,
    Metered,
    WakeHint,
    agent_address,
    provider_address,
)
from manyminds.messages.request import ErrorRecord, Event, Limit, Limits, Request, Started, Usage
from tests.actors.mails import simulation
from tests.actors.simulated import SimulatedHouse

GATE = provider_address("p")
NAMES = ("ada", "bob", "cyd", "dan")
STATED = ErrorRecord("rate_limit", "slow down", True, 2.0, 429)


def requests(per_minute: int, left: int | None = None) -> Limits:
    """A limit of requests."""
    return Limits(Limit(per_minute, per_minute if left is None else left))


def tokens(per_minute: int, left: int | None = None) -> Limits:
    """A limit of tokens."""
    return Limits(None, Limit(per_minute, per_minute if left is None else left))


class Gate:
    """A gate alone in a simulation; `times`: (seconds since the start, key) of each admission."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.times: list[tuple[float, int]] = []
        begin, times = sim.clock.now(), self.times

        class Asking(Actor):
            """Whoever asked; it writes down when it was admitted."""

            @handles(Admitted)
            def admitted(self, mail: Admitted) -> None:
                """Keep it."""
                times.append((round(self.system.clock.now() - begin, 2), mail.key))

        sim.register("asking", Asking)
        sim.register("provider", ProviderGate)

    def ask(self, key: int, tokens: int = 0, own: Limits | None = None, agent: str = "") -> None:
        """Ask for admission, as an agent of its own unless one is named."""
        self.sim.tell(GATE, Admit(Address("asking", agent or f"a{key}"), key, tokens, own))

    def tell(self, mail: object) -> None:
        """Tell the gate."""
        self.sim.tell(GATE, mail)

    def admitted(self) -> list[tuple[float, int]]:
        """Let everything happen; who was admitted when. Of those of one moment the first key comes first."""
        self.sim.run()
        return sorted(self.times)

    def state(self) -> dict[str, Any]:
        """What the gate says of itself."""
        answer = self.sim.ask(GATE, AskState, 5.0)
        assert isinstance(answer, Answer)
        return dict(answer.value)


@pytest.fixture(params=[0.0, 1 / 3])
def gates(request: pytest.FixtureRequest, seeds: list[int]) -> Iterator[Gate]:
    """A gate for each seed, left alone, or parked now and then."""

    def each() -> Iterator[Gate]:
        for seed in seeds:
            with simulation(seed, park_rate=request.param) as sim:
                yield Gate(sim)

    return each()


def test_without_limits_everybody_is_admitted_at_once(gates: Iterator[Gate]) -> None:
    """[agents 6.1] In the order in which they asked."""
    for gate in gates:
        for key in range(1, 6):
            gate.ask(key)
        assert gate.admitted() == [(0.0, key) for key in range(1, 6)]


def test_requests_a_minute_are_shared(gates: Iterator[Gate]) -> None:
    """[agents 6.1] Two a minute: two at once, then one every half minute, in order, nobody twice."""
    for gate in gates:
        for key in range(1, 6):
            gate.ask(key, own=requests(2))
        assert gate.admitted() == [(0.0, 1), (0.0, 2), (30.0, 3), (60.0, 4), (90.0, 5)]


def test_tokens_a_minute_are_shared(gates: Iterator[Gate]) -> None:
    """[agents 6.1] 600 a minute is ten a second; a small request does not pass a large one that came before it."""
    for gate in gates:
        for key, cost in ((1, 400), (2, 500), (3, 1)):
            gate.ask(key, cost, tokens(600))
        assert gate.admitted() == [(0.0, 1), (30.0, 2), (30.1, 3)]


def test_a_request_larger_than_the_limit_waits_for_a_full_bucket(gates: Iterator[Gate]) -> None:
    """[agents 6.1] It could never be covered; it goes when nothing is missing, and the next one pays for it."""
    for gate in gates:
        gate.ask(1, 300, tokens(600))
        gate.ask(2, 900)
        gate.ask(3, 100)
        assert gate.admitted() == [(0.0, 1), (30.0, 2), (70.0, 3)]


def test_what_was_used_beyond_the_estimate_is_owed(gates: Iterator[Gate]) -> None:
    """[agents 6.1] The count after the answer corrects the estimate that admission went by."""
    for gate in gates:
        gate.ask(1, 0, tokens(600))
        gate.tell(Metered(beyond=900))
        gate.ask(2, 100)
        assert gate.admitted() == [(0.0, 1), (40.0, 2)]


def test_the_answers_head_is_believed(gates: Iterator[Gate]) -> None:
    """[agents 6.1] What is left by the provider's word, and its limit; the own count is left alone then."""
    for gate in gates:
        gate.ask(1)
        gate.tell(Metered(Limits(Limit(60, 0), Limit(600, 100))))
        gate.tell(Metered(beyond=10_000))
        gate.ask(2, 100)
        gate.ask(3, 0)
        assert gate.admitted() == [(0.0, 1), (1.0, 2), (2.0, 3)]


def test_the_hosts_limit_caps_what_the_provider_allows(gates: Iterator[Gate]) -> None:
    """[agents 6.1] The tighter one of the two counts, whichever it is."""
    for gate in gates:
        gate.ask(1, own=requests(2))
        gate.tell(Metered(requests(50, 49)))
        gate.ask(2, own=requests(2))
        gate.ask(3, own=requests(2))
        assert gate.admitted() == [(0.0, 1), (0.0, 2), (30.0, 3)]


def test_a_cooldown_and_a_limit(gates: Iterator[Gate]) -> None:
    """[agents 6.1] Who is held by both waits for the later one."""
    for gate in gates:
        gate.ask(1, own=requests(6))
        gate.tell(Cooldown(25.0, STATED))
        gate.tell(Metered(requests(6, 0)))
        gate.ask(2)
        gate.ask(3)
        gate.ask(4)
        assert gate.admitted() == [(0.0, 1), (25.0, 2), (25.0, 3), (30.0, 4)]


@pytest.mark.parametrize(
    ("first", "later", "second", "until"), [(60.0, 0.0, 5.0, 60.0), (60.0, 10.0, 5.0, 60.0), (5.0, 0.0, 60.0, 60.0),
                                            (20.0, 15.0, 10.0, 25.0)],
)
def test_of_two_cooldowns_the_one_that_ends_later_counts(
    gates: Iterator[Gate], first: float, later: float, second: float, until: float
) -> None:
    """[agents 6.1] A shorter cooldown that comes `later` cuts no longer one, and its end lets nobody in."""
    for gate in gates:
        gate.tell(Cooldown(first, STATED))
        gate.sim.advance(later)
        gate.tell(Cooldown(second, STATED))
        gate.ask(1)
        assert gate.admitted() == [(until, 1)]


def test_a_newer_question_takes_the_place_of_the_older(gates: Iterator[Gate]) -> None:
    """[agents 6.1] One agent waits once, where it stood; the older question is not answered any more."""
    for gate in gates:
        gate.ask(1, own=requests(1))
        gate.ask(2, agent="ada")
        gate.ask(3, agent="bob")
        gate.ask(4, agent="ada")
        assert gate.admitted() == [(0.0, 1), (60.0, 4), (120.0, 3)]


def test_what_was_not_used_is_given_back(gates: Iterator[Gate]) -> None:
    """[agents 6.1] An admission that no request came of costs neither a request nor its tokens."""
    for gate in gates:
        gate.ask(1, 400, Limits(Limit(1, 1), Limit(600, 600)), agent="ada")
        gate.tell(GiveBack(Address("asking", "ada"), 1, 400))
        gate.ask(2, 600, agent="bob")
        assert gate.admitted() == [(0.0, 1), (0.0, 2)]


def test_who_gives_up_waiting_waits_no_more(gates: Iterator[Gate]) -> None:
    """[agents 6.1] What was asked for and not yet admitted leaves the queue, and nothing is given twice for it."""
    for gate in gates:
        gate.ask(1, own=requests(1))
        gate.ask(2, agent="ada")
        gate.ask(3, agent="bob")
        gate.tell(GiveBack(Address("asking", "ada"), 2))
        assert gate.admitted() == [(0.0, 1), (60.0, 3)]


def test_what_it_says_of_itself() -> None:
    """[health] What the limits leave, who waits, and None where no limit is known."""
    with simulation() as sim:
        gate = Gate(sim)
        assert gate.state() == {"cooldown": 0.0, "waiting": [], "requests": None, "tokens": None}
        gate.ask(1, own=requests(1), agent="ada")
        gate.ask(2, agent="bob")
        state = gate.state()
        assert (state["waiting"], state["tokens"]) == (["bob"], None)
        assert state["requests"] < 0.01


# --- through a whole house


class Limited(Scripted):
    """A scripted model with limits of the host's own, that writes down when each request came."""

    def __init__(self, *replies: Any, own: Limits | None = None, head: Limits | None = None, **options: Any) -> None:
        super().__init__(*replies, **options)
        self.own_limits = own
        self.head = head
        self.house: SimulatedHouse | None = None
        self.times: list[float] = []

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        """Play one round, with the answer's head."""
        assert self.house is not None
        self.times.append(self.house.simulation.clock.now())
        async for event in super().stream(request):
            if isinstance(event, Started):
                yield replace(event, limits=self.head)
                self.head = None
            else:
                yield event

    def gaps(self) -> list[float]:
        """Seconds between the requests."""
        return [round(later - earlier, 1) for earlier, later in itertools.pairwise(self.times)]


def town(seed: int, model: Limited, park_rate: float) -> SimulatedHouse:
    """A house of four residents."""
    house = SimulatedHouse(seed, [Resident(name, "m") for name in NAMES], model, park_rate=park_rate)
    model.house = house
    return house


@pytest.mark.parametrize("park_rate", [0.0, 1 / 3])
def test_all_agents_of_a_provider_share_its_limit(seeds: list[int], park_rate: float) -> None:
    """[agents 6.1] Two requests a minute: whoever asks, no third one within half a minute; all are answered."""
    for seed in seeds:
        model = Limited(otherwise="hi", own=requests(2))
        with town(seed, model, park_rate) as house:
            for name in NAMES:
                house.hand_in(house.message("hm?", f"#{name}", to=name))
            house.settle()
            assert len(model.times) == 4
            third = zip(model.times, model.times[2:], strict=False)
            assert all(later - earlier >= 29.9 for earlier, later in third)
            assert house.platform.texts() == ["hi"] * 4


@pytest.mark.parametrize("park_rate", [0.0, 1 / 3])
def test_each_round_of_a_turn_counts(seeds: list[int], park_rate: float) -> None:
    """[agents 6.1] A turn's next request costs what the last one did, cache reads left out."""
    used = Usage(fresh=50, read=9_000, written=30, output=20)
    for seed in seeds:
        model = Limited(
            say(call("missing"), usage=used),
            say(call("missing"), usage=used),
            say("well", usage=used),
            own=tokens(100),
        )
        with town(seed, model, park_rate) as house:
            house.say("hm?", to="ada")
            house.settle()
            assert model.gaps() == [60.0, 60.0]
            assert house.platform.texts() == ["well"]


@pytest.mark.parametrize("park_rate", [0.0, 1 / 3])
def test_an_answers_head_holds_the_others(seeds: list[int], park_rate: float) -> None:
    """[agents 6.1] Nothing is left by the head of one agent's answer: the next request waits, whoever makes it."""
    for seed in seeds:
        model = Limited(otherwise="hi", head=requests(6, 0))
        with town(seed, model, park_rate) as house:
            house.say("hm?", to="ada")
            house.run(lambda: bool(house.platform.posts))
            house.say("hm?", "#b", to="bob")
            house.settle()
            assert len(model.times) == 2
            assert model.gaps()[0] >= 9.0


def test_a_retry_is_a_request_as_well(seeds: list[int]) -> None:
    """[agents 6.1] What the ladder sends again goes by the limit: one a minute is one a minute."""
    for seed in seeds:
        model = Limited(fail(STATED), "well", own=requests(1))
        with town(seed, model, 0.0) as house:
            house.say("hm?", to="ada")
            house.settle()
            assert model.gaps() == [60.0]
            assert house.platform.texts() == ["well"]


@pytest.mark.parametrize("park_rate", [0.0, 1 / 3])
def test_an_admission_without_a_wake_costs_nothing(seeds: list[int], park_rate: float) -> None:
    """[agents 6.1] One request a minute: an agent that is admitted and finds no wake leaves it to the next one."""
    for seed in seeds:
        model = Limited(otherwise="hi", own=requests(1))
        with town(seed, model, park_rate) as house:
            house.say("hm?", to="ada")
            house.run(lambda: bool(house.platform.posts))
            house.simulation.tell(agent_address("ada"), WakeHint())
            house.run(lambda: bool(house.traced("provider:limited")))
            house.say("hm?", "#b", to="bob")
            house.settle()
            assert model.gaps() == [60.0]


@pytest.mark.parametrize("park_rate", [0.0, 1 / 3])
def test_a_message_heard_within_a_turn_costs_nothing_after_it(seeds: list[int], park_rate: float) -> None:
    """[agents 6.1] Two requests a minute, a turn of two that hears a message on its way: the agent looks again after
    it, finds nothing, and the next one goes after the half minute that its own request costs.
    """
    for seed in seeds:
        model = Limited(say(call("missing"), delay=5.0), otherwise="well", own=requests(2))
        with town(seed, model, park_rate) as house:
            house.say("one", to="ada")
            house.run(lambda: bool(house.traced("inference:started")))
            house.say("two", to="ada")
            house.run(lambda: bool(house.traced("provider:limited")))
            house.say("three", "#b", to="bob")
            house.settle()
            assert model.gaps() == [5.0, 25.0]


@pytest.mark.parametrize("park_rate", [0.0, 1 / 3])
def test_a_turn_that_is_cancelled_as_it_waits_leaves_the_queue(seeds: list[int], park_rate: float) -> None:
    """[agents 6.1] One request a minute: whoever stands behind a cancelled turn goes in its place."""
    for seed in seeds:
        model = Limited(say(call("missing")), otherwise="hi", own=requests(1))
        with town(seed, model, park_rate) as house:
            house.say("hm?", to="ada")
            house.run(lambda: bool(house.traced("provider:limited")))
            assert house.cancel("ada")
            house.say("hm?", "#b", to="bob")
            house.settle()
            assert model.gaps() == [60.0]
            assert house.platform.texts() == ["hi"]


@pytest.mark.parametrize("park_rate", [0.0, 1 / 3])
def test_what_is_refused_before_sending_costs_nothing(seeds: list[int], park_rate: float) -> None:
    """[agents 6.1] [providers 2.2] One request a minute: what cannot be carried never left: the next one may."""
    for seed in seeds:
        model = Limited(otherwise="hi", own=requests(1), capabilities={"m": ABLE})
        with SimulatedHouse(
            seed, [Resident("ada", "m"), Resident("bob", "nobody")], model, park_rate=park_rate
        ) as house:
            model.house = house
            begun = house.simulation.clock.now()
            house.say("hm?", "#b", to="bob")
            house.run(lambda: bool(house.traced("inference:exhausted")))
            house.say("hm?", to="ada")
            house.settle()
            assert [round(at - begun) for at in model.times] == [0]
            assert house.platform.texts() == ["hi"]
