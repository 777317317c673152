"""What an IRC host is told at its start, and the events it tells of while it runs. Values only."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tenacity.wait import wait_base, wait_random_exponential

from ...messages.errors import InvalidSetting
from . import irc_text

EventKind: TypeAlias = Literal["up", "down", "nick", "joined", "left", "refused", "heard", "posted"]


@dataclass(frozen=True, slots=True)
class IrcEvent:
    """Something to show: what happened to a resident's connection, or who said what where.

    `who`: the resident, or the nick that was heard; `channel`: empty where none is meant; `text`: the words or the
    reason.
    """

    kind: EventKind
    who: str
    channel: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class IrcSettings:
    """How to reach an IRC server and how to behave on it.

    `server`: the name that messages carry as their server. `burst`, `interval`: lines at once, then seconds
    a line; the PING behind a post counts as a line. `text_bytes`: the most that one post holds before the runtime
    splits it. `buffered`: lines that may wait for the runtime. `backoff`: a tenacity wait, between tries to connect
    and to join.

    Seconds: `connect` until a server has taken us in, `confirm` that a post may take in all, `quiet` after which a
    silent server is asked, `settled` after which a connection counts as a good one, `regain` between tries to get a
    taken nick back, `farewell` for what is out when the host leaves.
    """

    host: str
    channels: tuple[str, ...] = ()
    port: int = 6667
    tls: bool = False
    tls_verify: bool = True
    password: str | None = None
    server: str = "irc"
    burst: int = 4
    interval: float = 0.7
    text_bytes: int = 400
    connect: float = 30.0
    confirm: float = 25.0
    quiet: float = 90.0
    settled: float = 30.0
    regain: float = 60.0
    farewell: float = 3.0
    backoff: wait_base = wait_random_exponential(multiplier=1, min=1, max=120)  # noqa: RUF009 - a value without state
    buffered: int = 10_000

    def __post_init__(self) -> None:
        """Raises InvalidSetting for a channel's name that no server takes, and for limits that let nothing through."""
        for channel in self.channels:
            if not irc_text.is_channel(channel) or any(sign in channel for sign in " ,\x07\r\n\x00"):
                raise InvalidSetting(f"{channel!r} is no IRC channel: a name like '#room', without blanks and commas")
        if not self.host or not 0 < self.port < 65536:
            raise InvalidSetting("an IRC server needs a host and a port from 1 to 65535")
        if self.interval < 0 or self.text_bytes < 50 or min(self.connect, self.confirm, self.quiet) <= 0:
            raise InvalidSetting("IRC settings: interval >= 0, text_bytes >= 50, connect, confirm and quiet > 0")
