"""TurnWords: a turn's words over all its streams: what is being written, and what outcomes and tools make of it.

A plain object owned by TurnRun. Keeps the present stream's `Speaking` and closes the one that it replaces; takes the
turn's record and gives back the next one, so that the record has one owner.
"""

from collections.abc import Sequence

from ..messages.drafts import Draft
from ..messages.mail import GATEWAY, Receipt, Speech, Withhold
from ..messages.places import ChannelRef, Place
from ..messages.receipts import Posted
from ..messages.request import Done, Event, Msg
from ..messages.turns import Turn
from ..storage import Op
from ..storage import turns as turn_records
from .admitting import Words, admit_call
from .aftermath import after_receipt, tell_withheld, withhold
from .desk import Desk
from .parking import settle
from .speaking import Speaking
from .system import Letter
from .turn_end import TurnEnd


class TurnWords:
    """The words of one turn."""

    def __init__(self, desk: Desk, end: TurnEnd) -> None:
        self._desk = desk
        self._end = end
        self._speaking: Speaking | None = None

    def begin_round(self, turn: Turn, stream: int) -> None:
        """A round is asked for; the first of a stream opens it."""
        if self._speaking is None:
            self._speaking = Speaking(self._desk, turn, f"{turn.agent}-{turn.incarnation}-{turn.number}-{stream}")
        self._speaking.begin_round(turn)

    def event(self, event: Event) -> None:
        """More of the round."""
        if self._speaking is not None:
            self._speaking.event(event)

    def admit(self, turn: Turn, done: Done, messages: Sequence[Msg], *, live: bool) -> Words:
        """The round is whole: its verdict."""
        speaking = self._speaking or Speaking(self._desk, turn, "")
        return speaking.admit(turn, done, messages, live=live)

    def judge(self, turn: Turn) -> Words:
        """The scripts of the turn's round have answered: the verdict that its words waited for (prose 13, gap 2)."""
        said = settle(self._desk, turn)
        if self._speaking is not None and turn.round is not None:
            self._speaking.judged(turn.round.number, said.admitted)
        self._end.expect(said.posts)
        return said

    def interrupt(self, turn: Turn) -> str:
        """The round is cut and the turn ends with it: what it has shown stands as shown (agents.md 19.13)."""
        return self._speaking.interrupt(turn) if self._speaking is not None else ""

    def abandon(self, turn: Turn) -> None:
        """The round's attempt is given up."""
        if self._speaking is not None:
            self._speaking.abandon(turn)

    def close(self) -> None:
        """The stream is replaced or over: every channel that it has shown something in is closed (prose 6.5)."""
        if self._speaking is not None:
            self._speaking.close()
            self._speaking = None

    def after(self, turn: Turn, mail: Receipt, *, told_by_call: bool) -> Turn:
        """The turn after a post of it has an outcome; each outcome is judged once.

        `told_by_call`: the post is an explicit send whose call is open, so that its result says what became of it.
        """
        known = self._end.receipts.get(mail.number)
        self._end.receipts[mail.number] = mail
        if told_by_call:
            self._end.pay(mail)
        if told_by_call or (known is not None and known.state == mail.state):
            return turn
        judged = after_receipt(self._desk, turn, mail, self._end.label(mail.at))
        link = self._end.link(mail.number)
        if judged.not_shown and self._speaking is not None and link is not None:
            self._speaking.withdraw(link)
        return self._end.owe(judged, mail)

    def withhold(self, turn: Turn, mail: Withhold) -> Turn:
        """A failure before it holds this post back: keep its words, and let the chain go on."""
        turn, ops = withhold(self._desk, turn, mail.number)
        tell_withheld(self._desk, turn, mail, ops)
        return turn

    def send(
        self, turn: Turn, call_id: str, place: Place, text: str
    ) -> tuple[Turn, tuple[Op, ...], tuple[Letter, ...]]:
        """Admit a post that a script's call makes: the turn after it, and its unit (prose 5.2, 13 gap 2)."""
        after, number, ops = admit_call(self._desk, turn, call_id, place, text)
        self._end.expect({number: Posted(place.at, len(text), call_id)})
        return after, ops, ((GATEWAY, Speech(after.agent, after.number, number, place.at)),)

    def send_draft(self, turn: Turn, call_id: str, at: ChannelRef, draft: Draft) -> Turn:
        """Admit a draft as a post of its own, for a call that resends it (prose 5.2, 9)."""
        after, number, ops = admit_call(self._desk, turn, call_id, Place(at), draft.text, draft.id)
        self._end.expect({number: Posted(at, len(draft.text), call_id)})
        speech = Speech(after.agent, after.number, number, at)
        unit = (turn_records.put(after), *ops, *self._end.told())
        me = self._desk.address
        self._desk.system.commit(
            unit, ((GATEWAY, speech),), lambda exc: ((me, unsent(after, number, at, call_id, exc)),)
        )
        return after


def unsent(turn: Turn, number: int, at: ChannelRef, call_id: str, error: Exception) -> Receipt:
    """What becomes of a post that the store would not admit: nothing of it was sent."""
    return Receipt(turn.number, number, at, "failed", f"it could not be recorded ({error})", (), call_id)
