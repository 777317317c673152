"""Keeping: an agent's changed drafts on disk in a unit of their own, where no other unit carries them.

Functions of the agent's desk. What the store refuses comes back to the agent, which writes it again in a while: a
draft's state in memory is never ahead of the disk for good.
"""

from ..messages.mail import DraftsRefused, Letters
from ..storage import Op
from .desk import Desk


def write_drafts(desk: Desk, ops: tuple[Op, ...] = (), letters: Letters = ()) -> None:
    """Write what has changed of the drafts, with `ops`; `letters` are told with the acknowledgement."""
    changed, me = desk.book.changed, desk.address
    desk.system.commit(
        (*desk.book.flush(), *ops), letters, lambda _: ((me, DraftsRefused(changed, ops, letters)),)
    )


def written_again(desk: Desk, mail: DraftsRefused, delay: float) -> None:
    """Drafts that the store refused: wait `delay` seconds, then write them as they are by then."""
    desk.book.take_back(mail.changed, only_missing=mail.now)
    if not mail.now:
        desk.system.after(delay, desk.address, DraftsRefused(mail.changed, mail.ops, mail.letters, now=True))
        return
    write_drafts(desk, mail.ops, mail.letters)
