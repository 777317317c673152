"""The terminal as a chat surface: one person, one room, line by line.

Runs on the thread that calls `run`, which reads a line, hands it in and waits until everybody has come to rest
before it reads the next; what residents say is printed as it is posted. Ctrl-C while they are busy cancels their
turns. How it looks is the caller's: it is given a function that prints, and a screen where what is being written may
be shown and taken back.
"""

import functools
import re
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

from ...messages.errors import QueueFull
from ...messages.incoming import Author, Incoming
from ...messages.posts import Delivered, Post
from ..providers.provider import Provider
from ..runtime import Runtime
from ..spec import Resident
from ..traces import Subscription, Trace
from .terminal_preview import Preview

SERVER = "terminal"
CHANNEL = "terminal"
HELP = "Say something; a name in it addresses that resident, else all hear it. /health /cancel /help /quit"
_LOOK_EVERY = 0.03

Show = Callable[[str, str, str], None]


class Terminal:
    """A chat in a terminal. `show` prints (channel, who, words); `source` is where the person's lines come from.

    `screen`: where one line shows what is being written, until it is posted; None where nothing can be taken back.
    """

    def __init__(
        self, residents: Sequence[Resident], provider: Provider, name: str, show: Show, source: TextIO | None = None,
        screen: TextIO | None = None,
    ) -> None:
        self._residents = list(residents)
        self._provider = provider
        self._name = name
        self._shown = show
        self._source = source or sys.stdin
        self._printing = threading.Lock()
        self._preview: Preview | None = None
        if screen is not None:
            self._preview = Preview(screen, lambda: shutil.get_terminal_size().columns, self._printing)
        self._commands: dict[str, Callable[[Runtime], None]] = {
            "/help": self._help, "/health": self._health, "/cancel": self._cancel,
        }

    def run(self, folder: Path | None) -> None:
        """Open the room in `folder` and chat until the lines end or `/quit`."""
        with Runtime.open(folder, residents=self._residents, provider=self._provider) as runtime:
            traces = runtime.subscribe()
            seen = self._preview
            register = runtime.publisher(SERVER) if seen is None else runtime.publisher(
                SERVER, typing=seen.typing, chunk=seen.chunk, complete=seen.complete
            )
            register(functools.partial(self._post, traces))
            self._remark(f"{', '.join(r.name for r in self._residents)} in this room. {HELP}")
            self._until_quiet(runtime, traces)
            for line in self._lines():
                if line.split()[0] == "/quit":
                    break
                self._line(runtime, line)
                self._until_quiet(runtime, traces)
            traces.close()

    def _lines(self) -> Iterator[str]:
        """Lines that say something; a prompt stands before each where a person types."""
        typed = self._source.isatty()
        while True:
            if typed:
                print(f"{self._name}> ", end="", flush=True)
            try:
                line = self._source.readline()
            except KeyboardInterrupt:
                line = ""
            if not line:
                if typed:
                    print()
                return
            if line.strip():
                yield line.strip()

    def _line(self, runtime: Runtime, line: str) -> None:
        if line.startswith("/"):
            command = self._commands.get(line.split()[0], self._unknown)
            command(runtime)
            return
        named = tuple(r.name for r in self._residents if re.search(rf"(?i)(?<!\w){re.escape(r.name)}(?!\w)", line))
        author = Author(self._name.casefold(), self._name)
        try:
            runtime.receive(Incoming(SERVER, CHANNEL, author, line, kind="dm", mentions=named, label="this terminal"))
        except QueueFull as full:
            self._remark(f"not taken: {full}")

    def _show(self, channel: str, who: str, words: str) -> None:
        """Print a line, where the preview was. The lock is held, or nothing is being written."""
        if self._preview is not None:
            self._preview.erase()
        self._shown(channel, who, words)

    def _post(self, traces: Subscription, post: Post) -> Delivered:
        """Print a post, after what led to it. Runs on the runtime's pool."""
        with self._printing:
            self._remarks(traces)
            self._show("", post.author, post.text)
        return Delivered(post.key)

    # --- waiting

    def _until_quiet(self, runtime: Runtime, traces: Subscription) -> None:
        """Wait until no turn is alive and nothing is being posted, or until Ctrl-C finds nothing to cancel."""
        if self._preview is None:
            self._wait(runtime, traces)
            return
        self._preview.open()
        try:
            self._wait(runtime, traces)
        finally:
            self._preview.close()

    def _wait(self, runtime: Runtime, traces: Subscription) -> None:
        look = threading.Event()
        rested = 0
        while rested < 2:
            try:
                look.wait(_LOOK_EVERY)
                with self._printing:
                    self._remarks(traces)
                rested = rested + 1 if self._at_rest(runtime) else 0
            except KeyboardInterrupt:
                if not self._cancelled(runtime):
                    return

    def _at_rest(self, runtime: Runtime) -> bool:
        try:
            health = runtime.health()
        except TimeoutError:  # an agent that is being built anew does not answer
            return False
        busy = any(agent["state"] != "idle" for agent in health.agents.values())
        return not busy and not health.in_flight and not any(health.posts.values())

    def _remarks(self, traces: Subscription) -> None:
        for trace in traces.take():
            self._trace(trace)

    def _trace(self, trace: Trace) -> None:
        if trace.name == "tool:started":
            self._remark(f"{trace.fields.get('agentName')} uses {trace.fields.get('tool')}")
        elif trace.name == "inference:exhausted":
            self._remark(f"{trace.fields.get('agentName')} could not answer: {trace.fields.get('error', '')}")
        elif trace.name == "operator":
            self._remark(str(trace.fields.get("text", "")))

    # --- commands

    def _remark(self, words: str) -> None:
        self._show("", "", f"[{words}]")

    def _help(self, runtime: Runtime) -> None:
        self._remark(HELP)

    def _unknown(self, runtime: Runtime) -> None:
        self._remark(f"no such command. {HELP}")

    def _health(self, runtime: Runtime) -> None:
        health = runtime.health()
        for name, agent in health.agents.items():
            self._remark(f"{name}: {agent['state']}, {health.posts.get(name, 0)} posts waiting")

    def _cancel(self, runtime: Runtime) -> None:
        if not self._cancelled(runtime):
            self._remark("nothing was cancelled")

    def _cancelled(self, runtime: Runtime) -> bool:
        """Cancel every turn; whether there was one."""
        found = False
        for resident in self._residents:
            try:
                done = runtime.cancel(resident.name, by=self._name)
            except TimeoutError:
                self._remark(f"{resident.name} does not answer")
                continue
            found = found or done
            if done:
                self._remark(f"{resident.name}'s turn was cancelled")
        return found
