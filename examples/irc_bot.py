"""A bot on an IRC server: two residents, each under its own nick.

`python examples/irc_bot.py HOST PORT '#channel' [FOLDER]`; say `ada: hi` there. Needs `pip install 'manyminds[irc]'`
and a server, but no key: a script stands in for the model. Stop it with Ctrl-C.
"""

import asyncio
import sys
import tempfile

from manyminds import AsyncRuntime, Resident, Scripted
from manyminds.actors.hosts.irc import IrcHost, IrcSettings
from manyminds.actors.providers.scripted import newest_text
from manyminds.messages.request import Request


def answer(request: Request) -> str:
    """Say what was heard last."""
    return f"I have heard: {newest_text(request).splitlines()[-1]}"


async def serve(host: str, port: int, channel: str, folder: str) -> None:
    """Be on the server until cancelled. What was accepted is in the folder and survives a restart."""
    residents = [
        Resident("ada", "scripted", "You are ada, on IRC. Lines are short."),
        Resident("bert", "scripted", "You are bert, on IRC. Lines are short."),
    ]
    async with AsyncRuntime.open(folder, residents=residents, provider=Scripted(otherwise=answer)) as runtime:
        await IrcHost(runtime, ["ada", "bert"], IrcSettings(host, (channel,), port)).run()


def main() -> None:
    """Read the arguments and serve."""
    host, port, channel, *folder = sys.argv[1:] if len(sys.argv) > 3 else ["127.0.0.1", "6667", "#manyminds"]
    try:
        if folder:
            asyncio.run(serve(host, int(port), channel, folder[0]))
        else:
            with tempfile.TemporaryDirectory() as temporary:
                asyncio.run(serve(host, int(port), channel, temporary))
    except KeyboardInterrupt:
        print("bye")


if __name__ == "__main__":
    main()
