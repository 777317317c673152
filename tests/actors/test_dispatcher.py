"""Addresses, handlers and commits, under simulation."""


import pytest

from manyminds.actors.delivery import REMEMBERED
from manyminds.actors.dispatcher import Actor
from manyminds.actors.system import System
from manyminds.messages.address import Address, ReplyTo, Undelivered
from manyminds.messages.errors import Failed, NotRouted
from tests.actors.mails import Count, Counter, fresh_counter, simulation, with_box

ONE = Address("counter", "one")
BOX = Address("box", "test")


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
