"""Pooled actors against pykka's ThreadingActor: tells, asks, starts, stops, memory.

    python -m benchmarks actors [--json] [--rounds 7]

Both sides take turns within each round, in one process; a ratio is the median of the rounds' ratios. Memory is
measured in processes of their own. Exits with 1 when a ratio is below its bar. `addressed` is the same
tell through the address table of a `Pool`, for information.
"""

import argparse
import gc
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pykka

from manyminds.actors.dispatcher import Actor
from manyminds.actors.pool import Pool
from manyminds.actors.pykka_actor import PooledActor
from manyminds.messages.address import Address
from manyminds.storage import MemoryStore

# Ratios pooled : pykka. "At least" for rates, "at most" for times and sizes.
AT_LEAST = {"tell_1_1": 4.0, "tell_8_1": 4.0, "tell_1_1000": 10.0, "spawn": 5.0, "stop": 5.0}
AT_MOST = {"ask_p50_us": 0.8, "memory_kib": 1 / 8}
REPORTED_ONLY = {"stop"}
PATIENCE = 120.0


class Latch:
    """Set when so many mails were handled, by however many actors."""

    def __init__(self, count: int) -> None:
        self.left = count
        self.done = threading.Event()
        self._lock = threading.Lock()

    def less(self, count: int) -> None:
        """So many fewer are left."""
        with self._lock:
            self.left -= count
            if self.left <= 0:
                self.done.set()

    def wait(self) -> None:
        """Wait for the rest; RuntimeError if it does not come."""
        if not self.done.wait(PATIENCE):
            raise RuntimeError(f"{self.left} mails were not handled within {PATIENCE:g} s")


class Sink:
    """What both kinds do with a mail: count, and tell the latch at the last one expected."""

    expected = 0
    latch: Latch | None = None

    def on_receive(self, message: Any) -> Any:
        """Count a mail, or answer it if it is an ask of the benchmark."""
        if message is None:
            self.expected -= 1
            if not self.expected and self.latch is not None:
                self.latch.less(1)
            return None
        return message


class ThreadingSink(Sink, pykka.ThreadingActor):
    """pykka's own."""

    use_daemon_thread = True

    def __init__(self, expected: int = 0, latch: Latch | None = None) -> None:
        super().__init__()
        self.expected = expected
        self.latch = latch


class PooledSink(Sink, PooledActor):
    """Ours."""

    def __init__(self, expected: int = 0, latch: Latch | None = None) -> None:
        super().__init__()
        self.expected = expected
        self.latch = latch


