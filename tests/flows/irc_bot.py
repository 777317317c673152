"""`manyminds irc` as a process of its own, the wire between it and the server, and what its folder holds afterwards."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path

from manyminds.messages.blocks import text_of
from manyminds.messages.places import ChannelRef
from manyminds.messages.posts import OutboxEntry
from manyminds.messages.rows import Row
from manyminds.storage import branches, inbox, log, open_store, outbox, registry

SCRIPT = Path(__file__).with_name("irc_script.py")


class Bot:
    """The process."""

    def __init__(self, folder: Path, port: int, channels: Sequence[str]) -> None:
        options = ["--server", f"127.0.0.1:{port}", "--folder", str(folder), "--script", f"{SCRIPT}:provider"]
        options += ["--plain", "--flood", "1000", "0"]
        for channel in channels:
            options += ["--channel", channel]
        for resident in ("ada", "bert"):
            options += ["--resident", f"{resident}=scripted"]
        self._command = [sys.executable, "-m", "manyminds.actors.cli", "irc", *options]
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start it."""
        self._process = await asyncio.create_subprocess_exec(
            *self._command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL
        )

    async def end(self, by: signal.Signals) -> int:
        """Send a signal and wait; the exit code, negative where the signal ended it."""
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(by)
        async with asyncio.timeout(30):
            code = await self._process.wait()
        self._process = None
        return code

    async def abandon(self) -> None:
        """End what is left of it."""
        if self._process is not None:
            await self.end(signal.SIGKILL)


class Wire:
    """A line-wise proxy before the server that can swallow the server's PONGs."""

    def __init__(self, upstream: int) -> None:
        self.hold_pongs = False
        self.held, self.passed = asyncio.Event(), asyncio.Event()
        self._upstream = upstream
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        """Where to connect."""
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self._upstream)
        pair = (self._pipe(reader, up_writer, False), self._pipe(up_reader, writer, True))
        for made in pair:
            task = asyncio.get_running_loop().create_task(made)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, down: bool) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.readline():
                if down and b" PONG " in data:
                    if self.hold_pongs:
                        self.held.set()
                        continue
                    self.passed.set()
                writer.write(data)
        writer.close()

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncGenerator["Wire", None]:
        """Serve for the length of a `with`."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        try:
            yield self
        finally:
            self._server.close()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._server.wait_closed()


@dataclass(frozen=True, slots=True)
class Kept:
    """What a folder holds: the log, what still waits in the inbox, and the outbox of the channels."""

    log: list[Row]
    inbox: list[Row]
    posts: list[OutboxEntry]

    @property
    def accepted(self) -> list[str]:
        """The texts of what was accepted, in order."""
        return [text_of(row.content) for row in (*self.log, *self.inbox) if "channelId" in row.metadata]

    @property
    def may_have_arrived(self) -> list[str]:
        """The notices that a post may have arrived."""
        return [
            text_of(row.content) for row in self.log
            if row.metadata.get("kind") == "discord-send-failed" and "may or may not" in text_of(row.content)
        ]


def kept(folder: Path, channels: Sequence[str]) -> Kept:
    """Read a folder that nobody has open."""
    store = open_store(folder)
    try:
        with store.snapshot() as snap:
            room = registry.agents(snap)[0].room
            branch = branches.cursor(snap, room)
            refs = [ChannelRef("irc", channel) for channel in channels]
            return Kept(
                [placed.row for placed in log.between(snap, branch, 0, log.end(snap, branch))],
                [entry.row for entry in inbox.waiting(snap, room)],
                [e for ref in refs for e in (*outbox.unfinished_of(snap, ref), *outbox.ended_of(snap, ref))],
            )
    finally:
        store.close()
