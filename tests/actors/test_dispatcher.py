"""Addresses, handlers, supervision and parking, under simulation."""

import logging
from typing import Any

import pytest

from manyminds.actors.delivery import REMEMBERED
from manyminds.actors.dispatcher import Actor, StoredActor, handles
from manyminds.actors.supervision import rebuild_delay
from manyminds.actors.system import System
from manyminds.messages.address import Address, MailFailed, ReplyTo, Undelivered
from manyminds.messages.errors import Failed, NotRouted
from tests.actors.mails import Break, Count, Counter, simulation, with_box

ONE = Address("counter", "one")
BOX = Address("box", "test")


def fresh_counter() -> type[Counter]:
    """A counter with a count of builds of its own."""
    return type("FreshCounter", (Counter,), {"built": 0})


class Stored(StoredActor):
    """Remembers, in memory, what it was told since it was loaded; `log` outlives it."""

    log: list[Any] = []  # noqa: RUF012

    def loaded(self) -> None:
        self.log.append("loaded")

    @handles(Count)
    def count(self, mail: Count) -> None:
        self.log.append(mail.number)

    @handles(Break)
    def fail(self, mail: Break) -> None:
        raise mail.error


def fresh_stored() -> type[Stored]:
    """A stored actor with a log of its own."""
    return type("FreshStored", (Stored,), {"log": []})


class TestAddresses:
    def test_mail_builds_the_actor_once_and_arrives_in_order(self) -> None:
        """[design, Addresses] A tell to an address without a live actor builds it in its first slice."""
        kind = fresh_counter()
        with simulation() as sim:
            sim.register("counter", kind)
            for number in range(200):
                sim.tell(ONE, Count(number))
            assert kind.built == 0
            assert sim.ask(ONE, lambda reply: Count(200, reply), 1.0) == tuple(range(201))
            assert kind.built == 1

    def test_an_earlier_incarnation_of_a_living_actor_reaches_it(self) -> None:
        """[design, Addresses] An address of an earlier incarnation of a living actor reaches it; a later one too."""
        with simulation() as sim:
            sim.register("counter", Counter)
            sim.spawn(Address("counter", "one", 3))
            sim.tell(Address("counter", "one", 1), Count(1))
            sim.tell(Address("counter", "one", 4), Count(2))
            assert sim.ask(ONE, lambda reply: Count(3, reply), 1.0) == (1, 2, 3)

    def test_an_ended_one_gives_undelivered_back(self) -> None:
        """[design, Addresses] To an ended actor a tell gives Undelivered; what still waited in its inbox too."""
        with simulation() as sim:
            got = with_box(sim)
            sim.register("counter", Counter)
            waited = Count(1, ReplyTo(BOX, "waited"))
            late = Count(2, ReplyTo(BOX, "late"))
            sim.tell(ONE, waited)
            sim.tell(ONE, Count(0))
            sim.end(ONE)
            sim.tell(ONE, late)
            sim.run()
            assert got == [Undelivered(ONE, late, "late"), Undelivered(ONE, waited, "waited")]
            assert not sim.lives(ONE)

    def test_the_next_incarnation_lives_and_the_ended_one_stays_ended(self) -> None:
        """[design, Addresses] A spawn with a higher incarnation lives; before it the ended name is not built again."""
        with simulation() as sim:
            sim.register("counter", Counter)
            sim.spawn(Address("counter", "one", 1))
            sim.end(Address("counter", "one", 1))
            with pytest.raises(Failed, match="has ended"):
                sim.ask(Address("counter", "one", 1), lambda reply: Count(1, reply), 1.0)
            sim.spawn(Address("counter", "one", 2))
            assert sim.ask(Address("counter", "one", 1), lambda reply: Count(7, reply), 1.0) == (7,)

    def test_ending_an_earlier_incarnation_spares_the_living_one(self) -> None:
        """[design, Addresses] An end names an incarnation; a later one that lives goes on."""
        with simulation() as sim:
            sim.register("counter", Counter)
            sim.spawn(Address("counter", "one", 2))
            sim.end(Address("counter", "one", 1))
            assert sim.ask(ONE, lambda reply: Count(1, reply), 1.0) == (1,)

    def test_ended_addresses_are_remembered_to_a_bound(self) -> None:
        """[design, What lasts] 256 ended ones are remembered per kind; the oldest goes first."""
        with simulation() as sim:
            sim.register("counter", Counter)
            names = [Address("counter", str(number)) for number in range(REMEMBERED + 1)]
            for name in names:
                sim.end(name)
            assert sim.ask(names[0], lambda reply: Count(1, reply), 1.0) == (1,)
            with pytest.raises(Failed):
                sim.ask(names[-1], lambda reply: Count(1, reply), 1.0)

    def test_a_kind_without_a_builder_is_named(self, caplog: pytest.LogCaptureFixture) -> None:
        """[design, Addresses] Nobody waits for an address that nothing can build."""
        with simulation() as sim, pytest.raises(Failed):
            sim.ask(Address("nobody", "x"), lambda reply: Count(1, reply), 1.0)
        assert "no builder is registered for 'nobody'" in caplog.text

    def test_a_builder_that_knows_no_such_actor_ends_it_at_once(self) -> None:
        """[design, Addresses] NotRouted from a builder: no retries, the mail goes back."""

        def build(system: System, address: Address) -> Actor:
            raise NotRouted(f"there is no {address.name}")

        with simulation() as sim:
            sim.register("counter", build)
            with pytest.raises(Failed):
                sim.ask(ONE, lambda reply: Count(1, reply), 1.0)
            assert sim.rebuilt == 0

    def test_unknown_mail_is_named(self, caplog: pytest.LogCaptureFixture) -> None:
        """[dispatcher] Mail without a handler is logged, with who got it and what it was."""
        with simulation() as sim:
            sim.register("counter", Counter)
            sim.tell(ONE, 3.5)
            sim.run()
            assert sim.failures == []
        assert "counter:one got float, which it does not handle" in caplog.text

    def test_an_overriding_method_handles_the_mail(self) -> None:
        """[dispatcher] A subclass that overrides a handler by name need not decorate it again."""

        class Doubling(Counter):
            def count(self, mail: Count) -> None:
                super().count(Count(mail.number * 2, mail.reply))

        with simulation() as sim:
            sim.register("counter", Doubling)
            assert sim.ask(ONE, lambda reply: Count(4, reply), 1.0) == (8,)


