"""A turn that the model's server paused: what it has said so far, to be sent back as it is (providers.md 2.2).

A plain object of one live turn. The pieces of a paused answer are one answer: they are stored and spoken together, and
nothing is put between them. Forgotten with the request: a retry begins it anew.
"""

from dataclasses import replace

from ..messages.blocks import ReplyBlock
from ..messages.request import Done, ErrorRecord, Msg

MOST_PAUSES = 20
# A server that compacts may stop right after it (providers.md 1.9); the answer is still to come then, as after a pause.
PAUSED = frozenset({"pause_turn", "compaction"})


class Pauses:
    """The paused answer of the request that is out."""

    def __init__(self) -> None:
        self._said: tuple[ReplyBlock, ...] = ()
        self._count = 0

    def forget(self) -> None:
        """Another request begins."""
        self._said, self._count = (), 0

    @property
    def going_on(self) -> bool:
        """Whether the next send goes on with a paused answer."""
        return bool(self._said)

    def sent(self, messages: tuple[Msg, ...]) -> tuple[Msg, ...]:
        """The messages of the next send: with what was said, if it was paused."""
        return (*messages, Msg("assistant", self._said)) if self._said else messages

    def whole(self, done: Done) -> Done:
        """The answer with what was said before its pauses."""
        return replace(done, content=(*self._said, *done.content)) if self._said else done

    def pause(self, whole: Done) -> ErrorRecord | None:
        """Keep a paused answer; an error where it was paused too often to have an end."""
        self._said = whole.content
        self._count += 1
        if self._count <= MOST_PAUSES and whole.content:
            return None
        return ErrorRecord("server", f"the model's server paused a turn {self._count} times and did not end it")
