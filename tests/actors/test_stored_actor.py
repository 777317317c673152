"""Stored actors wait for what came before them, and idle ones are parked, under simulation."""



from manyminds.actors.dispatcher import StoredActor, handles
from manyminds.messages.address import Address, ReplyTo, Undelivered
from tests.actors.mails import Break, Count, Counter, Stored, fresh_stored, simulation, with_box

ONE = Address("counter", "one")
BOX = Address("box", "test")


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
