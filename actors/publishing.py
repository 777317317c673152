"""Publishing: one attempt to post, on the pool or on the host's loop, and its answer as mail.

Wraps what a host registered: a plain function runs as a job with the publish deadline, a coroutine function on the loop
it was registered from, beside a timer. An answer after the deadline still comes, marked late. Decides nothing.
"""

import asyncio
import inspect
import logging
from collections.abc import Callable
from typing import Any

from ..messages.address import Address
from ..messages.mail import AttemptDeadline, AttemptEnded, PostNow, SurfaceAnswered
from ..messages.outcomes import PUBLISH_DEADLINE, read_answer, read_error
from ..messages.posts import NotSent, OutboxEntry, Outcome, Post, Unknown
from .desk import Surface
from .system import JobGivenUp, JobNotStarted, JobRefused, System, Task

_log = logging.getLogger(__name__)
_told_what_to_return: set[str] = set()


def _post(surface: Surface, part: OutboxEntry) -> Post:
    return Post(
        surface.server, part.at.channel, part.thread, part.text, part.agent, part.key, part.written_at,
        len(part.attempts), part.delayed,
    )


def _read(surface: Surface, value: Any, error: BaseException | None) -> Outcome:
    if isinstance(error, (JobRefused, JobNotStarted)):
        return NotSent(str(error))
    if isinstance(error, JobGivenUp):
        return Unknown(f"no answer within {PUBLISH_DEADLINE:g} s")
    if error is not None:
        if not isinstance(error, NotSent):
            _log.error(
                "the publisher of server %r raised, so the post counts as unknown; raise NotSent where nothing left",
                surface.server, exc_info=error,
            )
        return read_error(error)
    outcome = read_answer(value)
    if isinstance(outcome, Unknown) and not isinstance(value, Unknown) and surface.server not in _told_what_to_return:
        _told_what_to_return.add(surface.server)
        _log.warning(
            "%s for server %r, so the post counts as unknown: return the platform's message id (a str or int), or "
            "Delivered(id), NotSent(reason) or Unknown(reason)", outcome.reason, surface.server,
        )
    return outcome


def is_coroutine(function: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine; a callable object is judged by its `__call__`."""
    if inspect.iscoroutinefunction(function):
        return True
    return inspect.iscoroutinefunction(type(function).__call__)


def publish(
    system: System, me: Address, surface: Surface, part: OutboxEntry, post_now: PostNow, attempt: int,
    deadline: float = PUBLISH_DEADLINE,
) -> Task:
    """Make one attempt; AttemptEnded comes as mail. `deadline` in seconds."""
    post = _post(surface, part)
    if system.fault("outcome_unknown"):
        return _unknown(system, me, post_now, part, attempt)
    if is_coroutine(surface.publish):
        system.after(deadline, me, AttemptDeadline(attempt))
        return system.task(
            lambda: surface.publish(post), me,
            lambda value, error: AttemptEnded(attempt, _read(surface, value, error), post_now, part.part),
            name=f"publish:{surface.server}", loop=surface.loop,
        )
    expired = system.clock.now() + deadline

    def call() -> Any:
        value: Any = None
        error: BaseException | None = None
        try:
            value = surface.publish(post)
        except Exception as exc:
            error = exc
        if system.clock.now() >= expired:
            system.tell(me, AttemptEnded(attempt, _read(surface, value, error), post_now, part.part, late=True))
        elif error is not None:
            raise error
        return value

    return system.job(
        "publish", call, me,
        lambda value, error: AttemptEnded(attempt, _read(surface, value, error), post_now, part.part),
        name=f"publish:{surface.server}", deadline=deadline,
    )


def _unknown(system: System, me: Address, post_now: PostNow, part: OutboxEntry, attempt: int) -> Task:
    async def nothing() -> None:
        await asyncio.sleep(0)

    outcome = Unknown("the outcome was lost")
    return system.task(
        nothing, me, lambda _value, _error: AttemptEnded(attempt, outcome, post_now, part.part), name="publish:lost"
    )


def call_surface(
    system: System, me: Address, surface: Surface, function: Callable[..., Any], args: tuple[Any, ...], what: str,
    serial: int,
) -> None:
    """Call an open, close or typing callback; SurfaceAnswered comes as mail."""

    def done(_: Any, error: BaseException | None) -> SurfaceAnswered:
        if error is None:
            return SurfaceAnswered(what, serial)
        permanent = isinstance(error, NotSent) and error.permanent
        return SurfaceAnswered(what, serial, str(error) or type(error).__name__, permanent)

    name = f"{what}:{surface.server}"
    if is_coroutine(function):
        system.task(
            lambda: function(*args), me, done, name=name, deadline=PUBLISH_DEADLINE, loop=surface.loop
        )
    else:
        system.job("publish", lambda: function(*args), me, done, name=name, deadline=PUBLISH_DEADLINE)
