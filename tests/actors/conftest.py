"""What the tests of this folder may ask for: a pool of threads."""

from collections.abc import Iterator

import pytest

from manyminds.actors.pool import Pool
from manyminds.storage import MemoryStore


@pytest.fixture
def pool() -> Iterator[Pool]:
    """A pool of two workers over a store in memory with a writer's thread."""
    store = MemoryStore()
    pool = Pool(store, workers=2)
    pool.start()
    yield pool
    assert pool.close(5.0)
    store.close()
