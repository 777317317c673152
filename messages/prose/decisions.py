"""What is to be done with one envelope: the answers of admission and delivery (prose 5.3).

Values only. Each names its link in the speech chain; the actor turns posts into outbox entries, new drafts
into draft records and the rest into notices and counts, in one unit.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..places import Place
from .resolve import Unresolved
from .routing import Link

BounceReason: TypeAlias = Literal["no-destination", "unresolved", "resolver-error", "missing-target", "publish-failed"]
WithheldReason: TypeAlias = Literal["held-failed", "held-private", "no-locus", "silenced", "disabled"]
DraftReason: TypeAlias = Literal["explicit-send", "no-destination", "ambiguous", "bounced", "publish-failed"]
DraftState: TypeAlias = Literal["held", "unconfirmed", "delivered", "dismissed"]


@dataclass(frozen=True, slots=True)
class NewDraft:
    """A draft to store: its words byte for byte, and all that was written beside them (prose 8.2, 9).

    `target`: the target as written, for a note. `state`: `unconfirmed` where copied words may be out.
    """

    id: str
    reason: DraftReason
    text: str
    written: str
    target: str | None = None
    state: DraftState = "held"


@dataclass(frozen=True, slots=True)
class Post:
    """Publish `text` to `place`, which is frozen.

    `prefixed`: the envelope named its target. `copied`: the draft whose words are in it; `wholly`: they are
    all of it. `written`: the envelope as the model wrote it.
    """

    link: Link
    place: Place
    text: str
    written: str
    prefixed: bool
    target: str | None = None
    copied: str | None = None
    wholly: bool = False


@dataclass(frozen=True, slots=True)
class Bounce:
    """Tell the agent that these words went nowhere, and keep them.

    `draft`: the new draft, if there is one. `kept`: the id of the draft that now holds the words, new or old;
    none where there were none to keep. `detail`: why the target did not resolve. `mark`: a continuation that
    counts while the streak is at most 2 (prose 8.4).
    """

    link: Link
    reason: BounceReason
    text: str
    draft: NewDraft | None = None
    kept: str | None = None
    detail: Unresolved | None = None
    mark: bool = False


@dataclass(frozen=True, slots=True)
class Private:
    """Nothing is sent and nothing bounces. `set_aside`: the draft to dismiss; `refused`: it is in flight."""

    link: Link
    set_aside: str | None = None
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class Withheld:
    """Not sent, and counted as suppressed. `draft`: the words, where they are kept."""

    link: Link
    reason: WithheldReason
    text: str
    draft: NewDraft | None = None


@dataclass(frozen=True, slots=True)
class Empty:
    """The target took effect and there is nothing to send."""

    link: Link


@dataclass(frozen=True, slots=True)
class Refused:
    """`{{unsent}}` stands for words that are on their way or may be out: nothing is sent, a notice says so (9).

    `kept`: a new draft of the other words of that body, with the token as written; none where it is the token alone.
    """

    link: Link
    draft: str
    state: Literal["in-flight", "unconfirmed"]
    kept: NewDraft | None = None


Decision: TypeAlias = Post | Bounce | Private | Withheld | Empty | Refused
