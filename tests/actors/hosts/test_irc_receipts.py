"""Receipts and channels of one IRC session, without a server: what comes in is called, what goes out is kept."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator

import pytest
from tenacity import wait_fixed

from manyminds.actors.hosts.irc_membership import Membership
from manyminds.actors.hosts.irc_receipts import Receipt, Receipts
from manyminds.actors.hosts.irc_settings import IrcSettings
from manyminds.messages.posts import Delivered, NotSent, Outcome, Unknown


async def receipt(written: int, refused: int) -> Receipt:
    """A receipt of so many lines, so many of them sent back."""
    receipts = Receipts("ada-1")
    made = receipts.open("#a")
    made.written = written
    for _ in range(refused):
        receipts.refuse("#a", "Cannot send to channel")
    return made


@pytest.mark.parametrize(
    ("written", "refused", "kind"),
    [(1, 0, Delivered), (3, 0, Delivered), (1, 1, NotSent), (3, 3, NotSent), (3, 1, Unknown), (3, 2, Unknown)],
)
def test_what_a_pong_means(written: int, refused: int, kind: type[Outcome]) -> None:
    """[prose 11.1] All lines sent back: not sent, for good. Some of them: unknown, since part of it was posted."""

    async def run() -> None:
        outcome = (await receipt(written, refused)).outcome()
        assert type(outcome) is kind
        assert not isinstance(outcome, NotSent) or outcome.permanent

    asyncio.run(run())


@pytest.mark.parametrize(("written", "kind"), [(0, NotSent), (1, Unknown)])
def test_what_no_pong_means(written: int, kind: type[Outcome]) -> None:
    """[prose 11.1] Not sent only where nothing can have left."""
    assert type(asyncio.run(receipt(written, 0)).unconfirmed("gone")) is kind


def test_a_refusal_is_its_targets() -> None:
    """Of two posts that are out, the refusal counts for the one to that target, and no more often than it has lines."""

    async def run() -> None:
        receipts = Receipts("ada-1")
        one, other = receipts.open("#a"), receipts.open("#b")
        one.written = other.written = 1
        receipts.refuse("#b", "no")
        receipts.refuse("#b", "no")
        receipts.refuse("#c", "no")
        receipts.confirm(one.token)
        receipts.confirm(other.token)
        receipts.confirm("of somebody else")
        receipts.lose()

        assert [one.outcome(), await one.answer, await other.answer] == [Delivered(one.token), True, True]
        assert (one.refused, other.refused) == (0, 1)
        assert one.token != other.token

    asyncio.run(run())


class Channels:
    """A membership whose JOINs and PARTs are kept."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, ...]] = []
        self.changed = asyncio.Event()
        settings = IrcSettings("127.0.0.1", backoff=wait_fixed(0.001), settled=0.0)
        self.on = Membership(settings, str.lower, self._send, lambda kind, channel, text: None)

    async def _send(self, *words: str) -> None:
        self.sent.append(words)
        self.changed.set()

    async def joins(self, count: int) -> None:
        """Wait until so many JOINs were sent."""
        async with asyncio.timeout(10):
            while len(self.sent) < count:
                self.changed.clear()
                await self.changed.wait()


@contextlib.asynccontextmanager
async def channels() -> AsyncGenerator[Channels, None]:
    """A membership that ends with its session."""
    made = Channels()
    yield made
    made.on.close()


def test_a_refused_join_is_tried_again() -> None:
    """Whoever waits for the channel hears of the refusal; once the next try was let in, nothing is left of it."""

    async def run() -> None:
        async with channels() as made:
            waiting = asyncio.ensure_future(made.on.join("#A"))
            await made.joins(1)
            made.on.refused("#a", "471", "Channel is full")
            with pytest.raises(NotSent, match="full") as refusal:
                await waiting
            assert not refusal.value.permanent
            await made.joins(2)
            made.on.entered("#a")
            await made.on.join("#a")
            assert made.on.inside("#A")
            made.on.left("#a", "kicked")
            again = asyncio.ensure_future(made.on.join("#a"))
            await made.joins(3)
            made.on.entered("#a")
            await again

    asyncio.run(run())


@pytest.mark.parametrize(("numeric", "permanent"), [("473", True), ("474", True), ("475", True), ("405", False)])
def test_which_refusals_are_for_good(numeric: str, permanent: bool) -> None:
    """Invite-only, banned and keyed channels are not tried again by a post; a limit may pass."""

    async def run() -> None:
        async with channels() as made:
            waiting = asyncio.ensure_future(made.on.join("#a"))
            await made.joins(1)
            made.on.refused("#a", numeric, "no")
            with pytest.raises(NotSent) as refusal:
                await waiting
            assert refusal.value.permanent is permanent

    asyncio.run(run())


def test_leaving_and_losing_end_the_wait() -> None:
    """A channel that is left is not joined again, and the session's end answers whoever waits."""

    async def run() -> None:
        async with channels() as made:
            await made.on.part("#never")
            waiting = asyncio.ensure_future(made.on.join("#a"))
            await made.joins(1)
            made.on.close()
            with pytest.raises(NotSent, match="gone"):
                await waiting
            made.on.want("#b")
            await made.joins(2)
            made.on.entered("#b")
            await made.on.part("#b")
            assert made.sent == [("JOIN", "#a"), ("JOIN", "#b"), ("PART", "#b")]
            assert not made.on.inside("#b")

    asyncio.run(run())
