"""Supervision: what a raising handler costs, and who hears of it, under simulation."""

import logging

import pytest

from manyminds.actors.supervision import rebuild_delay
from manyminds.messages.address import Address, MailFailed, ReplyTo, Undelivered
from manyminds.messages.errors import Failed
from tests.actors.mails import Break, Count, Counter, Stored, fresh_counter, fresh_stored, simulation, with_box

ONE = Address("counter", "one")
BOX = Address("box", "test")


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
