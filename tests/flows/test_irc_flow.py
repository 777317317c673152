"""A real runtime behind the IRC host, on a real server, in this process."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from tenacity import wait_fixed

from manyminds import AsyncRuntime, Resident, Scripted
from manyminds.actors.hosts.irc import IrcHost, IrcSettings
from manyminds.actors.providers.scripted import newest_text
from manyminds.messages.request import Request
from tests.irc_server import Ngircd, person, running

pytestmark = [pytest.mark.socket, pytest.mark.pool]

CODE = "\n".join(f"line {number}: print('{'x' * 20}')" for number in range(40))
LONG = f"Here it is 😀:\n\n```python\n{CODE}\n```\n\n" + "and goes on with wörds 😀 " * 140 + "THE END"


def quoting(request: Request) -> str:
    """Say the last line that was heard."""
    return "you said " + newest_text(request).splitlines()[-1]


@contextlib.asynccontextmanager
async def bots(folder: Path, port: int, provider: Scripted, **options: Any) -> AsyncGenerator[AsyncRuntime, None]:
    """Ada and bert in #a."""
    residents = [Resident("ada", "m"), Resident("bert", "m")]
    settings = IrcSettings("127.0.0.1", ("#a",), port, interval=0.0, backoff=wait_fixed(0.02), settled=0.0)
    async with AsyncRuntime.open(folder, residents=residents, provider=provider, **options) as runtime:
        host = IrcHost(runtime, ["ada", "bert"], settings)
        task = asyncio.get_running_loop().create_task(host.run())
        try:
            async with asyncio.timeout(30):
                await host.until_ready()
            yield runtime
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


@pytest.fixture
def ircd(tmp_path: Path) -> Any:
    """A server."""
    (tmp_path / "ircd").mkdir()
    with running(tmp_path / "ircd") as server:
        yield server


def test_a_long_reply_with_a_code_block(tmp_path: Path, ircd: Ngircd) -> None:
    """[S31] 5,000 characters, a code block, emoji: lines of at most 512 bytes, in order, fences closed and reopened."""

    async def run() -> None:
        model = Scripted(otherwise=LONG)
        async with bots(tmp_path / "room", ircd.port, model), person(ircd.port, "mira", "#a") as m:
            m.say("#a", "ada: show me")
            await m.line("THE END")
            said = [text for _, _, text in m.heard()]
            fences = [line for line in said if line.startswith("```")]

            assert len(LONG) > 5000
            assert max(len(line) for line in m.raw if b" PRIVMSG " in line) <= 512
            assert fences[0::2] == ["```python"] * (len(fences) // 2)
            assert fences[1::2] == ["```"] * (len(fences) // 2)
            assert len(fences) > 2
            plain = [word for line in said if not line.startswith("```") for word in line.split()]
            assert plain == [word for word in LONG.split() if not word.startswith("```")]

    asyncio.run(run())


def test_our_own_words_wake_nobody(tmp_path: Path, ircd: Ngircd) -> None:
    """[S33] With wake_on="all" both residents answer a line, and no resident answers the other's echo."""

    async def run() -> None:
        model = Scripted(otherwise=quoting)
        async with (
            bots(tmp_path / "room", ircd.port, model, wake_on="all") as runtime,
            person(ircd.port, "mira", "#a") as mira,
        ):
            mira.say("#a", "hello everybody")
            await mira.until(lambda: len(mira.heard()) == 2)
            mira.say("#a", "and again")
            await mira.until(lambda: len(mira.heard()) == 4)
            async with asyncio.timeout(30):
                while any(agent["state"] != "idle" for agent in (await runtime.health()).agents.values()):
                    await asyncio.sleep(0.01)
            await mira.sync()

            assert sorted(nick for nick, _, _ in mira.heard()) == ["ada", "ada", "bert", "bert"]
            assert len(model.rounds) == 4

    asyncio.run(run())


def test_a_direct_talk_stays_one(tmp_path: Path, ircd: Ngircd) -> None:
    """A private message is answered in private, by the resident that it was sent to."""

    async def run() -> None:
        async with bots(tmp_path / "room", ircd.port, Scripted(otherwise=quoting)), person(ircd.port, "mira") as mira:
            mira.say("bert", "psst")
            await mira.until(mira.heard)
            nick, target, text = mira.heard()[0]
            assert (nick, target) == ("bert", "mira")
            assert text.endswith("psst")

    asyncio.run(run())


def test_what_could_not_leave_waits_for_the_server(tmp_path: Path, ircd: Ngircd) -> None:
    """[S8] The server goes while ada thinks: her words wait, and leave in order when it is back."""

    async def run() -> None:
        thinking, go_on = threading.Event(), threading.Event()  # the model runs on the runtime's own loop

        async def slowly(request: Request) -> str:
            thinking.set()
            while not go_on.is_set():
                await asyncio.sleep(0.01)
            return "first\nsecond"

        async with bots(tmp_path / "room", ircd.port, Scripted(otherwise=slowly)) as runtime:
            async with person(ircd.port, "mira", "#a") as mira:
                mira.say("#a", "ada: think")
                await asyncio.to_thread(thinking.wait, 30)
            traces = runtime.subscribe()
            ircd.stop()
            go_on.set()
            async with asyncio.timeout(30):
                while not any(trace.name == "inference:completed" for trace in traces.take()):
                    await asyncio.sleep(0.01)
            ircd.start()
            async with person(ircd.port, "mira", "#a") as mira:
                await mira.until(lambda: len(mira.heard()) == 2)
                assert mira.heard() == [("ada", "#a", "first"), ("ada", "#a", "second")]

    asyncio.run(run())
