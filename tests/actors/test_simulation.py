"""The simulation itself: steps, clock, faults, crash, and the same run for the same seed."""

import asyncio
import gc
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from manyminds.actors.faults import Faults, InjectedFault
from manyminds.actors.pykka_actor import PooledActor
from manyminds.actors.simulation import Simulation, StillWaiting, TooManySteps
from manyminds.messages.address import Address
from manyminds.messages.errors import AskCycle, InvalidSetting
from manyminds.storage import MemoryStore
from tests.actors.mails import Count, Counter, Result, Stored, simulation, with_box

ONE = Address("counter", "one")
BOX = Address("box", "test")


class TestSteps:
    def test_different_seeds_interleave_differently_and_one_seed_does_not(self) -> None:
        """[design, Simulation] The seed picks the next step, and nothing else does."""

        def run(seed: int) -> list[str]:
            with simulation(seed) as sim:
                sim.register("counter", Counter)
                for number in range(6):
                    for name in "abc":
                        sim.tell(Address("counter", name), Count(number))
                sim.run()
                return sim.trace_log

        assert len({tuple(run(seed)) for seed in range(10)}) > 5
        assert run(4) == run(4)

    def test_mail_of_one_sender_keeps_its_order(self, seeds: list[int]) -> None:
        """[design, How actors run] However steps interleave, and actors are parked or killed between mails."""
        for seed in seeds:
            kind: type[Stored] = type("Fresh", (Stored,), {"log": []})
            with simulation(seed, park_rate=0.3, faults=Faults(killed=0.2, parked=0.1)) as sim:
                sim.register("counter", kind)
                for number in range(30):
                    sim.tell(ONE, Count(number))
                    if number % 7 == 0:
                        sim.step()
                sim.run()
            assert [entry for entry in kind.log if entry != "loaded"] == list(range(30)), f"seed {seed}"

    def test_the_clock_jumps_to_the_next_timer(self) -> None:
        """[design, Simulation] With no step ready the clock jumps; timers fire in order, cancelled ones never."""
        with simulation() as sim:
            got = with_box(sim)
            began = sim.clock.now()
            sim.after(3600.0, BOX, "late")
            sim.after(10.0, BOX, "soon")
            sim.after(20.0, BOX, "never").cancel()
            sim.run(lambda: bool(got))
            assert (got, sim.clock.now() - began) == (["soon"], 10.0)
            sim.run()
            assert (got, sim.clock.now() - began) == (["soon", "late"], 3600.0)

    def test_advance_takes_what_falls_due_and_no_more(self) -> None:
        """[design, Simulation] advance(seconds) lets exactly so much time pass."""
        with simulation() as sim:
            got = with_box(sim)
            for seconds in (1.0, 2.0, 3.0):
                sim.after(seconds, BOX, seconds)
            began = sim.clock.now()
            sim.advance(2.5)
            assert (got, sim.clock.now() - began) == ([1.0, 2.0], 2.5)

    def test_who_still_waits_is_listed(self) -> None:
        """[design, Simulation] With no timer left the run is over, and whoever still waits is listed as an error."""

        async def forever() -> None:
            await asyncio.get_running_loop().create_future()

        with simulation(7) as sim:
            with_box(sim)
            sim.task(forever, BOX, Result, name="a stream")
            with pytest.raises(StillWaiting, match="the coroutine 'a stream'") as caught:
                sim.run()
            assert any("simulation seed 7" in note for note in caught.value.__notes__)
            with pytest.raises(StillWaiting, match="condition does not hold"):
                sim.run(lambda: False)

    def test_a_run_without_end_is_stopped(self) -> None:
        """[design, Simulation] A limit of steps ends a run that never would."""

        class Restless(Counter):
            def count(self, mail: Count) -> None:
                self.system.tell(self.address, mail)

        with simulation() as sim:
            sim.register("counter", Restless)
            sim.tell(ONE, Count(1))
            with pytest.raises(TooManySteps):
                sim.run(limit=100)

    def test_a_threaded_writer_is_refused(self) -> None:
        """[design, Simulation] storage takes its writer from outside: stepped here."""
        store = MemoryStore()
        try:
            with pytest.raises(InvalidSetting, match="SteppedWriter"):
                Simulation(store, 1)
        finally:
            store.close()

    def test_a_failure_names_its_seed(self) -> None:
        """[design, Simulation] A failure prints seed and PYTHONHASHSEED."""
        with pytest.raises(AssertionError) as caught, simulation(42):
            raise AssertionError
        assert caught.value.__notes__ == [
            f"simulation seed 42, PYTHONHASHSEED={os.environ.get('PYTHONHASHSEED', 'random')}"
        ]


