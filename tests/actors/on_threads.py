"""What tests of an open runtime on real threads start from: a house in a folder, a platform that can be waited for.

Nothing here sleeps: who waits, waits for something that happens, with a deadline far beyond what it takes.
"""

import queue
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from manyminds.actors.house import ROOM
from manyminds.actors.providers.provider import Provider
from manyminds.actors.runtime import Runtime
from manyminds.actors.spec import Resident
from manyminds.messages.blocks import Text, text_of
from manyminds.messages.incoming import Author, Incoming
from manyminds.messages.posts import Post
from manyminds.storage import Store, branches, inbox, log, open_store
from manyminds.storage.keys import TABLES

SERVER = "town"
LONG = 60.0
ADA = Resident("ada", "m")


class Board:
    """A platform's posts, in order, for a test to wait on."""

    def __init__(self) -> None:
        self.posts: list[Post] = []
        self._new: queue.SimpleQueue[Post] = queue.SimpleQueue()

    def __call__(self, post: Post) -> str:
        """The publisher."""
        self.posts.append(post)
        self._new.put(post)
        return f"p{len(self.posts)}"

    def next(self) -> Post:
        """The next post, waited for."""
        return self._new.get(timeout=LONG)


def message(text: str, channel: str = "#a", author: str = "zoe", **fields: Any) -> Incoming:
    """An Incoming; `to="ada"` is short for a mention."""
    to = fields.pop("to", None)
    mentions = fields.pop("mentions", (to,) if to else ())
    return Incoming(fields.pop("server", SERVER), channel, Author(author, author), text, mentions=mentions, **fields)


@contextmanager
def runtime(
    provider: Provider, folder: Path | None = None, residents: Sequence[Resident] = (ADA,), **options: Any
) -> Generator[tuple[Runtime, Board]]:
    """An open runtime and its platform."""
    board = Board()
    with Runtime.open(folder, residents, provider, **options) as opened:
        opened.publisher(SERVER)(board)
        yield opened, board


def store_of(opened: Runtime) -> Store:
    """The store that a runtime writes to."""
    return opened._opened.store


def dump(store: Store) -> dict[str, list[tuple[bytes, bytes]]]:
    """Everything that a store holds."""
    with store.snapshot() as snap:
        return {table: list(snap.scan(table, b"", b"\xff" * 64)) for table in TABLES}


def texts(store: Store) -> list[str]:
    """The words of all rows of the room, the log's and then those that wait."""
    with store.snapshot() as snap:
        branch = branches.cursor(snap, ROOM)
        rows = [placed.row for placed in log.between(snap, branch, 0, log.end(snap, branch), blobs=True)]
        rows += [entry.row for entry in inbox.waiting(snap, ROOM)]
    return [text_of(row.content) for row in rows if any(isinstance(block, Text) for block in row.content)]


def texts_in(folder: Path) -> list[str]:
    """The words of all rows of the room in a folder that nobody has open."""
    store = open_store(str(folder))
    try:
        return texts(store)
    finally:
        store.close()


def at_once(*calls: Callable[[], Any], timeout: float = LONG) -> list[Any]:
    """What the calls returned or raised, each made by a thread of its own, all let go together."""
    gate = threading.Barrier(len(calls))
    results: list[Any] = [None] * len(calls)

    def run(index: int) -> None:
        gate.wait(LONG)
        try:
            results[index] = calls[index]()
        except Exception as error:
            results[index] = error

    threads = [threading.Thread(target=run, args=(index,), daemon=True) for index in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout)
        assert not thread.is_alive()
    return results
