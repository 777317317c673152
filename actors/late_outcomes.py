"""Late outcomes: what a post came to after its turn's receipt was written, told once through the inbox (design).

Functions of the store, the draft book and one receipt; the Agent offers what they make to its room, and the room passes
over what was told already. Nothing here writes a log.
"""

from ..messages.address import ReplyTo
from ..messages.blocks import Text
from ..messages.mail import Offer, Receipt, Withhold, agent_address
from ..messages.notices import notice_row
from ..messages.receipts import Posted, marker, owes_notice
from ..messages.turns import Turn
from ..storage import Snapshot, outbox, owing, registry
from .aftermath import after_receipt, parts_of, tell_withheld, withhold
from .desk import Desk
from .posted import post_state


def owed(snap: Snapshot, agent: str, turn: Turn | None) -> list[Receipt]:
    """The outcomes that an agent has still to be told, but for those of its present turn."""
    return [
        receipt for of_turn, number in owing.all_of(snap, agent)
        if turn is None or of_turn != turn.number
        if (receipt := post_state(list(outbox.of_post(snap, agent, of_turn, number)))) is not None
    ]


def past_turn(desk: Desk, number: int) -> Turn:
    """What is left of a turn whose record is gone: whose it was, and its mode."""
    spec = desk.spec
    return Turn(spec.room, spec.name, 0, number, 0, spec.mode, desk.now(), (), 0, 0, 0)


def late_notice(desk: Desk, told: Receipt) -> Offer | None:
    """The notice of an outcome that the turn's receipt could not tell; None where nothing is owed.

    A draft that was copied into the post is settled all the same, and failed words become one (prose 11.3).
    """
    agent, system = desk.spec.name, desk.system
    made = desk.book.late.get((told.turn, told.number))
    if made is not None:
        return made  # the store refused it, and with it the draft that it keeps
    with system.store.snapshot() as snap:
        owes = owes_notice(told.state) and owing.is_owed(snap, agent, told.turn, told.number)
        known = registry.channel(snap, told.at)
    if not owes and told.state != "delivered":
        return None
    past = past_turn(desk, told.turn)
    kept = {draft.id for draft in desk.book.newest_first()}
    after_receipt(desk, past, told, "", late=True)
    ops = desk.book.flush()
    if not owes:
        if ops:
            system.commit(ops)
        return None
    new = next((draft.id for draft in desk.book.newest_first() if draft.id not in kept), "")
    length = sum(len(part.text) for part in parts_of(desk, past, told.number))
    notice = marker(Posted(told.at, length), told, known.label if known else "", new)
    row = notice_row(f"{agent}/{told.turn}/late{told.number}", notice, desk.now(), agent)
    size = sum(len(b.text) for b in row.content if isinstance(b, Text))
    debt = (agent, told.turn, told.number)
    reply = ReplyTo(agent_address(agent), told)
    offer = Offer(row, size, ops=(*ops, owing.delete(*debt)), own=True, reply=reply, owed=debt)
    desk.book.late[told.turn, told.number] = offer
    return offer


def withhold_late(desk: Desk, mail: Withhold) -> None:
    """A post of a turn that is over is held back: its words are kept all the same."""
    past, ops = withhold(desk, past_turn(desk, mail.turn), mail.number)
    tell_withheld(desk, past, mail, ops)
