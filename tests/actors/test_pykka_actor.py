"""What hosts see of pykka on shared workers. pykka's own suite runs in .ci/pykka_suite.py."""

import threading
from typing import Any

import pykka
import pytest

from manyminds.actors.pykka_actor import PooledActor
from manyminds.actors.pykka_future import PooledFuture

pytestmark = pytest.mark.pool


class Echo(PooledActor):
    def on_receive(self, message: Any) -> Any:
        if isinstance(message, Exception):
            raise message
        return message


def test_an_idle_actor_has_no_thread() -> None:
    """[design, How actors run] A thousand actors, no more threads than before them."""
    Echo.start().stop(timeout=20)
    before = threading.active_count()
    refs = [Echo.start() for _ in range(1000)]
    assert [ref.ask(n, timeout=20) for n, ref in enumerate(refs)] == list(range(1000))
    assert threading.active_count() == before
    assert len(pykka.ActorRegistry.get_by_class(Echo)) == 1000
    assert all(ref.stop(timeout=20) for ref in refs)
    assert pykka.ActorRegistry.get_by_class(Echo) == []


def test_proxies_and_failures_are_pykkas() -> None:
    """[design, How actors run] Refs, asks, proxies and futures stay pykka's."""
    ref = Echo.start()
    proxy = ref.proxy()
    assert proxy.on_receive("a").get(timeout=20) == "a"
    with pytest.raises(ValueError, match="no"):
        ref.ask(ValueError("no"), timeout=20)
    assert ref.is_alive()
    ref.tell(ValueError("the end"))
    assert ref.actor_stopped.wait(20)
    with pytest.raises(pykka.ActorDeadError):
        ref.tell("late")
    with pytest.raises(pykka.ActorDeadError):
        ref.ask("late", timeout=20)


def test_a_mixed_pair_works() -> None:
    """[design, How actors run] A pooled actor and one with a thread of its own ask each other's kind."""

    class Threaded(pykka.ThreadingActor):
        use_daemon_thread = True

        def on_receive(self, message: Any) -> Any:
            return pooled.ask(message, timeout=20)

    pooled = Echo.start()
    threaded = Threaded.start()
    assert threaded.ask(5, timeout=20) == 5
    assert threaded.stop(timeout=20)
    assert pooled.stop(timeout=20)


def test_a_future_is_set_once() -> None:
    """[pykka] Of many setters one wins; every reader, early or late, gets that answer."""
    future: PooledFuture[int] = PooledFuture()
    answers: list[int] = []
    won: list[int] = []
    readers = [threading.Thread(target=lambda: answers.append(future.get(timeout=20))) for _ in range(5)]

    def give(value: int) -> None:
        try:
            future.set(value)
        except Exception:
            return
        won.append(value)

    setters = [threading.Thread(target=give, args=(n,)) for n in range(5)]
    for thread in (*readers, *setters):
        thread.start()
    for thread in (*readers, *setters):
        thread.join(20)
    assert len(won) == 1
    assert [*answers, future.get()] == won * 6
