"""Every example runs, as a person would run it."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.irc_server import person, running

EXAMPLES = Path(__file__).parent.parent / "examples"

pytestmark = pytest.mark.process


def run(name: str) -> str:
    """The output of an example that ends by itself."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_two_residents() -> None:
    """Bert repeats what ada said in another channel: they live in one room."""
    assert run("two_residents.py").splitlines() == [
        "#garden mira: ada: when do we harvest?",
        "#garden ada: We harvest on Friday.",
        "#kitchen mira: bert: do you know ada's plans?",
        "#kitchen bert: I know, she said: We harvest on Friday.",
    ]


def test_embed_in_asyncio() -> None:
    """The answer comes through a coroutine tool and publisher, and the loop is not blocked."""
    assert run("embed_in_asyncio.py").splitlines() == [
        "ada: An actor: somebody who acts, one letter at a time.",
        "the loop went on ticking",
    ]


def test_three_rooms_without_a_server() -> None:
    """It says what it needs. On a server: tests/flows/test_three_rooms.py."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / "three_rooms.py")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "HOST PORT '#kitchen' '#garden' '#office'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.socket
def test_irc_bot(tmp_path: Path) -> None:
    """On a real server the bot answers by the resident that was addressed, and ends in order when it is asked to."""

    async def go(port: int) -> None:
        bot = await asyncio.create_subprocess_exec(
            sys.executable, "-W", "error", str(EXAMPLES / "irc_bot.py"), "127.0.0.1", str(port), "#room",
            str(tmp_path / "bot"), stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )
        try:
            async with person(port, "mira", "#room") as mira:
                await mira.until(lambda: sum(" JOIN " in line for line in mira.lines) == 3)
                mira.say("#room", "bert: are you there?")
                await mira.until(mira.heard)
                assert mira.heard() == [("bert", "#room", "I have heard: mira: bert: are you there?")]
            bot.send_signal(signal.SIGINT)
            out, err = await bot.communicate()
            assert (bot.returncode, out, err) == (0, b"bye\n", b"")
        finally:
            if bot.returncode is None:
                bot.kill()
                await bot.wait()

    with running(tmp_path) as server:
        asyncio.run(go(server.port))
