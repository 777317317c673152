"""A town that runs until SIGTERM: a script of a folder and `busy` (tools never answer) or `quiet` (they do at once).

`busy` hands in three messages, whose turns hang in a tool, and then five more; `quiet` hands in nothing and stops when
nothing is left to do. Prints `up`, `tool` for each call, `ready` when all is handed in.
"""

import asyncio
import signal
import sys
import threading
from pathlib import Path

from manyminds import Author, Incoming, Resident, Runtime
from manyminds.actors.providers.scripted import Answer, Scripted, call, newest_results
from manyminds.messages.posts import Post
from manyminds.messages.request import Request
from tests.flows.killed_town import quiet, say

NAMES = ("ada", "bob", "eve")
DEADLINE = 2.0


def answer(request: Request) -> Answer:
    """One call, then a word."""
    return "done" if newest_results(request) else call("hang")


def hand_in(runtime: Runtime, text: str, to: str) -> None:
    """One message."""
    runtime.receive(Incoming("town", f"#{to}", Author("zoe", "zoe"), text, id=text, mentions=(to,)))


def main(folder: str, mode: str) -> None:
    """Run until the signal, then stop in order."""
    asked = threading.Event()

    def stop(number: int, frame: object) -> None:
        asked.set()

    signal.signal(signal.SIGTERM, stop)
    working = threading.Semaphore(0)

    async def hang() -> str:
        """Never answer, or at once."""
        say("tool")
        working.release()
        if mode == "busy":
            await asyncio.Event().wait()
        return "answered"

    def publish(post: Post) -> str:
        return post.key

    residents = [Resident(name, "m", tools=[hang]) for name in NAMES]
    with Runtime.open(Path(folder), residents, Scripted(otherwise=answer)) as runtime:
        runtime.publisher("town")(publish)
        say("up")
        if mode == "busy":
            for name in NAMES:
                hand_in(runtime, f"{name} one", name)
            for _ in NAMES:
                working.acquire()
            for number in range(5):
                hand_in(runtime, f"queued {number}", NAMES[number % 3])
            say("ready")
            asked.wait()
        while mode == "quiet" and not quiet(runtime):
            asked.wait(0.02)
        runtime.stop(DEADLINE)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
