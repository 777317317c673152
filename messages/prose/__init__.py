"""PROSE: which channel an agent's plain text goes to, as pure decisions (prose spec).

A round's way through it: `segments` cuts its text, `freeze` parses and resolves, `admit` decides,
`released` and `after_outcome` follow the posts, `judge` closes the turn. Beside it `StreamRouter` shows the
same text while it is written, by the same grammar. No I/O, no clock, no randomness.
"""

from .admission import Admission, admit, freeze
from .bounces import Judged, StreakEvent, judge
from .decisions import Bounce, Decision, Empty, NewDraft, Post, Private, Refused, Withheld
from .delivery import Frozen
from .grammar import PRIVATE_TARGET, UNSENT, Envelope, envelopes, prose_mode
from .outcomes import Aftermath, PostOutcome, after_outcome, noted, recovered, released
from .resolve import (
    ChannelEntry,
    Resolution,
    Resolve,
    Resolved,
    RoundTargets,
    Unresolved,
    resolve,
    spelled,
)
from .router import Delta, StreamRouter
from .routing import Link, Retained, Routing, fresh_turn, lifted, repinned
from .segments import Piece, Segment, piece_kind, segments
from .silence import RoundCall, Verdict, bare_name, is_send, verdict
from .streamed import StreamedPiece, StreamedText
from .whitespace import only_whitespace, strip, without_whitespace

__all__ = [
    "PRIVATE_TARGET",
    "UNSENT",
    "Admission",
    "Aftermath",
    "Bounce",
    "ChannelEntry",
    "Decision",
    "Delta",
    "Empty",
    "Envelope",
    "Frozen",
    "Judged",
    "Link",
    "NewDraft",
    "Piece",
    "Post",
    "PostOutcome",
    "Private",
    "Refused",
    "Resolution",
    "Resolve",
    "Resolved",
    "Retained",
    "RoundCall",
    "RoundTargets",
    "Routing",
    "Segment",
    "StreakEvent",
    "StreamRouter",
    "StreamedPiece",
    "StreamedText",
    "Unresolved",
    "Verdict",
    "Withheld",
    "admit",
    "after_outcome",
    "bare_name",
    "envelopes",
    "freeze",
    "fresh_turn",
    "is_send",
    "judge",
    "lifted",
    "noted",
    "only_whitespace",
    "piece_kind",
    "prose_mode",
    "recovered",
    "released",
    "repinned",
    "resolve",
    "segments",
    "spelled",
    "strip",
    "verdict",
    "without_whitespace",
]
