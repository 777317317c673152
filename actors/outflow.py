"""Outflow: the stream notices of one channel on their way to its surface, in order, one call at a time (prose 6.5).

A plain object owned by the Channel. Fire and forget: a failure is logged and disturbs nothing; chunks that wait
behind a slow surface are merged. Knows no turn and no post.
"""

from collections import deque

from ..messages.address import Address
from ..messages.mail import Chunk, Complete, SurfaceAnswered
from ..messages.places import ChannelRef
from .desk import Surfaces
from .publishing import call_surface
from .system import System

STREAMING = "stream"


class Outflow:
    """What waits to be shown in one channel."""

    def __init__(self, system: System, address: Address, at: ChannelRef, surfaces: Surfaces) -> None:
        self._system, self._me, self._at, self._surfaces = system, address, at, surfaces
        self._waiting: deque[Chunk | Complete] = deque()
        self._out = False

    @property
    def busy(self) -> bool:
        """Whether something is on its way."""
        return self._out or bool(self._waiting)

    def put(self, mail: Chunk | Complete) -> None:
        """Show this after what waits."""
        last = self._waiting[-1] if self._waiting else None
        if isinstance(mail, Chunk) and isinstance(last, Chunk) and last.inference == mail.inference:
            self._waiting[-1] = Chunk(last.inference, last.thread, last.index, last.text + mail.text)
        else:
            self._waiting.append(mail)
        self._next()

    def answered(self, mail: SurfaceAnswered) -> None:
        """The surface has taken one; the next may go."""
        if mail.error:
            self._system.trace("stream-not-shown", channelId=self._at.channel, error=mail.error)
        self._out = False
        self._next()

    def _next(self) -> None:
        if self._out or not self._waiting:
            return
        mail = self._waiting.popleft()
        surface = self._surfaces.get(self._at.server)
        function = None if surface is None else surface.chunk if isinstance(mail, Chunk) else surface.complete
        if surface is None or function is None:
            self._next()
            return
        self._out = True
        place = (self._at.server, self._at.channel, mail.thread, mail.inference)
        args = (*place, mail.index, mail.text) if isinstance(mail, Chunk) else (*place, mail.text)
        call_surface(self._system, self._me, surface, function, args, STREAMING, 0)
