"""A town that stops where it is told to, so that it can be killed there: FOLDER KEEPS NUMBER POINT.

It hands in message NUMBER (0: none), whose answer is posted, and says `here` when that post has come to POINT; then
nothing more of the post happens. Without a point it ends when nothing is left to do. How the answer is said goes by the
number: as plain text, as two envelopes of explicit mode, as a bounce that is said again by `{{unsent}}`, by a call. The
platform is a file beside the store that holds a line for each copy that was shown; with KEEPS it shows a key once.
"""

import json
import os
import re
import sys
import threading
from pathlib import Path
from typing import Any

from manyminds.actors.channel import Channel
from manyminds.actors.gateway import Gateway
from manyminds.actors.providers.scripted import Answer, Scripted, call
from manyminds.actors.runtime import Runtime
from manyminds.actors.spec import Resident
from manyminds.messages.blocks import text_of
from manyminds.messages.incoming import Author, Incoming
from manyminds.messages.mail import PostEnded
from manyminds.messages.posts import OutboxEntry, Post
from manyminds.messages.request import Request
from tests.flows.killed_town import Book, quiet

POINTS = ("admitted", "recorded", "shown", "answered", "confirmed")
"""The round is stored; the attempt is; the platform shows the post; its answer is there, and not stored; it is stored,
and neither the chain nor the author has heard of it."""
WAYS = ("call", "plain", "envelopes", "unsent")
"""How message NUMBER is answered, by the number."""
AGENTS = {"call": "ada", "plain": "ada", "envelopes": "bob", "unsent": "bob"}


def way_of(number: int) -> str:
    """How message NUMBER is answered."""
    return WAYS[number % len(WAYS)]


class Town:
    """The platform, and the point at which to stop."""

    def __init__(self, folder: Path, keeps: bool, number: int, point: str) -> None:
        self._path = folder / "shown.txt"
        self._book = Book(self._path)
        self._keeps = keeps
        self._target = f"answer {number}"
        self._point = point
        self._answered = False

    def stop_at(self, point: str, text: str) -> None:
        """Say so and go no further, if this is the point."""
        if (point, text) == (self._point, self._target):
            os.write(1, b"here\n")
            threading.Event().wait()

    def publish(self, post: Post) -> str:
        """The publisher."""
        self.stop_at("recorded", post.text)
        shown = [json.loads(line) for line in self._path.read_text().splitlines()]
        if not self._keeps or all(key != post.key for key, _, _ in shown):
            self._book.write(json.dumps([post.key, post.channel, post.text]))
        self.stop_at("shown", post.text)
        return post.key

    def watch(self) -> None:
        """Stop a channel's actor before it notes an attempt and before it notes an outcome, and the gateway after."""
        begin, settle, take = Channel._begin, Channel._settle, Gateway.receive

        def begins(channel: Channel, part: OutboxEntry) -> None:
            self.stop_at("admitted", part.text)
            begin(channel, part)

        def settles(channel: Channel, post: Any, part: OutboxEntry, outcome: Any) -> None:
            if part.state == "sending":
                self.stop_at("answered", part.text)
            self._answered = self._answered or part.text == self._target
            settle(channel, post, part, outcome)

        def takes(gateway: Gateway, mail: Any) -> bool:
            if self._answered and isinstance(mail, PostEnded):
                self.stop_at("confirmed", self._target)
            return take(gateway, mail)

        setattr(Channel, "_begin", begins)  # noqa: B010
        setattr(Channel, "_settle", settles)  # noqa: B010
        setattr(Gateway, "receive", takes)  # noqa: B010


def answer(request: Request) -> Answer:
    """Answer the newest question, once; whatever else wakes is met with silence."""
    asked = [(index, found[-1]) for index, message in enumerate(request.messages)
             if (found := re.findall(r"question (\d+)", text_of(message.content)))
             and AGENTS[way_of(int(found[-1]))] == request.agent]
    if not asked:
        return call("skip_reply")
    at, number = asked[-1]
    mine = sum(message.role == "assistant" for message in request.messages[at:])
    rounds: dict[str, list[Answer]] = {
        "call": [call("channel_publish", channelId="#a", content=f"answer {number}")],
        "plain": [f"answer {number}"],
        "envelopes": [f">>#a answer {number}\n>>#b also {number}"],
        "unsent": [[f"answer {number}", call("think", thought="where to?")], ">>#a {{unsent}}"],
    }
    script = rounds[way_of(int(number))]
    return script[mine] if mine < len(script) else call("skip_reply")


def main(folder: str, keeps: str, number: int, point: str) -> None:
    """Run."""
    town = Town(Path(folder), keeps == "keeps", number, point)
    town.watch()
    residents = [Resident("ada", "m"), Resident("bob", "m", prose="explicit")]
    with Runtime.open(Path(folder) / "store", residents, Scripted(otherwise=answer)) as runtime:
        runtime.publisher("town", keeps_keys=keeps == "keeps")(town.publish)
        if number:
            runtime.receive(Incoming("town", "#b", Author("zoe", "zoe"), "hello", id="hello"))
            to = AGENTS[way_of(number)]
            runtime.receive(Incoming("town", "#a", Author("zoe", "zoe"), f"question {number}", mentions=(to,)))
        while point in POINTS or not quiet(runtime):
            threading.Event().wait(0.02)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
