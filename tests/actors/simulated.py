"""A whole house under the simulation: residents, a scripted model, a platform that remembers what it was given.

What a test of the runtime's behaviour starts from. Everything is a step; the seed decides the order, so a failing
seed repeats. Nothing here knows a rule of the specification.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from manyminds.actors.desk import Surface, Surfaces
from manyminds.actors.faults import Faults
from manyminds.actors.house import ROOM, House, Options, check_residents
from manyminds.actors.providers.provider import Provider
from manyminds.actors.room import InboxBounds
from manyminds.actors.simulation import Simulation
from manyminds.actors.spec import Resident
from manyminds.actors.traces import Trace
from manyminds.messages.address import ReplyTo
from manyminds.messages.blocks import Text, text_of
from manyminds.messages.errors import StoreError
from manyminds.messages.incoming import Accepted, Author, Incoming, check_incoming
from manyminds.messages.mail import DIRECTORY, Answer, Cancel, Receive, Received, agent_address
from manyminds.messages.posts import OutboxEntry, Post
from manyminds.messages.request import Request
from manyminds.messages.routing import WakeOn
from manyminds.messages.rows import Placed, Row
from manyminds.messages.turns import Turn
from manyminds.messages.wakes import Wake
from manyminds.storage import MemoryStore, Op, SteppedWriter, Store, branches, inbox, log, outbox, turns, wakes

SERVER = "town"
FAULTS = Faults(commit_refused=0.03, map_full=0.01, killed=0.005, parked=0.1)


def variations(faults: Faults = FAULTS) -> Iterator[dict[str, Any]]:
    """The settings under which a rule must hold: as it is, parked at a third, and with faults on as well."""
    yield {}
    yield {"park_rate": 1 / 3}
    yield {"park_rate": 1 / 3, "faults": faults}


@dataclass(slots=True)
class Handed:
    """A message that was handed in; `answer` is there once the runtime has answered."""

    message: Incoming
    answer: Received | None = None

    @property
    def accepted(self) -> Accepted:
        """What was accepted; raises what it was refused with."""
        assert self.answer is not None, "the message is not answered yet"
        if self.answer.error is not None:
            raise self.answer.error
        assert self.answer.accepted is not None
        return self.answer.accepted


@dataclass(slots=True)
class Platform:
    """A chat platform: every post that reached it, in order. `answer` may be replaced by a test."""

    posts: list[Post] = field(default_factory=list[Post])
    answer: Callable[[Post], Any] | None = None

    def __call__(self, post: Post) -> Any:
        """The publisher."""
        if self.answer is not None:
            return self.answer(post)
        self.posts.append(post)
        return f"p{len(self.posts)}"

    def texts(self, channel: str | None = None) -> list[str]:
        """The texts that were posted, of one channel or of all."""
        return [post.text for post in self.posts if channel is None or post.channel == channel]


class SimulatedHouse:
    """A house, its simulation and its platform. Use it as a context manager, so that a failure names its seed."""

    def __init__(
        self, seed: int, residents: Sequence[Resident], provider: Provider, *, park_rate: float = 0.0,
        faults: Faults | None = None, wake_on: WakeOn = "addressed", bounds: InboxBounds | None = None,
        platform: Platform | None = None, register: bool = True, store: Store | None = None, **surface: Any,
    ) -> None:
        self.platform = platform or Platform()
        self.surfaces = Surfaces()
        store = store or MemoryStore(writer=SteppedWriter())
        self.simulation = Simulation(store, seed, park_rate=park_rate, faults=faults)
        self.traces: list[Trace] = []
        self.simulation.traces.listen(self.traces.append)
        specs = check_residents(residents, provider)
        self.house = House(
            self.simulation, specs, self.surfaces, Options(wake_on, bounds or InboxBounds())
        )
        self._surface = surface
        self._ids = 0
        if register:
            self.register()
        self._move_in()

    def __enter__(self) -> Self:
        self.simulation.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.simulation.__exit__(kind, error, trace)

    def register(self, publish: Callable[[Post], Any] | None = None, server: str = SERVER, **surface: Any) -> None:
        """Register the platform, or another publisher, for a server."""
        self.surfaces.put(Surface(server, publish or self.platform, **{**self._surface, **surface}))
        self.house.surface_is_up(server)

    # --- what a host does

    def message(self, text: str, channel: str = "#a", author: str = "zoe", **fields: Any) -> Incoming:
        """An Incoming; `to="ada"` is short for a mention, and every message gets an id of its own."""
        self._ids += 1
        to = fields.pop("to", None)
        mentions = fields.pop("mentions", (to,) if to else ())
        return Incoming(
            fields.pop("server", SERVER), channel, Author(author, author), text, id=fields.pop("id", f"i{self._ids}"),
            mentions=mentions, **fields,
        )

    def hand_in(self, message: Incoming) -> Handed:
        """Hand a message in without waiting for the answer."""
        handed = Handed(message)

        def resolve(answer: Any) -> None:
            handed.answer = answer if isinstance(answer, Received) else Received(None, RuntimeError(repr(answer)))

        reply = ReplyTo(self.simulation.open_reply(resolve))
        self.simulation.tell(DIRECTORY, Receive(check_incoming(message), reply))
        return handed

    def say(self, text: str, channel: str = "#a", author: str = "zoe", **fields: Any) -> Accepted:
        """Hand a message in and take steps until it is answered."""
        handed = self.hand_in(self.message(text, channel, author, **fields))
        self.simulation.run(until=lambda: handed.answer is not None)
        return handed.accepted

    def insist(self, message: Incoming) -> Accepted:
        """Hand a message in until the store takes it, as a host does whose disk was full for a while."""
        while True:
            handed = self.hand_in(message)
            self.simulation.run(until=lambda: handed.answer is not None)  # noqa: B023
            assert handed.answer is not None
            if not isinstance(handed.answer.error, StoreError):
                return handed.accepted

    def settle(self) -> None:
        """No more faults; everything comes to its end."""
        self.simulation.faults.off()
        self.run()

    def finish(self) -> None:
        """Everything comes to its end under the faults that there are, and what they put off without them."""
        self.run()
        self.settle()

    def cancel(self, agent: str, by: str = "zoe") -> bool:
        """Cancel an agent's turn."""
        answer = self.simulation.ask(agent_address(agent), lambda reply: Cancel(by, "", reply), 5.0)
        assert isinstance(answer, Answer)
        return bool(answer.value)

    def run(self, until: Callable[[], bool] | None = None) -> None:
        """Take steps, until something holds or nothing is left to happen."""
        self.simulation.run(until)

    def crash(self) -> None:
        """The process dies and is started again on what was on disk."""
        self.simulation.crash()
        self._move_in()

    def declare(self, residents: Sequence[Resident], provider: Provider) -> None:
        """The next start has these residents."""
        self.house = House(
            self.simulation, check_residents(residents, provider), self.surfaces, self.house.options
        )

    def write(self, *ops: Op) -> None:
        """A unit of the test's own, until the store takes it."""
        done: list[Exception | None] = []
        while not done or done[-1] is not None:
            before = len(done)
            self.simulation.store.submit(ops, done.append)
            self.simulation.run(until=lambda: len(done) > before)  # noqa: B023

    def _move_in(self) -> None:
        while True:
            try:
                self.house.move_in()
                return
            except StoreError:
                continue  # the simulation refused the unit; a host would open again

    # --- what a test looks at

    def rows(self, room: str = ROOM) -> list[Placed]:
        """The room's log, oldest first."""
        with self.simulation.store.snapshot() as snap:
            branch = branches.cursor(snap, room)
            return log.between(snap, branch, 0, log.end(snap, branch), blobs=True)

    def log(self, room: str = ROOM) -> list[Row]:
        """The rows alone."""
        return [placed.row for placed in self.rows(room)]

    def texts(self, room: str = ROOM) -> list[str]:
        """The words of the log's rows."""
        return [text_of(row.content) for row in self.log(room) if any(isinstance(b, Text) for b in row.content)]

    def notices(self, kind: str | None = None) -> list[Row]:
        """The notices in the log, of one kind or of all."""
        return [r for r in self.log() if r.metadata.get("system") is True and kind in (None, r.metadata.get("kind"))]

    def waiting(self, room: str = ROOM) -> list[Row]:
        """The rows that wait in the inbox."""
        with self.simulation.store.snapshot() as snap:
            return [entry.row for entry in inbox.waiting(snap, room)]

    def pending(self, room: str = ROOM) -> list[Wake]:
        """The wakes that wait."""
        with self.simulation.store.snapshot() as snap:
            return wakes.pending(snap, room)

    def turns(self, room: str = ROOM) -> list[Turn]:
        """The turns that are alive."""
        with self.simulation.store.snapshot() as snap:
            return turns.of_room(snap, room)

    def last_turn(self, agent: str) -> int:
        """How many turns of an agent have begun."""
        with self.simulation.store.snapshot() as snap:
            return turns.last_turn(snap, agent)

    def outbox(self, agent: str, turn: int) -> list[OutboxEntry]:
        """The outbox entries of a turn."""
        with self.simulation.store.snapshot() as snap:
            return outbox.of_turn(snap, agent, turn)

    def traced(self, name: str) -> list[dict[str, Any]]:
        """The fields of every trace of this name."""
        return [dict(trace.fields) for trace in self.traces if trace.name == name]


def request_texts(request: Request) -> list[str]:
    """The words of a request's messages, one string a message."""
    return [text_of(message.content) for message in request.messages]
