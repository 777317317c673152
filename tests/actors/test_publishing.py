"""One attempt to post, and the callbacks of a surface: on the pool of threads, on loops, and under the simulation."""

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pytest

from manyminds.actors import jobs
from manyminds.actors.desk import Surface
from manyminds.actors.dispatcher import Actor
from manyminds.actors.pool import Pool
from manyminds.actors.publishing import call_surface, publish
from manyminds.messages.address import Address
from manyminds.messages.mail import AttemptDeadline, AttemptEnded, PostNow, SurfaceAnswered
from manyminds.messages.outcomes import begin_attempt
from manyminds.messages.places import ChannelRef
from manyminds.messages.posts import Delivered, NotSent, OutboxEntry, Outcome, Post, Unknown
from manyminds.storage import MemoryStore
from tests.actors.mails import simulation, with_box
from tests.actors.on_threads import LONG

BOX = Address("box", "test")
POST = PostNow("ada", 2, 3)
Box: TypeAlias = "queue.SimpleQueue[Any]"
PART = begin_attempt(
    OutboxEntry("ada", 1, 2, 3, 1, 2, ChannelRef("town", "#a"), "t1", "hello", "k1", 5.0), 1_700_000_000.0
)


def gives(answer: str) -> Callable[[Post], str]:
    """A publisher that answers this."""
    return lambda _post: answer


def waits_for(gate: threading.Event, answer: str | None) -> Callable[[Post], str | None]:
    """A publisher that hangs until the gate opens."""
    return lambda _post: answer if gate.wait(LONG) else None


def surface(function: Callable[..., Any], server: str = "town", **fields: Any) -> Surface:
    """A surface with this publisher."""
    return Surface(server, function, **fields)


def answer(function: Callable[[Post], Any], server: str = "town") -> Outcome:
    """The outcome that a publisher comes to under the simulation."""
    with simulation() as sim:
        got = with_box(sim)
        publish(sim, BOX, surface(function, server), PART, POST, 7)
        sim.run()
    ended = [mail for mail in got if isinstance(mail, AttemptEnded)]
    assert [(mail.attempt, mail.post, mail.part, mail.late) for mail in ended] == [(7, POST, 1, False)]
    return ended[0].outcome


def giving(value: Any) -> tuple[Callable[[Post], Any], Callable[[Post], Any]]:
    """A plain and an async publisher that return it."""

    async def later(post: Post) -> Any:
        await asyncio.sleep(0.1)
        return value

    return (lambda post: value), later


def raising(error: BaseException) -> tuple[Callable[[Post], Any], Callable[[Post], Any]]:
    """A plain and an async publisher that raise it."""

    def now(post: Post) -> Any:
        raise error

    async def later(post: Post) -> Any:
        await asyncio.sleep(0.1)
        raise error

    return now, later


def test_what_a_publisher_is_given() -> None:
    """[issue: publisher] Post(server, channel, thread, text, author, key, written_at, attempt)."""
    given: list[Post] = []

    def keep(post: Post) -> str:
        given.append(post)
        return "m1"

    assert answer(keep) == Delivered("m1")
    assert given == [Post("town", "#a", "t1", "hello", "ada", "k1", 5.0, 1)]


@pytest.mark.parametrize(
    ("value", "outcome"),
    [("m1", Delivered("m1")), (12, Delivered("12")), (Delivered("m1"), Delivered("m1")), (Unknown("?"), Unknown("?"))],
)
def test_answers(value: Any, outcome: Outcome) -> None:
    """[prose 11.1] A bare str or int is a delivered id; an outcome is itself; plain and async alike."""
    for function in giving(value):
        assert answer(function) == outcome


def test_not_sent_raised_and_returned() -> None:
    """[prose 11.1] NotSent means not sent, whichever way it comes."""
    told = NotSent("no such channel", permanent=True)
    for function in (*giving(told), *raising(told)):
        assert answer(function) is told