class TestSupervision:
    def test_s12_only_the_bad_mail_is_lost(self, caplog: pytest.LogCaptureFixture) -> None:
        """[S12] A handler raises on message 2 of 5: logged with room and message; 1, 3, 4 and 5 are handled."""
        kind = fresh_stored()
        with simulation() as sim:
            sim.register("counter", kind)
            for number in range(1, 6):
                bad = Break(ValueError("two"), agent="ada", turn=7, room="lab", id="m2")
                sim.tell(ONE, bad if number == 2 else Count(number))
            sim.run()
            assert kind.log == ["loaded", 1, "loaded", 3, 4, 5]
            assert [(str(at), what) for at, what, _ in sim.failures] == [("counter:one", "Break")]
            assert sim.statistics().rebuilt == 1
        line = next(record for record in caplog.records if record.levelno == logging.ERROR)
        for said in ("counter:one", "Break", "agent='ada'", "turn=7", "room='lab'", "id='m2'"):
            assert said in line.getMessage()
        assert line.exc_info is not None

    def test_a_raising_handler_answers_its_asker(self) -> None:
        """[design, Supervision] A mail with a reply address whose handler raised is answered Failed."""
        with simulation() as sim:
            got = with_box(sim)
            sim.register("counter", Counter)
            bad = Break(ValueError("no"), reply=ReplyTo(BOX, 5))
            sim.tell(ONE, bad)
            sim.run()
            assert got == [MailFailed(ONE, bad, "ValueError: no", 5)]
            with pytest.raises(Failed, match="ValueError: no"):
                sim.ask(ONE, lambda reply: Break(ValueError("no"), reply=reply), 1.0)

    def test_an_error_without_a_text_is_an_error_like_others(self) -> None:
        """[design, Supervision] Nobody waits for ever, whatever an exception does when it is printed."""

        class Unprintable(Exception):
            def __str__(self) -> str:
                raise RuntimeError

        with simulation() as sim:
            sim.register("counter", Counter)
            with pytest.raises(Failed, match="Unprintable, whose text cannot be made"):
                sim.ask(ONE, lambda reply: Break(Unprintable(), reply=reply), 1.0)

    @pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
    def test_no_exception_kills_everything(self, error: BaseException) -> None:
        """[dispatcher] SystemExit and KeyboardInterrupt in a handler are failures of that actor alone."""
        with simulation() as sim:
            sim.register("counter", Counter)
            sim.tell(ONE, Break(error))
            other = Address("counter", "two")
            assert sim.ask(other, lambda reply: Count(1, reply), 1.0) == (1,)
            assert sim.ask(ONE, lambda reply: Count(1, reply), 1.0) == (1,)

    def test_the_delays(self) -> None:
        """[dispatcher] 0, then 0.1 s doubling to 30 s; the eleventh failure in a row is the end."""
        right = [0.0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, None]
        assert [rebuild_delay(n) for n in range(1, 12)] == [pytest.approx(d) if d is not None else None for d in right]

    def test_rebuilds_wait_by_the_clock(self) -> None:
        """[dispatcher] Mail waits while the rebuild backs off, and is handled after it."""
        kind = fresh_counter()
        with simulation() as sim:
            sim.register("counter", kind)
            for _ in range(4):
                sim.tell(ONE, Break(ValueError()))
            began = sim.clock.now()
            assert sim.ask(ONE, lambda reply: Count(1, reply), 5.0) == (1,)
            assert sim.clock.now() - began == pytest.approx(0.1 + 0.2 + 0.4)
            assert kind.built == 5

    def test_a_handled_mail_begins_the_count_anew(self) -> None:
        """[dispatcher] At most ten in a row *without a handled mail between*."""
        with simulation() as sim:
            sim.register("counter", Counter)
            for number in range(30):
                sim.tell(ONE, Break(ValueError()))
                sim.tell(ONE, Count(number))
            sim.run()
            assert sim.lives(ONE)
            assert sim.rebuilt == 30

    def test_a_load_is_no_handled_mail(self) -> None:
        """[dispatcher] An actor that loads well and then breaks on what it tells itself is ended all the same."""

        class Looping(Stored):
            def loaded(self) -> None:
                self.system.tell(self.address, Break(ValueError()))

        with simulation() as sim:
            sim.register("counter", Looping)
            sim.spawn(ONE)
            sim.run(limit=1000)
            assert len(sim.failures) == 11
            assert not sim.lives(ONE)

    def test_an_end_during_the_backoff_answers_at_once(self) -> None:
        """[design, Supervision] Mail of an actor that is ended while it waits for its rebuild goes back now."""
        with simulation() as sim:
            got = with_box(sim)
            sim.register("counter", Counter)
            for _ in range(8):
                sim.tell(ONE, Break(ValueError()))
            waits = Count(1, ReplyTo(BOX))
            sim.tell(ONE, waits)
            sim.run(lambda: len(sim.failures) == 8)
            sim.settle()
            began = sim.clock.now()
            sim.end(ONE)
            sim.settle()
            assert (got, sim.clock.now()) == ([Undelivered(ONE, waits)], began)
            sim.run()

    def test_one_that_always_fails_is_ended_and_the_operator_told(self, caplog: pytest.LogCaptureFixture) -> None:
        """[S12] The restart count is capped; then the actor is ended, with an operator line, and nobody waits."""

        class Hopeless(Counter):
            def starting(self) -> None:
                raise OSError("disk")

        kind: type[Hopeless] = type("FreshHopeless", (Hopeless,), {"built": 0})
        with simulation() as sim:
            got = with_box(sim)
            traces = sim.traces.subscribe()
            sim.register("counter", kind)
            mail = Count(1, ReplyTo(BOX))
            sim.tell(ONE, mail)
            sim.run()
            assert kind.built == 11
            assert got == [Undelivered(ONE, mail)]
            assert [trace.fields["kind"] for trace in traces.take() if trace.name == "operator"] == ["actor-ended"]
        assert any(record.name == "manyminds.operator" for record in caplog.records)


