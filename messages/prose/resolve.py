"""Resolving a target: from the words after the arrows to one known channel (prose 4.5).

The first rule that matches exactly one channel wins; more than one is an answer with candidates, never a
guess. Pure over the channels given: whether a channel may be written to is not asked here.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from ..codec import record
from ..places import ChannelRef, Place
from .grammar import PRIVATE_TARGET
from .whitespace import SPACE_CLASS, strip, without_whitespace

NEAR_CHANNELS: Final = 5
KNOWN_PEOPLE: Final = 6
LENIENT_LENGTH: Final = 3
DIRECT: Final = "dm"

UnresolvedReason: TypeAlias = Literal["empty", "ambiguous", "no-dm", "no-match", "resolver-error"]

_MENTION = re.compile(r"<@!?([0-9]+)>")
_PARENTHETICAL = re.compile(rf"{SPACE_CLASS}*\([^()]*\){SPACE_CLASS}*\Z")


@record("target-channel")
@dataclass(frozen=True, slots=True)
class ChannelEntry:
    """What resolving may know of a channel. `raw_id`: the platform's own; `recipient_*`: of a direct channel."""

    id: str
    server: str
    label: str = ""
    raw_id: str | None = None
    channel_type: str | None = None
    recipient_id: str | None = None
    recipient_name: str | None = None


@record("resolved")
@dataclass(frozen=True, slots=True)
class Resolved:
    """Exactly one channel."""

    id: str
    server: str = ""

    @property
    def place(self) -> Place:
        """Where text for it goes."""
        return Place(ChannelRef(self.server, self.id))


@record("unresolved")
@dataclass(frozen=True, slots=True)
class Unresolved:
    """No channel, and why; the candidates are what the writer may have meant.

    `error`: what a resolver raised, for the log alone (prose 16.6); a stored answer has none.
    """

    reason: UnresolvedReason
    candidates: tuple[ChannelEntry, ...] = ()
    error: Exception | None = field(default=None, compare=False, repr=False)


Resolution: TypeAlias = Resolved | Unresolved
Resolve: TypeAlias = Callable[[str], Resolution]


def resolve(spec: str, channels: Sequence[ChannelEntry]) -> Resolution:
    """The channel that this target names, by the five rules in order (prose 4.5)."""
    spec = strip(spec)
    if not spec:
        return Unresolved("empty")
    for found in (_where(channels, lambda c: c.id == spec), _where(channels, lambda c: c.raw_id == spec)):
        if found:
            return _one(found)
    mention = _MENTION.fullmatch(spec)
    if mention or spec.startswith("@"):
        return _person(mention[1] if mention else None, spec[1:].casefold(), channels)
    return _labelled(_plain(spec), channels)


def resolve_safely(resolve_one: Resolve, token: str) -> Resolution:
    """A resolver that raises answers `resolver-error` for this token alone (prose 5.2)."""
    try:
        return resolve_one(token)
    except Exception as error:
        return Unresolved("resolver-error", error=error)


def spelled(entry: ChannelEntry, channels: Sequence[ChannelEntry]) -> str | None:
    """A target of one whitespace-free token that resolves back to this channel, if there is one (prose 12)."""
    wanted = Resolved(entry.id, entry.server)
    tokens = [entry.label, _without_parenthetical(entry.label), entry.id]
    if entry.recipient_name:
        tokens.insert(0, f"@{entry.recipient_name}")
    usable = (t for t in tokens if t and t != PRIVATE_TARGET and without_whitespace(t) == t)
    return next((token for token in usable if resolve(token, channels) == wanted), None)


class RoundTargets:
    """The answers of one round: each (envelope ordinal, token) is resolved once (prose 13, gap 4).

    The stream asks first, when it completes a token; admission asks again and gets the same answer, so that
    preview and post cannot differ. Begin anew for each round and for each abandoned attempt. Never raises.
    """

    __slots__ = ("_answers", "_resolve")

    def __init__(self, resolve_one: Resolve) -> None:
        self._resolve = resolve_one
        self._answers: dict[tuple[int, str], Resolution] = {}

    def __call__(self, ordinal: int, token: str) -> Resolution:
        """The answer for this token of this envelope, asked for at most once."""
        answer = self._answers.get((ordinal, token))
        if answer is None:
            answer = self._answers[ordinal, token] = resolve_safely(self._resolve, token)
        return answer


def _where(channels: Sequence[ChannelEntry], fits: Callable[[ChannelEntry], bool]) -> list[ChannelEntry]:
    return [channel for channel in channels if fits(channel)]


def _one(found: list[ChannelEntry]) -> Resolution:
    if len(found) == 1:
        return Resolved(found[0].id, found[0].server)
    return Unresolved("ambiguous", tuple(found))


def _person(recipient: str | None, name: str, channels: Sequence[ChannelEntry]) -> Resolution:
    people = _where(channels, lambda c: c.channel_type == DIRECT)
    if recipient is not None:
        found = _where(people, lambda c: c.recipient_id == recipient)
    else:
        found = _where(people, lambda c: _name(c) == name) or _where(people, lambda c: _resembles(_name(c), name))
    return _one(found) if found and (recipient or name) else Unresolved("no-dm", tuple(people[:KNOWN_PEOPLE]))


def _name(channel: ChannelEntry) -> str:
    return (channel.recipient_name or "").casefold()


def _resembles(stored: str, name: str) -> bool:
    return len(stored) >= LENIENT_LENGTH and (name in stored or name.startswith(stored))


def _labelled(name: str, channels: Sequence[ChannelEntry]) -> Resolution:
    if name:
        exact = _where(channels, lambda c: _plain(c.label) == name)
        found = exact or _where(channels, lambda c: _plain(_without_parenthetical(c.label)) == name)
        if found:
            return _one(found)
    near = _where(channels, lambda c: bool(name) and name in c.label.casefold())
    return Unresolved("no-match", tuple(near[:NEAR_CHANNELS]))


def _plain(label: str) -> str:
    return label.removeprefix("#").casefold()


def _without_parenthetical(label: str) -> str:
    return _PARENTHETICAL.sub("", label)
