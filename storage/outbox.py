"""The outbox: one entry per part of a post, by (agent, turn, number, part). Follows no branch.

An entry is written with the round that said it, before it leaves; then only its channel's actor writes it. Indexes
follow in the same unit: what a channel has still to do and what it has done, in order of admission, and who
posted a message (design, "What lasts"; prose 11.3). Pure over a snapshot.
"""

from collections.abc import Collection, Iterator

from ..messages.codec import encode
from ..messages.places import ChannelRef
from ..messages.posts import OutboxEntry
from .keys import OUTBOX, OUTBOX_ORDER, POSTED, Range, key, under
from .snapshot import Snapshot
from .units import Op, Ops

KEPT = 1_000
_UNFINISHED, _ENDED = 0, 1


def put(entry: OutboxEntry) -> Ops:
    """Write an entry as it stands now, with its indexes. `written_at` and `at` never change in its life."""
    primary = key(entry.agent, entry.turn, entry.number, entry.part)
    ops: list[Op] = [
        (OUTBOX, primary, encode(entry)),
        (OUTBOX_ORDER, _order(_ENDED if entry.ended else _UNFINISHED, entry), encode(primary)),
        (OUTBOX_ORDER, _order(_UNFINISHED if entry.ended else _ENDED, entry), None),
    ]
    if entry.message_id:
        ops.append((POSTED, _posted(entry.at, entry.message_id), encode(entry.agent)))
    return tuple(ops)


def get(snapshot: Snapshot, agent: str, turn: int, number: int, part: int) -> OutboxEntry | None:
    """One entry."""
    return snapshot.read(OUTBOX, key(agent, turn, number, part), OutboxEntry)


def of_turn(snapshot: Snapshot, agent: str, turn: int) -> list[OutboxEntry]:
    """The entries of a turn, in the order of its speech chain."""
    return [entry for _, entry in snapshot.records(OUTBOX, *under(agent, turn), OutboxEntry)]


def of_post(snapshot: Snapshot, agent: str, turn: int, number: int) -> list[OutboxEntry]:
    """The parts of one post, in order."""
    return [entry for _, entry in snapshot.records(OUTBOX, *under(agent, turn, number), OutboxEntry)]


def unfinished(snapshot: Snapshot) -> Iterator[OutboxEntry]:
    """Every entry that is in no end state, channel by channel, each in order of admission."""
    return _in_order(snapshot, under(_UNFINISHED))


def unfinished_of(snapshot: Snapshot, ref: ChannelRef) -> list[OutboxEntry]:
    """The entries of a channel that are in no end state, in order of admission.

    That is (written_at, agent, turn, number, part).
    """
    return list(_in_order(snapshot, under(_UNFINISHED, ref.server, ref.channel)))


def ended_of(snapshot: Snapshot, ref: ChannelRef) -> list[OutboxEntry]:
    """The entries of a channel that are in an end state and not pruned yet, in order of admission."""
    return list(_in_order(snapshot, under(_ENDED, ref.server, ref.channel)))


def posted_by(snapshot: Snapshot, ref: ChannelRef, message_id: str) -> str | None:
    """The agent that posted a message, as long as the entry is kept."""
    return snapshot.read(POSTED, _posted(ref, message_id), str)


def prune(
    snapshot: Snapshot, ref: ChannelRef, keep: int = KEPT, alive: Collection[tuple[str, int]] = ()
) -> Ops:
    """Forget the oldest entries of a channel that are in an end state, down to `keep`.

    Never those of the turns in `alive`, as (agent, turn): their receipt still needs them.
    """
    where = under(_ENDED, ref.server, ref.channel)
    surplus = sum(1 for _ in snapshot.scan(OUTBOX_ORDER, *where)) - keep
    ops: list[Op] = []
    for at, primary in snapshot.records(OUTBOX_ORDER, *where, bytes):
        if surplus <= 0:
            break
        entry = snapshot.read(OUTBOX, primary, OutboxEntry)
        if entry is not None and (entry.agent, entry.turn) in alive:
            continue
        surplus -= 1
        ops += [(OUTBOX, primary, None), (OUTBOX_ORDER, at, None)]
        if entry is not None and entry.message_id:
            ops.append((POSTED, _posted(ref, entry.message_id), None))
    return tuple(ops)


def _in_order(snapshot: Snapshot, where: Range) -> Iterator[OutboxEntry]:
    for _, primary in snapshot.records(OUTBOX_ORDER, *where, bytes):
        entry = snapshot.read(OUTBOX, primary, OutboxEntry)
        if entry is not None:
            yield entry


def _order(state: int, entry: OutboxEntry) -> bytes:
    written_at = float(entry.written_at)
    return key(
        state, entry.at.server, entry.at.channel, written_at, entry.agent, entry.turn, entry.number, entry.part
    )


def _posted(ref: ChannelRef, message_id: str) -> bytes:
    return key(ref.server, ref.channel, message_id)
