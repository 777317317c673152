"""One line at the foot of a terminal: who is writing, and the end of what. It is erased before anything is printed.

What is being written may still be withheld, so it is shown only where it can be taken back: on a screen, never in a
log. Its callbacks come from the runtime's pool; the terminal that owns it holds the lock that both print under.
"""

import re
import threading
import unicodedata
from collections.abc import Callable
from typing import TextIO

ERASE = "\r\x1b[2K"
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f]+")


class Preview:
    """The line. `width` gives the screen's columns; `lock` is held by whoever prints."""

    def __init__(self, screen: TextIO, width: Callable[[], int], lock: threading.Lock) -> None:
        self._screen, self._width, self._lock = screen, width, lock
        self._writers: dict[str, None] = {}
        self._streams: dict[str, str] = {}
        self._shown = False
        self._open = False

    def open(self) -> None:
        """Show what comes: nobody types on this line now."""
        with self._lock:
            self._open = True

    def close(self) -> None:
        """Erase it, and show nothing until it is opened again: a person may type."""
        with self._lock:
            self.erase()
            self._open = False

    def erase(self) -> None:
        """Take the line back, to print; the lock is held."""
        if self._shown:
            self._screen.write(ERASE)
            self._screen.flush()
            self._shown = False

    # --- callbacks of the publisher

    def typing(self, server: str, channel: str, thread: str | None, on: bool, author: str) -> None:
        """Somebody began or ended to write."""
        with self._lock:
            if on:
                self._writers[author] = None
            else:
                self._writers.pop(author, None)
            self._show()

    def chunk(self, server: str, channel: str, thread: str | None, stream: str, index: int, text: str) -> None:
        """More of what somebody writes."""
        with self._lock:
            self._streams[stream] = self._streams.get(stream, "") + text
            self._show()

    def complete(self, server: str, channel: str, thread: str | None, stream: str, text: str) -> None:
        """A stream is over: what was admitted of it is posted."""
        with self._lock:
            self._streams.pop(stream, None)
            self._show()

    def _show(self) -> None:
        if not self._open:
            return
        self.erase()
        line = preview_line(list(self._writers), list(self._streams.values()), self._width())
        if line:
            self._screen.write(line)
            self._screen.flush()
            self._shown = True


def preview_line(writers: list[str], texts: list[str], columns: int) -> str:
    """Who writes and the end of the newest text, in less than `columns`; empty where nobody writes. Pure."""
    if not writers and not texts:
        return ""
    who = _UNSEEN.sub(" ", ", ".join(writers)) or "..."
    if not texts:
        return _end(f"{who} is writing" if len(writers) < 2 else f"{who} are writing", columns - 1)
    room = columns - 1 - _cells(f"{who}: ")
    return f"{who}: {_end(' '.join(_UNSEEN.sub(' ', texts[-1]).split()), room)}" if room > 0 else _end(who, columns - 1)


def _end(text: str, cells: int) -> str:
    """The end of the text that fits."""
    while _cells(text) > max(cells, 0):
        text = text[1:]
    return text


def _cells(text: str) -> int:
    """How many columns a terminal takes for it."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) > 0 for char in text)
