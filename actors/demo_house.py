"""The demo's house: a process of its own with a runtime in it, so that it can be killed.

`python -m manyminds.actors.demo_house FOLDER`: reads what people say from standard input and writes what is
accepted and posted to standard output, a JSON value a line. It knows nothing of what the demo wants to show.
"""

import json
import sys
import threading
from pathlib import Path
from typing import Any

from ..messages.incoming import Author, Incoming
from ..messages.posts import Delivered, Outcome, Post, Unknown
from . import demo_script
from .runtime import Runtime

SERVER = "demo"
RECEIPT_SECONDS = 10.0


class Line:
    """The way to the platform: one JSON value a line, whole lines only; receipts come back the other way."""

    def __init__(self) -> None:
        self._writing = threading.Lock()
        self._receipts: dict[str, threading.Event] = {}
        self.enough = threading.Event()

    def tell(self, **value: Any) -> None:
        """Write one value."""
        with self._writing:
            sys.stdout.write(json.dumps(value) + "\n")
            sys.stdout.flush()

    def post(self, post: Post) -> Outcome:
        """Hand a post to the platform and wait for its receipt."""
        arrived = self._receipts.setdefault(post.key, threading.Event())
        self.tell(kind="post", channel=post.channel, author=post.author, text=post.text, key=post.key)
        if arrived.wait(RECEIPT_SECONDS):
            return Delivered(post.key)
        return Unknown("the platform gave no receipt")

    def receipt(self, key: str) -> None:
        """The platform has the post: whoever waits for that goes on."""
        self._receipts.setdefault(key, threading.Event()).set()


def main(folder: Path) -> None:
    """Open the runtime and serve until standard input ends or says stop."""
    line = Line()
    residents = demo_script.residents(folder.parent / "tools.jsonl", line.enough)
    with Runtime.open(folder, residents=residents, provider=demo_script.provider()) as runtime:
        runtime.publisher(SERVER, keeps_keys=True)(line.post)
        line.tell(kind="ready")
        for text in sys.stdin:
            value = json.loads(text)
            if value["kind"] == "stop":
                break
            if value["kind"] == "receipt":
                line.receipt(value["key"])
            elif value["kind"] == "enough":
                line.enough.set()
            elif value["kind"] == "say":
                accepted = runtime.receive(_incoming(value))
                line.tell(kind="accepted", id=value["id"], duplicate=accepted.duplicate)
    line.tell(kind="stopped")


def _incoming(value: dict[str, str]) -> Incoming:
    author = Author(value["author"], value["author"])
    return Incoming(SERVER, value["channel"], author, value["text"], id=value["id"], mentions=(value["to"],))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
