"""The host's API on real threads: what is refused, what is promised, and what a host can see."""

import itertools
import threading
from pathlib import Path
from typing import Any

import pytest

from manyminds.actors.providers.replies import Reply
from manyminds.actors.providers.scripted import Scripted, call, newest_text
from manyminds.actors.runtime import Runtime
from manyminds.actors.spec import Resident
from manyminds.messages.blocks import Image
from manyminds.messages.errors import InvalidMessage, InvalidSetting, NotRouted, QueueFull, RuntimeClosed
from manyminds.messages.incoming import Accepted, Author, Incoming
from manyminds.messages.posts import NotSent, Post
from tests.actors.on_threads import ADA, LONG, at_once, dump, message, runtime, store_of, texts, texts_in

pytestmark = pytest.mark.pool
ZOE = Author("z", "zoe")


@pytest.fixture
def quiet() -> Scripted:
    """A model that is never asked."""
    return Scripted()


BAD: tuple[tuple[str, Any], ...] = (
    ("takes an Incoming", "hello"),
    ("server", Incoming("", "#a", ZOE, "hello")),
    ("channel", Incoming("town", " ", ZOE, "hello")),
    ("channel", Incoming("town", 7, ZOE, "hello")),  # type: ignore[arg-type]
    ("author", Incoming("town", "#a", "zoe", "hello")),  # type: ignore[arg-type]
    ("author.id", Incoming("town", "#a", Author("", "zoe"), "hello")),
    ("author.name", Incoming("town", "#a", Author("z", ""), "hello")),
    ("text", Incoming("town", "#a", ZOE, b"hello")),  # type: ignore[arg-type]
    ("text", Incoming("town", "#a", ZOE, "  ")),
    ("id", Incoming("town", "#a", ZOE, "hello", id="")),
    ("id", Incoming("town", "#a", ZOE, "hello", id=17)),  # type: ignore[arg-type]
    ("kind", Incoming("town", "#a", ZOE, "hello", kind="room")),  # type: ignore[arg-type]
    ("mentions", Incoming("town", "#a", ZOE, "hello", mentions="ada")),  # type: ignore[arg-type]
    ("mentions", Incoming("town", "#a", ZOE, "hello", mentions=(1,))),  # type: ignore[arg-type]
    ("tags", Incoming("town", "#a", ZOE, "hello", tags="x")),  # type: ignore[arg-type]
    ("attachments", Incoming("town", "#a", ZOE, "hello", attachments=("x",))),  # type: ignore[arg-type]
    ("attachments", Incoming("town", "#a", ZOE, "hello", attachments=(Image("image/png", b""),))),
    ("attachments", Incoming("town", "#a", ZOE, "hello", attachments=7)),  # type: ignore[arg-type]
    ("at", Incoming("town", "#a", ZOE, "hello", at=float("nan"))),
    ("at", Incoming("town", "#a", ZOE, "hello", at="now")),  # type: ignore[arg-type]
    ("label", Incoming("town", "#a", ZOE, "hello", label=3)),  # type: ignore[arg-type]
    ("thread", Incoming("town", "#a", ZOE, "hello", thread=3)),  # type: ignore[arg-type]
    ("reply_to", Incoming("town", "#a", ZOE, "hello", reply_to=3)),  # type: ignore[arg-type]
)


def test_an_invalid_message_leaves_nothing_behind(quiet: Scripted) -> None:
    """[the host's API] InvalidMessage names the field; not a byte of the store has changed; the runtime goes on."""
    with runtime(quiet) as (opened, _):
        before = dump(store_of(opened))
        for word, wrong in BAD:
            with pytest.raises(InvalidMessage, match=word):
                opened.receive(wrong)
            assert dump(store_of(opened)) == before, wrong
        assert opened.receive(message("hello")) == Accepted(False, True, ())


