"""`examples/three_rooms.py` as a process, on a real server, seen by a client of its own, and what its folder holds."""

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from manyminds.messages.blocks import text_of
from manyminds.messages.drafts import Draft
from manyminds.messages.places import ChannelRef
from manyminds.messages.rows import Row
from manyminds.storage import branches, drafts, log, open_store, registry
from tests.irc_server import Person, person, running

EXAMPLE = Path(__file__).parents[2] / "examples" / "three_rooms.py"
ROOMS = ("#kitchen", "#garden", "#office")

pytestmark = [pytest.mark.process, pytest.mark.socket]


async def on_the_server(port: int, folder: Path) -> list[tuple[str, str, str]]:
    """Start the bot, make the rooms known, ask ada once, and end it; what was heard, in order."""
    bot = await asyncio.create_subprocess_exec(
        sys.executable,
        "-W",
        "error",
        str(EXAMPLE),
        "127.0.0.1",
        str(port),
        *ROOMS,
        str(folder),
        stderr=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        async with person(port, "mira", *ROOMS) as mira:
            await mira.until(lambda: all(_joined(mira, room) for room in ROOMS))
            for room in ROOMS[1:]:
                mira.say(room, "good morning")
            mira.say(ROOMS[0], "ada: tell everybody")
            await mira.until(lambda: len(mira.heard()) == 5)
            bot.send_signal(signal.SIGINT)
            out, err = await bot.communicate()
            assert (bot.returncode, out, err) == (0, b"bye\n", b"")
            await mira.sync()
            return mira.heard()
    finally:
        if bot.returncode is None:
            bot.kill()
            await bot.wait()


def _joined(mira: Person, room: str) -> bool:
    return any(line.startswith(":ada!") and f" JOIN :{room}" in line for line in mira.lines)


def kept(folder: Path) -> tuple[list[Draft], list[Row]]:
    """Ada's drafts, and what she was told of bounces, from a folder that nobody has open."""
    store = open_store(folder)
    try:
        with store.snapshot() as snap:
            branch = branches.cursor(snap, registry.agents(snap)[0].room)
            rows = [placed.row for placed in log.between(snap, branch, 0, log.end(snap, branch))]
            return list(drafts.of_agent(snap, "ada")), [r for r in rows if r.metadata.get("kind") == "prose-bounce"]
    finally:
        store.close()


def test_three_rooms(tmp_path: Path) -> None:
    """[prose 4.1, 5.3, 8, 9] Each line in its channel, in order, without its prefix; the bounced one after its resend.

    Nothing else is heard anywhere. The bounce was told, with the channel that was meant; its draft is delivered.
    """
    with running(tmp_path) as server:
        heard = asyncio.run(on_the_server(server.port, tmp_path / "bot"))
    assert heard == [
        ("ada", "#kitchen", "Dinner is at seven."),
        ("ada", "#office", "The printer is back."),
        ("ada", "#kitchen", "And there is cake."),
        ("ada", "#garden", "We harvest on Friday."),
        ("ada", "#garden", "Bring a basket."),
    ]
    [draft], [told] = kept(tmp_path / "bot")
    assert (draft.text, draft.reason, draft.target) == ("We harvest on Friday.", "bounced", "#gardens")
    assert (draft.state, draft.sent_to) == ("delivered", ChannelRef("irc", "#garden"))
    assert draft.id in text_of(told.content)
    assert "{{unsent}}" in text_of(told.content)
