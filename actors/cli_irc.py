"""`manyminds irc`: a runtime and an IRC host in one asyncio program, until SIGINT or SIGTERM.

An event loop of its own; nothing else runs in the process. What happens is shown a line each on standard output.
"""

import asyncio
import contextlib
import signal
from collections.abc import Sequence
from pathlib import Path

from ..messages.errors import InvalidSetting
from ..messages.routing import WakeOn
from .cli_show import Show, printer
from .hosts.irc import IrcEvent, IrcHost, IrcSettings
from .providers.provider import Provider
from .runtime_async import AsyncRuntime
from .spec import Resident

_WORDS = {
    "up": "is connected as {text}", "down": "is not connected: {text}", "nick": "has the nick {text}",
    "joined": "is in {channel}", "left": "is out of {channel}: {text}", "refused": "may not enter {channel}: {text}",
}


def settings_of(
    server: str, channels: Sequence[str], tls: bool, unverified: bool, password: str | None, flood: tuple[int, float]
) -> IrcSettings:
    """The IRC settings of the command's options. Raises InvalidSetting."""
    host, colon, port = server.rpartition(":") if server.count(":") == 1 or "]:" in server else (server, "", "")
    if colon and not port.isdigit():
        raise InvalidSetting(f"--server {server!r} must be HOST or HOST:PORT")
    secure = tls or unverified
    return IrcSettings(
        host.strip("[]"), tuple(channels), int(port) if colon else 6697 if secure else 6667, tls=secure,
        tls_verify=not unverified, password=password, burst=flood[0], interval=flood[1],
    )


def shown(event: IrcEvent) -> tuple[str, str, str]:
    """(channel, who, words) of an event as it is shown; words without a speaker in brackets."""
    if event.kind in ("heard", "posted"):
        return event.channel, event.who, event.text
    words = _WORDS[event.kind].format(channel=event.channel, text=event.text)
    return event.channel if event.kind != "joined" else "", "", f"[{event.who} {words}]"


def run(
    folder: Path, residents: Sequence[Resident], provider: Provider, settings: IrcSettings, wake_on: WakeOn, plain: bool
) -> None:
    """Serve until a signal; then leave the server and stop the runtime in order."""
    asyncio.run(_serve(folder, residents, provider, settings, wake_on, printer(plain)))


async def _serve(
    folder: Path, residents: Sequence[Resident], provider: Provider, settings: IrcSettings, wake_on: WakeOn,
    show: Show,
) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    async with AsyncRuntime.open(folder, residents=residents, provider=provider, wake_on=wake_on) as runtime:
        host = IrcHost(runtime, [r.name for r in residents], settings, lambda event: show(*shown(event)))
        serving = loop.create_task(host.run())
        waiting = loop.create_task(ended.wait())
        await asyncio.wait((serving, waiting), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        await runtime.stop()  # before the connections go: what is being posted is still confirmed
        serving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await serving
