"""Stopper: the ordered way out. Intake, turns, posts; what is queued stays on disk (design, "Closing is ordered").

Lives for one stop. Turns may end by themselves until the deadline; then they are cut, and their records stay for the
next start. Posts that are out are waited for as long as time is left. Answers once, never later than the deadline and
a moment for the cut records to reach the disk.
"""

from ..messages.address import Address, MailFailed, ReplyTo, Undelivered
from ..messages.mail import DIRECTORY, GATEWAY, Answer, AskState, CloseIntake, StopAll, StopStep, StopTurns
from .dispatcher import Actor, handles
from .system import System

LOOK_EVERY = 0.05
CUT_WITHIN = 0.5


class Stopper(Actor):
    """The actor of a stop."""

    def __init__(self, system: System, address: Address) -> None:
        super().__init__(system, address)
        self.mail: StopAll | None = None
        self.left: set[Address] = set()
        self.over = False

    def busy(self) -> bool:
        """A stop that runs is known only here."""
        return self.mail is not None

    @handles(StopAll)
    def stop_all(self, mail: StopAll) -> None:
        """Begin: no message is accepted from here on."""
        self.mail = mail
        self.left = set(mail.agents)
        self.system.after(mail.deadline, self.address, StopStep(over=True))
        self.system.tell(DIRECTORY, CloseIntake(ReplyTo(self.address, "intake")))
        for agent in mail.agents:
            self.system.tell(agent, StopTurns(False, ReplyTo(self.address, agent)))
        if not self.left:
            self._look()

    @handles(Answer)
    def answered(self, mail: Answer) -> None:
        """An agent has no turn any more, or the gateway says what is out."""
        if self.mail is None or mail.key == "intake":
            return
        if mail.key == "posts":
            if mail.value["posts"]:
                self.system.after(LOOK_EVERY, self.address, StopStep(over=False))
            else:
                self._done()
            return
        self._agent_done(mail.key)

    @handles(Undelivered)
    def undelivered(self, mail: Undelivered) -> None:
        """Mail of ours has no addressee any more."""
        self._came_back(mail)

    @handles(MailFailed)
    def mail_failed(self, mail: MailFailed) -> None:
        """Mail of ours could not be handled."""
        self._came_back(mail)

    def _came_back(self, mail: MailFailed | Undelivered) -> None:
        """Somebody cannot be asked: it is not waited for."""
        if self.mail is None:
            return
        if mail.key == "posts":
            self._done()
        elif isinstance(mail.key, Address):
            self._agent_done(mail.key)

    def _agent_done(self, agent: Address) -> None:
        if agent in self.left:
            self.left.discard(agent)
            if not self.left:
                self._look()

    @handles(StopStep)
    def step(self, mail: StopStep) -> None:
        """Look at the posts again; or the deadline has come, and turns are cut."""
        if self.mail is None:
            return
        if not mail.over:
            self._look()
            return
        if self.over:
            self._done()  # who has not answered by now was rebuilt meanwhile; its record is on disk all the same
            return
        self.over = True
        self.system.after(CUT_WITHIN, self.address, StopStep(over=True))
        if not self.left:
            self._done()
        for agent in self.mail.agents:
            if agent in self.left:
                self.system.tell(agent, StopTurns(True, ReplyTo(self.address, agent)))

    def _look(self) -> None:
        if self.over:
            self._done()
        else:
            self.system.tell(GATEWAY, AskState(ReplyTo(self.address, "posts")))

    def _done(self) -> None:
        if self.mail is not None:
            reply, self.mail = self.mail.reply, None
            self.system.tell(reply.address, Answer([a.name for a in sorted(self.left, key=str)], reply.key))
