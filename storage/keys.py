"""Keys: every key layout of the store, in one table.

A key is a row of parts, each of which ends by itself: whole numbers are 8 bytes big-endian, so that a range is a
scan; names are UTF-8 closed by a zero byte, or a hash where they are long, since LMDB refuses keys over
511 bytes. No part is the beginning of another, so different parts never make the same key.
Bytes keys are made here and nowhere else. Pure.
"""

import hashlib
import struct
from typing import TypeAlias

LONGEST_KEY = 511
LONGEST_NAME = 96
LAST = 2**64 - 1
"""The largest whole number in a key: an open end of positions."""

Part: TypeAlias = str | int | float
Range: TypeAlias = tuple[bytes, bytes]

META = "meta"
COUNTERS = "counters"
BRANCHES = "branches"
CURSORS = "cursors"
LOG = "log"
ROW_IDS = "row-ids"
TOMBSTONES = "tombstones"
BLOBS = "blobs"
INBOX = "inbox"
SEEN = "seen"
SEEN_IDS = "seen-ids"
WAKES = "wakes"
TURNS = "turns"
RESULTS = "results"
OUTBOX = "outbox"
OUTBOX_ORDER = "outbox-order"
POSTED = "posted"
OWING = "owing"
AGENTS = "agents"
ENDED = "ended"
CHANNELS = "channels"
SETTINGS = "settings"
HEADS = "heads"
DRAFTS = "drafts"
STRATEGIES = "strategies"

LAYOUT: dict[str, str] = {
    META: "what -> the format stamp",
    COUNTERS: "kind, name -> the last number given out; never goes back",
    BRANCHES: "branch id -> Branch",
    CURSORS: "room -> branch id",
    LOG: "branch id, position -> Row, Tombstone or Mark",
    ROW_IDS: "branch id, row id, position -> that position",
    TOMBSTONES: "branch id, position -> position of the row that it removes",
    BLOBS: "content hash -> bytes or text; written once",
    INBOX: "room, number -> InboxEntry",
    SEEN: "server, channel, number -> platform id",
    SEEN_IDS: "server, channel, platform id -> number",
    WAKES: "room, agent, number -> Wake",
    TURNS: "room, agent -> Turn",
    RESULTS: "room, agent, turn, round, index -> ToolResult",
    OUTBOX: "agent, turn, number, part -> OutboxEntry",
    OUTBOX_ORDER: "0 (unfinished) or 1 (ended), server, channel, written at, agent, turn, number, part -> outbox key",
    POSTED: "server, channel, message id -> agent",
    OWING: "agent, turn, number, what -> what an author has not been told",
    AGENTS: "agent -> AgentRecord of one that lives",
    ENDED: "ended at, agent, incarnation -> AgentRecord of one that has ended",
    CHANNELS: "server, channel -> ChannelRecord",
    SETTINGS: "name -> JSON value",
    HEADS: "content hash, or branch id, agent, position -> head, or what was recorded of it",
    DRAFTS: "agent, number -> draft",
    STRATEGIES: "branch id, agent, position -> strategy state",
}
TABLES: frozenset[str] = frozenset(LAYOUT)
WRITTEN_ONCE: frozenset[str] = frozenset({BLOBS})
"""Tables keyed by content: a put of a key that is there changes nothing."""


def key(*parts: Part) -> bytes:
    """The key of these parts.

    Raises ValueError for a number below 0 or above `LAST`.
    """
    return b"".join(map(_part, parts))


def under(*parts: Part) -> Range:
    """(start, stop) of the scan over every key that begins with these parts and goes on."""
    start = key(*parts)
    return start, _after(start)


def between(parts: tuple[Part, ...], after: int, upto: int) -> Range:
    """(start, stop) of the scan over `parts` + a whole number n with after < n <= upto."""
    prefix = key(*parts)
    start = prefix + _number(after + 1) if after < LAST else _after(prefix)
    stop = prefix + _number(upto + 1) if upto < LAST else _after(prefix)
    return start, max(start, stop)


def number(of: bytes) -> int:
    """The whole number that is a key's last part."""
    return int.from_bytes(of[-8:], "big")


def _part(part: Part) -> bytes:
    if isinstance(part, str):
        return _name(part)
    return _number(part) if isinstance(part, int) else _moment(part)


def _number(value: int) -> bytes:
    if not 0 <= value <= LAST:
        raise ValueError(f"{value} cannot be part of a key: whole numbers go from 0 to {LAST}")
    return value.to_bytes(8, "big")


def _name(text: str) -> bytes:
    # 0xff begins no UTF-8, so a hash is never taken for a name.
    raw = text.encode("utf-8", "surrogatepass")
    escaped = raw.replace(b"\x01", b"\x01\x02").replace(b"\x00", b"\x01\x01") + b"\x00"
    return escaped if len(escaped) <= LONGEST_NAME else b"\xff" + hashlib.sha256(raw).digest()


def _moment(seconds: float) -> bytes:
    # The bits of a float sort as whole numbers once the sign is turned.
    bits: int = struct.unpack(">Q", struct.pack(">d", seconds))[0]
    return (bits ^ (LAST if bits >> 63 else 1 << 63)).to_bytes(8, "big")


def _after(prefix: bytes) -> bytes:
    kept = prefix.rstrip(b"\xff")
    if not kept:
        return b"\xff" * LONGEST_KEY
    return kept[:-1] + bytes([kept[-1] + 1])