@pytest.mark.parametrize("error", [ValueError("x"), ConnectionError("lost"), TimeoutError("slow")])
def test_any_other_exception_is_unknown(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    """[prose 11.1; agents 10.10] It may have arrived, whatever was raised; a timeout is unknown, not failed.

    Its own TimeoutError is not taken for the publish deadline, and the log says what to raise instead.
    """
    for function in raising(error):
        assert answer(function) == Unknown(f"the publisher raised {type(error).__name__}")
    assert all("raise NotSent" in record.getMessage() for record in caplog.records)
    assert len(caplog.records) == 2


@pytest.mark.parametrize(("value", "town"), [(None, "none-town"), ("", "empty-town")])
def test_the_first_none_says_what_to_return(value: object, town: str, caplog: pytest.LogCaptureFixture) -> None:
    """[issue: publisher] None and an empty id are unknown; a server's first logs what to return, and only the first."""
    caplog.set_level(logging.WARNING, logger="manyminds.actors.publishing")
    for function in (*giving(value), *giving(value)):
        assert isinstance(answer(function, server=town), Unknown)
    said = [record.getMessage() for record in caplog.records if town in record.getMessage()]
    assert len(said) == 1
    assert all(word in said[0] for word in ("str or int", "Delivered(id)", "NotSent(reason)", "Unknown(reason)"))


def test_an_unknown_that_was_meant_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """[issue: publisher] A publisher that says Unknown knows what to return."""
    answer(lambda post: Unknown("the line went dead"), server="meant-town")
    assert [record for record in caplog.records if "meant-town" in record.getMessage()] == []


class Caller:
    """A publisher whose `__call__` is a coroutine function."""

    async def __call__(self, post: Post) -> str:
        """Post."""
        await asyncio.sleep(0)
        return "m1"


def test_a_callable_object_may_be_async() -> None:
    """[issue: publisher] A plain or async function: also an object that is called."""
    assert answer(Caller()) == Delivered("m1")


def test_an_async_publisher_past_its_deadline_is_still_heard() -> None:
    """[prose 7.8] The deadline comes as mail; what the publisher says later comes as well."""

    async def slow(post: Post) -> str:
        await asyncio.sleep(40.0)
        return "m1"

    with simulation() as sim:
        got = with_box(sim)
        publish(sim, BOX, surface(slow), PART, POST, 7)
        sim.advance(29.9)
        assert got == []
        sim.advance(0.2)
        assert got == [AttemptDeadline(7)]
        sim.run()
        assert got[1:] == [AttemptEnded(7, Delivered("m1"), POST, 1)]


# --- on threads


@pytest.fixture
def pool() -> Iterator[Pool]:
    """A pool over a store in memory."""
    store = MemoryStore()
    pool = Pool(store, workers=2)
    pool.start()
    yield pool
    pool.close(5.0)
    store.close()


@pytest.fixture
def box(pool: Pool) -> Box:
    """Where mail to BOX can be waited for."""
    box: Box = queue.SimpleQueue()

    class Keeper(Actor):
        def receive(self, mail: object) -> bool:
            box.put(mail)
            return True

    pool.register("box", Keeper)
    return box


def test_a_hung_publisher_is_given_up_and_replaced(
    pool: Pool, box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[design, "Nothing blocks in a handler"; prose 7.8] Its end is unknown, its thread replaced, its answer late."""
    monkeypatch.setattr(jobs, "MOST_THREADS", 1)
    gate = threading.Event()
    hung = surface(waits_for(gate, "m1"))
    publish(pool, BOX, hung, PART, POST, 7, deadline=0.05)
    first = box.get(timeout=LONG)
    assert (first.attempt, first.late) == (7, False)
    assert isinstance(first.outcome, Unknown)
    assert pool.statistics().given_up == 1

    publish(pool, BOX, surface(gives("m2")), PART, POST, 8)
    assert box.get(timeout=LONG) == AttemptEnded(8, Delivered("m2"), POST, 1)

    gate.set()
    assert box.get(timeout=LONG) == AttemptEnded(7, Delivered("m1"), POST, 1, late=True)


def test_a_publisher_that_found_no_thread_has_not_sent(
    pool: Pool, box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[prose 11.1] A job whose deadline passed before it began provably never left."""
    monkeypatch.setattr(jobs, "MOST_THREADS", 1)
    gate, begun = threading.Event(), threading.Event()

    def holds(post: Post) -> str:
        begun.set()
        gate.wait(LONG)
        return "m1"

    never: list[Post] = []
    publish(pool, BOX, surface(holds), PART, POST, 7)
    assert begun.wait(LONG)
    publish(pool, BOX, surface(never.append), PART, POST, 8, deadline=0.05)
    second = box.get(timeout=LONG)
    assert (second.attempt, type(second.outcome)) == (8, NotSent)
    gate.set()
    assert box.get(timeout=LONG) == AttemptEnded(7, Delivered("m1"), POST, 1)
    assert never == []


def test_a_server_whose_publisher_hangs_too_often_is_refused(
    pool: Pool, box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[design, "Nothing blocks in a handler"] At the limit new jobs of that server are refused: nothing left."""
    monkeypatch.setattr(jobs, "MOST_GIVEN_UP", 2)
    gate = threading.Event()
    for attempt in (1, 2):
        publish(pool, BOX, surface(waits_for(gate, None)), PART, POST, attempt, deadline=0.02)
        box.get(timeout=LONG)
    publish(pool, BOX, surface(gives("m3")), PART, POST, 3)
    refused = box.get(timeout=LONG)
    assert (refused.attempt, type(refused.outcome)) == (3, NotSent)
    assert "publish:town" in refused.outcome.reason
    publish(pool, BOX, surface(gives("m4"), server="other"), PART, POST, 4)
    assert box.get(timeout=LONG) == AttemptEnded(4, Delivered("m4"), POST, 1)
    gate.set()
    assert {box.get(timeout=LONG).attempt, box.get(timeout=LONG).attempt} == {1, 2}


def test_an_async_publisher_runs_on_its_hosts_loop(pool: Pool, box: Box) -> None:
    """[design, "Nothing blocks in a handler"] A host's coroutines run on the host's own loop."""
    ran_in: list[Any] = []

    async def publisher(post: Post) -> str:
        ran_in.append(asyncio.get_running_loop())
        return "m1"

    async def host() -> asyncio.AbstractEventLoop:
        loop = asyncio.get_running_loop()
        publish(pool, BOX, surface(publisher, loop=loop), PART, POST, 7)
        ended = await asyncio.to_thread(box.get, timeout=LONG)
        assert ended == AttemptEnded(7, Delivered("m1"), POST, 1)
        return loop

    assert ran_in == [asyncio.run(host())]


# --- callbacks


@pytest.mark.parametrize(
    ("error", "said", "permanent"),
    [(None, "", False), (RuntimeError("boom"), "boom", False), (RuntimeError(), "RuntimeError", False),
     (NotSent("no right", permanent=True), "no right", True), (NotSent("down"), "down", False)],
)
def test_callbacks(error: Exception | None, said: str, permanent: bool) -> None:
    """[agents 10.3] An open, close or typing callback is done, or says why not; NotSent may say for good."""
    given: list[tuple[Any, ...]] = []

    def plain(*args: Any) -> None:
        given.append(args)
        if error is not None:
            raise error

    async def later(*args: Any) -> None:
        await asyncio.sleep(0.1)
        plain(*args)

    for function in (plain, later):
        with simulation() as sim:
            got = with_box(sim)
            call_surface(sim, BOX, surface(gives("m1")), function, ("town", "#a"), "open", 5)
            sim.run()
        assert got == [SurfaceAnswered("open", 5, said, permanent)]
    assert given == [("town", "#a")] * 2


def test_a_callback_that_hangs_is_given_up() -> None:
    """[agents 10.3] Its deadline is the publish deadline; then it has failed."""

    async def hangs(*args: Any) -> None:
        await asyncio.Event().wait()

    with simulation() as sim:
        got = with_box(sim)
        call_surface(sim, BOX, surface(gives("m1")), hangs, ("town", "#a"), "close", 5)
        sim.advance(31.0)
    assert [(mail.what, mail.serial, bool(mail.error)) for mail in got] == [("close", 5, True)]
