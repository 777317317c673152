"""Notices: what the runtime itself writes to an agent (agents.md 9.1).

Owns the words and the metadata of each kind. A notice is a row of participant `user` with `system: True` and a
`kind`; it has no opening, never wakes by itself, is never conversational and moves no locus. Each text says what
happened and what the agent can do. Who gets it (9.2) is decided by the one who writes it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .blocks import Text
from .places import ChannelRef, Place
from .rows import Row

REASON_LIMIT = 400
PARTICIPANT = "user"


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice that is not stored yet: its words, and its metadata with `system` and `kind`."""

    text: str
    metadata: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """The kind, as the catalogue names it."""
        return str(self.metadata["kind"])


def notice_row(id: str, notice: Notice, time: float, agent: str | None = None) -> Row:  # noqa: A002
    """The row to store. `time` in Unix seconds. `agent`: whom alone it is for, in a room that several share."""
    metadata = notice.metadata if agent is None else {**notice.metadata, "for": agent}
    return Row(id, PARTICIPANT, (Text(notice.text),), metadata, time)


def _notice(kind: str, text: str, **extra: Any) -> Notice:
    known = {name: value for name, value in extra.items() if value is not None}
    return Notice(text, {"system": True, "kind": kind, **known})


def bounded(reason: str, limit: int = REASON_LIMIT) -> str:
    """A reason on one line and of bounded length, since it may hold anything that a server answered."""
    line = " ".join(reason.split()) or "no reason was given"
    return line if len(line) <= limit else line[: limit - 1] + "…"


def named(at: ChannelRef | Place | None, label: str = "") -> str:
    """A place as an agent reads it: label and id (prose 11.2), on one line.

    Labels and ids are a platform's or its users' own: a line break in one could forge a notice.
    """
    if at is None:
        return "no channel"
    channel = at.at if isinstance(at, Place) else at
    name = f"#{label.removeprefix('#')} ({channel})" if label else str(channel)
    whole = f"{name}, thread {at.thread}" if isinstance(at, Place) and at.thread else name
    return " ".join(whole.splitlines())


def send_failed(
    place: ChannelRef | Place | None, label: str, reason: str, text_len: int, may_have_arrived: bool,
    *, speaker: str | None = None, draft: str = "",
) -> Notice:
    """A reply that was not delivered; `place` None where there was no channel to reach (9.1, prose 11.2).

    `text_len` in characters. `speaker`: the ended agent whose reply it was, where another is told by name.
    """
    why = bounded(reason)
    who = f"A reply of {speaker}" if speaker else "A reply"
    channel = place.at if isinstance(place, Place) else place
    if channel is None:
        text = (
            f"[send-undeliverable] {who} of {text_len} characters had no channel to go to: {why}. Nothing was posted. "
            "To deliver it, send it again to a named channel."
        )
    elif may_have_arrived:
        text = (
            f"[discord-send-failed] {who} of {text_len} characters to {named(place, label)} was not confirmed: {why}. "
            "It may or may not have been posted. Do not simply send it again; ask there, or look first."
        )
    else:
        text = (
            f"[discord-send-failed] {who} of {text_len} characters to {named(place, label)} could not be delivered: "
            f"{why}. Nothing was posted, and nobody there has read it. The text is kept in this history; "
            "send it again when the cause is gone."
        )
    if draft:
        text += f" The words are kept as draft {draft}."
    return _notice(
        "discord-send-failed", text, channelId=channel.channel if channel else None,
        serverId=channel.server if channel else None, reason=why, textLen=text_len, speaker=speaker,
    )


def routing(place: ChannelRef | Place | None, label: str = "", *, moved_mid_turn: bool = False) -> Notice:
    """The locus changed: where plain text goes from now on (prose 5.8)."""
    if place is None:
        text = "[routing] Plain text has no channel to go to now. Name a channel to be heard."
    elif moved_mid_turn:
        text = (
            f"[routing] A message addressed to you came from {named(place, label)}. "
            "Plain text that you write from here on goes there."
        )
    else:
        text = f"[routing] Plain text of this turn goes to {named(place, label)}."
    return _notice("routing-notice", text)


def receipt(places: Sequence[tuple[ChannelRef | Place, str]], notes: Sequence[str] = (), *,
            may_have_arrived: bool = False) -> Notice | None:
    """Where a turn's prose landed, in order of first delivery, then the notes; None where there is nothing to say.

    `places` with their labels; repeated ones count once. `may_have_arrived`: something unconfirmed may be out.
    """
    seen = list(dict.fromkeys(named(place, label) for place, label in places))
    if not seen and not notes and not may_have_arrived:
        return None
    head = "plain speech → " + ", ".join(seen) if seen else "nothing confirmed" if may_have_arrived else "nothing"
    text = f"[delivered] {head}" + (" — " + "; ".join(notes) if notes else "")
    return _notice("delivery-receipt", text)


def inference_failed(reason: str, consecutive: int) -> Notice:
    """The agent's last turn failed. `consecutive`: how many in a row have."""
    why = bounded(reason)
    again = f" That makes {consecutive} failed turns in a row." if consecutive > 1 else ""
    text = (
        f"[inference-failed] Your last turn could not be completed: {why}.{again} What was asked in it has not been "
        "answered; read back and answer what still matters."
    )
    return _notice("inference-failed", text, reason=why, consecutive=consecutive)


def turn_interrupted(by: str = "", tools: Sequence[str] = ()) -> Notice:
    """A turn was cancelled on purpose. `by`: who did; `tools`: calls that were under way and may have taken effect."""
    who = f" by {bounded(by)}" if by else ""
    under_way = (
        f" These calls were under way and may have taken effect: {', '.join(tools)}; check before you repeat them."
        if tools else ""
    )
    text = (
        f"[turn-interrupted] Your last turn was stopped on purpose{who}.{under_way} "
        "Do not take it up again unless somebody asks."
    )
    return _notice("turn-interrupted", text)


def channel_opened(place: ChannelRef, label: str = "", *, speaker: str | None = None) -> Notice:
    """A channel is open now because of the agent's own message, or of `speaker`'s."""
    whose = f"a message of {speaker}" if speaker else "your message"
    text = (
        f"[channel] {named(place, label)} is open now because of {whose}. What is said there will reach you. "
        f"To stop that, call channel_close with channelId {place.channel!r} and serverId {place.server!r}."
    )
    return _channel_notice("opened", text, place, speaker)


def channel_selected(places: Sequence[tuple[ChannelRef, str]]) -> Notice:
    """The subscription policy selected channels for opening; said before any transport, caused by no agent."""
    listed = ", ".join(named(place, label) for place, label in places)
    text = (
        f"[channel] The subscription policy selected {listed} for opening. What is said there will reach you once it "
        "is open. To keep a channel closed, call channel_close."
    )
    return _notice("channel-notice", text, event="selected")


def channel_open_failed(place: ChannelRef, label: str, reason: str, *, speaker: str | None = None) -> Notice:
    """A reply's channel could not be opened; nothing was sent."""
    whose = f"A reply of {speaker}" if speaker else "Your reply"
    text = (
        f"[channel] {named(place, label)} could not be opened: {bounded(reason)}. {whose} was not posted there. "
        "It stays selected for opening; send again later, or call channel_open to try now."
    )
    return _channel_notice("open-failed", text, place, speaker)


def _channel_notice(event: str, text: str, place: ChannelRef, speaker: str | None) -> Notice:
    return _notice(
        "channel-notice", text, event=event, channelId=place.channel, serverId=place.server, speaker=speaker
    )
