"""The flood limit under a clock that the test sets."""

import asyncio

from manyminds.actors.hosts.irc_flood import FloodLimit


def delays(limit: FloodLimit, times: list[float]) -> list[float]:
    """The delay of a line at each of the times, each line sent once its delay is over."""
    found: list[float] = []
    for now in times:
        wait = limit.delay(now)
        limit._earliest = max(limit._earliest, now + wait) + limit.interval
        found.append(round(wait, 6))
    return found


def test_a_burst_then_one_line_an_interval() -> None:
    """Four lines leave at once, then one each 0.7 s."""
    assert delays(FloodLimit(4, 0.7), [10.0] * 7) == [0, 0, 0, 0, 0.7, 1.4, 2.1]


def test_the_bucket_fills_again() -> None:
    """After a rest of one interval one line more may leave at once; after a long one, a burst and no more."""
    assert delays(FloodLimit(2, 1.0), [0.0, 0.0, 1.0, 1.0, 100.0, 100.0, 100.0]) == [0, 0, 0, 1.0, 0, 0, 1.0]


def test_lines_leave_in_the_order_they_came() -> None:
    """Those who wait are served in order."""

    async def run() -> list[int]:
        limit, order = FloodLimit(1, 0.001), list[int]()

        async def send(number: int) -> None:
            await limit.take()
            order.append(number)

        await asyncio.gather(*(send(n) for n in range(10)))
        return order

    assert asyncio.run(run()) == list(range(10))
