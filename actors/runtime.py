"""Runtime: what a host embeds, for programs with threads. `AsyncRuntime` has the same names, awaited.

Opens the store, starts the pool, moves the house in, and closes all of it in order. Holds what a host may call and
nothing that decides: every call is one mail and its answer. Safe to call from any thread.
"""

import asyncio
import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias, TypeVar

from tenacity import RetryCallState, Retrying, wait_exponential

from ..messages.address import Address, ReplyTo
from ..messages.errors import InvalidSetting, NotRouted, QueueFull, RuntimeClosed
from ..messages.incoming import Accepted, Incoming, check_incoming
from ..messages.mail import (
    DIRECTORY,
    GATEWAY,
    STOPPER,
    AskState,
    Cancel,
    Receive,
    Received,
    StopAll,
    agent_address,
    room_address,
)
from ..messages.places import ChannelRef
from ..messages.posts import LengthUnit
from ..messages.routing import WakeOn
from ..messages.split import check_limit
from ..storage import open_store, seen
from ..storage.operator_log import OperatorLog
from .desk import Surface, Surfaces
from .house import ROOM, House, Options, check_residents
from .pool import Pool
from .providers.provider import Provider
from .room import InboxBounds
from .spec import Resident
from .system import Statistics
from .traces import Subscription

_log = logging.getLogger(__name__)
F = TypeVar("F", bound=Callable[..., Any])
OnFull: TypeAlias = Literal["refuse", "wait"]
Folder: TypeAlias = str | PathLike[str] | None


@dataclass(frozen=True, slots=True)
class Health:
    """What a runtime is doing: each agent's state, what waits, and the counts of its system.

    `inbox`: messages and bytes that wait, wakes that are pending, and messages that a full inbox refused. `posts`: how
    many are on their way, by agent; `stop()` waits for them. `posts_waiting`: how many wait for their channel and are
    tried again by themselves, by agent; a stop leaves them on disk. `in_flight`: messages on their way to the disk.
    """

    agents: dict[str, dict[str, Any]]
    inbox: dict[str, int]
    posts: dict[str, int]
    posts_waiting: dict[str, int]
    in_flight: int
    dropped_traces: int
    system: Statistics


