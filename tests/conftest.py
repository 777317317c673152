"""What every test may ask for: the amount to run, and the seeds."""

import secrets
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count, islice

import pytest

# Seeds that once failed join this list, so that they are run for ever after.
LISTED_SEEDS = (1, 2, 3, 5, 8, 1024, 1058, 1069, 1168)
WHOLE_SEEDS = 200
WHOLE_SECONDS = 1200


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --whole."""
    parser.addoption("--whole", action="store_true", help="run the whole counts, not the small fixed share")


def pytest_configure(config: pytest.Config) -> None:
    """A shell's background job ignores SIGINT, and so would every process that it starts: tests interrupt some."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Twenty times the seeds may take twenty times as long, unless a test says what it may take."""
    if not config.getoption("--whole"):
        return
    for item in items:
        if "seeds" in getattr(item, "fixturenames", ()) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(WHOLE_SECONDS))


@dataclass
class Ran:
    """What this session has run, for its last line."""

    amounts: set[int] = field(default_factory=set[int])
    seeds: int = 0
    fresh: int = 0
    outcomes: Counter[str] = field(default_factory=Counter[str])


RAN = Ran()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count what each test came to."""
    if report.when == "call" or report.outcome != "passed":
        RAN.outcomes[report.outcome] += 1


def pytest_unconfigure(config: pytest.Config) -> None:
    """Say in the last line what was run, so that it can be quoted."""
    if getattr(config, "workerinput", None) is not None or not RAN.outcomes:
        return
    share = "whole" if config.getoption("--whole") else "the plain share"
    part = config.getoption("keyword") or "everything"
    tests = ", ".join(f"{count} {outcome}" for outcome, count in sorted(RAN.outcomes.items()))
    seeds = f"{RAN.seeds} seeds (fresh: {RAN.fresh})" if RAN.seeds else "no seeds"
    amounts = ", ".join(str(number) for number in sorted(RAN.amounts)) or "none"
    print(f"ran {share} of {part}: {tests}; {seeds}; amounts {amounts}")


@pytest.fixture(scope="session")
def amount(request: pytest.FixtureRequest) -> Callable[[int, int], int]:
    """amount(plain, whole): the number to run in this session."""
    whole = bool(request.config.getoption("--whole"))

    def choose(plain: int, full: int) -> int:
        number = full if whole else plain
        RAN.amounts.add(number)
        return number

    return choose


@pytest.fixture(scope="session")
def seeds(request: pytest.FixtureRequest) -> list[int]:
    """The listed seeds and a fresh one; 200 under --whole. A failure names its seed."""
    RAN.fresh = fresh = secrets.randbelow(1_000_000) + 1000
    whole = bool(request.config.getoption("--whole"))
    more = (seed for seed in count(1000) if seed not in (*LISTED_SEEDS, fresh))
    rest = islice(more, WHOLE_SEEDS - len(LISTED_SEEDS) - 1 if whole else 0)
    chosen = [*LISTED_SEEDS, *rest, fresh]
    RAN.seeds = len(chosen)
    return chosen
