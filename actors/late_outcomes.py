"""Late outcomes: what a post came to after its turn's receipt was written, told once through the inbox (design).

Functions of the store and one receipt; the Agent offers what they make to its room, and the room passes over what was
told already. Nothing here writes.
"""

from ..messages.address import ReplyTo
from ..messages.blocks import Text
from ..messages.mail import Offer, Receipt, agent_address
from ..messages.notices import notice_row
from ..messages.receipts import Posted, marker, owes_notice
from ..messages.turns import Turn
from ..storage import Snapshot, outbox, owing, registry
from .posted import post_state
from .system import System


def owed(snap: Snapshot, agent: str, turn: Turn | None) -> list[Receipt]:
    """The outcomes that an agent has still to be told, but for those of its present turn."""
    return [
        receipt for of_turn, number in owing.all_of(snap, agent)
        if turn is None or of_turn != turn.number
        if (receipt := post_state(list(outbox.of_post(snap, agent, of_turn, number)))) is not None
    ]


def late_notice(system: System, agent: str, told: Receipt) -> Offer | None:
    """The notice of an outcome that the turn's receipt could not tell; None where nothing is owed."""
    if not owes_notice(told.state):
        return None
    with system.store.snapshot() as snap:
        if not owing.is_owed(snap, agent, told.turn, told.number):
            return None
        known = registry.channel(snap, told.at)
        parts = list(outbox.of_post(snap, agent, told.turn, told.number))
    posted = Posted(told.at, sum(len(part.text) for part in parts))
    notice = marker(posted, told, known.label if known else "")
    row = notice_row(f"{agent}/{told.turn}/late{told.number}", notice, system.clock.now(), agent)
    size = sum(len(b.text) for b in row.content if isinstance(b, Text))
    debt = (agent, told.turn, told.number)
    reply = ReplyTo(agent_address(agent), told)
    return Offer(row, size, ops=(owing.delete(*debt),), own=True, reply=reply, owed=debt)
