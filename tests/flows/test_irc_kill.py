"""`manyminds irc` on a real server, killed in the middle and started again."""

import asyncio
import random
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.flows.irc_bot import Bot, Kept, Wire, kept
from tests.flows.irc_script import SAID
from tests.irc_server import Person, person, running

pytestmark = [pytest.mark.socket, pytest.mark.process]

CHANNELS = ("#a", "#b")
PLACES = [(channel, who) for channel in CHANNELS for who in ("ada", "bert")]


def place(number: int) -> tuple[str, str]:
    """Channel and resident of a number."""
    return PLACES[number % 4]


def say(mira: Person, *numbers: int) -> None:
    """Say the numbers, each in its channel to its resident."""
    for number in numbers:
        channel, who = place(number)
        mira.say(channel, f"{who}: number {number} of {channel}")


def quotes(mira: Person) -> list[tuple[str, str, int]]:
    """(channel, resident, number) of every quote, in the order in which they were heard."""
    return [
        (channel, nick.rstrip("_123456789"), int(number))
        for nick, channel, text in mira.heard() if text.startswith("quote ")
        for number in re.findall(r"\d+", text)
    ]


async def arrived(mira: Person, seen: int) -> int:
    """Wait until both residents have entered both channels anew; how many joins there have been."""
    def joins() -> int:
        return sum(" JOIN " in line and not line.startswith(":mira!") for line in mira.lines)

    await mira.until(lambda: joins() >= seen + 4)
    return joins()


def check(mira: Person, found: Kept) -> None:
    """[done-when 2] Each accepted number is quoted once, in its channel, in order, by the resident addressed.

    Where the kill fell between a post and its receipt, at most once, and then the log holds the notice.
    """
    accepted = [int(number) for text in found.accepted for _, number, _ in SAID.findall(text)]
    heard = quotes(mira)
    unsure = {int(n) for post in found.posts if post.state == "unknown" for n in re.findall(r"\d+", post.text)}

    assert len(accepted) == len(set(accepted))
    assert len(heard) == len(set(heard))
    assert {number for _, _, number in heard} <= set(accepted)
    assert set(accepted) - {number for _, _, number in heard} <= unsure
    assert [quote for quote in heard if quote[:2] != place(quote[2])] == []
    for where in PLACES:
        order = [number for channel, who, number in heard if (channel, who) == where]
        assert order == sorted(order)
    assert all(post.state in ("delivered", "unknown") for post in found.posts)
    assert bool(found.may_have_arrived) == bool(unsure)


@pytest.mark.timeout(600)
def test_a_kill_in_the_middle(tmp_path: Path, seeds: list[int], amount: Callable[[int, int], int]) -> None:
    """[done-when 2, S9] 30 numbered things in two channels, SIGKILL in the middle, a restart."""
    draw = random.Random(seeds[-1])

    async def go(port: int, folder: Path, before_kill: int) -> None:
        bot = Bot(folder, port, CHANNELS)
        async with person(port, "mira", *CHANNELS) as mira:
            try:
                await bot.start()
                joins = await arrived(mira, 0)
                say(mira, *range(1, 16))
                await mira.until(lambda: len(quotes(mira)) >= before_kill)
                say(mira, *range(16, 21))
                assert await bot.end(signal.SIGKILL) == -signal.SIGKILL
                await bot.start()
                await arrived(mira, joins)
                say(mira, *range(21, 31))
                await mira.until(lambda: {n for _, _, n in quotes(mira)} >= {27, 28, 29, 30})
                assert await bot.end(signal.SIGTERM) == 0
            finally:
                await bot.abandon()
            check(mira, kept(folder, CHANNELS))

    for run in range(amount(2, 20)):
        (tmp_path / f"ircd{run}").mkdir()
        with running(tmp_path / f"ircd{run}") as server:
            asyncio.run(go(server.port, tmp_path / f"room{run}", draw.randrange(2, 12)))


def test_a_kill_between_a_post_and_its_receipt(tmp_path: Path) -> None:
    """[done-when 2, S9] The line was out and its PONG was not in: quoted once, and the log says it may have arrived."""

    async def go(port: int) -> None:
        async with Wire(port).open() as wire, person(port, "mira", *CHANNELS) as mira:
            bot = Bot(tmp_path / "room", wire.port, CHANNELS)
            try:
                await bot.start()
                joins = await arrived(mira, 0)
                say(mira, 0)
                await mira.until(lambda: quotes(mira))
                await wire.passed.wait()
                wire.hold_pongs = True
                say(mira, 4)
                await mira.until(lambda: len(quotes(mira)) == 2)
                await wire.held.wait()
                say(mira, 8)  # waits behind the post that has no receipt
                await mira.sync()
                assert await bot.end(signal.SIGKILL) == -signal.SIGKILL
                wire.hold_pongs = False
                await bot.start()
                await arrived(mira, joins)
                say(mira, 12)
                await mira.until(lambda: 12 in [n for _, _, n in quotes(mira)])
                assert await bot.end(signal.SIGTERM) == 0
            finally:
                await bot.abandon()
            found = kept(tmp_path / "room", CHANNELS)
            check(mira, found)
            assert [n for _, _, n in quotes(mira)].count(4) == 1
            assert [post.text for post in found.posts if post.state == "unknown"] == ["quote 4"]
            assert len(found.may_have_arrived) == 1

    (tmp_path / "ircd").mkdir()
    with running(tmp_path / "ircd") as server:
        asyncio.run(go(server.port))
