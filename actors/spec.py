"""What an agent is: the declaration a host writes, and the checked form the actors read.

A declaration is checked whole before anything opens; an error names the setting and the type that was given, never
the value. Values only; live objects in it (the provider, tool functions) are the host's own and are not stored.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from ..messages.errors import InvalidSetting
from ..messages.places import ChannelRef
from ..messages.registry import ProseMode, Roles
from .providers.provider import Provider
from .tools import Tool

ThinkPolicy: TypeAlias = Literal["public", "private"]
# What the runtime can carry out now; the other modes are refused by name rather than half done.
MODES_BUILT: tuple[ProseMode, ...] = ("locus", "hybrid", "explicit", "disabled")


@dataclass(frozen=True, slots=True)
class Resident:
    """A persistent agent of the shared room, as a host declares it.

    `tools`: plain functions, sync or async, or Tool values. `prose`: where plain words go. `provider`: its own, else
    the runtime's. Sizes in tokens: `max_tokens` of one answer, `context_tokens` of a request, `reserve` of them kept
    free, `max_stream_tokens` after which a turn goes on in a new request. `self_participants`: former names that are
    its own voice. `think_policy="private"`: a round that calls `think` is not spoken. `tool_deadline` in seconds.
    `result_guard`: a refusal right after results withholds them and asks once more. `wrapper_guard`: an answer that
    only imitates a call of one of its tools is not said.
    """

    name: str
    model: str
    system: str | Sequence[str] = ()
    tools: Sequence[Callable[..., Any] | Tool] = ()
    prose: ProseMode = "locus"
    provider: Provider | None = None
    max_tokens: int = 4096
    context_tokens: int = 100_000
    reserve: int = 4_000
    max_stream_tokens: int | None = None
    thinking: Mapping[str, Any] | None = None
    self_participants: tuple[str, ...] = ()
    present_as: str = ""
    trigger_sources: tuple[str, ...] | None = None
    think_policy: ThinkPolicy = "public"
    tool_deadline: float = 120.0
    result_guard: bool = False
    wrapper_guard: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """A checked declaration: what the Agent actor reads. `room`: whose log it lives in."""

    name: str
    kind: str
    model: str
    room: str
    roles: Roles
    provider: Provider
    mode: ProseMode
    system: tuple[str, ...] = ()
    tools: Mapping[str, Tool] = field(default_factory=dict[str, Tool])
    home: ChannelRef | None = None
    max_tokens: int = 4096
    context_tokens: int = 100_000
    reserve: int = 4_000
    max_stream_tokens: int | None = None
    thinking: Mapping[str, Any] | None = None
    self_participants: tuple[str, ...] = ()
    present_as: str = ""
    trigger_sources: tuple[str, ...] | None = None
    think_policy: ThinkPolicy = "public"
    tool_deadline: float = 120.0
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    result_guard: bool = False
    wrapper_guard: bool = False

    @property
    def voices(self) -> frozenset[str]:
        """The participants whose rows are this agent's own turns (agents.md 2.3)."""
        return frozenset((self.name, *self.self_participants))

    @property
    def budget(self) -> int:
        """Tokens that the rows of one request may take (context.md 4.0)."""
        return self.context_tokens - self.reserve


def _positive(setting: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
        raise InvalidSetting(f"{setting} must be a positive number, not {type(value).__name__} or a value below it")


def _name(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidSetting(f"Resident.name must be a str, not {type(value).__name__}")
    if not value or value != value.strip() or any(not c.isprintable() for c in value):
        raise InvalidSetting("Resident.name must not be empty, nor hold control characters or space at its ends")
    return value


def _system(value: Any) -> tuple[str, ...]:
    blocks: tuple[Any, ...] = (value,) if isinstance(value, str) else tuple(value)
    if any(not isinstance(block, str) for block in blocks):
        raise InvalidSetting("Resident.system must be a str or a sequence of str")
    return tuple(block for block in blocks if block.strip())


def _tools(resident: Resident) -> dict[str, Tool]:
    tools: dict[str, Tool] = {}
    for item in resident.tools:
        tool = item if isinstance(item, Tool) else Tool.of(item)
        if tool.name in tools:
            raise InvalidSetting(f"resident {resident.name!r} has two tools named {tool.name!r}; rename one")
        tools[tool.name] = tool
    return tools


def check_resident(resident: Resident, provider: Provider | None, room: str, first: bool) -> AgentSpec:
    """The agent of a resident's declaration. `first`: it is the primary (agents.md 1.1).

    Raises InvalidSetting, naming the setting and what it should be.
    """
    if not isinstance(resident, Resident):
        raise InvalidSetting(f"residents must be Resident values, not {type(resident).__name__}")
    name = _name(resident.name)
    if not isinstance(resident.model, str) or not resident.model:
        raise InvalidSetting(f"resident {name!r}: model must be a non-empty str")
    if resident.prose not in get_args(ProseMode):
        modes = ", ".join(get_args(ProseMode))
        raise InvalidSetting(f"resident {name!r}: prose must be one of {modes}, not a {type(resident.prose).__name__}")
    if resident.prose not in MODES_BUILT:
        raise InvalidSetting(f"resident {name!r}: prose={resident.prose!r} is not built yet; use {MODES_BUILT}")
    if resident.think_policy not in get_args(ThinkPolicy):
        raise InvalidSetting(f"resident {name!r}: think_policy must be 'public' or 'private'")
    chosen = resident.provider or provider
    if chosen is None:
        raise InvalidSetting(f"resident {name!r} has no provider: give open() or the Resident one")
    for setting in ("max_tokens", "context_tokens", "tool_deadline"):
        _positive(f"resident {name!r}: {setting}", getattr(resident, setting))
    if resident.max_stream_tokens is not None:
        _positive(f"resident {name!r}: max_stream_tokens", resident.max_stream_tokens)
    if not 0 <= resident.reserve < resident.context_tokens:
        raise InvalidSetting(f"resident {name!r}: reserve must be at least 0 and below context_tokens")
    roles = Roles(
        default_delivery=first, receives_untargeted=True, receives_gate_wakes=True, owns_provider_scheduling=True
    )
    return AgentSpec(
        name, "resident", resident.model, room, roles, chosen, resident.prose, _system(resident.system),
        _tools(resident), None, resident.max_tokens, resident.context_tokens, resident.reserve,
        resident.max_stream_tokens, resident.thinking, tuple(resident.self_participants), resident.present_as,
        resident.trigger_sources, resident.think_policy, float(resident.tool_deadline), dict(resident.extra),
        resident.result_guard, resident.wrapper_guard,
    )
