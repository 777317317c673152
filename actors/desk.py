"""Desk: what the parts of one agent share. Its spec, its address, the system, and the surfaces' table.

Made by the Agent and handed to its turn; a plain value without behaviour of its own beyond telling mail. The surfaces'
table says what a server's publisher can take; hosts fill it, actors only read it.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..messages.address import Address
from ..messages.mail import room_address
from ..messages.posts import LengthUnit
from .draft_book import DraftBook
from .gate_pass import GatePass
from .spec import AgentSpec
from .system import System
from .tools import Tool


@dataclass(frozen=True, slots=True)
class Surface:
    """What a host registered for one server: its publisher and the callbacks beside it.

    `limit` in `unit` per post, None for none. `keeps_keys`: the server answers a repeated key with its first post.
    `retries`: what was not sent waits and is tried again.
    `chunk`, `complete`: show what is being written; `strict`: only what is sure to be posted, round by round.
    `loop`: where coroutine functions run; None for the runtime's own loop.
    """

    server: str
    publish: Callable[..., Any]
    keeps_keys: bool = False
    limit: int | None = None
    unit: LengthUnit = "chars"
    typing: Callable[..., Any] | None = None
    open: Callable[..., Any] | None = None
    close: Callable[..., Any] | None = None
    chunk: Callable[..., Any] | None = None
    complete: Callable[..., Any] | None = None
    strict: bool = False
    loop: asyncio.AbstractEventLoop | None = None
    retries: bool = True


class Surfaces:
    """Server name -> Surface. Written by hosts' threads, one assignment at a time; read by everybody."""

    def __init__(self) -> None:
        self._by_server: dict[str, Surface] = {}
        self.loop: asyncio.AbstractEventLoop | None = None

    def put(self, surface: Surface) -> None:
        """Register a surface, in the place of an earlier one of the same server."""
        self._by_server[surface.server] = surface

    def get(self, server: str) -> Surface | None:
        """The surface of a server, or None while its host has registered none."""
        return self._by_server.get(server)

    def servers(self) -> tuple[str, ...]:
        """The servers that have a surface."""
        return tuple(self._by_server)

    def limits(self, server: str) -> tuple[int | None, LengthUnit]:
        """(limit, unit) of a post to this server."""
        surface = self.get(server)
        return (surface.limit, surface.unit) if surface else (None, "chars")


@dataclass(frozen=True, slots=True)
class Desk:
    """One agent's surroundings."""

    system: System
    address: Address
    spec: AgentSpec
    surfaces: Surfaces
    tools: Mapping[str, Tool]
    book: DraftBook
    gate_pass: GatePass

    def to_room(self, mail: object) -> None:
        """Tell the agent's room."""
        self.system.tell(room_address(self.spec.room), mail)

    def to_self(self, mail: object) -> None:
        """Tell the agent itself, in a mail of its own."""
        self.system.tell(self.address, mail)

    def now(self) -> float:
        """The clock, in Unix seconds."""
        return self.system.clock.now()
