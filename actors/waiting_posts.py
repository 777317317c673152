"""Waiting posts: an agent's posts that wait for their channel, as its `drafts` tool shows them (prose 9, 11.3).

Pure reading of the outbox. A post is named by the beginning of its first part's key, six characters or more.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..messages.mail import Drop, PostNow
from ..messages.outbox_notices import SHOWN_ID
from ..messages.posts import OutboxEntry
from ..messages.speech import words_of
from ..storage import Snapshot, outbox
from .posted import post_state

SHORTEST_ID = 6


@dataclass(frozen=True, slots=True)
class WaitingPost:
    """A post of an agent that waits."""

    parts: tuple[OutboxEntry, ...]

    @property
    def id(self) -> str:
        """How it is shown."""
        return self.parts[0].key[:SHOWN_ID]

    @property
    def text(self) -> str:
        """Its words."""
        return words_of(self.parts)

    @property
    def copied(self) -> str | None:
        """The draft whose words are in it."""
        return self.parts[0].copied

    @property
    def may_be_out(self) -> bool:
        """Whether anything of it may have reached the platform."""
        return any(part.may_have_left for part in self.parts)

    @property
    def is_being_sent(self) -> bool:
        """Whether an attempt is out."""
        return any(part.state == "sending" for part in self.parts)

    def line(self) -> str:
        """One line of a list."""
        doing = "being sent to" if self.is_being_sent else "waiting for"
        why = next((part.reason for part in self.parts if part.state == "queued"), "") or self.parts[0].delayed
        return f"{self.id} [{doing} {self.parts[0].at}: {why}] {shortened(self.text)}"

    def drop(self, reason: str = "") -> Drop:
        """The request to let it go."""
        first = self.parts[0]
        return Drop(PostNow(first.agent, first.turn, first.number), reason)


def shortened(text: str) -> str:
    """A text in a list: its length and how it begins."""
    return f"{len(text)} characters: {text.strip().split(chr(10), 1)[0][:60]}"


def waiting_posts(snapshot: Snapshot, agent: str = "") -> list[WaitingPost]:
    """The posts that wait or are tried again just now, oldest first: an agent's, or everybody's."""
    known = {
        (entry.written_at, entry.agent, entry.turn, entry.number) for entry in outbox.unfinished(snapshot)
        if not agent or entry.agent == agent
    }
    posts = [outbox.of_post(snapshot, whose, turn, number) for _, whose, turn, number in sorted(known)]
    return [WaitingPost(tuple(parts)) for parts in posts if _waits(parts)]


def _waits(parts: Sequence[OutboxEntry]) -> bool:
    told = post_state(parts)
    tried = any(part.state == "sending" for part in parts) and any(part.delayed for part in parts)
    return tried or (told is not None and told.state == "queued")
