"""House: an open runtime's actors, put together. One readable function says what is built and what it is given.

Registers how each kind of address is built, enlists the residents, and starts what must start: agents with their
turns, the gateway with its posts. Used by the runtimes on threads and by tests under a simulation alike; it owns no
thread, and no actor ever sees it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..messages.address import Address
from ..messages.errors import InvalidSetting, NotRouted, StoreError
from ..messages.mail import (
    DIRECTORY,
    GATEWAY,
    Awake,
    Enlist,
    Refused,
    TryAgain,
    agent_address,
    channel_address,
)
from ..messages.places import ChannelRef
from ..messages.registry import AgentRecord
from ..messages.routing import WakeOn
from ..messages.tooldefs import check_tools
from ..storage import Op, Snapshot, branches, outbox, registry
from .agent import Agent
from .channel import Channel
from .desk import Surfaces
from .directory import Directory
from .gateway import Gateway
from .provider_gate import ProviderGate
from .providers.provider import Provider
from .room import InboxBounds, Room
from .spec import AgentSpec, Resident, check_resident
from .stopper import Stopper
from .system import System

ROOM = "shared"


@dataclass(frozen=True, slots=True)
class Options:
    """What a host may set for the whole runtime."""

    wake_on: WakeOn = "addressed"
    bounds: InboxBounds = field(default_factory=InboxBounds)
    wait_when_full: bool = False


def check_residents(residents: Sequence[Resident], provider: Provider | None) -> tuple[AgentSpec, ...]:
    """The agents of the residents; the first is the primary (agents.md 1.1).

    Raises InvalidSetting: none at all, a name twice, or a setting that cannot be used.
    """
    if not isinstance(residents, (list, tuple)):
        given = type(residents).__name__
        raise InvalidSetting(f"residents must be a list or tuple of Resident, not {given}: write [Resident(...)]")
    if not residents:
        raise InvalidSetting("open() needs at least one Resident: residents=[Resident(name, model)]")
    specs = tuple(check_resident(r, provider, ROOM, first=index == 0) for index, r in enumerate(residents))
    names = [spec.name for spec in specs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidSetting(f"two residents are named {twice!r}; give one of them another name")
    for spec in specs:
        check_tools(tuple(tool.definition for tool in spec.tools.values()))
    return specs


class House:
    """The actors of one runtime."""

    def __init__(self, system: System, specs: Sequence[AgentSpec], surfaces: Surfaces, options: Options) -> None:
        self.system = system
        self.specs = {spec.name: spec for spec in specs}
        self.surfaces = surfaces
        self.options = options
        self._furnish()

    def _furnish(self) -> None:
        options, surfaces = self.options, self.surfaces
        register = self.system.register
        register("directory", lambda system, at: Directory(system, at, ROOM, options.wake_on))
        register("room", lambda system, at: Room(system, at, options.bounds))
        register("gateway", Gateway)
        register("channel", lambda system, at: Channel(system, at, surfaces))
        register("agent", lambda system, at: Agent(system, at, self._spec(at), surfaces))
        register("provider", ProviderGate)
        register("stopper", Stopper)

    def _spec(self, address: Address) -> AgentSpec:
        spec = self.specs.get(address.name)
        if spec is None:
            raise NotRouted(f"there is no agent {address.name!r}; residents: {', '.join(self.specs)}")
        return spec

    # --- start

    def enlistment(self) -> "Enlistment":
        """The unit that makes this start's agents live: records with the next incarnation, a branch for the room."""
        with self.system.store.snapshot() as snap:
            return _enlistment(snap, list(self.specs.values()), self.system.clock.now())

    def move_in(self, timeout: float = 30.0) -> None:
        """Write this start into the store, then wake everybody. Raises StoreError if it cannot be written."""
        start = self.enlistment()
        answer = self.system.ask(
            DIRECTORY, lambda reply: Enlist(tuple(start.agents), start.ops, reply, start.gone), timeout
        )
        if isinstance(answer, Refused):
            raise StoreError(f"the store refused the start of the runtime: {answer.error}; nothing was started")
        for record in start.agents:
            self.system.tell(agent_address(record.name, record.incarnation), Awake())
        for at in self.channels_that_wait():
            self.system.spawn(channel_address(at))
        self.system.spawn(GATEWAY)

    def channels_that_wait(self, server: str | None = None) -> list[ChannelRef]:
        """Channels with posts that have no outcome yet."""
        with self.system.store.snapshot() as snap:
            found = dict.fromkeys(entry.at for entry in outbox.unfinished(snap))
        return [at for at in found if server is None or at.server == server]

    def surface_is_up(self, server: str) -> None:
        """A publisher was registered, or a server is connected again: what waits for it is tried now."""
        for at in self.channels_that_wait(server):
            self.system.tell(channel_address(at), TryAgain(server))


@dataclass(slots=True)
class Enlistment:
    """One start's agents and the unit that makes them live."""

    agents: list[AgentRecord]
    ops: tuple[Op, ...]
    gone: tuple[str, ...]


def _enlistment(snap: Snapshot, specs: Sequence[AgentSpec], now: float) -> Enlistment:
    ops: list[Op] = []
    records: list[AgentRecord] = []
    for spec in specs:
        known = registry.agent(snap, spec.name)
        number = registry.incarnation(snap, spec.name) + 1
        record = AgentRecord(
            spec.name, spec.kind, spec.model, spec.room, number, spec.roles,
            self_participants=spec.self_participants, present_as=spec.present_as, home=spec.home,
            trigger_sources=spec.trigger_sources,
            message_peers=known.message_peers if known else (), created_at=known.created_at if known else now,
        )
        records.append(record)
        ops += [registry.put_agent(record), registry.set_incarnation(spec.name, number)]
    named = {spec.name for spec in specs}
    gone = [old for old in registry.agents(snap) if old.name not in named]
    for old in gone:
        ops += registry.end_agent(snap, replace(old, ended_at=now, ended_reason="not-configured", ended_by="host"))
    if not branches.cursor(snap, ROOM):
        first = branches.last_id(snap) + 1
        ops += [*branches.create(branches.Branch(first, ROOM, None, 0, now)), branches.set_cursor(ROOM, first)]
    return Enlistment(records, tuple(ops), tuple(old.name for old in gone))

