"""The moments between two steps of a thread, each made to happen: nothing may fall into them."""

from typing import Any

import pytest

from manyminds.actors.cells import Cell
from manyminds.actors.inbox import Inbox
from manyminds.messages.address import Address, ReplyTo, Undelivered
from tests.actors.mails import Count, Counter, simulation, with_box

ONE = Address("counter", "one")
BOX = Address("box", "test")


class Sleepy(Counter):
    """Wants to be parked whenever it can be."""

    ends = 0

    def may_park(self) -> bool:
        return True

    def ended(self) -> None:
        type(self).ends += 1


class Interrupted(list[bool]):
    """An idle token during whose return somebody else does something."""

    def __init__(self, meanwhile: Any) -> None:
        super().__init__()
        self.meanwhile = meanwhile

    def append(self, item: bool) -> None:
        self.meanwhile()
        super().append(item)


def test_mail_that_comes_while_the_token_goes_back_is_not_slept_on() -> None:
    """[design, How actors run] A sender that came between the look and the token saw no token."""
    woken: list[Inbox] = []

    class Recording:
        def ready(self, inbox: Inbox, /) -> None:
            woken.append(inbox)

        def wait(self, wait: Any) -> bool:
            raise NotImplementedError

    inbox = Inbox(Recording())
    inbox.token = Interrupted(lambda: inbox.put("mail"))
    inbox.rest()
    assert woken == [inbox]
    assert inbox.token == []


def test_a_sender_that_held_a_cell_while_it_was_parked_reaches_the_next_one() -> None:
    """[design, Addresses] A sender that meets a closed inbox looks the address up again, in its order."""
    with simulation() as sim:
        sim.register("counter", Sleepy)
        sim.spawn(ONE)
        held = sim._cells[("counter", "one")]
        sim.run()
        assert not sim.lives(ONE)
        held.put(Count(1))
        held.put(Count(2))
        answer: list[Any] = []
        held.put(Count(3, ReplyTo(sim.open_reply(answer.append))))
        sim.run()
        assert answer == [(1, 2, 3)]


def test_a_sender_that_held_a_cell_while_it_was_ended_gets_its_mail_back() -> None:
    """[design, Addresses] To an ended one it gives Undelivered back."""
    with simulation() as sim:
        got = with_box(sim)
        sim.register("counter", Counter)
        sim.spawn(ONE)
        held = sim._cells[("counter", "one")]
        sim.run()
        sim.end(ONE)
        sim.run()
        mail = Count(1, ReplyTo(BOX))
        held.put(mail)
        sim.run()
        assert got == [Undelivered(ONE, mail)]


def test_mail_that_comes_while_an_actor_is_parked_is_moved() -> None:
    """[design, Addresses] It is closed, taken out of the table, then the deque is looked at once more."""

    class Late(Sleepy):
        late = True

        def parking(self) -> None:
            if Late.late:
                Late.late = False
                self.system.tell(self.address, Count(2, ReplyTo(reply)))

    with simulation() as sim:
        answer: list[Any] = []
        reply = sim.open_reply(answer.append)
        sim.register("counter", Late)
        sim.tell(ONE, Count(1))
        sim.run()
        # The second was handled by a new actor.
        assert answer == [(2,)]


def test_a_new_cell_is_published_with_what_came_first() -> None:
    """[design, Addresses] A sender that comes second finds the cell with the first mail in it."""
    found: list[list[Any]] = []

    class Table(dict[Any, Cell]):
        def __setitem__(self, key: Any, cell: Cell) -> None:
            found.append(list(cell.mails))
            super().__setitem__(key, cell)

    with simulation() as sim:
        sim._cells = Table()
        sim.register("counter", Counter)
        sim.tell(ONE, Count(1))
        assert found == [[Count(1)]]
        sim.run()


@pytest.mark.parametrize("when", ["returning", "returned"])
def test_an_end_while_the_token_goes_back_is_seen(when: str) -> None:
    """[design, Addresses] Ended between its last look and the token, or after it: it hears of its end, once."""

    class Ending(Counter):
        ends = 0

        def ended(self) -> None:
            Ending.ends += 1

    with simulation() as sim:
        sim.register("counter", Ending)
        sim.spawn(ONE)
        cell = sim._cells[("counter", "one")]
        if when == "returning":
            cell.token = Interrupted(lambda: sim.end(ONE))
        sim.run()
        sim.end(ONE)
        sim.run()
        assert Ending.ends == 1
        assert cell.actor is None
