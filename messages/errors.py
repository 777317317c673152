"""Errors a user can meet: one base, one small tree by edge.

Each text says what is wrong and what to do. An error carries plain values only, never a key, a
header or a message's words. Raised by every layer; caught here by nobody.
"""


class Error(Exception):
    """Anything manyminds raises on purpose."""


class InvalidMessage(Error, ValueError):
    """An Incoming that cannot be accepted; nothing of it was stored."""


class InvalidSetting(Error, ValueError):
    """A setting or declaration that cannot be used; nothing was opened or registered."""


class QueueFull(Error):
    """The room's inbox is full; nothing was stored.

    `retry_after`: seconds after which it is worth trying again.
    """

    def __init__(self, room: str, messages: int, size: int, retry_after: float) -> None:
        super().__init__(
            f"the inbox of room {room!r} is full ({messages} messages, {size} bytes wait); "
            f"call receive() again in {retry_after:g} s, or raise inbox_messages / inbox_bytes"
        )
        self.retry_after = retry_after


class RuntimeClosed(Error):
    """The runtime is stopping or stopped, or was never entered; nothing was stored."""

    def __init__(self, what: str = "receive()", opened: bool = True) -> None:
        if opened:
            super().__init__(f"{what} was called on a runtime that is stopping or stopped; open a new one")
        else:
            super().__init__(f"{what} was called on a runtime that is not open yet; enter or await it first")


class NotRouted(Error, LookupError):
    """A name that nothing answers to: an agent, a channel, a server."""


class AskCycle(Error):
    """An ask that would wait for itself; nobody was blocked."""

    def __init__(self, chain: tuple[str, ...]) -> None:
        super().__init__("this ask would close a cycle of waits: " + " -> ".join(chain) + "; tell instead of ask")
        self.chain = chain


class Failed(Error):
    """The actor that was asked raised, or ended before it answered."""


class StoreError(Error):
    """The store could not do what was asked."""


class StoreInUse(StoreError):
    """The folder is open already, here or in another process."""


class StoreReadOnly(StoreError):
    """The folder cannot be written."""


class MapFull(StoreError):
    """The map or the disk is full; nothing of the unit was written."""


class RecordSetAside(StoreError):
    """A record that is torn or of another version; it was set aside, never guessed at."""


class ProviderError(Error):
    """A model adapter that cannot be used as asked (not a failed request: see request.ErrorRecord)."""
