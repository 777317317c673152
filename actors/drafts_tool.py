"""The `drafts` tool: list, read and set aside one's own kept words, and take back what still waits (prose 9).

Sending words again is `resending`'s. Runs inside the agent's handlers; what it changes of drafts is written by whoever
calls it. Only the agent's own drafts and posts are ever seen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeAlias

from ..messages.drafts import Draft
from .desk import Desk
from .tools import BadCall
from .waiting_posts import SHORTEST_ID, WaitingPost, shortened, waiting_posts

PAGE = 10
Kept: TypeAlias = Draft | WaitingPost


def drafts(
    action: Annotated[Literal["list", "read", "resend", "dismiss"], "What to do."],
    ids: Annotated[list[str] | None, "Which, by id, as list shows them; not for list."] = None,
    channelId: Annotated[str | None, "Where to resend to; left out: the channel of this turn."] = None,  # noqa: N803
    serverId: Annotated[str | None, "Its server, where several have that id."] = None,  # noqa: N803
    confirmDuplicate: Annotated[bool | None, "Send again what may be out already."] = None,  # noqa: N803
    page: Annotated[int | None, "Which page of the list, from 1."] = None,
) -> str:
    """Your kept words and your waiting messages: list, read, send again (resend), set aside or take back (dismiss)."""
    return f"{action}{ids}{channelId}{serverId}{confirmDuplicate}{page}"


def only(given: Mapping[str, Any], *allowed: str) -> None:
    """Refuse fields that an action does not use; null means unused. Raises BadCall."""
    unused = [name for name, value in given.items() if value is not None and name not in ("action", *allowed)]
    if unused:
        raise BadCall(f"{given['action']} does not use {', '.join(unused)}; leave it out")


def named(desk: Desk, given: Mapping[str, Any]) -> list[Kept]:
    """The drafts and waiting posts that a call names. Raises BadCall, naming those that are not there."""
    names: Sequence[str] = given.get("ids") or ()
    if not names:
        raise BadCall(f"{given['action']} needs ids; list shows them")
    waiting = _waiting(desk)
    found: dict[str, Kept] = {}
    missing: list[str] = []
    for name in names:
        draft = desk.book.get(name)
        posts = [post for post in waiting if len(name) >= SHORTEST_ID and post.parts[0].key.startswith(name)]
        if draft is not None:
            found[draft.id] = draft
        elif len(posts) == 1:
            found[posts[0].id] = posts[0]
        elif posts:
            raise BadCall(f"{name} names several waiting messages: {', '.join(post.parts[0].key for post in posts)}")
        else:
            missing.append(name)
    if missing:
        raise BadCall(f"you have no draft {', '.join(missing)}, and no such message waits; list shows them")
    return list(found.values())


def _waiting(desk: Desk) -> list[WaitingPost]:
    with desk.system.store.snapshot() as snap:
        return waiting_posts(snap, desk.spec.name)


# --- list and read


def shown(desk: Desk, given: Mapping[str, Any]) -> str:
    """The result of list or read. Raises BadCall."""
    if given["action"] == "read":
        only(given, "ids")
        return "\n\n".join(f"{kept.id}:\n{kept.text}" for kept in named(desk, given))
    only(given, "page")
    page = 1 if given.get("page") is None else given["page"]
    if page < 1:
        raise BadCall("page counts from 1")
    return _list(desk, page)


def _list(desk: Desk, page: int) -> str:
    out = desk.book.in_flight()
    timed = [(draft.at, draft.number, _line(draft, draft.id in out)) for draft in desk.book.newest_first()]
    timed += [(post.parts[0].written_at, post.parts[0].number, post.line()) for post in _waiting(desk)]
    lines = [line for _, _, line in sorted(timed, reverse=True)]
    if not lines:
        return "You have no drafts, and no message of yours waits."
    on_page = lines[(page - 1) * PAGE : page * PAGE]
    pages = -(-len(lines) // PAGE)
    if not on_page:
        return f"There are {len(lines)} on {pages} page(s); page {page} is empty."
    return "\n".join([f"{len(lines)} in all, newest first, page {page} of {pages}:", *on_page])


def _line(draft: Draft, in_flight: bool) -> str:
    state = "in flight" if in_flight else draft.state
    return f"{draft.id} [{state}, {draft.reason}] {shortened(draft.text)}"


# --- dismiss


@dataclass(slots=True)
class Dismissal:
    """One call that sets drafts aside and takes waiting posts back; each post's channel answers."""

    desk: Desk
    left: dict[str, WaitingPost]
    said: list[str] = field(default_factory=list[str])
    failed: bool = False

    def answered(self, post_id: str, error: str) -> tuple[str, bool] | None:
        """A channel has answered for a post: (the result, is_error), or None while others are waited for."""
        post = self.left.pop(post_id, None)
        if post is not None and error:
            self.failed = True
            self.said.append(f"{post_id}: not taken back, {error}.")
        elif post is not None:
            where = "some of it may be out already" if post.may_be_out else "nothing of it was posted"
            again = f"; draft {post.copied} is yours again" if post.copied else ""
            self.said.append(f"{post_id}: taken back, {where}{again}.")
        return None if self.left else ("\n".join(self.said), self.failed)


def dismiss(desk: Desk, given: Mapping[str, Any]) -> Dismissal:
    """Set the named drafts aside, and say which posts are to be taken back. Raises BadCall: then nothing changes."""
    only(given, "ids")
    chosen = named(desk, given)
    chosen_drafts = [kept for kept in chosen if isinstance(kept, Draft)]
    posts = {kept.id: kept for kept in chosen if isinstance(kept, WaitingPost)}
    out = desk.book.in_flight()
    flying = [draft.id for draft in chosen_drafts if draft.id in out]
    if flying:
        raise BadCall(f"{', '.join(flying)} is on its way and cannot be dismissed now; nothing was dismissed")
    claimed = [draft.id for draft in chosen_drafts if draft.id in desk.book.claims]
    if claimed:
        raise BadCall(f"{', '.join(claimed)} is being sent again by another call; nothing was dismissed")
    sent = [post.id for post in posts.values() if post.is_being_sent]
    if sent:
        raise BadCall(f"{', '.join(sent)} is being sent just now and cannot be taken back; nothing was dismissed")
    for draft in chosen_drafts:
        desk.book.settle(draft.id, "dismissed")
    for post in posts.values():
        if post.copied and post.may_be_out:
            desk.book.settle(post.copied, "unconfirmed")
    said = [f"Set aside: {', '.join(draft.id for draft in chosen_drafts)}."] if chosen_drafts else []
    return Dismissal(desk, posts, said)
