"""The demo's chat platform: it carries people's words to the house's process and keeps what the house posts.

Runs in the demo's own process; a thread reads what the house writes, all else is on the caller's thread. It knows
posts by their key, as real platforms with idempotency keys do, and can be told to lose a receipt.
"""

import contextlib
import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..messages.errors import Error


class DemoFailed(Error):
    """The demo did not go as it should; the text says where."""


@dataclass(frozen=True, slots=True)
class Said:
    """Something shown in a channel. `number`: of a question, 0 for the house's own words."""

    channel: str
    who: str
    text: str
    number: int = 0


class House:
    """The process with the runtime in it."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "manyminds.actors.demo_house", str(folder)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._came: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self._came.put(json.loads(line))
        self._came.put(None)

    def tell(self, **value: Any) -> None:
        """Send one value; a house that is gone does not hear it."""
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(json.dumps(value) + "\n")
                self._process.stdin.flush()

    def next(self, seconds: float) -> dict[str, Any] | None:
        """The next value, None at the end. Raises queue.Empty."""
        return self._came.get(timeout=seconds)

    def kill(self) -> list[dict[str, Any]]:
        """End it with SIGKILL; what it had written before is returned."""
        self._process.kill()
        return self._end()

    def stop(self) -> list[dict[str, Any]]:
        """Let it stop by itself; what it still wrote is returned."""
        self.tell(kind="stop")
        return self._end()

    def _end(self) -> list[dict[str, Any]]:
        self._process.wait(timeout=30)
        self._reader.join(timeout=30)
        left: list[dict[str, Any]] = []
        with contextlib.suppress(queue.Empty):
            while (value := self._came.get_nowait()) is not None:
                left.append(value)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        return left


class Platform:
    """What people and residents have said, as the people see it."""

    def __init__(self, folder: Path, show: Callable[[Said], None]) -> None:
        self.shown: list[Said] = []
        self.accepted: dict[int, bool] = {}
        self.duplicates: list[int] = []
        self.repeated: list[str] = []
        self.lose_receipts_of: str = ""
        self.lost: list[str] = []
        self._folder = folder
        self._show = show
        self._keys: set[str] = set()
        self._house: House | None = None

    # --- the house

    def open_house(self) -> None:
        """Start the house's process and wait until it is ready."""
        self._house = House(self._folder)
        self.wait(lambda value: value is not None and value["kind"] == "ready", "the house to be ready")

    def kill_house(self) -> None:
        """SIGKILL. What it wrote before it died was said all the same."""
        for value in self._live.kill():
            self._take(value, receipts=False)
        self._house = None

    def close_house(self) -> None:
        """An orderly stop."""
        for value in self._live.stop():
            self._take(value, receipts=False)
        self._house = None

    def abandon(self) -> None:
        """End what is left of the house, whatever happened."""
        if self._house is not None:
            self.kill_house()

    @property
    def _live(self) -> House:
        if self._house is None:
            raise DemoFailed("the house is not open")
        return self._house

    # --- words

    def say(self, number: int, channel: str, who: str, to: str, what: str, *, again: bool = False) -> None:
        """Somebody asks a resident something. `again`: the platform delivers a message a second time."""
        text = f"{to}: {what} [{number}]"
        if not again:
            self.shown.append(Said(channel, who, text, number))
            self._show(self.shown[-1])
        self._live.tell(kind="say", channel=channel, author=who, text=text, to=to, id=str(number))

    def enough(self) -> None:
        """Let a tool that takes its time come to its end."""
        self._live.tell(kind="enough")

    def until_accepted(self, *numbers: int) -> None:
        """Wait until the house has taken these messages."""
        self.wait(lambda _: all(n in self.accepted for n in numbers), f"messages {numbers} to be accepted")

    def until_answered(self, *numbers: int) -> None:
        """Wait until an answer to each of these is shown."""
        self.wait(lambda _: all(self.answers(n) for n in numbers), f"answers to {numbers}")

    def answers(self, number: int) -> list[Said]:
        """What the house said about a question."""
        return [said for said in self.shown if not said.number and f"[{number}]" in said.text]

    def wait(
        self, true: Callable[[dict[str, Any] | None], bool], what: str, seconds: float = 30.0, step: float = 1.0
    ) -> None:
        """Take what the house writes until `true(value)` holds, asked at least every `step` seconds.

        Raises DemoFailed when that takes too long, or when the house ends.
        """
        deadline = time.monotonic() + seconds
        value: dict[str, Any] | None = None
        while not true(value):
            value = None
            try:
                value = self._live.next(step)
            except queue.Empty:
                if time.monotonic() > deadline:
                    raise DemoFailed(f"waited {seconds:g} s in vain for {what}") from None
                continue
            if value is None:
                raise DemoFailed(f"the house ended while the demo waited for {what}")
            self._take(value, receipts=True)

    def _take(self, value: dict[str, Any], *, receipts: bool) -> None:
        if value["kind"] == "accepted":
            number = int(value["id"])
            if value["duplicate"]:
                self.duplicates.append(number)
            self.accepted.setdefault(number, True)
        elif value["kind"] == "post":
            self._post(value, receipts)

    def _post(self, value: dict[str, Any], receipts: bool) -> None:
        if value["key"] in self._keys:
            self.repeated.append(value["key"])
        else:
            self._keys.add(value["key"])
            self.shown.append(Said(value["channel"], value["author"], value["text"]))
            self._show(self.shown[-1])
        if receipts and value["author"] != self.lose_receipts_of:
            self._live.tell(kind="receipt", key=value["key"])
        elif receipts:
            self.lost.append(value["key"])