def test_a_full_inbox_leaves_nothing_behind() -> None:
    """[the host's API] [S24] QueueFull says when to try again; the message can be handed in later, once."""
    model = Scripted(Reply(hangs=True), otherwise="yes")
    with runtime(model, inbox_messages=2) as (opened, _):
        traces = opened.subscribe()
        opened.receive(message("ada: first", to="ada"))
        next(trace for trace in traces if trace.name == "inference:started")
        for number in range(2):
            opened.receive(message(f"ada: waits {number}", id=f"w{number}", to="ada"))
        before = dump(store_of(opened))
        with pytest.raises(QueueFull, match="inbox of room 'shared' is full") as raised:
            opened.receive(message("ada: too much", "#new", id="x", to="ada"))
        assert raised.value.retry_after > 0
        assert dump(store_of(opened)) == before
        health = opened.health()
        assert (health.inbox["waiting"], health.inbox["wakes"], health.inbox["refused"]) == (2, 1, 1)
        assert opened.last_seen("town", "#new") is None
        assert opened.receive(message("ada: waits 1", id="w1", to="ada")).duplicate
        assert opened.cancel("ada")
        next(trace for trace in traces if trace.name == "inference:completed")
        assert opened.receive(message("ada: too much", "#new", id="x", to="ada")) == Accepted(False, True, ("ada",))


def test_a_full_inbox_in_bytes() -> None:
    """[S24] The bound holds in bytes as well; a message that is larger alone is taken by an empty inbox."""
    model = Scripted(Reply(hangs=True), otherwise="yes")
    with runtime(model, inbox_bytes=5000) as (opened, _):
        traces = opened.subscribe()
        assert opened.receive(message("ada: " + "x" * 9000, to="ada")).woken == ("ada",)
        next(trace for trace in traces if trace.name == "inference:started")
        opened.receive(message("y" * 4000))
        with pytest.raises(QueueFull):
            opened.receive(message("z" * 1000))
        opened.receive(message("z"))
        assert opened.cancel("ada")


def test_a_receive_that_waits_for_room() -> None:
    """[S24] on_full="wait": it returns when the inbox has room again, and raises QueueFull when its time is over."""
    model = Scripted(Reply(hangs=True), otherwise="yes")
    with runtime(model, inbox_messages=1, on_full="wait") as (opened, board):
        traces = opened.subscribe()
        opened.receive(message("ada: first", to="ada"))
        next(trace for trace in traces if trace.name == "inference:started")
        opened.receive(message("ada: second", to="ada"))
        with pytest.raises(QueueFull):
            opened.receive(message("ada: never"), timeout=0.05)
        late, _ = at_once(
            lambda: opened.receive(message("ada: third", to="ada"), timeout=LONG), lambda: opened.cancel("ada")
        )
        assert late == Accepted(False, True, ("ada",))
        while "third" not in " ".join(texts(store_of(opened))):
            board.next()
        assert "ada: never" not in texts(store_of(opened))


def test_a_closed_runtime(quiet: Scripted, tmp_path: Path) -> None:
    """[the host's API] After stop every call raises RuntimeClosed, stop itself does nothing, and nothing is stored."""
    with runtime(quiet, tmp_path) as (opened, _):
        opened.receive(message("kept"))
        opened.stop()
        calls = (
            lambda: opened.receive(message("lost")), lambda: opened.last_seen("town", "#a"), opened.health,
            opened.subscribe, lambda: opened.cancel("ada"), lambda: opened.publisher("town"),
            lambda: opened.connected("town"),
        )
        for each in calls:
            with pytest.raises(RuntimeClosed, match="open a new one"):
                each()
        opened.stop()
    assert texts_in(tmp_path) == ["kept"]


def _until_closed(opened: Runtime) -> int:
    """How many messages were accepted until the intake closed."""
    for number in itertools.count():
        try:
            opened.receive(message(f"early {number}"))
        except RuntimeClosed:
            return number
    raise AssertionError


def test_a_runtime_that_is_stopping(tmp_path: Path) -> None:
    """[the host's API] While a stop waits for a turn, receive() raises RuntimeClosed and leaves nothing behind."""
    entered, go_on = threading.Event(), threading.Event()

    def slow() -> str:
        """Takes its time."""
        entered.set()
        assert go_on.wait(LONG)
        return "done"

    model = Scripted([call("slow")], "at last")
    with runtime(model, tmp_path, [Resident("ada", "m", tools=[slow])]) as (opened, board):
        opened.receive(message("ada: go", to="ada"))
        assert entered.wait(LONG)
        stopping = threading.Thread(target=opened.stop, args=(LONG,))
        stopping.start()
        kept = _until_closed(opened)
        go_on.set()
        stopping.join(LONG)
        assert not stopping.is_alive()
    assert [post.text for post in board.posts] == ["at last"]
    assert [text for text in texts_in(tmp_path) if text.startswith("early")] == [f"early {n}" for n in range(kept)]


