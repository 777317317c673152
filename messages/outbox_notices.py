"""What an agent is told of its posts that had to wait, and of drafts that no receipt names (prose 9, 11.3).

Words and metadata only; none of them wakes. Each says what happened and what the agent can do.
"""

from collections.abc import Iterable

from .notices import Notice, bounded, named
from .places import ChannelRef

KIND = "outbox-notice"
SHOWN_ID = 8
"""Characters of a waiting post's id that are shown; six or more of them name it."""


def _notice(event: str, text: str, at: ChannelRef, draft: str = "") -> Notice:
    extra = {"draftId": draft} if draft else {}
    metadata = {
        "system": True, "kind": KIND, "event": event, "channelId": at.channel, "serverId": at.server, **extra,
    }
    return Notice(text, metadata)


def delayed(at: ChannelRef, label: str, reason: str, length: int, key: str) -> Notice:
    """A post has to wait for its channel; said once. `length` in characters, `key` of its first part."""
    text = (
        f"[outbox] Your message of {length} characters to {named(at, label)} waits: {bounded(reason)}. It is tried "
        "again by itself, and you will be told what becomes of it; do not send it a second time. To take it back, call "
        f"the drafts tool with dismiss and the id {key[:SHOWN_ID]}."
    )
    return _notice("delayed", text, at)


def delivered_late(at: ChannelRef, label: str, reason: str, length: int, seconds: float) -> Notice:
    """A post that had to wait is out. `seconds` since it was written."""
    minutes = max(1, round(seconds / 60))
    text = (
        f"[outbox] Your message of {length} characters to {named(at, label)}, which had to wait ({bounded(reason)}), "
        f"was delivered now, {minutes} min after you wrote it."
    )
    return _notice("delivered-late", text, at)


def given_up(at: ChannelRef, label: str, reason: str, text: str, draft: str, may_have_arrived: bool) -> Notice:
    """A post that had to wait was given up: its whole text, and the draft that keeps it."""
    fate = "It may or may not have been posted" if may_have_arrived else "Nothing was posted"
    kept = f" The words are kept as draft {draft}: the drafts tool can send them again (resend) or set them aside."
    said = (
        f"[outbox] Your message to {named(at, label)} was given up: {bounded(reason)}. {fate}."
        f"{kept if draft else ''} It was:\n{text}"
    )
    return _notice("given-up", said, at, draft)


def drafts_kept(kept: Iterable[tuple[str, str, str]]) -> Notice:
    """Words that could not be said and that the agent has not been told of; each as (id, reason, state)."""
    listed = ", ".join(f"{found} ({state}, {reason})" for found, reason, state in kept)
    text = (
        f"[drafts] Words of an earlier turn of yours were not posted and are kept: {listed}. The drafts tool shows "
        "them, sends them again (resend) or sets them aside (dismiss)."
    )
    return Notice(text, {"system": True, "kind": "drafts-kept"})
