"""A town that runs until it is killed: a script of a folder, the number of its first message, and `run` or `quiet`.

`run` hands in numbered messages for ever; `quiet` hands in nothing and stops when nothing is left to do. Each line on
stdout is something that has happened: `up`, `ack N`, `request`, `tool`, `post`, `end AGENT TURN`. Beside the store it
keeps files of its own: each tool call and each post as it begins, each request with the turn it was made in.
"""

import asyncio
import itertools
import json
import os
import re
import sys
import threading
from pathlib import Path
from typing import Any

from manyminds.actors.house import ROOM
from manyminds.actors.providers.scripted import Answer, Scripted, call, newest_text
from manyminds.actors.runtime import Opened, Runtime, check_settings
from manyminds.actors.spec import Resident
from manyminds.actors.tools import ToolContext
from manyminds.actors.traces import Trace
from manyminds.messages.incoming import Author, Incoming
from manyminds.messages.posts import Post
from manyminds.messages.request import Request
from manyminds.storage import inbox, outbox, turns, wakes

NAMES = ("ada", "bob")
TERMINALS = ("inference:completed", "inference:turn_ended", "inference:aborted", "inference:exhausted")
AHEAD = 6


def addressee(number: int) -> str | None:
    """Whom a message is addressed to; every fifth is to nobody."""
    return None if number % 5 == 0 else NAMES[number % 2]


def say(line: str) -> None:
    """One line on stdout, whole."""
    os.write(1, f"{line}\n".encode())


class Book:
    """A file that holds a line as soon as `write` returns."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(self, line: str) -> None:
        """Append a line, on disk."""
        os.write(self._file, f"{line}\n".encode())
        os.fsync(self._file)


class Town:
    """The residents' model and tool, the platform, and who hands messages in."""

    def __init__(self, folder: Path) -> None:
        self.tools, self.posts, self.asked = (Book(folder / f"{name}.txt") for name in ("tools", "posts", "requests"))
        self.turn: dict[str, int] = {}
        self.room = threading.Semaphore(AHEAD)
        self.count = 0

    async def work(self, context: ToolContext) -> str:
        """Work for a moment."""
        self.tools.write(context.call_id)
        say("tool")
        await asyncio.sleep(0.01)
        return "worked"

    def answer(self, request: Request) -> Answer:
        """Work at what is new; every third answer ends its turn."""
        new = [int(n) for n in re.findall(r"\bn(\d+)\b", newest_text(request))]
        self.asked.write(json.dumps({"agent": request.agent, "turn": self.turn[request.agent], "new": new}))
        say("request")
        self.room.release()
        self.count += 1
        if self.count % 3 == 0:
            return f"{request.agent} is done"
        return [f"{request.agent} works at {len(new)}", call("work"), call("work")]

    def post(self, post: Post) -> str:
        """The platform."""
        self.posts.write(post.key)
        say("post")
        return post.key

    def trace(self, trace: Trace) -> None:
        """Keep each agent's turn, and say when one ends."""
        if trace.name in ("inference:started", "inference:resumed"):
            self.turn[str(trace.fields["agentName"])] = int(str(trace.fields["turn"]))
        elif trace.name in TERMINALS:
            say(f"end {trace.fields['agentName']} {trace.fields['turn']}")

    def hand_in(self, runtime: Runtime, first: int) -> None:
        """Numbered messages for ever, never far ahead of the answers."""
        for number in itertools.count(first):
            to = addressee(number)
            runtime.receive(Incoming(
                "town", "#a" if number % 3 else "#b", Author("zoe", "zoe"), f"n{number}", id=f"n{number}",
                mentions=(to,) if to else (),
            ))
            say(f"ack {number}")
            self.room.acquire(timeout=0.5)


def quiet(runtime: Runtime) -> bool:
    """Whether nothing is left to do."""
    if any(state["state"] != "idle" for state in runtime.health(timeout=60.0).agents.values()):
        return False
    with runtime._opened.store.snapshot() as snap:
        left: list[Any] = [*wakes.pending(snap, ROOM), *turns.of_room(snap, ROOM), *outbox.unfinished(snap)]
        return not left and not list(inbox.waiting(snap, ROOM))


def main(folder: str, first: int, mode: str) -> None:
    """Run."""
    town = Town(Path(folder))
    model = Scripted(otherwise=town.answer)
    residents = [Resident(name, "m", tools=[town.work], context_tokens=4000, reserve=500) for name in NAMES]
    # As Runtime.open does, with an ear at the traces before the first turn.
    options = check_settings("addressed", "refuse", 10_000, 2**26)
    opened = Opened(Path(folder) / "store", residents, model, options, None)
    opened.system.traces.listen(town.trace)
    opened.house.move_in()
    runtime = Runtime(opened)
    runtime.publisher("town")(town.post)
    say("up")
    if mode == "run":
        town.hand_in(runtime, first)
    while not quiet(runtime):
        threading.Event().wait(0.02)
    runtime.stop()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
