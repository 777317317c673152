"""Doorkeeper: the part of a channel's actor that opens and closes it, and shows who writes what.

Takes the mail that its Presence decides on. Base class of Channel, which says what a post does once an operation is
over. Posts nothing.
"""

from ..messages.address import Address
from ..messages.mail import (
    Chunk,
    Complete,
    Decide,
    DecisionStored,
    OfferAnswer,
    Relabel,
    SurfaceAnswered,
    Typing,
    TypingAgain,
    channel_of_address,
)
from .desk import Surfaces
from .dispatcher import StoredActor, handles
from .outflow import STREAMING, Outflow
from .presence import Presence
from .system import System

TELL_AGAIN = 1.0


class Doorkeeper(StoredActor):
    """An actor with a channel's presence."""

    def __init__(self, system: System, address: Address, surfaces: Surfaces) -> None:
        super().__init__(system, address)
        self.at = channel_of_address(address)
        self.surfaces = surfaces
        self.presence = Presence(system, address, self.at, surfaces)
        self.outflow = Outflow(system, address, self.at, surfaces)

    def after_operation(self) -> None:
        """An operation has ended: what waited for it goes on."""
        raise NotImplementedError(f"{type(self).__name__} does not say what follows an operation")

    @handles(Decide)
    def decide(self, mail: Decide) -> None:
        """Somebody decides whether the channel is open."""
        self.presence.decide(mail)

    @handles(Relabel)
    def relabel(self, mail: Relabel) -> None:
        """The channel has another name."""
        self.presence.relabel(mail)

    @handles(DecisionStored)
    def decision_stored(self, mail: DecisionStored) -> None:
        """A decision is on disk; where no surface has to follow it, what waited for it goes on."""
        self.presence.stored(mail)
        self.after_operation()

    @handles(SurfaceAnswered)
    def surface_answered(self, mail: SurfaceAnswered) -> None:
        """An open, close, typing or stream callback has answered."""
        if mail.what == STREAMING:
            self.outflow.answered(mail)
        elif self.presence.answered(mail.serial, mail.error, mail.permanent):
            self.after_operation()

    def tell_opened(self, agent: str, after: float = 0.0) -> None:
        """Give the room the notice that the agent's post has opened the channel, if it is owed; `after` in seconds."""
        offer = self.presence.opened_notice(agent)
        if offer is not None:
            self.system.after(after, *offer)

    @handles(OfferAnswer)
    def offer_answer(self, mail: OfferAnswer) -> None:
        """The room has the notice that the channel is open, or could not store it."""
        if mail.error is None:
            self.presence.told_opened()
        else:
            self.tell_opened(self.presence.author, TELL_AGAIN)

    @handles(Typing)
    def typing(self, mail: Typing) -> None:
        """An agent began or ended to write here."""
        self.presence.typing(mail)

    @handles(Chunk)
    def chunk(self, mail: Chunk) -> None:
        """An agent is writing here."""
        self.outflow.put(mail)

    @handles(Complete)
    def complete(self, mail: Complete) -> None:
        """What an agent wrote here is complete."""
        self.outflow.put(mail)

    @handles(TypingAgain)
    def typing_again(self, mail: TypingAgain) -> None:
        """Refresh the indicator."""
        self.presence.typing_again(mail)
