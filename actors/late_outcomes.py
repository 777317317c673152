"""Late outcomes: what a post came to after its turn's receipt was written, told once through the inbox (design).

Functions of the store, the draft book and one receipt; the Agent offers what they make to its room, and the room passes
over what was told already. Nothing here writes a log.
"""

from ..messages.address import ReplyTo
from ..messages.blocks import Text
from ..messages.mail import Offer, Receipt, Withhold, agent_address
from ..messages.notices import notice_row
from ..messages.outbox_notices import drafts_kept
from ..messages.rows import Row
from ..messages.turns import Turn
from ..storage import Op, Snapshot, outbox, owing, registry
from .aftermath import after_receipt, tell_withheld, withhold
from .desk import Desk
from .draft_book import DRAFT
from .keeping import write_drafts
from .posted import debt_of, post_state


def owed(snap: Snapshot, agent: str, turn: Turn | None) -> tuple[list[Receipt], tuple[Op, ...]]:
    """The outcomes that an agent has still to be told, but for those of its present turn; and what is owed no more.

    That a post waits is owed no more once it has come to its end, which is owed itself.
    """
    receipts: list[Receipt] = []
    gone: list[Op] = []
    for debt in owing.all_of(snap, agent):
        _, of_turn, number, what = debt
        if what == DRAFT or (turn is not None and of_turn == turn.number):
            continue  # a draft is named by its turn's receipt, or at the next turn's start
        receipt = post_state(outbox.of_post(snap, agent, of_turn, number))
        if receipt is None or debt_of(agent, receipt) != debt:
            gone.append(owing.delete(debt))
        else:
            receipts.append(receipt)
    return receipts, tuple(gone)


def past_turn(desk: Desk, number: int) -> Turn:
    """What is left of a turn whose record is gone: whose it was, and its mode."""
    spec = desk.spec
    return Turn(spec.room, spec.name, 0, number, 0, spec.mode, desk.now(), (), 0, 0, 0)


def late_notice(desk: Desk, told: Receipt) -> Offer | None:
    """The notice of what the turn's receipt could not tell of a post; None where nothing is owed.

    Drafts that the outcome settles or makes are written in the same unit (prose 11.3).
    """
    agent, system = desk.spec.name, desk.system
    debt = debt_of(agent, told)
    made = desk.book.late.get((debt, told.state))
    if made is not None:
        return made  # the store refused it, and with it the draft that it keeps
    with system.store.snapshot() as snap:
        if not owing.is_owed(snap, debt):
            _settle_kept(desk, told)
            return None
        known = registry.channel(snap, told.at)
    judged = after_receipt(desk, past_turn(desk, told.turn), told, known.label if known else "", late=True)
    notice = judged.notice
    paid = owing.delete(debt)
    if notice is None:
        write_drafts(desk, (paid,))
        return None
    draft = desk.book.get(judged.draft)
    ops = (*desk.book.flush(), paid, *desk.book.named([draft] if draft is not None else ()))
    row = notice_row(f"{agent}/{told.turn}/late{told.number}{told.state}", notice, desk.now(), agent)
    size = sum(len(b.text) for b in row.content if isinstance(b, Text))
    offer = Offer(row, size, ops=ops, own=True, reply=ReplyTo(agent_address(agent), told), owed=debt)
    desk.book.late[debt, told.state] = offer
    return offer


def _settle_kept(desk: Desk, told: Receipt) -> None:
    """A confirmation wins over everything, also one that nobody is owed: its words are not to be said again."""
    kept = desk.book.of_post(told.turn, told.number)
    if told.state == "delivered" and kept is not None and kept.is_open:
        desk.book.settle(kept.id, "delivered", told.at, told.message_ids)
        write_drafts(desk)


def unnamed_drafts(desk: Desk) -> tuple[tuple[Row, ...], tuple[Op, ...]]:
    """The one notice of drafts that no receipt has named, for the next turn's start, and what it pays."""
    kept = desk.book.unnamed()
    if not kept:
        return (), ()
    row_id = f"{desk.spec.name}/{kept[-1].turn}/kept{kept[-1].number}"
    notice = drafts_kept([(draft.id, draft.reason, draft.state) for draft in kept])
    row = notice_row(row_id, notice, desk.now(), desk.spec.name)
    return (row,), desk.book.named(kept)


def withhold_late(desk: Desk, mail: Withhold) -> None:
    """A post of a turn that is over is held back: its words are kept all the same."""
    past, ops = withhold(desk, past_turn(desk, mail.turn), mail.number)
    tell_withheld(desk, past, mail, ops)
