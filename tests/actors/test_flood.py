"""A fast producer and a slow room: what is accepted is kept, what is not is refused, and memory stays where it is."""

import asyncio
import gc
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal

import pytest

from manyminds.actors.house import ROOM
from manyminds.actors.providers.scripted import Answer, Scripted
from manyminds.actors.room import InboxBounds
from manyminds.actors.room_unit import ROWS_A_DRAIN
from manyminds.actors.runtime import Runtime
from manyminds.actors.spec import Resident
from manyminds.messages.errors import QueueFull
from manyminds.messages.incoming import Incoming
from manyminds.messages.request import Request
from manyminds.storage import inbox, turns, wakes
from tests.actors.on_threads import LONG, at_once, message, runtime, store_of, texts_in
from tests.actors.simulated import SimulatedHouse, variations

PRODUCERS = 4
BOUND = 600
PADDING = "x" * 300
WINDOW = 160_000
"""Tokens of a request: about a thousand of these messages, and its half, which a drain may take, more than 500."""
BLOCKS_A_MESSAGE = 6
"""A message that is kept in memory takes more allocated blocks than this; its id, which may be kept, takes fewer."""


class SlowRoom:
    """A model whose first round lasts until the inbox is full, and what it saw of the room at each round."""

    def __init__(self, total: int) -> None:
        self.model = Scripted(otherwise=self.answer)
        self.opened: Runtime | None = None
        self.total = total
        self.heard = 0
        self.most_rows = 0
        self.most_wakes = 0
        self.most_waiting = 0
        self.blocks: list[tuple[int, int]] = []
        self.over = threading.Event()

    async def answer(self, request: Request) -> Answer:
        """Look at what the turn took and what waits; the first time, wait for a full inbox."""
        self.model.rounds.clear()  # a record of every request would grow with what went through
        first = not self.heard
        self.look()
        while first and self.last_number() < self.heard + BOUND:
            await asyncio.sleep(0.01)
        if self.heard >= BOUND:
            gc.collect()
            self.blocks.append((self.heard, sys.getallocatedblocks()))
        if self.heard >= self.total:
            self.over.set()
        return "so"

    def look(self) -> None:
        """What the store says now."""
        assert self.opened is not None
        with store_of(self.opened).snapshot() as snap:
            turn = turns.get(snap, ROOM, "ada")
            pending = Counter((w.channel, w.reason, w.addressed) for w in wakes.pending(snap, ROOM, "ada"))
            waiting, _ = inbox.totals(snap, ROOM)
        assert turn is not None
        self.most_rows = max(self.most_rows, turn.heard - self.heard)
        self.most_wakes = max(self.most_wakes, *pending.values(), 0)
        self.most_waiting = max(self.most_waiting, waiting)
        self.heard = turn.heard

    def last_number(self) -> int:
        """How many messages were accepted."""
        assert self.opened is not None
        with store_of(self.opened).snapshot() as snap:
            return inbox.last_number(snap, ROOM)


def produce(opened: Runtime, name: str, count: int) -> int:
    """Hand in `count` messages, each until it is accepted; how often one was refused."""
    refused = 0
    for number in range(count):
        each = message(f"{name} {number} {PADDING}", f"#{number % 3}", name, id=f"{name}{number}", to="ada")
        while not accepted(opened, each):
            refused += 1
            threading.Event().wait(0.005)
    return refused


def accepted(opened: Runtime, each: Incoming) -> bool:
    """Whether the message was accepted."""
    try:
        return opened.receive(each, LONG).routed
    except QueueFull:
        return False


@pytest.mark.pool
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("on_full", "whole"), [("refuse", 100_000), ("wait", 8_000)])
def test_a_flood_is_bounded_and_loses_nothing(
    tmp_path: Path, amount: Callable[[int, int], int], on_full: Literal["refuse", "wait"], whole: int
) -> None:
    """[S24] Bounded inbox, merged wakes, at most 500 rows a turn, memory that does not grow with what went through."""
    each = amount(1600, whole) // PRODUCERS
    slow = SlowRoom(each * PRODUCERS)
    ada = Resident("ada", "m", context_tokens=WINDOW, prose="disabled", provider=slow.model)
    names = [f"p{number}" for number in range(PRODUCERS)]
    bounds = {"inbox_messages": BOUND, "on_full": on_full, "switch_interval": 0.0005}
    with runtime(slow.model, tmp_path, [ada], **bounds) as (opened, _):
        slow.opened = opened
        refused = at_once(*(partial(produce, opened, name, each) for name in names), timeout=1500)
        assert slow.over.wait(LONG)
        health = opened.health()
    assert all(isinstance(count, int) for count in refused), refused
    assert (sum(refused) > 0) == (on_full == "refuse")
    assert health.inbox["refused"] > 0
    assert slow.most_rows == ROWS_A_DRAIN
    assert slow.most_wakes == 1
    assert slow.most_waiting <= BOUND
    (before, blocks), *_, (after, blocks_then) = slow.blocks
    assert blocks_then - blocks < BLOCKS_A_MESSAGE * (after - before), slow.blocks
    kept = [text for text in texts_in(tmp_path) if text.endswith(PADDING)]
    assert len(kept) == each * PRODUCERS
    for name in names:
        numbers = [int(found[1]) for text in kept if (found := re.match(rf"{name} (\d+) ", text))]
        assert numbers == list(range(each))


def test_a_full_room_step_by_step(seeds: list[int]) -> None:
    """[S24] Under every order of steps: refused or kept, once, in order; one pending wake for each kind at any time."""
    for seed in seeds:
        for settings in variations():
            model = Scripted(otherwise="so", delay=0.05)
            bounds = InboxBounds(messages=4, retry_after=0.02)
            with SimulatedHouse(seed, [Resident("ada", "m")], model, bounds=bounds, **settings) as house:
                refused = 0
                for number in range(20):
                    each = house.message(f"number {number}", f"#{number % 2}", to="ada" if number % 3 else None)
                    while True:
                        try:
                            assert house.insist(each).routed
                            break
                        except QueueFull as full:
                            refused += 1
                            house.simulation.advance(full.retry_after)
                    kinds = Counter((w.agent, w.channel, w.reason, w.addressed) for w in house.pending())
                    assert not kinds or max(kinds.values()) == 1, (seed, settings)
                    assert len(house.waiting()) <= 4, (seed, settings)
                house.settle()
                assert refused > 0, (seed, settings)
                numbers = [text for text in house.texts() if text.startswith("number")]
                assert numbers == [f"number {n}" for n in range(20)], (seed, settings)
                assert house.pending() == []
                assert house.waiting() == []
