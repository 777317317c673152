"""Inboxes: mail in a deque, and the protocol by which exactly one thread at a time works it off.

An inbox is idle when it holds its one token. Whoever puts mail and gets the token hands the inbox to its
scheduler; the slice that empties it gives the token back and looks once more, so no mail is slept on.
Knows neither actors nor addresses; never blocks.
"""

import threading
from collections import deque
from typing import Any, Protocol


class Scheduler(Protocol):
    """Who runs inboxes: a pool of workers, or a simulation."""

    def ready(self, inbox: "Inbox", /) -> None:
        """Run a slice of this inbox soon."""
        ...

    def wait(self, wait: "Waiting") -> bool:
        """Wait until the wait is over; False when its timeout passed."""
        ...


class Waiting(Protocol):
    """Something that a thread waits for."""

    timeout: float | None

    @property
    def whom(self) -> "Inbox | None":
        """The inbox that was asked, as far as it is known."""
        ...

    def over(self) -> bool:
        """Whether the answer is there."""
        ...

    def block(self, timeout: float | None) -> bool:
        """Block the thread for it; False on timeout."""
        ...


class _Here(threading.local):
    inbox: "Inbox | None" = None


here = _Here()
"""The inbox whose slice this thread is running, or None."""


class Inbox:
    """A deque of mail, the idle token, and the scheduler that runs it."""

    __slots__ = ("mails", "scheduler", "token")

    def __init__(self, scheduler: Scheduler) -> None:
        self.mails: deque[Any] = deque()
        self.token: list[bool] = []
        self.scheduler = scheduler

    @property
    def node(self) -> object:
        """What stands for this inbox in the graph of waits."""
        return self

    def put(self, mail: Any, /) -> None:
        """Append mail and wake the inbox if it is idle."""
        self.mails.append(mail)
        if self.token:
            self.wake()

    def get(self) -> Any:
        """The next mail; IndexError if there is none."""
        return self.mails.popleft()

    def empty(self) -> bool:
        """Whether no mail waits."""
        return not self.mails

    def take_token(self) -> bool:
        """Whether this caller, and nobody else, may now run or close the inbox."""
        try:
            self.token.pop()
        except IndexError:
            return False
        return True

    def wake(self) -> None:
        """Hand the inbox to its scheduler, unless somebody did."""
        if self.take_token():
            self.scheduler.ready(self)

    def rest(self) -> None:
        """End of a slice: go on later if there is mail, else become idle."""
        if self.mails:
            self.scheduler.ready(self)
            return
        self.token.append(True)
        # A sender that came between the look and the token saw no token.
        if self.mails:
            self.wake()

    def run(self, limit: int) -> None:
        """Work off at most `limit` mails in this thread, as the only one that does."""
        before = here.inbox
        here.inbox = self
        try:
            self.slice(limit)
        finally:
            here.inbox = before

    def slice(self, limit: int) -> None:
        """What a kind of inbox does with its mail; ends with `rest()` or an own ending."""
        raise NotImplementedError
