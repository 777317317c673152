"""Explicit sends: which channel a `channel_publish` means, decided once, before anything of the round leaves.

The target is resolved when the round ends and frozen in its outbox entry, like any admitted words; the call's result
comes from the post's outcome. A bare id that several servers have is refused, never guessed (agents.md 10.1, 10.5).
"""

from dataclasses import dataclass

from ..messages.blocks import ToolCall
from ..messages.places import ChannelRef, Place
from ..messages.speech import bare_name
from ..messages.turns import Turn
from ..storage import Snapshot, registry
from .desk import Desk
from .tools import BadCall


@dataclass(frozen=True, slots=True)
class SendPlan:
    """Where an explicit send goes, and its words."""

    place: Place
    text: str


def resolve_channel(snapshot: Snapshot, channel: str, server: str | None) -> ChannelRef:
    """The channel that an id names, or its label where that is unambiguous.

    Raises BadCall: unknown (naming what there is), or the same id on several servers.
    """
    known = [c for c in registry.channels(snapshot) if server is None or c.at.server == server]
    exact = [c for c in known if c.at.channel == channel]
    found = exact or [c for c in known if c.label and c.label.lstrip("#").lower() == channel.lstrip("#").lower()]
    if len(found) == 1:
        return found[0].at
    if found:
        servers = ", ".join(sorted(c.at.server for c in found))
        raise BadCall(f"channel {channel!r} is on several servers ({servers}); call again with serverId")
    names = ", ".join(c.at.channel for c in known[:6]) or "none is known yet"
    raise BadCall(f"there is no channel {channel!r}; known channels: {names}. channel_list names them all")


def target(desk: Desk, turn: Turn, channel: str | None, server: str | None) -> ChannelRef:
    """The channel of a call: the one named, else home, else the turn's locus. Raises BadCall."""
    if channel is None:
        if turn.locus is not None:
            return turn.locus.at
        raise BadCall("this turn has no channel of its own; name one in channelId")
    with desk.system.store.snapshot() as snap:
        return resolve_channel(snap, channel, server)


def send_plan(desk: Desk, turn: Turn, call: ToolCall) -> SendPlan | None:
    """The plan of a `channel_publish`, or None for any other call and for one that cannot be carried out.

    What is wrong with it is said by the call's result.
    """
    if bare_name(call.name) != "channel_publish" or call.name not in desk.tools or call.unusable:
        return None
    try:
        given = desk.tools[call.name].parse(call.arguments)
        at = target(desk, turn, given.get("channelId"), given.get("serverId"))
    except BadCall:
        return None
    content = given["content"]
    if not content.strip():
        return None
    thread = given.get("threadId")
    if thread is None and turn.locus is not None and turn.locus.at == at:
        thread = turn.locus.thread
    return SendPlan(Place(at, thread), content)


def call_action(desk: Desk, call: ToolCall) -> str:
    """What a call of the `drafts` tool asks for; "" for any other call or one that cannot be read."""
    if bare_name(call.name) != "drafts" or call.name not in desk.tools or call.unusable:
        return ""
    try:
        return str(desk.tools[call.name].parse(call.arguments).get("action", ""))
    except BadCall:
        return ""
