"""Which calls keep a round's prose back: sends, `skip_reply`, a private think (prose 5.3-5.5).

Pure over the names of the round's calls, those made inside a foreground script included (prose 13, gap 2):
the caller hands them all in at the round's verdict. Never looks at results or text.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

SKIP_TOOL: Final = "skip_reply"
THINK_TOOL: Final = "think"
SEND_TOOLS: Final = frozenset(
    {"channel_publish", "send_message", "reply_message", "send_dm", "say", "whisper"},
)
DRAFTS_TOOL: Final = "drafts"
RESEND: Final = "resend"


@dataclass(frozen=True, slots=True)
class RoundCall:
    """A call of the round: its full name, and of the `drafts` tool what it asks for."""

    name: str
    action: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a round's calls mean for its prose.

    `private`: kept in context, nothing of it is sent. `silences`: from this round on, in locus and hybrid.
    `ends_turn`: `skip_reply` was called.
    """

    private: bool = False
    silences: bool = False
    ends_turn: bool = False


def bare_name(name: str) -> str:
    """The name after its last `--`: a server's prefix does not matter (prose 5.4)."""
    return name.rpartition("--")[2]


def is_send(call: RoundCall) -> bool:
    """Whether the call sends words by itself; `think` does not (prose 5.4)."""
    name = bare_name(call.name)
    return name in SEND_TOOLS or (name == DRAFTS_TOOL and call.action == RESEND)


def verdict(calls: Iterable[RoundCall], think_is_private: bool = False) -> Verdict:
    """The verdict on a round.

    `think_is_private`: the policy as it stood when the inference began; it asks for the tool named exactly
    `think` (prose 5.5). A send beside a private think still silences the rounds that follow.
    """
    calls = tuple(calls)
    skips = any(bare_name(call.name) == SKIP_TOOL for call in calls)
    thinks = think_is_private and any(call.name == THINK_TOOL for call in calls)
    return Verdict(skips or thinks, skips or any(map(is_send, calls)), skips)
