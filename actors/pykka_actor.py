"""A pykka actor without a thread of its own: its inbox is a deque, its slices run on shared workers.

Refs, asks, proxies, futures, `on_start`, `on_stop` and `on_failure` are pykka's, and pykka's own test suite
passes on it. Hosts may subclass `PooledActor` for their own actors; `dispatcher.Actor` adds addresses and
supervision. Tells are raw in the deque, only asks have an envelope.
"""

import logging
import sys
import threading
import uuid
import weakref
from typing import Any, Self, cast

import pykka
from pykka import ActorDeadError, ActorRegistry, messages
from pykka._envelope import Envelope

from .inbox import Inbox, Scheduler, here
from .pykka_future import PooledFuture
from .pykka_registry import register, unregister, use_ordered_refs
from .waits import check
from .workers import Workers

_log = logging.getLogger("pykka")
SPECIAL = frozenset({messages._ActorStop, messages.ProxyCall, messages.ProxyGetAttr, messages.ProxySetAttr})
_SLOW = SPECIAL | {Envelope}
_start_lock = threading.Lock()
_shared: Workers | None = None

use_ordered_refs()


def shared_workers() -> Workers:
    """The workers of pooled actors that no runtime owns; started at the first use."""
    global _shared
    if _shared is None:
        with _start_lock:
            if _shared is None:
                _shared = Workers()
                _shared.start()
    return _shared


def _scheduler() -> Scheduler:
    # An actor started by an actor runs where that one runs, so a simulation keeps its children.
    return here.inbox.scheduler if here.inbox is not None else shared_workers()


class StopFlag:
    """What pykka uses of an Event, without a lock until somebody waits."""

    __slots__ = ("_event", "stopped")

    def __init__(self) -> None:
        self.stopped = False
        self._event: threading.Event | None = None

    def is_set(self) -> bool:
        """Whether the actor has stopped."""
        return self.stopped

    def set(self) -> None:
        """Mark the actor as stopped."""
        self.stopped = True
        if self._event is not None:
            self._event.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the actor has stopped."""
        with _start_lock:
            event = self._event = self._event or threading.Event()
        return self.stopped or event.wait(timeout)


class PooledRef(pykka.ActorRef[Any]):
    """pykka's ref with a tell of one call; the URN is made when somebody looks at it."""

    _flag: StopFlag

    def __init__(self, actor: "PooledActor") -> None:
        self._actor_weakref = weakref.ref(actor)
        self.actor_class = actor.__class__
        self.actor_inbox = actor.actor_inbox
        self.actor_stopped = actor.actor_stopped
        self._flag = cast(Any, actor.actor_stopped)

    @property
    def actor_urn(self) -> str:  # type: ignore[override]  # pyright: ignore[reportIncompatibleVariableOverride]
        """The actor's URN."""
        urn: str | None = self.__dict__.get("_urn")
        # setdefault: two threads that look at once see one URN.
        return self.__dict__.setdefault("_urn", uuid.uuid4().urn) if urn is None else urn

    def tell(self, message: Any) -> None:
        """Send a message; ActorDeadError if the actor has stopped."""
        if self._flag.stopped:
            raise ActorDeadError(f"{self} not found")
        if type(message) is Envelope:
            # It would be taken for an ask.
            message = Envelope(cast(Any, message))
        self.actor_inbox.put(message)

    def ask(self, message: Any, *, block: bool = True, timeout: float | None = None) -> Any:
        """Send a message and wait for the answer, or return its future. Raises AskCycle for a cycle."""
        future: PooledFuture[Any] = PooledFuture()
        future.whom = cast(Inbox, self.actor_inbox)
        asker = here.inbox
        if block and asker is not None:
            check(asker, future.whom)
        if self._flag.stopped:
            dead = ActorDeadError(f"{self} not found")
            future.set_exception((ActorDeadError, dead, None))
        else:
            self.actor_inbox.put(Envelope(message, reply_to=future))
        return future.get(timeout=timeout) if block else future


def unwrap(mail: Any) -> tuple[Any, Any]:
    """(message, the future that waits for its answer or None)."""
    if type(mail) is not Envelope:
        return mail, None
    return cast(Any, mail).message, cast(Any, mail).reply_to


def refuse(mail: Any, name: str) -> None:
    """Answer an ask that a stopped actor's inbox still held; a tell is dropped, as in pykka."""
    message, reply = unwrap(mail)
    if reply is None:
        return
    if isinstance(message, messages._ActorStop):
        reply.set(None)
        return
    error = ActorDeadError(f"{name} stopped before handling the message")
    reply.set_exception(exc_info=(ActorDeadError, error, None))