class TestStoredActor:
    def test_it_waits_for_what_its_predecessor_sent(self) -> None:
        """[design, What lasts] Units that a predecessor handed in are in the store before `loaded` reads it."""
        seen: list[bytes | None] = []

        class Reader(StoredActor):
            def loaded(self) -> None:
                with self.system.store.snapshot() as snapshot:
                    seen.append(snapshot.get("settings", b"k"))

        for seed in range(20):
            seen.clear()
            with simulation(seed) as sim:
                sim.register("reader", Reader)
                sim.commit([("settings", b"k", b"v")])
                sim.spawn(Address("reader", "r"))
                sim.run()
            assert seen == [b"v"]

    def test_the_stash_survives_a_rebuild_in_order(self) -> None:
        """[dispatcher] Mail put aside while loading is kept, in order, over a rebuild in the middle of it."""
        for seed in range(20):
            kind = fresh_stored()
            failing = [OSError("read"), OSError("read")]

            def loaded(self: Stored, failing: list[OSError] = failing) -> None:
                if failing:
                    raise failing.pop()
                self.log.append("loaded")

            kind.loaded = loaded  # type: ignore[method-assign]
            with simulation(seed) as sim:
                sim.register("counter", kind)
                for number in range(10):
                    sim.tell(ONE, Count(number))
                sim.run()
                assert kind.log == ["loaded", *range(10)]
                assert sim.rebuilt == 2

    def test_reload_puts_mail_aside_again(self) -> None:
        """[dispatcher] `reload()` at any time: later mail waits until what was sent before is in the store."""
        kind = fresh_stored()

        class Again(kind):  # type: ignore[valid-type, misc]
            @handles(Break)
            def fail(self, mail: Break) -> None:
                self.log.append("again")
                self.reload()

        with simulation() as sim:
            sim.register("counter", Again)
            for mail in (Count(1), Break(ValueError()), Count(2), Count(3)):
                sim.tell(ONE, mail)
            sim.run()
            assert kind.log == ["loaded", 1, "again", "loaded", 2, 3]

    def test_only_the_latest_reload_counts(self) -> None:
        """[dispatcher] Two reloads at once: loaded once, after what was sent before the second."""
        kind = fresh_stored()

        class Twice(kind):  # type: ignore[valid-type, misc]
            @handles(Break)
            def fail(self, mail: Break) -> None:
                self.reload()
                self.system.commit([("settings", b"k", b"v")])
                self.reload()

        for seed in range(10):
            kind.log.clear()
            with simulation(seed) as sim:
                sim.register("counter", Twice)
                sim.tell(ONE, Break(ValueError()))
                sim.tell(ONE, Count(1))
                sim.run()
                assert kind.log == ["loaded", "loaded", 1]

    def test_ending_while_loading_answers_the_stash(self) -> None:
        """[design, Supervision] What an ended actor's inbox or stash still held is answered."""
        with simulation() as sim:
            got = with_box(sim)
            sim.register("counter", fresh_stored())
            mails = [Count(number, ReplyTo(BOX, number)) for number in range(3)]
            for mail in mails:
                sim.tell(ONE, mail)
            while not sim._cells[("counter", "one")].stash:
                sim.step()
            sim.end(ONE)
            sim.run()
            assert got == [Undelivered(ONE, mail, mail.number) for mail in mails]


