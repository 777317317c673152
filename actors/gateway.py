"""Gateway: keeps each turn's speech chain in order, and an agent's posts to one channel in order of admission.

Owns nothing that the outbox does not hold: it is read from there whenever it is built. A post goes on to its channel
when the post before it in its turn has an outcome, and every earlier post of its agent to its channel has gone on; so
a post waits only for earlier ones, one turn never waits for another's chain, and nothing can wait in a circle
(design).
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ..messages.address import MailFailed
from ..messages.mail import (
    Answer,
    AskState,
    PostEnded,
    PostNow,
    Receipt,
    ReleaseAgain,
    Rerelease,
    Rewithhold,
    Speech,
    Withhold,
    agent_address,
    channel_address,
)
from ..messages.outcomes import surplus
from ..messages.places import ChannelRef
from ..messages.posts import OutboxEntry
from ..storage import outbox
from .dispatcher import StoredActor, handles
from .posted import post_state
from .waiting_posts import waiting_posts

RELEASE_AGAIN = 1.0


@dataclass(slots=True)
class Link:
    """One post in its turn's chain."""

    turn: int
    number: int
    at: ChannelRef
    released: bool = False
    held: bool = False


class Gateway(StoredActor):
    """The actor that releases posts."""

    def loaded(self) -> None:
        """Read the posts that have no outcome yet, and let go those whose turn it is."""
        self.links: dict[str, list[Link]] = {}
        with self.system.store.snapshot() as snap:
            entries = list(outbox.unfinished(snap))
        for agent, link in _links(entries):
            self._put(agent, link)
        for agent in list(self.links):
            self._release(agent)
        self._keep_bounds()

    def _keep_bounds(self) -> None:
        """Too many posts wait: their channels give the oldest up, and each author is told (prose 11.3)."""
        with self.system.store.snapshot() as snap:
            waiting = [post for post in waiting_posts(snap) if not post.is_being_sent]
        for index, reason in surplus([post.parts[0].agent for post in waiting]):
            self.system.tell(channel_address(waiting[index].parts[0].at), waiting[index].drop(reason))

    def _put(self, agent: str, link: Link) -> None:
        chain = self.links.setdefault(agent, [])
        if all((known.turn, known.number) != (link.turn, link.number) for known in chain):
            chain.append(link)
            chain.sort(key=lambda known: (known.turn, known.number))

    @handles(Speech)
    def speech(self, mail: Speech) -> None:
        """A post was admitted: it takes its place in its turn's chain."""
        with self.system.store.snapshot() as snap:
            parts = outbox.of_post(snap, mail.agent, mail.turn, mail.number)
            if not any(part.state in ("admitted", "sending") for part in parts):
                return  # it has its outcome already
        self._put(mail.agent, Link(mail.turn, mail.number, mail.at))
        self._release(mail.agent)

    def _release(self, agent: str) -> None:
        for link in self.links.get(agent, ()):
            if not link.released and self._free(agent, link):
                link.released = True
                link.held = self._held_back(agent, link)
                self._send(agent, link)

    def _send(self, agent: str, link: Link) -> None:
        """To its channel; or to its agent, which keeps the words of one that is held back, and it never goes out."""
        if link.held:
            self.system.tell(agent_address(agent), Withhold(link.turn, link.number))
        else:
            self.system.tell(channel_address(link.at), PostNow(agent, link.turn, link.number))

    def _held_back(self, agent: str, link: Link) -> bool:
        """Hybrid: a named post that failed holds back what names no target, until one goes through (prose 5.3)."""
        with self.system.store.snapshot() as snap:
            entries = outbox.of_turn(snap, agent, link.turn)
        parts = [entry for entry in entries if entry.number == link.number]
        if not parts or not parts[0].holds or parts[0].prefixed:
            return False
        posts: dict[int, list[OutboxEntry]] = {}
        for entry in entries:
            if entry.number < link.number and entry.holds and entry.prefixed:
                posts.setdefault(entry.number, []).append(entry)
        if not posts:
            return False
        parts = posts[max(posts)]
        last = post_state(parts)
        # One that had to wait was accepted when it was queued, and holds nothing back (prose 11.3).
        return last is not None and last.state in ("failed", "unknown") and not any(part.delayed for part in parts)

    def _free(self, agent: str, link: Link) -> bool:
        for earlier in self.links[agent]:
            if earlier is link:
                return True
            if earlier.turn == link.turn or (earlier.at == link.at and not earlier.released):
                return False
        return True

    @handles(PostEnded)
    def post_ended(self, mail: PostEnded) -> None:
        """A post has an outcome: the next of its turn may go, and its agent hears of it."""
        told: Receipt = mail.receipt
        chain = self.links.get(mail.agent, [])
        left = [link for link in chain if (link.turn, link.number) != (told.turn, told.number)]
        if left:
            self.links[mail.agent] = left
        else:
            self.links.pop(mail.agent, None)
        self.system.tell(agent_address(mail.agent), told)
        self._release(mail.agent)
        if told.state == "queued":
            self._keep_bounds()

    @handles(Rerelease)
    def rerelease(self, mail: Rerelease) -> None:
        """A channel was built anew: what was let go to it is told again; it passes over what it has."""
        for agent, chain in self.links.items():
            for link in chain:
                if link.released and not link.held and link.at == mail.at:
                    self._send(agent, link)

    @handles(Rewithhold)
    def rewithhold(self, mail: Rewithhold) -> None:
        """An agent was built anew: what is held back is told again; it passes over what it has kept."""
        for link in self.links.get(mail.agent, ()):
            if link.held:
                self._send(mail.agent, link)

    @handles(MailFailed)
    def came_back(self, mail: MailFailed) -> None:
        """A channel could not take a post: it is let go again in a while."""
        if isinstance(mail.mail, PostNow):
            self.system.after(RELEASE_AGAIN, self.address, ReleaseAgain(mail.mail))

    @handles(ReleaseAgain)
    def release_again(self, mail: ReleaseAgain) -> None:
        """Tell the channel once more."""
        for link in self.links.get(mail.post.agent, ()):
            if (link.turn, link.number) == (mail.post.turn, mail.post.number):
                self.system.tell(channel_address(link.at), mail.post)

    @handles(AskState)
    def ask_state(self, mail: AskState) -> None:
        """Say by agent how many posts are on their way, and how many wait for their channel."""
        out = {(agent, link.turn, link.number) for agent, chain in self.links.items() for link in chain}
        queued: set[tuple[str, int, int]] = set()
        with self.system.store.snapshot() as snap:
            for post in waiting_posts(snap):
                first = post.parts[0]
                (out if post.is_being_sent else queued).add((first.agent, first.turn, first.number))
        state = {"posts": _by_agent(out), "waiting": _by_agent(queued - out)}
        self.system.tell(mail.reply.address, Answer(state, mail.reply.key))


def _by_agent(posts: Iterable[tuple[str, int, int]]) -> dict[str, int]:
    return dict(Counter(agent for agent, _, _ in posts))


def _links(entries: Iterable[OutboxEntry]) -> list[tuple[str, Link]]:
    """The posts among unfinished entries that are in their chain: a queued one has left it, a parked one holds no
    place in it yet (prose 13, gap 2)."""
    posts: dict[tuple[str, int, int], list[OutboxEntry]] = {}
    for entry in entries:
        posts.setdefault((entry.agent, entry.turn, entry.number), []).append(entry)
    return [
        (agent, Link(turn, number, parts[0].at))
        for (agent, turn, number), parts in sorted(posts.items())
        if not any(part.state in ("queued", "parked") for part in parts)
    ]
