"""Traces: bounded subscriptions, contained listeners, operator lines."""

import json
import logging
import threading
from pathlib import Path

import pytest

from manyminds.actors.system import operator_line
from manyminds.actors.traces import Trace, TraceBus
from manyminds.storage.operator_log import OperatorLog
from tests.actors.mails import simulation


def test_a_slow_reader_loses_the_oldest_and_knows_how_many() -> None:
    """[host.md subscribe] A bounded buffer and a count of what was dropped; nobody is held up."""
    bus = TraceBus()
    subscription = bus.subscribe(size=3)
    for number in range(5):
        bus.tell(Trace(str(number), float(number)))
    assert [trace.name for trace in subscription.take()] == ["2", "3", "4"]
    assert subscription.dropped == 2


def test_iterating_waits_and_ends_when_closed() -> None:
    """[host.md subscribe] An iterator closed by the bus or by its reader; a second close does nothing."""
    bus = TraceBus()
    subscription = bus.subscribe()
    names: list[str] = []
    reader = threading.Thread(target=lambda: names.extend(trace.name for trace in subscription))
    reader.start()
    bus.tell(Trace("a", 1.0))
    bus.tell(Trace("b", 2.0))
    bus.close()
    bus.close()
    reader.join(20)
    assert names == ["a", "b"]
    assert list(bus.subscribe()) == []
    subscription.put(Trace("late", 3.0))
    assert list(subscription) == []


def test_a_throwing_listener_is_contained(caplog: pytest.LogCaptureFixture) -> None:
    """[dispatcher] A throwing listener is logged; the others hear, and it stays."""
    bus = TraceBus()
    heard: list[str] = []

    def throws(trace: Trace) -> None:
        raise ValueError

    bus.listen(throws)
    stop = bus.listen(lambda trace: heard.append(trace.name))
    bus.tell(Trace("a", 1.0))
    stop()
    bus.tell(Trace("b", 1.0))
    assert heard == ["a"]
    assert caplog.text.count("a trace listener raised") == 2


def test_a_subscription_keeps_at_least_one() -> None:
    """[dispatcher] A size under 1 is refused."""
    with pytest.raises(ValueError, match="at least one"):
        TraceBus().subscribe(0)


def test_a_system_traces_with_its_clock() -> None:
    """[dispatcher] trace(name, **fields) carries the clock's time; fields cannot be changed by a listener."""
    with simulation() as sim:
        subscription = sim.traces.subscribe()
        sim.trace("turn", agent="ada")
        (trace,) = subscription.take()
        assert (trace.name, trace.at, dict(trace.fields)) == ("turn", sim.clock.now(), {"agent": "ada"})
        with pytest.raises(TypeError):
            trace.fields["agent"] = "eve"  # type: ignore[index]


def test_an_operator_line_goes_three_ways(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """[design, An operator line] A trace `operator`, a WARNING on manyminds.operator, an entry of the log."""
    with simulation() as sim:
        subscription = sim.traces.subscribe()
        operator_line(sim, "hard-down", "the model is down", agent="ada", failures=3)
        sim.operator_log = OperatorLog(tmp_path)
        operator_line(sim, "hard-down", "the model is down", agent="ada", failures=3)
        assert [dict(trace.fields) for trace in subscription.take()] == [
            {"kind": "hard-down", "text": "the model is down", "agent": "ada", "failures": 3}
        ] * 2
        at = sim.clock.now()
    lines = [(r.levelno, r.getMessage()) for r in caplog.records if r.name == "manyminds.operator"]
    assert lines == [(logging.WARNING, "hard-down: the model is down")] * 2
    (entry,) = (tmp_path / "operator-actions.jsonl").read_text().splitlines()
    assert json.loads(entry) == {
        "at": at, "kind": "hard-down", "agent": "ada", "note": "the model is down", "params": {"failures": 3}
    }
