"""A token bucket by hand: levels, waits and the provider's word, at times that are given."""

import random

import pytest

from manyminds.actors.token_bucket import Bucket
from manyminds.messages.request import Limit


def test_it_fills_as_time_goes_by() -> None:
    """60 a minute is one a second, up to full and no further; time that goes back changes nothing."""
    bucket = Bucket(Limit(60, 10), 100.0)
    assert bucket.level(100.0) == 10
    assert bucket.level(105.0) == 15
    assert bucket.level(101.0) == 15
    assert bucket.level(500.0) == 60
    assert bucket.full(500.0)


@pytest.mark.parametrize(
    ("left", "cost", "wait"),
    [
        (10, 1, 0.0), (10, 10, 0.0), (10, 11, 0.5), (0, 1, 0.5), (0, 0, 0.5), (10, 0, 0.0),
        (120, 500, 0.0), (60, 500, 30.0), (0, 500, 60.0),
    ],
)
def test_how_long_to_wait(left: int, cost: int, wait: float) -> None:
    """120 a minute: until the cost is there, at least 1; a cost beyond the whole bucket waits for a full one."""
    assert Bucket(Limit(120, left), 0.0).wait(cost, 0.0) == wait


def test_more_may_be_used_than_is_there() -> None:
    """What was used beyond the estimate is owed, and a part that was not used comes back, up to full."""
    bucket = Bucket(Limit(60, 60), 0.0)
    bucket.use(90, 0.0)
    assert bucket.level(0.0) == -30
    assert bucket.wait(1, 0.0) == 31.0
    bucket.use(-20, 0.0)
    assert bucket.level(0.0) == -10
    bucket.use(-500, 0.0)
    assert bucket.level(0.0) == 60


def test_the_providers_word() -> None:
    """What it says is left is taken if it is less than what is known; its limit goes before the one there was."""
    bucket = Bucket(Limit(60, 30), 0.0)
    bucket.feed(Limit(60, 50), 0.0)
    assert bucket.level(0.0) == 30
    bucket.feed(Limit(120, 5), 0.0)
    assert bucket.level(0.0) == 5
    assert bucket.level(1.0) == 7


@pytest.mark.parametrize(
    ("limit", "per_second"),
    [
        (Limit(600, 0), 10.0), (Limit(600, 600, 0.0), 10.0), (Limit(600, 590, 1.0), 10.0), (Limit(600, 0, 60.0), 10.0),
        (Limit(600, 0, 120.0), 5.0), (Limit(8640, 4320, 43_200.0), 0.1),
    ],
)
def test_how_fast_it_fills(limit: Limit, per_second: float) -> None:
    """A limit of a day is not full again in a minute: the time that the provider names counts."""
    assert limit.per_second == per_second
    bucket = Bucket(limit, 0.0)
    before = bucket.level(0.0)
    assert bucket.level(1.0) == min(limit.per_minute, before + per_second)
    assert Bucket(Limit(limit.per_minute, 0, limit.full_in), 0.0).wait(1, 0.0) > 0
    bucket.feed(Limit(600, 0), 1.0)
    assert bucket.level(2.0) == 10.0


def test_never_more_than_the_limit(seeds: list[int]) -> None:
    """In any stretch of time no more is let through than a full bucket and what flowed in meanwhile."""
    for seed in seeds:
        source = random.Random(seed)
        per_minute = source.randint(1, 100)
        bucket, now = Bucket(Limit(per_minute, per_minute), 0.0), 0.0
        used: list[tuple[float, int]] = []
        for _ in range(200):
            cost = source.randint(1, per_minute)
            now += bucket.wait(cost, now) + source.choice((0.0, 0.0, source.random() * 5))
            bucket.use(cost, now)
            used.append((now, cost))
        for first, (start, _) in enumerate(used):
            total = 0
            for at, cost in used[first:]:
                total += cost
                assert total <= per_minute + (at - start) * per_minute / 60 + 1e-6, seed