def test_last_seen(quiet: Scripted, tmp_path: Path) -> None:
    """[the host's API] The newest accepted id of the channel, whatever came twice or without an id; it survives."""
    with runtime(quiet, tmp_path) as (opened, _):
        assert opened.last_seen("town", "#a") is None
        opened.receive(message("one", id="m1"))
        opened.receive(message("two", id="m2"))
        opened.receive(message("one", id="m1"))
        opened.receive(message("none"))
        opened.receive(message("other", "#b", id="m9"))
        opened.receive(message("echo", id="m10", from_self=True))
        assert opened.last_seen("town", "#a") == "m2"
        assert opened.last_seen("city", "#a") is None
    with runtime(quiet, tmp_path) as (opened, _):
        assert opened.last_seen("town", "#a") == "m2"
        assert opened.last_seen("town", "#b") == "m9"


def test_an_id_in_flight(quiet: Scripted, tmp_path: Path) -> None:
    """[the host's API] [S10] Calls with one id at once: one is accepted, the others wait for it and are duplicates."""
    with runtime(quiet, tmp_path) as (opened, _):
        for number in range(20):
            same = message(f"number {number}", id=f"m{number}")
            answers = at_once(*[lambda: opened.receive(same)] * 4)  # noqa: B023
            assert sorted(answer.duplicate for answer in answers) == [False, True, True, True]
            assert texts(store_of(opened)).count(f"number {number}") == 1


def test_two_threads_hand_in(quiet: Scripted, tmp_path: Path, amount: Any) -> None:
    """[S2] [agents 4.1] Nothing is lost, nothing is twice, and each thread's messages keep their order."""
    count = amount(150, 3000)

    with runtime(quiet, tmp_path) as (opened, _):

        def hand_in(name: str) -> None:
            for number in range(count):
                assert not opened.receive(message(f"{name} {number}", id=f"{name}{number}")).duplicate

        assert at_once(lambda: hand_in("left"), lambda: hand_in("right")) == [None, None]
    kept = texts_in(tmp_path)
    assert len(kept) == 2 * count
    for name in ("left", "right"):
        assert [text for text in kept if text.startswith(name)] == [f"{name} {number}" for number in range(count)]


def test_two_messages_at_once(tmp_path: Path, amount: Any) -> None:
    """[S2] Two threads call receive() on one room: both messages and both replies are in the history, once each."""
    rounds = amount(10, 300)
    model = Scripted(otherwise=lambda request: f"re {newest_text(request)}")
    with runtime(model, tmp_path, [ADA, Resident("bob", "m")]) as (opened, board):
        for number in range(rounds):
            answers = at_once(
                lambda: opened.receive(message(f"left {number}", author="lea", to="ada")),  # noqa: B023
                lambda: opened.receive(message(f"right {number}", author="ric", to="bob")),  # noqa: B023
            )
            assert [answer.woken for answer in answers] == [("ada",), ("bob",)]
            board.next()
            board.next()
    kept = texts_in(tmp_path)
    for number in range(rounds):
        for said in (f"left {number}", f"right {number}"):
            assert kept.count(said) == 1
    by_ada = [post.text for post in board.posts if post.author == "ada"]
    by_bob = [post.text for post in board.posts if post.author == "bob"]
    assert len(by_ada) == len(by_bob) == rounds
    for number in range(rounds):
        assert f"left {number}" in by_ada[number]
        assert f"right {number}" in by_bob[number]
    assert sum(text.startswith("re ") for text in kept) == 2 * rounds


