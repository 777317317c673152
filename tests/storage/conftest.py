"""A way to open each kind of store: on disk and in memory."""

from collections.abc import Callable
from pathlib import Path

import pytest

from manyminds.storage import LmdbStore, MemoryStore, SteppedWriter, Store


@pytest.fixture(params=["disk", "memory"])
def open_one(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Store]:
    """Opens one store with a stepped writer."""

    def opened() -> Store:
        if request.param == "memory":
            return MemoryStore(writer=SteppedWriter())
        return LmdbStore(tmp_path / "store", sync=False, writer=SteppedWriter())

    return opened