class TestJobs:
    def test_a_job_runs_whole_in_its_step(self) -> None:
        """[design, Simulation] Results and errors as mail; a cancelled one never begins."""
        ran: list[str] = []

        def work() -> str:
            ran.append("a")
            return "done"

        def fail() -> None:
            raise ValueError("bad")

        with simulation() as sim:
            got = with_box(sim)
            sim.job("tool", work, BOX, Result, name="a")
            sim.job("tool", fail, BOX, Result, name="b")
            sim.job("tool", lambda: ran.append("c"), BOX, Result, name="c").cancel()
            sim.run()
            assert ran == ["a"]
            assert {(result.value, str(result.error)) for result in got} == {("done", "None"), (None, "bad")}


class TestAsk:
    def test_an_ask_of_the_test_drives_steps_until_its_timeout(self) -> None:
        """[design, Simulation] An ask made by the test drives steps until it is answered, or the clock's timeout."""
        with simulation() as sim:
            sim.register("counter", Counter)
            began = sim.clock.now()
            with pytest.raises(TimeoutError, match="counter:one did not answer within 3 s"):
                sim.ask(ONE, lambda _: Count(1), 3.0)
            assert sim.clock.now() - began == 3.0
            sim.run()

    def test_an_ask_inside_a_handler_runs_the_asked_actor(self) -> None:
        """[design, Simulation] An ask from a handler runs the asked actor's steps inside."""

        class Asking(Counter):
            def count(self, mail: Count) -> None:
                inner = self.system.ask(Address("counter", "other"), lambda reply: Count(5, reply), 1.0)
                super().count(Count(inner[0] * 10, mail.reply))

        with simulation() as sim:
            sim.register("counter", Counter)
            sim.register("asking", Asking)
            assert sim.ask(Address("asking", "a"), lambda reply: Count(1, reply), 1.0) == (50,)

    def test_s25_a_cycle_raises_and_both_live(self) -> None:
        """[S25] A asks B while B asks A: AskCycle names the cycle at once; both are alive after it."""
        seen: list[tuple[str, ...]] = []

        class Asking(Counter):
            def count(self, mail: Count) -> None:
                other = Address("asking", "b" if self.address.name == "a" else "a")
                try:
                    self.system.ask(other, lambda reply: Count(mail.number - 1, reply), 60.0)
                except AskCycle as error:
                    seen.append(error.chain)
                super().count(mail)

        with simulation() as sim:
            sim.register("asking", Asking)
            began = sim.clock.now()
            assert sim.ask(Address("asking", "a"), lambda reply: Count(9, reply), 60.0) == (9,)
            assert seen == [("asking:b", "asking:a", "asking:b")]
            assert sim.clock.now() == began
            assert sim.failures == []
            sim.run()
            # What would have closed the cycle was never told.
            assert sim.trace_log.count("asking:a Count") == 1

    def test_a_hosts_own_actors_run_in_steps_too(self) -> None:
        """[design, Simulation] A host's pykka actor, and one it starts, run here; their cycle raises too."""

        class Child(PooledActor):
            def on_receive(self, message: Any) -> Any:
                return message.ask("back", timeout=5) if hasattr(message, "ask") else message + 1

        class Parent(PooledActor):
            def on_receive(self, message: Any) -> Any:
                child = Child.start()
                return child.ask(self.actor_ref if message == "cycle" else message, timeout=5)

        with simulation() as sim:
            parent = sim.start_actor(Parent)
            assert parent.ask(41, timeout=5) == 42
            with pytest.raises(AskCycle):
                parent.ask("cycle", timeout=5)
            assert parent.is_alive()
            assert parent.stop(timeout=5)


class TestFaults:
    def test_rates(self) -> None:
        """[design, Simulation] A rate of 1 always, of 0 never, and no draw for a rate of 0."""
        with simulation(faults=Faults(stream_cut=1.0)) as sim:
            assert [sim.fault("stream_cut"), sim.fault("outcome_unknown")] == [True, False]
            assert sim.faults.drawn["stream_cut"] == 1
            sim.faults.off()
            assert not sim.fault("stream_cut")
        with pytest.raises(InvalidSetting, match="killed"):
            Faults(killed=1.5)

    def test_jobs_raise_and_commits_are_refused(self) -> None:
        """[design, Simulation] Job raises, commit refused, map full; a barrier is never refused."""
        with simulation(faults=Faults(job_raises=1.0, commit_refused=1.0)) as sim:
            got = with_box(sim)
            sim.job("tool", lambda: 1, BOX, Result, name="a")
            sim.run()
            assert isinstance(got.pop().error, InjectedFault)
            sim.commit([("settings", b"k", b"v")], [(BOX, "kept")], lambda error: [(BOX, type(error).__name__)])
            sim.commit([], [(BOX, "barrier")])
            sim.run()
            assert got == ["StoreError", "barrier"]
        with simulation(faults=Faults(map_full=1.0)) as sim:
            got = with_box(sim)
            sim.commit([("settings", b"k", b"v")], (), lambda error: [(BOX, type(error).__name__)])
            sim.run()
            assert got == ["MapFull"]

    def test_killed_actors_lose_no_mail(self) -> None:
        """[design, Addresses] An actor can be rebuilt at any moment between two mails."""
        kind: type[Stored] = type("Fresh", (Stored,), {"log": []})
        with simulation(faults=Faults(killed=0.5)) as sim:
            sim.register("counter", kind)
            for number in range(20):
                sim.tell(ONE, Count(number))
            sim.run()
            assert [entry for entry in kind.log if entry != "loaded"] == list(range(20))
            assert sim.faults.drawn["killed"] > 3


