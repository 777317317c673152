"""The tools every agent has: think, skip_reply and the channel tools (agents.md 10.5).

Each is a plain signature, from which its schema and the check of its arguments come, and a function that answers at
once, or asks a channel's actor and lets the answer come as mail. They run inside the agent's handler and never block.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeAlias

from ..messages.address import ReplyTo
from ..messages.blocks import Text, ToolResult
from ..messages.mail import Decide, Decided, ToolDone, channel_address
from ..messages.places import ChannelRef, Place
from ..messages.prose_notices import PROSE_HELP
from ..messages.registry import ProseMode
from ..messages.tooldefs import canonical
from ..messages.turns import Turn
from ..storage import registry
from .desk import Desk
from .drafts_tool import Dismissal, dismiss, drafts, shown
from .keeping import write_drafts
from .sends import resolve_channel, target
from .tools import BadCall, Tool


@dataclass(frozen=True, slots=True)
class Asked:
    """The key of a request that a call made of a channel: whose call the answer is for."""

    turn: int
    round: int
    call_id: str
    what: str


@dataclass(frozen=True, slots=True)
class CallContext:
    """Whose call it is. `dismissals`: the round's calls that wait for channels to let posts go."""

    desk: Desk
    turn: Turn
    round: int
    call_id: str
    dismissals: dict[str, Dismissal]

    def asked(self, what: str) -> Asked:
        """The key of a request that this call makes of a channel."""
        return Asked(self.turn.number, self.round, self.call_id, what)

    def answer(self, text: str, *, error: bool = False, ends_turn: bool = False) -> ToolDone:
        """The mail that answers the call."""
        result = ToolResult(self.call_id, (Text(text),), error)
        return ToolDone(self.turn.number, self.round, self.call_id, result, ends_turn)


Given: TypeAlias = Mapping[str, Any]
Run: TypeAlias = Callable[[CallContext, Given], ToolDone | None]


# --- what the model is shown


def think(thought: Annotated[str, "What you think; nobody is shown it."]) -> str:
    """Think something through before you act. Nothing of it is posted."""
    return thought


def skip_reply(reason: Annotated[str | None, "Why, for the log; nobody is shown it."] = None) -> str:
    """End your turn without saying anything. What you wrote beside this call stays private."""
    return reason or ""


def channel_list() -> str:
    """List every channel you can reach, with its id, type, label and whether it is open."""
    return ""


def channel_open(
    channelId: Annotated[str, "Id of the channel, as channel_list gives it."],  # noqa: N803
    serverId: Annotated[str | None, "Its server, where several have that id."] = None,  # noqa: N803
) -> str:
    """Open a channel, so that what is said there reaches you."""
    return channelId + (serverId or "")


def channel_close(
    channelId: Annotated[str, "Id of the channel, as channel_list gives it."],  # noqa: N803
    serverId: Annotated[str | None, "Its server, where several have that id."] = None,  # noqa: N803
) -> str:
    """Close a channel, so that what is said there reaches you no more."""
    return channelId + (serverId or "")


def channel_publish(
    content: Annotated[str, "What to post, word for word."],
    channelId: Annotated[str | None, "Where; left out: the channel of this turn."] = None,  # noqa: N803
    serverId: Annotated[str | None, "Its server, where several have that id."] = None,  # noqa: N803
    threadId: Annotated[str | None, "A thread in it."] = None,  # noqa: N803
) -> str:
    """Post to a channel now. Your plain text of this round and later ones is then not posted by itself."""
    return f"{content}{channelId}{serverId}{threadId}"


# --- what it does


def _think(context: CallContext, given: Given) -> ToolDone:
    return context.answer("Noted.")


def _skip_reply(context: CallContext, given: Given) -> ToolDone:
    return context.answer("Your turn ends here; nothing is posted.", ends_turn=True)


