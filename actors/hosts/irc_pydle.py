"""One physical connection to an IRC server: the only file that imports pydle.

pydle brings the socket, TLS, framing, registration, case mapping and PONGs to the server's PINGs. Its user
tracking is left out: it sends WHOIS for everybody, and its messages are handled in the order they come in,
where pydle would start a task for each. Reconnecting is `irc_connection`'s. Runs on the host's event loop.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingParameterType=false, reportUnknownParameterType=false, reportUntypedBaseClass=false
# pyright: reportIncompatibleMethodOverride=false, reportAttributeAccessIssue=false

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pydle

_Features: Any = pydle.featurize(
    pydle.features.RFC1459Support, pydle.features.TLSSupport, pydle.features.ISUPPORTSupport
)
_LEFT_TO_PYDLE = frozenset({"PING", "NICK", 1, 5})
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Line:
    """A line from the server: `command` in upper case or a numeric of three digits, `source` as `nick!user@host`."""

    source: str
    command: str
    params: tuple[str, ...]


class Session(_Features):  # type: ignore[misc]
    """A connection from the first byte to the last; never used again once `gone` is set.

    `heard` is called for every line, in order, and must not block.
    """

    def __init__(self, nick: str, heard: Callable[[Line], None], quiet: float) -> None:
        super().__init__(nick, username=nick[:9].lower(), realname=nick)
        self._heard = heard
        self._quiet = quiet
        self._writer: asyncio.StreamWriter | None = None
        self.gone = asyncio.Event()

    async def open(self, host: str, port: int, *, tls: bool, verify: bool, password: str | None) -> None:
        """Connect and begin to register. Raises OSError, ssl.SSLError or TimeoutError."""
        await self.connect(host, port, tls=tls, tls_verify=verify, password=password)

    async def send(self, command: str, *params: str) -> None:
        """Send one line. Raises ConnectionError where the connection is gone; the line may have left all the same."""
        if self.gone.is_set() or not self.connected:
            raise ConnectionResetError("the connection to the IRC server is gone")
        try:
            await self.rawmsg(command, *params)
        except (OSError, TimeoutError, AttributeError) as exc:  # AttributeError: pydle dropped its writer meanwhile
            self.gone.set()
            raise ConnectionResetError(f"the connection to the IRC server broke: {exc}") from exc

    async def close(self, farewell: str = "") -> None:
        """Say farewell where that is possible, and close the socket."""
        if farewell and not self.gone.is_set():
            with contextlib.suppress(OSError):
                await self.send("QUIT", farewell)
        await self.disconnect(expected=True)
        self.gone.set()
        if self._writer is not None:
            self._writer.close()
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(2.0):
                    await self._writer.wait_closed()

    @property
    def case_mapping(self) -> str:
        """How the server compares names."""
        return str(self._case_mapping)

    @property
    def longest_nick(self) -> int:
        """Characters that a nick may have here, as far as the server has said."""
        return int(self._nickname_length_limit)

    async def handle_forever(self) -> None:
        """Read until the connection ends, whatever ends it; a server silent for twice `quiet` is taken for gone."""
        self._writer = self.connection.writer
        try:
            await self._read()
        except (OSError, ValueError) as exc:
            _log.info("the connection of %s broke: %s", self.nickname, exc)
        except Exception:
            _log.exception("the connection of %s is given up", self.nickname)
        finally:
            self.gone.set()
            await self.disconnect(expected=True)

    async def _read(self) -> None:
        asked = False
        while self.connected:
            try:
                data = await self.connection.recv(timeout=self._quiet)
            except TimeoutError:
                if asked:
                    _log.info("the server of %s has been silent for %s s", self.nickname, 2 * self._quiet)
                    return
                asked = True
                await self.rawmsg("PING", "alive")
                continue
            if not data:
                return
            asked = False
            await self.on_data(data)

    async def on_data(self, data: bytes) -> None:
        """Handle whole lines one after the other."""
        self._receive_buffer += data
        while self._has_message():
            try:
                message = self._parse_message()
            except pydle.protocol.ProtocolViolation:
                _log.warning("a line of the server that is no IRC was passed over")
                continue
            await self.on_raw(message)

    async def on_raw(self, message: Any) -> None:
        """Let pydle do its part, then hand the line on."""
        if message.command in _LEFT_TO_PYDLE:
            await super().on_raw(message)
        command = message.command
        name = f"{command:03d}" if isinstance(command, int) else str(command)
        self._heard(Line(message.source or "", name, tuple(message.params)))

    async def on_disconnect(self, expected: bool) -> None:
        """Reconnecting is not this object's."""

    async def _sync_user(self, nick: str, metadata: Any) -> None:
        """Nobody is tracked."""

    async def _rename_user(self, user: str, new: str) -> None:
        """Nobody is tracked."""
