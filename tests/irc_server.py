"""A real ngircd on loopback and a plain client for tests: raw sockets, no library, nothing of the product."""

import asyncio
import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import AsyncGenerator, Callable, Generator
from pathlib import Path

NGIRCD = shutil.which("ngircd") or "/usr/sbin/ngircd"

_CONFIG = """
[Global]
Name = irc.test.invalid
Info = test server
AdminInfo1 = test
AdminInfo2 = test
AdminEMail = test@test.invalid
Listen = 127.0.0.1
Ports = {port}
MotdPhrase = welcome
ServerUID = {uid}
ServerGID = {gid}
{password}
[Limits]
MaxConnections = 0
MaxConnectionsIP = 0
MaxJoins = 0
MaxNickLength = 9
MaxPenaltyTime = 0
PingTimeout = 60
PongTimeout = 20
[Options]
DNS = no
Ident = no
PAM = no
SyslogFacility = local1
IncludeDir = {folder}
[Operator]
Name = root
Password = secret
"""


class Ngircd:
    """One server process on a free port; `restart` keeps the port."""

    def __init__(self, folder: Path, password: str = "") -> None:
        self.port = _free_port()
        self._config = folder / "ngircd.conf"
        (folder / "include").mkdir(exist_ok=True)
        self._config.write_text(
            _CONFIG.format(
                port=self.port, uid=os.getuid(), gid=os.getgid(), folder=folder / "include",
                password=f"Password = {password}" if password else "",
            )
        )
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it listens."""
        self._process = subprocess.Popen(
            [NGIRCD, "--nodaemon", "--config", str(self._config)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 20
        while not _listens(self.port):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"ngircd did not start: {NGIRCD} --config {self._config}")

    def stop(self) -> None:
        """End it at once: its clients see the connection close."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _listens(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=0.05):
            return True
    except OSError:
        return False


@contextlib.contextmanager
def running(folder: Path, password: str = "") -> Generator[Ngircd]:
    """A server for the length of a `with`."""
    server = Ngircd(folder, password)
    server.start()
    try:
        yield server
    finally:
        server.stop()


class Person:
    """A client of its own: keeps every line it gets, answers PINGs, and waits for what it is asked to wait for."""

    def __init__(self, nick: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.nick = nick
        self.lines: list[str] = []
        self.raw: list[bytes] = []
        self._reader, self._writer = reader, writer
        self._came = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._read())

    async def _read(self) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await self._reader.readline():
                line = data.decode("utf-8", "surrogateescape").rstrip("\r\n")
                if line.startswith("PING "):
                    self.send("PONG " + line[5:])
                self.raw.append(data)
                self.lines.append(line)
                self._came.set()
        self.lines.append("closed")
        self._came.set()

    def send(self, line: str) -> None:
        """Send a line as it is."""
        self._writer.write(line.encode() + b"\r\n")

    def say(self, target: str, text: str) -> None:
        """Say something in a channel or to a nick."""
        self.send(f"PRIVMSG {target} :{text}")

    def heard(self) -> list[tuple[str, str, str]]:
        """(nick, target, text) of every PRIVMSG so far."""
        return [
            (line[1:].partition("!")[0], *line.split(" PRIVMSG ", 1)[1].split(" :", 1))  # type: ignore[misc]
            for line in self.lines if " PRIVMSG " in line and line.startswith(":")
        ]

    async def until(self, true: Callable[[], object], seconds: float = 30.0) -> None:
        """Wait for a line after which `true()` holds."""
        async with asyncio.timeout(seconds):
            while not true():
                self._came.clear()
                await self._came.wait()

    async def line(self, words: str, seconds: float = 30.0) -> str:
        """Wait until some line holds these words, and return it."""
        await self.until(lambda: any(words in line for line in self.lines), seconds)
        return next(line for line in self.lines if words in line)

    async def sync(self) -> None:
        """Wait until the server has handled all that was sent."""
        token = f"sync{len(self.lines)}"
        self.send(f"PING {token}")
        await self.line(token)

    async def close(self) -> None:
        """Leave."""
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()
        await self._task


@contextlib.asynccontextmanager
async def person(port: int, nick: str, *channels: str) -> AsyncGenerator[Person]:
    """A person on the server and in the channels."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    who = Person(nick, reader, writer)
    try:
        who.send(f"NICK {nick}")
        who.send(f"USER {nick} 0 * :{nick}")
        await who.line(" 376 ")
        for channel in channels:
            who.send(f"JOIN {channel}")
            await who.line(f" 366 {nick} {channel} ")
        yield who
    finally:
        await who.close()