def _channel_list(context: CallContext, given: Given) -> ToolDone:
    with context.desk.system.store.snapshot() as snap:
        known = registry.channels(snap)
    listed = [
        {
            "id": c.at.channel, "type": c.kind, "label": c.label, "direction": "both", "open": c.desired == "open",
            "desired": c.desired, "serverId": c.at.server,
        }
        for c in known
    ]
    return context.answer(canonical(listed))


def _decide(context: CallContext, given: Given, what: str) -> ToolDone | None:
    desk = context.desk
    with desk.system.store.snapshot() as snap:
        at = resolve_channel(snap, given["channelId"], given.get("serverId"))
    reply = ReplyTo(desk.address, context.asked(what))
    desired = "open" if what == "open" else "closed"
    desk.system.tell(channel_address(at), Decide(desired, "agent-tool", reply))  # type: ignore[arg-type]
    return None


def decided(mail: Decided, asked: Asked) -> ToolDone:
    """The result of an open or a close, from the channel's answer."""
    at: ChannelRef | None = mail.record.at if mail.record is not None else None
    if mail.error:
        done, desired = ("opened", "open") if asked.what == "open" else ("closed", "closed")
        text = f"The channel could not be {done} now: {mail.error}."
        if mail.record is not None and mail.record.desired == desired:
            text += f" It stays selected to be {done}."
        result = ToolResult(asked.call_id, (Text(text),), True)
        return ToolDone(asked.turn, asked.round, asked.call_id, result)
    if asked.what == "open":
        text = f"{at} is open; plain text of this turn goes there from here on."
    else:
        text = f"{at} is closed; what is said there reaches you no more."
    opened = Place(at) if at is not None and asked.what == "open" else None
    return ToolDone(
        asked.turn, asked.round, asked.call_id, ToolResult(asked.call_id, (Text(text),)), opened=opened
    )


def _channel_publish(context: CallContext, given: Given) -> ToolDone:
    # A send that can be carried out was admitted with its round and never comes here.
    if not given["content"].strip():
        raise BadCall("content is empty; nothing was posted")
    at = target(context.desk, context.turn, given.get("channelId"), given.get("serverId"))
    return context.answer(f"Nothing was posted to {at}: the call was not admitted with its round.", error=True)


def prose_help() -> str:
    """Show how to say where your words go."""
    return PROSE_HELP


def _drafts(context: CallContext, given: Given) -> ToolDone | None:
    # A resend is many posts, and is the round's calls' to carry on; what waits is asked of its channels.
    desk = context.desk
    if given["action"] != "dismiss":
        return context.answer(shown(desk, given))
    dismissal = dismiss(desk, given)
    if not dismissal.left:
        write_drafts(desk)
        return context.answer("\n".join(dismissal.said))
    context.dismissals[context.call_id] = dismissal
    letters = [
        (channel_address(post.parts[0].at), replace(post.drop(), reply=ReplyTo(desk.address, context.asked(post.id))))
        for post in dismissal.left.values()
    ]
    write_drafts(desk, letters=tuple(letters))
    return None


_FUNCTIONS = (think, skip_reply, channel_list, channel_open, channel_close, channel_publish, drafts)
BUILTIN_TOOLS: tuple[Tool, ...] = tuple(Tool.of(function) for function in _FUNCTIONS)
HELP_TOOL = Tool.of(prose_help)
BUILTINS: dict[str, Run] = {
    "think": _think,
    "skip_reply": _skip_reply,
    "channel_list": _channel_list,
    "channel_open": lambda context, given: _decide(context, given, "open"),
    "channel_close": lambda context, given: _decide(context, given, "close"),
    "channel_publish": _channel_publish,
    "drafts": _drafts,
    "prose_help": lambda context, given: context.answer(PROSE_HELP),
}


def all_tools(own: Mapping[str, Tool], mode: ProseMode) -> dict[str, Tool]:
    """An agent's tools by name: the built-in ones, then its own, which may stand in for a built-in one of that name."""
    built_in = (*BUILTIN_TOOLS, HELP_TOOL) if mode == "explicit" else BUILTIN_TOOLS
    return {**{tool.name: tool for tool in built_in}, **own}
