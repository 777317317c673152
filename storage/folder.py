"""The store's folder: made, checked and locked before anything is opened in it.

One opener at a time, in this process or any other: a lock file holds the owner's process id, and the kernel
lets go of it whatever ends that process. A folder of another program is left as it is. POSIX only.
"""

import contextlib
import errno
import fcntl
import os
from pathlib import Path

from ..messages.errors import StoreError, StoreInUse, StoreReadOnly

LOCK_FILE = "manyminds.lock"
DATA_FILE = "data.mdb"
HERE = "in this process"
OURS = frozenset({LOCK_FILE, DATA_FILE, "lock.mdb"})
BESIDE = (".jsonl",)
"""Append-only files beside the environment survive a lost one (design, "What lasts")."""


class NotAStore(StoreError):
    """The path is something else than a store of this version; nothing of it was changed."""


class FolderLock:
    """The right to open a folder, from `take` to `release`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = -1

    def take(self) -> None:
        """Make the folder if it is missing, and lock it.

        Raises StoreInUse, naming the process that has it; StoreReadOnly; NotAStore for a file or for a folder
        that holds other things and no store.
        """
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._refuse_strangers()
            file = os.open(self.folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as exc:
            raise _named(exc, self.folder) from exc
        try:
            self._lock(file)
        except BaseException:
            os.close(file)
            raise
        self._file = file

    def release(self) -> None:
        """Let the next opener in. The lock file stays, so that nobody locks a file that is being deleted."""
        if self._file >= 0:
            # Unlocked by hand: a forked child may still hold the same open file.
            fcntl.flock(self._file, fcntl.LOCK_UN)
            os.close(self._file)
            self._file = -1

    def _lock(self, file: int) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            if exc.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise StoreError(f"{self.folder} cannot be locked ({exc.strerror}); use a local disk") from exc
            owner = _owner(file)
            other = "stop that process, or name another folder"
            instead = "share that runtime, or close it" if owner == HERE else other
            raise StoreInUse(f"the store {self.folder} is open already {owner}; {instead}") from exc
        os.ftruncate(file, 0)
        os.pwrite(file, f"{os.getpid()}\n".encode(), 0)

    def _refuse_strangers(self) -> None:
        if (self.folder / DATA_FILE).exists():
            return
        strange = sorted(p.name for p in self.folder.iterdir() if p.name not in OURS and p.suffix not in BESIDE)
        if strange:
            raise NotAStore(
                f"{self.folder} is a folder of something else (it holds {strange[0]!r}); name a new or empty folder"
            )


def _owner(file: int) -> str:
    with contextlib.suppress(OSError, ValueError):
        pid = int(os.pread(file, 32, 0))
        return HERE if pid == os.getpid() else f"in process {pid}"
    return "in another process"


def _named(exc: OSError, folder: Path) -> StoreError:
    if exc.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreReadOnly(f"{folder} cannot be written ({exc.strerror}); give this user the right to write there")
    if exc.errno in (errno.EEXIST, errno.ENOTDIR):
        return NotAStore(f"{folder} is a file, or lies in one; a store is a folder: name another")
    return StoreError(f"{folder} cannot be opened: {exc.strerror}")
