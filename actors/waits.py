"""Who waits for whom: an ask that would close a cycle raises instead of hanging.

One graph per process, since a wait may cross from one runtime to another. An inbox runs in one thread at
a time, so it has at most one wait. Never blocks.
"""

import threading
from collections.abc import Generator
from contextlib import contextmanager

from ..messages.errors import AskCycle
from .inbox import Inbox

_lock = threading.Lock()
_waits: dict[object, object] = {}


def check(who: Inbox | None, whom: Inbox | None) -> None:
    """Raise AskCycle, naming the cycle, if `whom` waits for `who` already, directly or through others."""
    if who is not None and whom is not None:
        with _lock:
            _check(who.node, whom.node)


def _check(start: object, target: object) -> None:
    chain = [start, target]
    while chain[-1] != start:
        following = _waits.get(chain[-1])
        if following is None:
            return
        chain.append(following)
    raise AskCycle(tuple(str(node) for node in chain))


@contextmanager
def waiting(who: Inbox | None, whom: Inbox | None) -> Generator[None]:
    """Note that `who` waits for `whom` while the block runs. Raises AskCycle, naming the cycle."""
    if who is None or whom is None:
        yield
        return
    start, target = who.node, whom.node
    with _lock:
        _check(start, target)
        _waits[start] = target
    try:
        yield
    finally:
        with _lock:
            _waits.pop(start, None)
