"""The store as everybody sees it, and what both engines share: who is told what about a unit.

Units are applied whole, in the order given, one acknowledgement each. When a commit fails its units are tried
again one by one, so that only the guilty one is refused (design, "What lasts"). Acknowledgements are called by the
writer, in order, after the commit and outside of it. Knows bytes, never what they mean.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from ..messages.errors import StoreError
from .readers import Readers
from .snapshot import SetAside, SetAsideList, Snapshot, View
from .units import Done, Ops, Unit, Waiting, fault_of, waiting
from .writers import StoreClosed, Writer

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts of one open store. `used` and `map_size` are bytes (a store in memory has no map: 0)."""

    commits: int
    units: int
    refused: int
    waiting: int
    readers: int
    set_aside: int
    used: int
    map_size: int


class Store(Protocol):
    """Where everything lasting lives. All methods may be called from any thread."""

    refuse: Callable[[Unit], Exception | None] | None
    """Asked once per unit when it is committed; what it returns refuses the unit. For tests of faults."""

    @property
    def writer(self) -> Writer:
        """The writer it was given."""
        ...

    @property
    def set_aside(self) -> list[SetAside]:
        """The records that could not be read, oldest first."""
        ...

    def submit(self, unit: Unit, done: Done) -> None:
        """Hand in a unit; `done` is called once, with None or with why it was refused.

        An empty unit is a barrier: it is acknowledged in its order and changes nothing.
        """
        ...

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """One consistent reading of what is committed. Raises StoreClosed."""
        ...

    def statistics(self) -> Statistics:
        """Counts of this opening."""
        ...

    def close(self) -> None:
        """Commit what has gathered, then close. A second call does nothing."""
        ...

    def reopen(self, writer: Writer | None = None) -> "Store":
        """As after a crash: what is not committed is forgotten, and a new store has what is."""
        ...


class GroupedStore(ABC):
    """A store whose writer commits groups of units; an engine says how a group is applied and read."""

    def __init__(self, writer: Writer) -> None:
        self.refuse: Callable[[Unit], Exception | None] | None = None
        self._writer = writer
        self._aside = SetAsideList()
        self._gate = Readers()
        self._closed = False
        self._commits = self._units = self._refused = 0
        writer.start(self._commit)

    @property
    def writer(self) -> Writer:
        """See `Store`."""
        return self._writer

    @property
    def set_aside(self) -> list[SetAside]:
        """See `Store`."""
        return self._aside.all()

    def submit(self, unit: Unit, done: Done) -> None:
        """See `Store`."""
        if not self._writer.submit(waiting(unit, done)):
            _tell(done, StoreClosed())

    @contextmanager
    def snapshot(self) -> Generator[Snapshot]:
        """See `Store`."""
        with self._gate.reading():
            if self._closed:
                raise StoreClosed
            with self._view() as view:
                yield Snapshot(view, self._aside)

    def statistics(self) -> Statistics:
        """See `Store`."""
        used, map_size = (0, 0) if self._closed else self._space()
        return Statistics(
            self._commits, self._units, self._refused, self._writer.waiting(), self._gate.count(),
            len(self._aside.all()), used, map_size,
        )

    def close(self) -> None:
        """See `Store`. Raises StoreError inside a snapshot of the same thread, and changes nothing then."""
        self._end(forget=False)

    def _end(self, forget: bool) -> None:
        if self._gate.reads_here():
            raise StoreError("a store cannot be closed inside a snapshot; leave its `with` first")
        self._writer.close(forget)
        with self._gate.alone():
            if not self._closed:
                self._closed = True
                self._shut()

    @abstractmethod
    def _apply(self, units: Sequence[Ops]) -> None:
        """Apply all of these in one commit, or none. Raises what made it impossible."""

    @abstractmethod
    def _view(self) -> AbstractContextManager[View]: ...

    @abstractmethod
    def _space(self) -> tuple[int, int]: ...

    @abstractmethod
    def _shut(self) -> None: ...

    def _commit(self, batch: Sequence[Waiting]) -> None:
        faults = [self._fault(item.ops) for item in batch]
        sound = [item.ops for item, fault in zip(batch, faults, strict=True) if fault is None and item.ops]
        fault = self._tried(sound) if sound else None
        if fault is not None:
            # One of them cannot be applied: each by itself, so that only that one is refused.
            alone = len(sound) == 1
            faults = [
                f or (None if not item.ops else fault if alone else self._tried([item.ops]))
                for item, f in zip(batch, faults, strict=True)
            ]
        self._units += len(batch)
        self._refused += sum(fault is not None for fault in faults)
        for item, fault in zip(batch, faults, strict=True):
            _tell(item.done, fault)

    def _fault(self, ops: Ops) -> Exception | None:
        try:
            return fault_of(ops) or (self.refuse(ops) if self.refuse is not None else None)
        except Exception as exc:
            return exc

    def _tried(self, units: Sequence[Ops]) -> Exception | None:
        try:
            self._apply(units)
        except StoreError as exc:
            return exc
        except Exception as exc:
            logger.exception("a commit of %d units failed", len(units))
            return StoreError(f"the commit failed: {type(exc).__name__}: {exc}")
        self._commits += 1
        return None


def _tell(done: Done, fault: Exception | None) -> None:
    try:
        done(fault)
    except Exception:
        logger.exception("an acknowledgement raised; the unit is %s", "refused" if fault else "committed")
