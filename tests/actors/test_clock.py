"""Clocks that do not go back, and the heap of timers."""

import functools

import pytest

from manyminds.actors import clock as clock_module
from manyminds.actors.clock import VirtualClock, WallClock
from manyminds.actors.timers import Alarm, Timers, fire


class _Machine:
    def __init__(self) -> None:
        self.wall, self.steady = 1000.0, 50.0

    def time(self) -> float:
        return self.wall

    def monotonic(self) -> float:
        return self.steady

    def pass_by(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds


def test_the_wall_clock_never_goes_back_and_never_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """[dispatcher, Clock] Set back it goes on at the same rate; set forward, or woken from sleep, it follows."""
    machine = _Machine()
    monkeypatch.setattr(clock_module, "time", machine)
    wall = WallClock()
    assert wall.now() == 1000.0
    machine.pass_by(5)
    assert wall.now() == 1005.0
    machine.wall -= 3600
    assert wall.now() == 1005.0
    machine.pass_by(10)
    assert wall.now() == 1015.0
    machine.wall += 3600 + 60
    assert wall.now() == 1075.0


def test_the_virtual_clock_moves_as_told() -> None:
    """[design, Simulation] It moves on, never back."""
    virtual = VirtualClock(10.0)
    virtual.advance(2.5)
    virtual.move_to(11.0)
    assert virtual.now() == 12.5
    with pytest.raises(ValueError, match="does not go back"):
        virtual.advance(-1)


def test_timers_are_ordered_by_time_and_then_by_when_they_were_set() -> None:
    """[dispatcher] Equal times: the one set first; a cancelled one is passed over and not counted."""
    timers = Timers()
    fired: list[str] = []
    alarms: list[Alarm] = []
    for at, name in ((2, "c"), (1, "a"), (1, "b"), (3, "d")):
        alarms.append(Alarm(at, functools.partial(fired.append, name), name))
    for alarm in alarms:
        timers.add(alarm)
    alarms[1].cancel()
    assert (len(timers), timers.next_at()) == (3, 1)
    assert timers.pop_due(0.5) is None
    while (due := timers.pop_due(2)) is not None:
        fire(due)
        fire(due)
    assert fired == ["b", "c"]
    assert timers.next_at() == 3
    timers.clear()
    assert timers.next_at() is None


def test_a_raising_timer_is_contained(caplog: pytest.LogCaptureFixture) -> None:
    """[dispatcher] One timer that raises does not stop the next."""

    def fail() -> None:
        raise ValueError

    fire(Alarm(0.0, fail, "the bad one"))
    assert "the timer the bad one raised" in caplog.text