class Sleepy(Counter):
    """Wants to be parked whenever it can be."""

    hooks: list[str] = []  # noqa: RUF012

    def may_park(self) -> bool:
        return True

    def parking(self) -> None:
        self.hooks.append("parking")

    def ended(self) -> None:
        self.hooks.append("ended")


class TestParking:
    def test_a_parked_actor_is_rebuilt_by_the_next_mail(self) -> None:
        """[design, Addresses] Parking changes the table and no sender."""
        kind: type[Sleepy] = type("FreshSleepy", (Sleepy,), {"hooks": [], "built": 0})
        with simulation() as sim:
            sim.register("counter", kind)
            sim.tell(ONE, Count(1))
            sim.run()
            assert not sim.lives(ONE)
            assert kind.hooks == ["parking"]
            assert sim.ask(ONE, lambda reply: Count(2, reply), 1.0) == (2,)
            assert kind.built == 2

    def test_an_idle_actor_stays_by_default(self) -> None:
        """[dispatcher] `may_park` is False by default."""
        with simulation() as sim:
            sim.register("counter", Counter)
            sim.tell(ONE, Count(1))
            sim.run()
            assert sim.lives(ONE)

    def test_the_simulation_parks_any_idle_actor_but_no_busy_one(self) -> None:
        """[design, Addresses] Any idle actor may be parked; one that holds what is nowhere else is not idle."""

        class Busy(Counter):
            def busy(self) -> bool:
                return True

        with simulation(park_rate=1.0) as sim:
            sim.register("counter", Counter)
            sim.register("busy", Busy)
            sim.tell(ONE, Count(1))
            sim.tell(Address("busy", "b"), Count(1))
            sim.run()
            assert not sim.lives(ONE)
            assert sim.lives(Address("busy", "b"))

    def test_a_raising_may_park_is_a_failure(self) -> None:
        """[design, Supervision] It is supervised like a handler."""

        class Raising(Counter):
            def may_park(self) -> bool:
                raise ValueError("park")

        with simulation() as sim:
            sim.register("counter", Raising)
            sim.tell(ONE, Count(1))
            sim.run()
            assert len(sim.failures) == 11
            assert not sim.lives(ONE)

    def test_the_ended_hook_runs_once(self) -> None:
        """[dispatcher] An actor that ends itself hears it, once, and no mail after it."""

        class Ending(Sleepy):
            def count(self, mail: Count) -> None:
                self.system.end(self.address)

        kind: type[Ending] = type("FreshEnding", (Ending,), {"hooks": []})
        with simulation() as sim:
            sim.register("counter", kind)
            sim.tell(ONE, Count(1))
            sim.tell(ONE, Count(2))
            sim.run()
            assert kind.hooks == ["ended"]


