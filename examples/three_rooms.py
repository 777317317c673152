"""A bot in three IRC channels that says where each line goes, and is told when one had nowhere to go.

`python examples/three_rooms.py HOST PORT '#kitchen' '#garden' '#office'`; say something in each of the channels, so
that they are known, then `ada: tell everybody` in the first. Needs `pip install 'manyminds[irc]'` and a server, but no
key: a script stands in for the model. Stop it with Ctrl-C.

In explicit mode a line that begins with `>>` and a target is posted there. Ada misspells one target: those words are
posted nowhere. They are kept as a draft, ada is told and gets another turn, and says them again with `{{unsent}}`,
which stands for the words of the last bounce.
"""

import asyncio
import sys
import tempfile

from manyminds import AsyncRuntime, Resident, Scripted
from manyminds.actors.hosts.irc import IrcHost, IrcSettings
from manyminds.actors.providers.scripted import newest_text
from manyminds.messages.request import Request


def script(first: str, second: str, third: str) -> Scripted:
    """What ada writes. A model would write the same; only the targets come from the arguments."""
    news = "\n".join(
        [
            f">>{first} Dinner is at seven.",
            f">>{second}s We harvest on Friday.",  # no channel has that name
            f">>{third} The printer is back.",
            f">>{first} And there is cake.",
        ]
    )
    again = "\n".join(
        [
            f">>{second} {{{{unsent}}}}",
            "Bring a basket.",  # without a target: where this turn has just spoken
        ]
    )

    def answer(request: Request) -> str:
        return again if "[prose-routing]" in newest_text(request) else news

    return Scripted(otherwise=answer)


async def serve(host: str, port: int, channels: tuple[str, str, str], folder: str) -> None:
    """Be on the server until cancelled. What was accepted is in the folder and survives a restart."""
    ada = Resident("ada", "scripted", "You are ada, in three rooms at once. Lines are short.", prose="explicit")
    async with AsyncRuntime.open(folder, residents=[ada], provider=script(*channels)) as runtime:
        await IrcHost(runtime, ["ada"], IrcSettings(host, channels, port)).run()


def main() -> None:
    """Read the arguments and serve."""
    if len(sys.argv) not in (6, 7):
        raise SystemExit(
            "three_rooms.py needs an IRC server and three channels on it:\n"
            "  python examples/three_rooms.py HOST PORT '#kitchen' '#garden' '#office' [FOLDER]\n"
            "A server of your own will do: `ngircd -n` listens on 127.0.0.1, port 6667."
        )
    host, port, first, second, third, *folder = sys.argv[1:]
    try:
        with tempfile.TemporaryDirectory() as temporary:
            asyncio.run(serve(host, int(port), (first, second, third), folder[0] if folder else temporary))
    except KeyboardInterrupt:
        print("bye")


if __name__ == "__main__":
    main()
