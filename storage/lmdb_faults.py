"""What goes wrong under LMDB, under names of ours: what it reports, and a damage that it would not survive.

Only decides what something is called; who is refused is the store's to say.
"""

import errno
import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import lmdb

from ..messages.errors import MapFull, StoreError, StoreReadOnly
from .folder import DATA_FILE, NotAStore

STEP = 1024**2
"""Bytes by which a map grows; a disk with less room than this is full."""


def refuse_cut(env: lmdb.Environment, folder: Path) -> None:
    """Raise NotAStore for a data file that lost its end: reading what is missing would end the process.

    A file may be shorter than the pages it counts, where the last ones were never used, so LMDB's verifier decides.
    """
    counted = (env.info()["last_pgno"] + 1) * env.stat()["psize"]
    if (folder / DATA_FILE).stat().st_size >= counted:
        return
    if find_spec("lmdb.verify") is None:
        return
    verify: Callable[[str], list[str]] = import_module("lmdb.verify").verify
    problems = verify(str(folder))
    if problems:
        raise NotAStore(f"{folder / DATA_FILE} is damaged, it lost its end ({problems[0]}); restore it from a copy")


def named(exc: lmdb.Error, folder: Path) -> StoreError:
    """LMDB's error under a name of ours."""
    if _says(exc, errno.ENOSPC, errno.EFBIG, errno.EDQUOT) or _cut(exc, folder):
        return MapFull(f"the disk of {folder} is full; nothing of the unit was written: make room and go on")
    if isinstance(exc, lmdb.ReadonlyError) or _says(exc, errno.EROFS, errno.EACCES, errno.EPERM):
        return StoreReadOnly(f"{folder} cannot be written ({exc}); give this user the right to write there")
    return StoreError(f"{folder}: {exc}; nothing of the unit was written. Check the disk, then open the store again")


def _says(exc: lmdb.Error, *codes: int) -> bool:
    # The C binding keeps no code: it is in the text only.
    return any(os.strerror(code) in str(exc) for code in codes)


def _cut(exc: lmdb.Error, folder: Path) -> bool:
    # LMDB reports a write that a full disk cut short as an input/output error.
    disk = os.statvfs(folder)
    return _says(exc, errno.EIO) and disk.f_bavail * disk.f_frsize < STEP
