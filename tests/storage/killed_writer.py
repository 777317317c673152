"""A process that writes until it is killed: run as a script with a folder and the number of the first unit.

Prints each number when its unit is acknowledged. A unit is `PARTS` records that all hold its number, and a counter.
"""

import os
import sys
import threading

from manyminds.storage import LmdbStore, ThreadedWriter
from manyminds.storage.keys import key

PARTS = 5
SIZE = 300
IN_FLIGHT = 50


def unit(number: int) -> list[tuple[str, bytes, bytes | None]]:
    """The unit of this number."""
    value = b"%d:" % number + b"x" * SIZE
    parts: list[tuple[str, bytes, bytes | None]] = [("log", key(number, part), value) for part in range(PARTS)]
    return [*parts, ("counters", key("last"), b"%d" % number)]


def main(folder: str, first: int) -> None:
    """Write, with some units in flight, for ever."""
    store = LmdbStore(folder, writer=ThreadedWriter())
    room = threading.Semaphore(IN_FLIGHT)
    number = first
    while True:
        room.acquire()

        def done(fault: Exception | None, number: int = number) -> None:
            os.write(1, b"%d\n" % number if fault is None else b"refused\n")
            room.release()

        store.submit(unit(number), done)
        number += 1


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