def test_health() -> None:
    """[the host's API] Each agent's state, what waits, what is posted, and the counts of the system."""
    model = Scripted(Reply(hangs=True), otherwise="yes")
    with runtime(model, residents=[ADA, Resident("bob", "m")]) as (opened, _):
        idle = opened.health()
        assert {name: state["state"] for name, state in idle.agents.items()} == {"ada": "idle", "bob": "idle"}
        assert idle.inbox == {"waiting": 0, "bytes": 0, "wakes": 0, "refused": 0}
        assert (idle.in_flight, idle.dropped_traces, idle.posts, idle.posts_waiting) == (0, 0, {}, {})
        traces = opened.subscribe()
        opened.receive(message("ada: go", to="ada"))
        next(trace for trace in traces if trace.name == "inference:started")
        opened.receive(message("ada: and this", to="ada"))
        busy = opened.health()
        assert busy.agents["ada"]["state"] in ("compiling", "waiting", "streaming")
        assert busy.agents["ada"]["turn"] == 1
        assert busy.agents["bob"]["state"] == "idle"
        assert (busy.inbox["waiting"], busy.inbox["wakes"]) == (1, 1)
        assert busy.inbox["bytes"] > len("ada: and this")
        assert busy.system.actors >= 4
        assert opened.cancel("ada")


def test_health_tells_posts_on_their_way_from_posts_that_wait() -> None:
    """[the host's API] `posts` are out, `posts_waiting` wait for their channel; no post is counted in both."""
    entered, go_on = threading.Event(), threading.Event()

    def down(post: Post) -> str:
        entered.set()
        assert go_on.wait(LONG)
        raise NotSent("the line is down")

    with runtime(Scripted("yes", otherwise=call("skip_reply"))) as (opened, _):
        opened.publisher("city")(down)
        opened.receive(message("ada: go", server="city", to="ada"))
        assert entered.wait(LONG)
        out = opened.health()
        assert (out.posts, out.posts_waiting) == ({"ada": 1}, {})
        go_on.set()
        queued = next(health for health in iter(opened.health, None) if health.posts != {"ada": 1})
        assert (queued.posts, queued.posts_waiting) == ({}, {"ada": 1})


def test_subscribe() -> None:
    """[the host's API] Traces in order; a slow reader loses the oldest, counted; a stop ends the iterator."""
    with runtime(Scripted(otherwise="yes")) as (opened, board):
        reader, slow = opened.subscribe(), opened.subscribe(size=3)
        for number in range(4):
            opened.receive(message(f"ada: {number}", id=f"m{number}", to="ada"))
            board.next()
        opened.stop()
        seen = list(reader)
        kept = list(slow)
        assert reader.dropped == 0
        assert slow.dropped == len(seen) - 3
        assert kept == seen[-3:]
        names = [trace.name for trace in seen]
        assert names.count("message:added") >= 4
        assert names.index("message:added") < names.index("inference:started") < names.index("inference:completed")
        assert all(trace.at > 0 for trace in seen)


def test_dropped_traces_are_counted_in_health() -> None:
    """[the host's API] health() says how many traces slow readers lost, and forgets none."""
    with runtime(Scripted(otherwise="yes")) as (opened, board):
        slow = opened.subscribe(size=1)
        opened.receive(message("ada: go", to="ada"))
        board.next()
        assert opened.health().dropped_traces > 0
        assert slow.dropped > 0
        with pytest.raises(ValueError, match="at least one"):
            opened.subscribe(size=0)


def test_names_that_nobody_has(quiet: Scripted) -> None:
    """[the host's API] Cancelling an agent that is not there names those that are; wrong settings name themselves."""
    with runtime(quiet) as (opened, _):
        with pytest.raises(NotRouted, match="agents: ada"):
            opened.cancel("eve")
        assert opened.cancel("ada") is False
        surfaces: list[dict[str, Any]] = [{"limit": 0}, {"typing": 3}, {"unit": "words", "limit": 5}]
        for wrong in surfaces:
            with pytest.raises(InvalidSetting):
                opened.publisher("town", **wrong)(print)
    options: list[dict[str, Any]] = [
        {"wake_on": "never"}, {"on_full": "drop"}, {"inbox_messages": 0}, {"inbox_bytes": True},
    ]
    for wrong in options:
        with pytest.raises(InvalidSetting, match=next(iter(wrong))):
            Runtime.open(None, [ADA], quiet, **wrong)