class TestCrash:
    def test_a_crash_forgets_what_was_not_committed(self) -> None:
        """[design, Simulation] crash() drops actors, loop, jobs, timers and uncommitted units; builders stay."""
        ran: list[str] = []

        async def talks() -> None:
            try:
                await asyncio.sleep(10)
            finally:
                ran.append("finally")
                sim.tell(BOX, "from the dead")
                sim.after(1.0, BOX, "a ghost")
                sim.job("tool", lambda: ran.append("ghost"), BOX, Result, name="ghost")

        with simulation() as sim:
            got = with_box(sim)
            kind: type[Stored] = type("Fresh", (Stored,), {"log": []})
            sim.register("counter", kind)
            sim.commit([("settings", b"kept", b"v")])
            sim.run()
            sim.task(talks, BOX, Result, name="talks")
            while not sim.loop.next_at():
                sim.step()
            sim.job("tool", lambda: ran.append("job"), BOX, Result, name="a")
            sim.after(5.0, BOX, "timer")
            sim.tell(ONE, Count(1))
            sim.commit([("settings", b"lost", b"v")], [(BOX, "committed")])
            before = sim.store
            sim.crash()
            sim.run()
            assert (got, ran, kind.log) == ([], ["finally"], [])
            assert sim.store is not before
            with sim.store.snapshot() as snapshot:
                assert snapshot.get("settings", b"kept") == b"v"
                assert snapshot.get("settings", b"lost") is None
            sim.tell(ONE, Count(2))
            sim.tell(BOX, "alive")
            sim.run()
            assert (got, kind.log) == (["alive"], ["loaded", 2])


    def test_a_crash_leaves_async_generators_alone(self, caplog: pytest.LogCaptureFixture) -> None:
        """[design, Simulation] A stream that a crash cut leaves no task, no warning and no line in the log."""

        async def stream() -> AsyncIterator[int]:
            try:
                while True:
                    await asyncio.sleep(1)
                    yield 1
            finally:
                await asyncio.sleep(1)

        async def reads() -> None:
            async for _ in stream():
                pass

        with simulation() as sim:
            sim.task(reads, BOX, Result, name="reads")
            sim.advance(2.5)
            sim.crash()
            gc.collect()
            sim.run()
        assert caplog.records == []


BUSY_RUN = """
import asyncio, hashlib, logging, sys
from manyminds.actors.faults import Faults
from manyminds.messages.address import Address
from tests.actors.mails import Break, Count, Result, Stored, simulation

logging.disable(logging.CRITICAL)

async def stream(n):
    await asyncio.sleep(n / 10)
    return frozenset({f"a{n}", f"b{n}"})

class Busy(Stored):
    log = []
    def count(self, mail):
        n = mail.number
        self.system.task(lambda: stream(n), self.address, lambda v, e: Count(0), name=f"s{n}") if n > 3 else None
        self.system.job("tool", lambda: n, self.address, lambda v, e: Count(0), name=f"j{n}") if n > 5 else None
        self.system.commit([("settings", b"%d" % n, b"v")], [(self.address, Count(n - 1))] if n else ())

for seed in range(int(sys.argv[1])):
    faults = Faults(commit_refused=0.05, job_raises=0.1, killed=0.05, parked=0.05)
    with simulation(seed, park_rate=0.1, faults=faults) as sim:
        sim.register("busy", Busy)
        for name in ("x", "y", "z"):
            sim.tell(Address("busy", name), Count(8))
            sim.tell(Address("busy", name), Break(ValueError("b")))
        sim.run()
        log = "\\n".join(sim.trace_log)
        print(seed, len(sim.trace_log), hashlib.sha256(log.encode()).hexdigest())
"""


@pytest.mark.process
def test_the_same_seed_gives_the_same_run_in_every_process() -> None:
    """[design, Simulation] The traces of 20 seeds in two processes with different hash seeds are the same."""

    def run(hash_seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", BUSY_RUN, "20"], capture_output=True, text=True, check=False, env=environment,
            timeout=100,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    first = run("1")
    assert len(first.splitlines()) == 20
    assert len({line.split()[2] for line in first.splitlines()}) == 20
    assert first == run("12345")