class TestCommit:
    def test_letters_follow_the_unit(self) -> None:
        """[design, What lasts] Letters are told in order, and only when the unit is durable."""
        with simulation() as sim:
            got = with_box(sim)
            sim.commit([("settings", b"k", b"v")], [(BOX, 1), (BOX, 2)])
            sim.commit([], [(BOX, 3)])
            assert got == []
            sim.run()
            assert got == [1, 2, 3]

    def test_a_refused_unit_tells_the_others(self, caplog: pytest.LogCaptureFixture) -> None:
        """[dispatcher] On refusal the letters of `failed` are told; without it the refusal is logged."""
        with simulation() as sim:
            got = with_box(sim)
            sim.store.refuse = lambda unit: OSError("full")
            sim.commit([("settings", b"k", b"v")], [(BOX, "then")], lambda error: [(BOX, str(error))])
            sim.commit([("settings", b"k", b"v")], [(BOX, "then")])
            sim.run()
            assert got == ["full"]
        assert "a unit of 1 records was refused: full" in caplog.text


class TestReplaced:
    def test_a_replaced_actor_is_told_before_its_successor_is_built(self) -> None:
        """[design, Supervision] What an actor started it can stop when another object takes over, killed or raised."""
        told: list[str] = []

        class Starting(Counter):
            def starting(self) -> None:
                told.append("starting")

            def replaced(self) -> None:
                told.append("replaced")
                raise ValueError("contained")

        with simulation() as sim:
            sim.register("counter", Starting)
            sim.tell(ONE, Break(ValueError()))
            sim.tell(ONE, Count(1))
            sim.run()
            assert told == ["starting", "replaced", "starting"]
            assert len(sim.failures) == 1