def check_settings(
    wake_on: str, on_full: str, inbox_messages: int, inbox_bytes: int, folder: Folder = None,
    switch_interval: float | None = None,
) -> Options:
    """The options of a runtime. Raises InvalidSetting, naming the setting."""
    if folder is not None and (not isinstance(folder, (str, PathLike)) or not str(folder)):
        raise InvalidSetting("folder must be the path of a folder, or None for a room that lasts no longer than this")
    if wake_on not in ("addressed", "all"):
        raise InvalidSetting("wake_on must be 'addressed' or 'all'")
    if on_full not in ("refuse", "wait"):
        raise InvalidSetting("on_full must be 'refuse' or 'wait'")
    for name, value in (("inbox_messages", inbox_messages), ("inbox_bytes", inbox_bytes)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InvalidSetting(f"{name} must be a whole number of at least 1")
    if switch_interval is not None and not _positive(switch_interval):
        raise InvalidSetting("switch_interval must be a number of seconds above 0, such as 0.0005, or None")
    bounds = InboxBounds(inbox_messages, inbox_bytes)
    return Options("all" if wake_on == "all" else "addressed", bounds, on_full == "wait")


def _positive(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf


# How long a receive() that waits for room looks away, in seconds: doubling, so that a short jam is left quickly.
FULL_WAITS = wait_exponential(multiplier=0.02, max=1.0)


def full_wait(tries: int) -> float:
    """Seconds before the receive() that met a full inbox `tries` times tries again."""
    state = RetryCallState(Retrying(), None, (), {})
    state.attempt_number = tries
    return float(FULL_WAITS(state))


@dataclass(frozen=True, slots=True)
class Callbacks:
    """What a host registers beside a publisher; each plain or async, or None."""

    typing: Callable[..., Any] | None = None
    open: Callable[..., Any] | None = None
    close: Callable[..., Any] | None = None
    chunk: Callable[..., Any] | None = None
    complete: Callable[..., Any] | None = None
    strict: bool = False

    def named(self) -> dict[str, Callable[..., Any] | None]:
        """The callbacks by name."""
        return {
            "typing": self.typing, "open": self.open, "close": self.close, "chunk": self.chunk,
            "complete": self.complete,
        }


class Opened:
    """An open store, pool and house: what both runtimes stand on."""

    def __init__(
        self, folder: Folder, residents: Sequence[Resident], provider: Provider | None, options: Options,
        switch_interval: float | None,
    ) -> None:
        self.specs = check_residents(residents, provider)
        self.surfaces = Surfaces()
        self.store = open_store(None if folder is None else str(folder))
        try:
            self.system = Pool(self.store, switch_interval=switch_interval)
            self.system.operator_log = OperatorLog(None if folder is None else str(folder))
            self.system.start()
            self.house = House(self.system, self.specs, self.surfaces, options)
        except BaseException:
            self.store.close()
            raise
        self.waits_when_full = options.wait_when_full
        self.subscriptions: list[Subscription] = []
        self.closed = False

    def surface(
        self, server: str, function: Callable[..., Any], keeps_keys: bool, limit: int | None, unit: LengthUnit,
        callbacks: Callbacks, loop: asyncio.AbstractEventLoop | None, retries: bool = True,
    ) -> None:
        """Register a server's publisher; what waits for it is tried at once."""
        for name, value in (("the publisher", function), *callbacks.named().items()):
            if value is not None and not callable(value):
                raise InvalidSetting(f"{name} of server {server!r} must be a function, not {type(value).__name__}")
        check_limit(limit, unit)
        self.surfaces.put(Surface(
            server, function, keeps_keys, limit, unit, callbacks.typing, callbacks.open, callbacks.close,
            callbacks.chunk, callbacks.complete, callbacks.strict, loop, retries,
        ))
        self.house.surface_is_up(server)

    def check_agent(self, agent: str) -> Address:
        """The address of an agent. Raises NotRouted, naming those there are."""
        if agent not in self.house.specs:
            raise NotRouted(f"there is no agent {agent!r}; agents: {', '.join(self.house.specs)}")
        return agent_address(agent)

    def subscribe(self, size: int) -> Subscription:
        """A new subscription to the traces."""
        subscription = self.system.traces.subscribe(size)
        self.subscriptions = [*self.subscriptions, subscription]
        return subscription

    def last_seen(self, server: str, channel: str) -> str | None:
        """The platform id of the newest message accepted in a channel."""
        for name, value in (("server", server), ("channel", channel)):
            if not isinstance(value, str):
                raise InvalidSetting(f"last_seen() takes the {name}'s name as a str, not {type(value).__name__}")
        with self.store.snapshot() as snap:
            return seen.last(snap, ChannelRef(server, channel))

    def stop_mail(self, deadline: float) -> Callable[[ReplyTo], StopAll]:
        """The request to stop."""
        agents = tuple(agent_address(name) for name in self.house.specs)
        return lambda reply: StopAll(agents, deadline, reply)

    def states_to_ask(self) -> dict[str, Address]:
        """Whose state makes up the health of the runtime."""
        return {
            "directory": DIRECTORY, "gateway": GATEWAY, "room": room_address(ROOM),
            **{f"agent:{name}": agent_address(name) for name in self.house.specs},
        }

    def health(self, states: dict[str, Any]) -> Health:
        """The health from the states that were asked for."""
        agents = {name: states[f"agent:{name}"] for name in self.house.specs}
        dropped = sum(subscription.dropped for subscription in self.subscriptions)
        gateway, in_flight = states["gateway"], states["directory"]["in_flight"]
        return Health(
            agents, states["room"], gateway["posts"], gateway["waiting"], in_flight, dropped, self.system.statistics()
        )

    def close(self) -> None:
        """Close pool and store."""
        if not self.closed:
            self.closed = True
            self.system.close()
            self.store.close()


def check_server(server: Any) -> None:
    """Raise InvalidSetting for what names no server: a decorator that was written without its parentheses."""
    if not isinstance(server, str) or not server:
        raise InvalidSetting(
            "publisher() needs the name of a server, the one that its Incoming values carry: @runtime.publisher('name')"
        )


def accepted_or_raise(answer: Received) -> Accepted:
    """The acceptance, or the error that a Receive was answered with."""
    if answer.error is not None:
        raise answer.error
    assert answer.accepted is not None
    return answer.accepted


class Runtime:
    """An open runtime. Make one with `Runtime.open`; use it as a context manager or call `stop`."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened

    @classmethod
    def open(
        cls, folder: Folder, residents: Sequence[Resident], provider: Provider | None = None, *,
        wake_on: WakeOn = "addressed", inbox_messages: int = 10_000, inbox_bytes: int = 64 * 1024 * 1024,
        on_full: OnFull = "refuse", switch_interval: float | None = None,
    ) -> "Runtime":
        """Open a folder (None: in memory, lost with the process) and resume what was cut.

        `wake_on`: who is woken by a message that addresses nobody. `inbox_*`: how much may wait; `on_full` what
        receive() then does. `switch_interval`: seconds for sys.setswitchinterval, 0.0005 keeps a busy process quick.
        Raises InvalidSetting before anything opens, and StoreInUse, StoreReadOnly or NotAStore for the folder.
        """
        options = check_settings(wake_on, on_full, inbox_messages, inbox_bytes, folder, switch_interval)
        opened = Opened(folder, residents, provider, options, switch_interval)
        try:
            opened.house.move_in()
        except BaseException:
            opened.close()
            raise
        return cls(opened)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.stop()

    def receive(self, message: Incoming, timeout: float = 30.0) -> Accepted:
        """Hand in a message; returns once it is on disk.

        Raises InvalidMessage, QueueFull (with `retry_after`), RuntimeClosed or StoreError, each leaving nothing
        behind; TimeoutError after `timeout` seconds leaves it open, so call again with the same id.
        """
        checked = check_incoming(message)
        self._check_open("receive()")
        system, ends = self._opened.system, time.monotonic() + timeout
        tries = 0
        while True:
            try:
                return accepted_or_raise(system.ask(DIRECTORY, lambda reply: Receive(checked, reply), timeout))
            except QueueFull:
                tries += 1
                pause = full_wait(tries)
                if not self._opened.waits_when_full or time.monotonic() + pause > ends:
                    raise
                threading.Event().wait(pause)

    def last_seen(self, server: str, channel: str) -> str | None:
        """The platform id of the newest message accepted in a channel, for catching up after a reconnect."""
        self._check_open("last_seen()")
        return self._opened.last_seen(server, channel)

    def publisher(
        self, server: str, *, keeps_keys: bool = False, limit: int | None = None, unit: LengthUnit = "chars",
        typing: Callable[..., Any] | None = None, open: Callable[..., Any] | None = None,  # noqa: A002
        close: Callable[..., Any] | None = None, chunk: Callable[..., Any] | None = None,
        complete: Callable[..., Any] | None = None, strict: bool = False, retry: bool = True,
    ) -> Callable[[F], F]:
        """Decorator: this function posts to `server`, plain or async.

        It takes a Post and returns the message id, or Delivered, NotSent or Unknown; NotSent may be raised. Anything
        else, None and an empty id included, leaves unknown whether it was posted; where the platform gives no ids,
        return Delivered(post.key).
        `keeps_keys`: the server answers a repeated `post.key` with its first post, so retrying is safe. `retry`: what
        was not sent waits and is tried again; without it the author is told at once. `limit` in `unit`: longer texts
        are split. Callbacks, plain or async: typing(server, channel, thread, on, author),
        open(server, channel), close(server, channel); chunk(server, channel, thread, stream, index, text) and
        complete(server, channel, thread, stream, text) show what is being written, `strict` only what will be
        posted. Raises InvalidSetting.
        """
        self._check_open("publisher()")
        check_server(server)

        def register(function: F) -> F:
            callbacks = Callbacks(typing, open, close, chunk, complete, strict)
            self._opened.surface(server, function, keeps_keys, limit, unit, callbacks, None, retry)
            return function

        return register

    def connected(self, server: str) -> None:
        """The server can be reached again: posts that wait for it are tried now, in their order."""
        self._check_open("connected()")
        self._opened.house.surface_is_up(server)

    def cancel(self, agent: str, by: str = "", reason: str = "", timeout: float = 5.0) -> bool:
        """Cancel an agent's running turn; False if none ran. Raises NotRouted for a name that nobody has."""
        self._check_open("cancel()")
        to = self._opened.check_agent(agent)
        answer = self._opened.system.ask(to, lambda reply: Cancel(by, reason, reply), timeout)
        return bool(answer.value)

    def subscribe(self, size: int = 1000) -> Subscription:
        """An iterator over traces, with a bounded buffer; `dropped` counts what a slow reader lost."""
        self._check_open("subscribe()")
        return self._opened.subscribe(size)

    def health(self, timeout: float = 5.0) -> Health:
        """What each agent is doing, and the counts of the system."""
        self._check_open("health()")
        ask = self._opened.system.ask
        states = {name: ask(to, AskState, timeout).value for name, to in self._opened.states_to_ask().items()}
        return self._opened.health(states)

    def stop(self, deadline: float = 10.0) -> None:
        """Stop in order: intake, turns, posts, store. After `deadline` seconds turns are cut and resumed next time."""
        if self._opened.closed:
            return
        try:
            self._opened.system.ask(STOPPER, self._opened.stop_mail(deadline), deadline + 1.0)
        except TimeoutError:
            _log.warning("the runtime did not come to rest within %g s; it is closed as it is", deadline + 1.0)
        finally:
            self._opened.close()

    def _check_open(self, what: str) -> None:
        if self._opened.closed:
            raise RuntimeClosed(what)