class PooledInbox(Inbox):
    """The inbox of a plain pooled actor; its slices behave as pykka's actor loop does."""

    __slots__ = ("actor", "fresh", "ref")

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__(scheduler)
        self.actor: PooledActor | None = None
        self.ref: Any = None
        self.fresh = True

    def __str__(self) -> str:
        return str(self.ref)

    def start(self, actor: "PooledActor") -> None:
        """Begin: an actor without `on_start` and without mail is born idle."""
        self.actor = actor
        self.ref = actor.actor_ref
        if type(actor).on_start is pykka.Actor.on_start:
            self.fresh = False
            self.rest()
        else:
            self.scheduler.ready(self)

    def slice(self, limit: int) -> None:
        """Handle mail until the limit, the end of the mail or the end of the actor."""
        actor, mails = self.actor, self.mails
        if actor is not None:
            if self.fresh:
                self.fresh = False
                actor._actor_loop_setup()
            flag: StopFlag = self.ref._flag
            while mails and limit and not flag.stopped:
                limit -= 1
                mail = mails.popleft()
                if type(mail) in _SLOW:
                    actor._handle_one(mail)
                    continue
                # The usual tell, inlined; `_handle_one` does the same.
                try:
                    actor.on_receive(mail)
                except Exception:
                    actor._fail()
                except BaseException as error:
                    actor._stop_everything(error)
            if flag.stopped:
                self.actor = None
        if self.actor is None:
            while mails:
                refuse(mails.popleft(), str(self.ref))
        self.rest()


class PooledActor(pykka.Actor):
    """Base class of a host's own actors on shared workers; used as `pykka.ThreadingActor` is."""

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        self.actor_inbox = self._create_actor_inbox()
        self.actor_stopped = cast(threading.Event, StopFlag())
        self._actor_ref = PooledRef(self)

    @property
    def actor_urn(self) -> str:  # type: ignore[override]  # pyright: ignore[reportIncompatibleVariableOverride]
        """The actor's URN."""
        return self._actor_ref.actor_urn

    @classmethod
    def start(  # pyright: ignore[reportIncompatibleMethodOverride]
        cls, *args: Any, **kwargs: Any
    ) -> pykka.ActorRef[Self]:
        """Start an actor, on the scheduler of the actor that starts it, else on the shared workers."""
        actor = cls(*args, **kwargs)
        assert getattr(actor, "_actor_ref", None) is not None, (
            "Actor.__init__() have not been called. Did you forget to call super() in your override?"
        )
        register(actor.actor_ref)
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("Starting %s", actor)
        actor._start_actor_loop()
        return actor.actor_ref

    @staticmethod
    def _create_actor_inbox() -> PooledInbox:
        return PooledInbox(_scheduler())

    @staticmethod
    def _create_future() -> pykka.Future[Any]:
        return PooledFuture()

    def _start_actor_loop(self) -> None:
        cast(PooledInbox, self.actor_inbox).start(self)

    def _stop(self) -> None:
        unregister(self.actor_ref)
        self.actor_stopped.set()
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("Stopped %s", self)
        try:
            self.on_stop()
        except Exception:
            self._handle_failure(*sys.exc_info())

    def _handle_one(self, mail: Any) -> None:
        """Handle one mail as pykka's loop does: an ask is answered, an exception of a tell ends the actor."""
        mail, reply = unwrap(mail)
        try:
            answer = self._handle_receive(mail) if type(mail) in SPECIAL else self.on_receive(mail)
            if reply is not None:
                reply.set(answer)
        except Exception:
            if reply is None:
                self._fail()
            else:
                _log.info("Exception returned from %s to caller:", self, exc_info=True)
                reply.set_exception()
        except BaseException as error:
            self._stop_everything(error)

    def _stop_everything(self, error: BaseException) -> None:
        """What pykka does at a SystemExit or the like: it stops every actor of its registry."""
        _log.debug("%r in %s. Stopping all actors.", error, self)
        self._stop()
        ActorRegistry.stop_all()

    def _fail(self) -> None:
        """The exception being handled ends the actor, as in pykka."""
        failure = sys.exc_info()
        self._handle_failure(*failure)
        try:
            self.on_failure(*failure)
        except Exception:
            self._handle_failure(*sys.exc_info())
