"""Receipts of posts on one IRC connection: which are out, what the server refused, what its PONG confirmed.

Plain bookkeeping on the event loop: no socket and no clock. A post is confirmed by the PONG to a PING that was
sent behind it on the same connection; a refusal that comes before that PONG belongs to the post's target.
"""

import asyncio
from dataclasses import dataclass, field

from ...messages.posts import Delivered, NotSent, Outcome, Unknown


@dataclass(slots=True, eq=False)
class Receipt:
    """One post that is out. `written`: lines that may have left; `refused`: how many the server sent back, and why.

    `answer` becomes True with the PONG, False when the connection is lost.
    """

    target: str
    token: str
    answer: asyncio.Future[bool]
    written: int = 0
    refused: int = 0
    reason: str = ""

    def outcome(self) -> Outcome:
        """What the PONG means: all lines refused is not sent, some of them is unknown, none is delivered."""
        if not self.refused:
            return Delivered(self.token)
        if self.refused >= self.written:
            return NotSent(f"the server refused it: {self.reason}", permanent=True)
        return Unknown(f"the server refused {self.refused} of {self.written} lines: {self.reason}")

    def unconfirmed(self, reason: str) -> Outcome:
        """No PONG: not sent where no line was written, else unknown."""
        return Unknown(reason) if self.written else NotSent(reason)


@dataclass(slots=True)
class Receipts:
    """The receipts of one connection, oldest first."""

    name: str
    _count: int = 0
    _out: dict[str, Receipt] = field(default_factory=dict[str, Receipt])

    def open(self, target: str) -> Receipt:
        """A receipt for a post to `target` (folded)."""
        self._count += 1
        receipt = Receipt(target, f"{self.name}-{self._count}", asyncio.get_running_loop().create_future())
        self._out[receipt.token] = receipt
        return receipt

    def close(self, receipt: Receipt) -> None:
        """Forget a receipt, whatever became of it."""
        self._out.pop(receipt.token, None)

    def refuse(self, target: str, reason: str) -> None:
        """The server refused a line to `target`: the oldest post to it that has lines out is meant."""
        for receipt in self._out.values():
            if receipt.target == target and receipt.refused < receipt.written:
                receipt.refused += 1
                receipt.reason = reason
                return

    def confirm(self, token: str) -> None:
        """The PONG with this token came."""
        receipt = self._out.get(token)
        if receipt is not None and not receipt.answer.done():
            receipt.answer.set_result(True)

    async def rest(self, seconds: float) -> None:
        """Wait until nothing is out, at most that long."""
        out = [receipt.answer for receipt in self._out.values()]
        if out:
            await asyncio.wait(out, timeout=seconds)

    def lose(self) -> None:
        """The connection is gone: nothing will be confirmed any more."""
        for receipt in self._out.values():
            if not receipt.answer.done():
                receipt.answer.set_result(False)
