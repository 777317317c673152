"""Registry records: who there is, what each may do, and which channels are known (agents.md 1.1, 10.1).

Behaviour is chosen from a record's declared fields, never from its `kind`. These records are the store's
and follow no branch.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from .codec import record
from .places import ChannelRef

ProseMode: TypeAlias = Literal["locus", "hybrid", "explicit", "disabled"]
Lifetime: TypeAlias = Literal["persistent", "idle", "task"]
Desired: TypeAlias = Literal["open", "closed", "tuned-out"]


@record("roles")
@dataclass(frozen=True, slots=True)
class Roles:
    """Who is selected for what has no named addressee (agents.md 1.1)."""

    default_delivery: bool = False
    receives_untargeted: bool = False
    receives_gate_wakes: bool = False
    owns_provider_scheduling: bool = False


@record("agent")
@dataclass(frozen=True, slots=True)
class AgentRecord:
    """One agent. `incarnation` goes up by one each time a start of the runtime, a spawn or a resume makes it."""

    name: str
    kind: str
    model: str
    room: str
    incarnation: int
    roles: Roles
    lifetime: Lifetime = "persistent"
    spawned_by: str = ""
    message_peers: tuple[str, ...] = ()
    self_participants: tuple[str, ...] = ()
    present_as: str = ""
    home: ChannelRef | None = None
    deadline: float | None = None
    idle_ttl: float | None = None
    trigger_sources: tuple[str, ...] | None = None
    created_at: float = 0.0
    ended_at: float | None = None
    ended_reason: str = ""
    ended_by: str = ""


@record("channel-entry")
@dataclass(frozen=True, slots=True)
class ChannelRecord:
    """A known channel: its descriptor and its desired state, with where that came from (agents.md 10.2).

    `label` is what people call it; `seen_at` the time of the first message, in Unix seconds.
    """

    at: ChannelRef
    kind: str = "channel"
    label: str = ""
    desired: Desired = "open"
    source: str = "received"
    seen_at: float = 0.0


def refusal(living: Iterable[AgentRecord]) -> str:
    """Why these agents cannot live together, "" if they can: at most one has default delivery (agents.md 1.1)."""
    owners = [agent.name for agent in living if agent.roles.default_delivery]
    if len(owners) < 2:
        return ""
    return f"{' and '.join(owners)} would both have default delivery; exactly one agent may, so nothing was registered"
