"""`manyminds demo`: two residents in one room, a tool, a busy moment, a SIGKILL and a restart, without key or network.

The acts, and what they were to prove. The runtime runs in a process of its own (`demo_house`) that is killed for
real; this process is the chat platform (`demo_platform`) and the screen. Nothing is faked afterwards: the figures
are counted from what was shown and from what the tools wrote down.
"""

import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from .demo_platform import DemoFailed, Platform
from .demo_show import Screen, screen

STEPS = 24

# number: channel, who asks, whom, what
QUESTIONS = {
    1: ("#garden", "mira", "ada", "how warm is the greenhouse?"),
    2: ("#kitchen", "tom", "bert", "what has ada found out?"),
    3: ("#garden", "mira", "ada", "count the tomatoes"),
    4: ("#garden", "tom", "ada", "and water the beans?"),
    5: ("#garden", "mira", "ada", "and water the herbs?"),
    6: ("#garden", "tom", "ada", "and water the roses?"),
    7: ("#garden", "mira", "ada", "count the pumpkins"),
    8: ("#kitchen", "tom", "bert", "any news of the garden?"),
    9: ("#garden", "mira", "ada", "and water the leeks?"),
    10: ("#garden", "tom", "ada", "and water the peas?"),
}


class Demo:
    """One performance in a folder of its own."""

    def __init__(self, folder: Path, on: Screen) -> None:
        self._on = on
        self._journal = folder / "tools.jsonl"
        self._platform = Platform(folder / "room", on.said)
        self._deferred = 0
        self._unanswered_at_kill: list[int] = []

    def play(self) -> list[tuple[str, str, bool]]:
        """All acts; what was proved. Raises DemoFailed where one gets stuck."""
        try:
            self._a_tool()
            self._one_room()
            self._a_busy_moment()
            self._a_kill()
            self._a_restart()
            self._platform.close_house()
        finally:
            self._platform.abandon()
        self._on.advance()
        return self._proved()

    # --- the acts

    def _a_tool(self) -> None:
        self._on.act("A question and a tool")
        self._platform.open_house()
        self._ask(1)
        self._answered(1)

    def _one_room(self) -> None:
        self._on.act("Two residents, one room")
        self._ask(2)
        self._answered(2)
        self._on.aside("bert was not in #garden's talk, and knows it: both live in one room")

    def _a_busy_moment(self) -> None:
        self._on.act("A busy moment")
        self._ask(3)
        self._until_tool_runs("count", 1)
        self._ask(4, 5, 6)
        self._deferred = sum(not self._platform.answers(number) for number in (4, 5, 6))
        self._on.aside("ada is counting; what was said meanwhile is on disk and waits for its turn")
        self._platform.enough()
        self._answered(3, 4, 5, 6)

    def _a_kill(self) -> None:
        self._on.act("SIGKILL")
        self._platform.lose_receipts_of = "bert"
        self._ask(7)
        self._until_tool_runs("count", 3)
        self._ask(8, 9, 10)
        self._platform.until_answered(8)
        self._unanswered_at_kill = [n for n in (7, 9, 10) if not self._platform.answers(n)]
        self._platform.kill_house()
        self._on.aside("the process was killed: a tool was running, messages waited, and bert's post had no receipt")
        self._on.advance()

    def _a_restart(self) -> None:
        self._on.act("Started again")
        self._platform.lose_receipts_of = ""
        self._platform.open_house()
        self._on.advance()
        self._on.aside("the platform delivers two messages a second time, as platforms do")
        for number in (7, 10):
            self._platform.say(number, *QUESTIONS[number], again=True)
        self._platform.enough()
        self._answered(7, 8, 9, 10)
        self._platform.wait(
            lambda _: len(self._platform.duplicates) >= 2 and len(self._platform.repeated) >= len(self._platform.lost),
            "the second deliveries to be recognised",
        )
        self._on.advance()

    def _ask(self, *numbers: int) -> None:
        for number in numbers:
            self._platform.say(number, *QUESTIONS[number])
        self._platform.until_accepted(*numbers)
        self._on.advance(len(numbers))

    def _answered(self, *numbers: int) -> None:
        for number in numbers:
            self._platform.until_answered(number)
            self._on.advance()

    def _until_tool_runs(self, what: str, lines: int) -> None:
        """Wait until a tool has written that many lines of its kind; the platform goes on meanwhile."""
        self._platform.wait(lambda _: self._notes(what) >= lines, f"the tool {what!r} to run", step=0.02)

    def _notes(self, what: str) -> int:
        return sum(note["what"].startswith(what) for note in self._tools())

    def _tools(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in self._journal.read_text().splitlines()] if self._journal.exists() else []

    # --- what it proved

    def _proved(self) -> list[tuple[str, str, bool]]:
        platform = self._platform
        answers = {number: platform.answers(number) for number in QUESTIONS}
        once = sum(len(found) == 1 for found in answers.values())
        right = sum(
            len(found) == 1 and (found[0].channel, found[0].who) == (QUESTIONS[n][0], QUESTIONS[n][2])
            for n, found in answers.items()
        )
        again = f"{len(platform.repeated)} of {len(platform.lost)} posts"
        calls = Counter(note["call"] for note in self._tools() if note["what"] != "counted")
        total = len(QUESTIONS)
        return [
            ("every accepted message was answered once", f"{once} of {total}", once == total),
            ("in its own channel, by the resident that was asked", f"{right} of {total}", right == total),
            ("answers in the order of the questions", *self._order()),
            ("messages that came while ada was busy waited for her", f"{self._deferred} of 3", self._deferred == 3),
            ("accepted before the SIGKILL and answered after it", f"{len(self._unanswered_at_kill)} messages",
             len(self._unanswered_at_kill) == 3),
            ("delivered twice by the platform, taken once", f"{len(platform.duplicates)} messages",
             len(platform.duplicates) == 2),
            ("posted, receipt lost, posted again under the same key, shown once", again,
             set(platform.lost) == set(platform.repeated) and bool(platform.lost)),
            ("no tool ran twice for one call", f"{len(calls)} calls", len(calls) == 4 and max(calls.values()) == 1),
        ]

    def _order(self) -> tuple[str, bool]:
        wrong = 0
        for channel in ("#garden", "#kitchen"):
            said = "\n".join(s.text for s in self._platform.shown if not s.number and s.channel == channel)
            places = [said.find(f"[{n}]") for n in QUESTIONS if QUESTIONS[n][0] == channel]
            wrong += places != sorted(places)
        return f"{2 - wrong} of 2 channels", wrong == 0


def run(plain: bool = False, folder: Path | None = None) -> int:
    """Play the demo; 0 where everything held, 1 where something was lost, doubled or stuck.

    `folder`: where the room is kept, empty or new; a temporary one by default.
    """
    with tempfile.TemporaryDirectory(prefix="manyminds-demo-") as temporary, screen(plain, STEPS) as on:
        demo = Demo(folder or Path(temporary), on)
        proved: Sequence[tuple[str, str, bool]]
        try:
            proved = demo.play()
        except DemoFailed as failure:
            proved = [("the demo came to its end", str(failure), False)]
        on.summary(proved)
        return 0 if all(held for _, _, held in proved) else 1
