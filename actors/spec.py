"""What an agent is: the declaration a host writes, and the checked form the actors read.

A declaration is checked whole before anything opens; an error names the setting and the type that was given, never
a text's value. Values only; live objects in it (the provider, tool functions) are the host's own and are not stored.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast, get_args

from ..messages.errors import InvalidSetting
from ..messages.notices import PARTICIPANT
from ..messages.places import ChannelRef
from ..messages.registry import ProseMode, Roles
from .providers.provider import Provider
from .tools import Tool

ThinkPolicy: TypeAlias = Literal["public", "private"]


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


def _number(setting: str, value: Any, least: float) -> None:
    """A finite number, at least so much; whole numbers are not asked for."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= least
    if not good:
        shown = value if isinstance(value, (int, float)) else f"a {type(value).__name__}"
        raise InvalidSetting(f"{setting} must be a number of at least {least:g}, not {shown}")


def _name(value: Any, setting: str) -> str:
    if not isinstance(value, str):
        raise InvalidSetting(f"{setting} must be a str, not {type(value).__name__}")
    if not value or value != value.strip() or any(not c.isprintable() for c in value):
        raise InvalidSetting(f"{setting} must not be empty, nor hold control characters or space at its ends")
    if value.casefold() == PARTICIPANT:
        # Under this name the runtime's own notices stand in the log: they would be taken for the agent's words.
        raise InvalidSetting(f"{setting} cannot be {value!r}: the runtime's own notices bear that name; choose another")
    return value


def _sequence(setting: str, value: Any, of: str) -> tuple[Any, ...]:
    """The items of a list or tuple; a lone item is refused with what to write, a str is no sequence of letters."""
    if not isinstance(value, (list, tuple)):
        raise InvalidSetting(f"{setting} must be a list or tuple of {of}, not {type(value).__name__}: write [...]")
    return tuple(cast("Sequence[Any]", value))


def _strings(setting: str, value: Any) -> tuple[str, ...]:
    items = _sequence(setting, value, "str")
    wrong = next((item for item in items if not isinstance(item, str)), None)
    if wrong is not None:
        raise InvalidSetting(f"{setting} must hold str, not {type(wrong).__name__}")
    return items


def _system(setting: str, value: Any) -> tuple[str, ...]:
    blocks = (value,) if isinstance(value, str) else _strings(setting, value)
    return tuple(block for block in blocks if block.strip())


def _tools(resident: Resident) -> dict[str, Tool]:
    tools: dict[str, Tool] = {}
    for item in _sequence(f"resident {resident.name!r}: tools", resident.tools, "functions"):
        tool = item if isinstance(item, Tool) else Tool.of(item)
        if tool.name in tools:
            raise InvalidSetting(f"resident {resident.name!r} has two tools named {tool.name!r}; rename one")
        tools[tool.name] = tool
    return tools


def _choice(setting: str, value: Any, among: Any) -> None:
    choices = get_args(among)
    if value not in choices:
        raise InvalidSetting(f"{setting} must be one of {', '.join(choices)}")


def _provider(who: str, own: Any, shared: Any) -> Provider:
    chosen = own if own is not None else shared
    if chosen is None:
        raise InvalidSetting(f"{who} has no provider: give open() or the Resident one")
    if isinstance(chosen, type) or not isinstance(chosen, Provider):
        given = f"the class {chosen.__name__}" if isinstance(chosen, type) else f"a {type(chosen).__name__}"
        raise InvalidSetting(
            f"{who}: the provider must be a Provider, such as Scripted() or your own, made and not named; not {given}"
        )
    return chosen


def _mapping(setting: str, value: Any) -> None:
    if not isinstance(value, Mapping):
        raise InvalidSetting(f"{setting} must be a dict, not {type(value).__name__}")


def check_resident(resident: Resident, provider: Provider | None, room: str, first: bool) -> AgentSpec:
    """The agent of a resident's declaration. `first`: it is the primary (agents.md 1.1).

    Raises InvalidSetting, naming the setting and what it should be.
    """
    if not isinstance(resident, Resident):
        given = type(resident).__name__
        raise InvalidSetting(f"residents must be Resident values, not {given}: write Resident(name, model)")
    name = _name(resident.name, "Resident.name")
    who = f"resident {name!r}"
    if not isinstance(resident.model, str) or not resident.model:
        raise InvalidSetting(f"{who}: model must be a non-empty str")
    _choice(f"{who}: prose", resident.prose, ProseMode)
    _choice(f"{who}: think_policy", resident.think_policy, ThinkPolicy)
    chosen = _provider(who, resident.provider, provider)
    for setting in ("max_tokens", "context_tokens"):
        _number(f"{who}: {setting}", getattr(resident, setting), 1)
    _number(f"{who}: tool_deadline", resident.tool_deadline, 0.001)
    _number(f"{who}: reserve", resident.reserve, 0)
    if resident.max_stream_tokens is not None:
        _number(f"{who}: max_stream_tokens", resident.max_stream_tokens, 1)
    if resident.reserve >= resident.context_tokens:
        raise InvalidSetting(f"{who}: reserve must be below context_tokens")
    formerly = _strings(f"{who}: self_participants", resident.self_participants)
    for former in formerly:
        _name(former, f"{who}: each of self_participants")
    if resident.trigger_sources is not None:
        _strings(f"{who}: trigger_sources", resident.trigger_sources)
    if not isinstance(resident.present_as, str):
        raise InvalidSetting(f"{who}: present_as must be a str, not {type(resident.present_as).__name__}")
    _mapping(f"{who}: extra", resident.extra)
    if resident.thinking is not None:
        _mapping(f"{who}: thinking", resident.thinking)
    roles = Roles(
        default_delivery=first, receives_untargeted=True, receives_gate_wakes=True, owns_provider_scheduling=True
    )
    return AgentSpec(
        name, "resident", resident.model, room, roles, chosen, resident.prose,
        _system(f"{who}: system", resident.system),
        _tools(resident), None, resident.max_tokens, resident.context_tokens, resident.reserve,
        resident.max_stream_tokens, resident.thinking, formerly, resident.present_as,
        None if resident.trigger_sources is None else tuple(resident.trigger_sources), resident.think_policy,
        float(resident.tool_deadline), dict(resident.extra),
        resident.result_guard, resident.wrapper_guard,
    )
