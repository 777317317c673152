"""What every test may ask for: the amount to run, and the seeds."""

import secrets
from collections.abc import Callable

import pytest

# Seeds that once failed join this list, so that they are run for ever after.
LISTED_SEEDS = (1, 2, 3, 5, 8, 13, 21, 34, 55)
WHOLE_SEEDS = 200
WHOLE_SECONDS = 1200


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --whole."""
    parser.addoption("--whole", action="store_true", help="run the whole counts, not the small fixed share")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Twenty times the seeds may take twenty times as long, unless a test says what it may take."""
    if not config.getoption("--whole"):
        return
    for item in items:
        if "seeds" in getattr(item, "fixturenames", ()) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(WHOLE_SECONDS))


@pytest.fixture(scope="session")
def amount(request: pytest.FixtureRequest) -> Callable[[int, int], int]:
    """amount(plain, whole): the number to run in this session."""
    whole = bool(request.config.getoption("--whole"))

    def choose(plain: int, full: int) -> int:
        return full if whole else plain

    return choose


@pytest.fixture(scope="session")
def seeds(request: pytest.FixtureRequest) -> list[int]:
    """The listed seeds and a fresh one; 200 under --whole. A failure names its seed."""
    fresh = secrets.randbelow(1_000_000) + 1000
    print(f"fresh seed: {fresh}")
    if not request.config.getoption("--whole"):
        return [*LISTED_SEEDS, fresh]
    return [*LISTED_SEEDS, *range(1000, 1000 + WHOLE_SEEDS - len(LISTED_SEEDS) - 1), fresh]
