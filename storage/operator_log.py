"""The operator log: `operator-actions.jsonl` beside the environment, one JSON line per action (agents.md 16).

Append-only, mode 0600, and a file of its own, so that it can be read and survives a lost map. Writing it never
fails the action that it tells of. It holds who did what to what, never a message's words.
"""

import json
import logging
import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard, cast

logger = logging.getLogger(__name__)
FILE_NAME = "operator-actions.jsonl"
LONGEST_LIST = 50


class OperatorLog:
    """The log of one store. Without a folder its newest thousand lines are kept in memory."""

    def __init__(self, folder: str | Path | None) -> None:
        self.path = None if folder is None else Path(folder) / FILE_NAME
        self._memory: deque[str] = deque(maxlen=1_000)

    def write(
        self, kind: str, at: float, *, agent: str | None = None, requester: Mapping[str, Any] | None = None,
        note: str | None = None, params: Any = None, result: Any = None, error: str | None = None,
    ) -> bool:
        """Append one action; False, with a log line, where that was not possible. Raises nothing.

        `at` is in Unix seconds; `requester` is {via, name?, id?}. Lists of more than 50 are cut and flagged.
        """
        fields: dict[str, Any] = {
            "agent": agent, "requester": requester, "note": note, "params": params, "result": result, "error": error,
        }
        try:
            entry = {"at": at, "kind": kind} | {k: capped(v) for k, v in fields.items() if v is not None}
            self._append(json.dumps(entry, default=str, separators=(",", ":")))
        except Exception:
            logger.exception("the operator log could not take an entry of kind %s", kind)
            return False
        return True

    def entries(self) -> Iterator[dict[str, Any]]:
        """The actions, oldest first. A line that a crash cut is passed over."""
        for line in self._lines():
            try:
                entry = json.loads(line)
            except ValueError:
                logger.warning("the operator log has a line that cannot be read")
                continue
            if isinstance(entry, dict):
                yield cast("dict[str, Any]", entry)

    def _lines(self) -> list[str]:
        if self.path is None:
            return list(self._memory)
        try:
            return self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return []

    def _append(self, line: str) -> None:
        if self.path is None:
            self._memory.append(line)
            return
        file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.fchmod(file, 0o600)
            size = os.fstat(file).st_size
            # A crash may have cut the last line; this one must not be glued to it.
            torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
            data = f"{chr(10) if torn else ''}{line}\n".encode()
            while data:
                data = data[os.write(file, data):]
        finally:
            os.close(file)


def capped(value: object) -> Any:
    """The value with every list cut to 50; the mapping that holds a cut list says `truncated`."""
    if _is_mapping(value):
        cut = any(_is_list(v) and len(v) > LONGEST_LIST for v in value.values())
        return {str(k): capped(v) for k, v in value.items()} | ({"truncated": True} if cut else {})
    if _is_list(value):
        return [capped(v) for v in value[:LONGEST_LIST]]
    return value


def _is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(value, Mapping)


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, list | tuple)