def tells(kind: Any, senders: int, actors: int, mails: int) -> float:
    """Mails handled a second: each sender tells each actor `mails / senders / actors` mails."""
    each = mails // senders // actors
    latch = Latch(actors)
    refs = [kind.start(each * senders, latch) for _ in range(actors)]

    def send() -> None:
        for _ in range(each):
            for ref in refs:
                ref.tell(None)

    threads = [threading.Thread(target=send) for _ in range(senders)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    latch.wait()
    took = time.perf_counter() - began
    for thread in threads:
        thread.join()
    stop_all(refs)
    return each * senders * actors / took


def ask_p50(kind: Any, asks: int) -> float:
    """Median microseconds of an ask."""
    ref = kind.start()
    times: list[float] = []
    for number in range(asks):
        began = time.perf_counter()
        ref.ask(number, timeout=PATIENCE)
        times.append(time.perf_counter() - began)
    ref.stop(timeout=PATIENCE)
    return statistics.median(times) * 1e6


def stop_all(refs: list[Any]) -> None:
    """Stop them and wait for the end of each."""
    for future in [ref.stop(block=False) for ref in refs]:
        future.get(timeout=PATIENCE)


def spawn_and_stop(kind: Any, actors: int) -> tuple[float, float]:
    """(starts a second, stops a second)."""
    began = time.perf_counter()
    refs = [kind.start() for _ in range(actors)]
    spawned = time.perf_counter()
    stop_all(refs)
    return actors / (spawned - began), actors / (time.perf_counter() - spawned)


def addressed(mails: int) -> float:
    """Mails handled a second through the address table of a pool."""
    latch = Latch(mails)
    left = mails

    class Counting(Actor):
        def receive(self, mail: object) -> bool:
            nonlocal left
            left -= 1
            if not left:
                latch.less(mails)
            return True

    store = MemoryStore()
    pool = Pool(store)
    pool.start()
    pool.register("sink", Counting)
    to = Address("sink", "one")
    began = time.perf_counter()
    for _ in range(mails):
        pool.tell(to, None)
    latch.wait()
    took = time.perf_counter() - began
    pool.close()
    store.close()
    return mails / took


def resident_kib() -> float:
    """Resident memory of this process (Linux)."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1024


def memory_here(kind: Any, actors: int) -> float:
    """KiB of resident memory per idle actor, in this process."""
    first = kind.start()
    gc.collect()
    before = resident_kib()
    refs = [kind.start() for _ in range(actors)]
    per_actor = (resident_kib() - before) / len(refs)
    assert first.is_alive()
    return per_actor


def memory(name: str, actors: int) -> float:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.actors", "--memory-of", name, "--actors", str(actors)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout)


def one_round(kind: Any, name: str) -> dict[str, float]:
    """Every measure of one side."""
    gc.collect()
    spawn, stop = spawn_and_stop(kind, 1000)
    # As many as take about as long: a shorter run measures who else is on the machine.
    mails = 40_000 if name == "pykka" else 200_000
    return {
        "tell_1_1": tells(kind, 1, 1, mails),
        "tell_8_1": tells(kind, 8, 1, mails),
        "tell_1_1000": tells(kind, 1, 1000, mails),
        "ask_p50_us": ask_p50(kind, 2000),
        "spawn": spawn,
        "stop": stop,
        "memory_kib": memory(name, 1000 if name == "pykka" else 10_000),
    }


def judge(name: str, sides: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    """One measure: medians of both sides, the ratio, its bar and whether it is met."""
    pairs = [(old[name], new[name]) for old, new in zip(sides["pykka"], sides["pooled"], strict=True)]
    ratios = [new / old for old, new in pairs]
    ratio = statistics.median(ratios)
    met = ratio >= AT_LEAST[name] if name in AT_LEAST else ratio <= AT_MOST[name]
    return {
        "pykka": statistics.median(old for old, _ in pairs),
        "pooled": statistics.median(new for _, new in pairs),
        "ratio": ratio,
        "ratio_min": min(ratios),
        "ratio_max": max(ratios),
        "bar": f">= {AT_LEAST[name]:g}" if name in AT_LEAST else f"<= {AT_MOST[name]:g}",
        "met": met,
        "counts": name not in REPORTED_ONLY,
    }


def measure(rounds: int, progress: Callable[[str], None]) -> dict[str, Any]:
    """Every measure over so many interleaved rounds."""
    sides: dict[str, list[dict[str, float]]] = {"pykka": [], "pooled": []}
    through_table: list[float] = []
    kinds: dict[str, Any] = {"pykka": ThreadingSink, "pooled": PooledSink}
    for number in range(rounds):
        # Whoever goes first changes from round to round.
        for name in sorted(kinds, reverse=bool(number % 2)):
            sides[name].append(one_round(kinds[name], name))
        through_table.append(addressed(200_000))
        progress(f"round {number + 1} of {rounds}")
    return {
        "python": platform.python_version(),
        "pykka": importlib.metadata.version("pykka"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "rounds": rounds,
        "measures": {name: judge(name, sides) for name in (*AT_LEAST, *AT_MOST)},
        "addressed_tell_1_1": statistics.median(through_table),
    }


def table(result: dict[str, Any]) -> str:
    """The result for people."""
    head = f"Python {result['python']}, pykka {result['pykka']}, {result['machine']}, {result['rounds']} rounds"
    lines = [head, f"{'measure':<12} {'pykka':>12} {'pooled':>12} {'ratio (min..max)':>26} {'bar':>9}"]
    for name, found in result["measures"].items():
        spread = f"{found['ratio']:.2f} ({found['ratio_min']:.2f}..{found['ratio_max']:.2f})"
        verdict = "" if found["met"] else "  BELOW" if found["counts"] else "  below (reported only)"
        lines.append(
            f"{name:<12} {found['pykka']:>12,.2f} {found['pooled']:>12,.2f} {spread:>26} {found['bar']:>9}{verdict}"
        )
    lines.append(f"tells through the address table: {result['addressed_tell_1_1']:,.0f} a second")
    return "\n".join(lines)


def main() -> int:
    """Run it; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description="Pooled actors against pykka's ThreadingActor.")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds (7)")
    parser.add_argument("--memory-of", choices=("pykka", "pooled"), help=argparse.SUPPRESS)
    parser.add_argument("--actors", type=int, default=1000, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory_of:
        print(memory_here(ThreadingSink if options.memory_of == "pykka" else PooledSink, options.actors))
        return 0
    result = measure(options.rounds, lambda text: print(text, file=sys.stderr, flush=True))
    print(json.dumps(result, indent=2) if options.json else table(result))
    return 0 if all(found["met"] for found in result["measures"].values() if found["counts"]) else 1


if __name__ == "__main__":
    sys.exit(main())
