"""A town that stops where it is told to, so that it can be killed there: FOLDER KEEPS NUMBER POINT.

It hands in message NUMBER (0: none), whose answer is posted, and says `here` when that post has come to POINT; then
nothing more of the post happens. Without a point it ends when nothing is left to do. The platform is a file beside the
store that holds a line for each copy that people were shown; with KEEPS it shows a key once.
"""

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from manyminds.actors.channel import Channel
from manyminds.actors.providers.scripted import Scripted, newest_text
from manyminds.actors.runtime import Runtime
from manyminds.actors.spec import Resident
from manyminds.messages.incoming import Author, Incoming
from manyminds.messages.posts import OutboxEntry, Post
from manyminds.messages.request import Request
from tests.flows.killed_town import Book, quiet

POINTS = ("admitted", "recorded", "shown", "answered")
"""The round is stored; the attempt is; the platform shows the post; its answer is there, and not stored."""


class Town:
    """The platform, and the point at which to stop."""

    def __init__(self, folder: Path, keeps: bool, number: int, point: str) -> None:
        self._path = folder / "shown.txt"
        self._book = Book(self._path)
        self._keeps = keeps
        self._target = f"answer {number}"
        self._point = point

    def stop_at(self, point: str, text: str) -> None:
        """Say so and go no further, if this is the point."""
        if (point, text) == (self._point, self._target):
            os.write(1, b"here\n")
            threading.Event().wait()

    def publish(self, post: Post) -> str:
        """The publisher."""
        self.stop_at("recorded", post.text)
        shown = [json.loads(line) for line in self._path.read_text().splitlines()]
        if not self._keeps or all(key != post.key for key, _ in shown):
            self._book.write(json.dumps([post.key, post.text]))
        self.stop_at("shown", post.text)
        return post.key

    def watch(self) -> None:
        """Stop a channel's actor before it notes an attempt, and before it notes an outcome."""
        begin, settle = Channel._begin, Channel._settle

        def begins(channel: Channel, part: OutboxEntry) -> None:
            self.stop_at("admitted", part.text)
            begin(channel, part)

        def settles(channel: Channel, post: Any, part: OutboxEntry, outcome: Any) -> None:
            if part.state == "sending":
                self.stop_at("answered", part.text)
            settle(channel, post, part, outcome)

        setattr(Channel, "_begin", begins)  # noqa: B010
        setattr(Channel, "_settle", settles)  # noqa: B010


def answer(request: Request) -> str:
    """The number that was asked."""
    return f"answer {newest_text(request).rsplit(' ', 1)[-1]}"


def main(folder: str, keeps: str, number: int, point: str) -> None:
    """Run."""
    town = Town(Path(folder), keeps == "keeps", number, point)
    town.watch()
    with Runtime.open(Path(folder) / "store", [Resident("ada", "m")], Scripted(otherwise=answer)) as runtime:
        runtime.publisher("town", keeps_keys=keeps == "keeps")(town.publish)
        if number:
            message = Incoming("town", "#a", Author("zoe", "zoe"), f"question {number}", mentions=("ada",))
            runtime.receive(message)
        while point in POINTS or not quiet(runtime):
            threading.Event().wait(0.02)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
