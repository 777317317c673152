"""RoomMember: an actor whose records are written by its room, and how it comes to life after a predecessor.

A predecessor may have told the room things that are not handled yet; whoever read the store before they are would go on
with a turn that has ended. So it waits, after its own units, until the room has handled and stored all of that, and
mail waits meanwhile. Decides nothing else.
"""

from typing import Any

from ..messages.address import Address, MailFailed, ReplyTo, Undelivered
from ..messages.mail import Greeted, Hello, OfferAnswer, room_address
from .dispatcher import StoredActor, handles
from .system import System

GREET_AGAIN = 1.0
OFFER_AGAIN = 1.0


class RoomMember(StoredActor):
    """An actor of one room, loaded when store and room hold all that a predecessor did."""

    def __init__(self, system: System, address: Address, room: str) -> None:
        super().__init__(system, address)
        self.room = room
        self._greeting = 0

    def greeted(self, pending: bool) -> None:
        """The store can be read now. `pending`: wakes wait for it."""
        raise NotImplementedError(f"{self.address} does not say how it begins")

    def loaded(self) -> None:
        """What a predecessor wrote itself is in the store; ask the room for the rest."""
        self.greet()

    def greet(self) -> None:
        """Put mail aside until the room has done what a predecessor asked for."""
        self._greeting = self.system.stream_id()
        self.system.tell(room_address(self.room), Hello(self.address.name, ReplyTo(self.address, self._greeting)))

    @property
    def loading(self) -> bool:
        """Whether mail is being put aside."""
        return super().loading or bool(self._greeting)

    def receive(self, mail: Any) -> bool:
        """Put mail aside until the room has answered."""
        if super().loading or not self._greeting:
            return super().receive(mail)
        if isinstance(mail, Greeted):
            if mail.key == self._greeting:
                self._greeting = 0
                self.greeted(mail.pending)
                self.cell.unstash()
        elif isinstance(mail, (MailFailed, Undelivered)) and isinstance(mail.mail, Hello):
            self.system.after(GREET_AGAIN, room_address(self.room), mail.mail)
        else:
            self.cell.stash.append(mail)
        return False

    @handles(OfferAnswer)
    def offer_answer(self, mail: OfferAnswer) -> None:
        """The room has taken what was offered, or could not store it: then what it was about comes again in a while."""
        if mail.error is not None:
            self.system.after(OFFER_AGAIN, self.address, mail.ticket)

    @handles(Greeted)
    def greeted_again(self, mail: Greeted) -> None:
        """An answer to a predecessor's question."""
