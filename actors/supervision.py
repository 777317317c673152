"""Supervision: when an actor that raised is built anew, and when it is given up.

Pure policy and the words of the log: tenacity's objects decide every delay and the end (design,
"Dependencies"); the waiting itself is a timer of the system. Starts nothing.
"""

import logging
from typing import Any

from tenacity import RetryCallState, Retrying, stop_after_attempt, wait_chain, wait_exponential, wait_none

from ..messages.address import Address
from ..messages.incoming import Incoming
from ..messages.rows import Row
from ..messages.turns import Turn

_log = logging.getLogger("manyminds.supervision")
MOST_REBUILDS = 10
_WAIT = wait_chain(wait_none(), wait_exponential(multiplier=0.05, max=30))
_STOP = stop_after_attempt(MOST_REBUILDS + 1)
_NAMED = ("agent", "turn", "room", "id", "number")


def rebuild_delay(failures: int) -> float | None:
    """Seconds before the rebuild after the n-th failure in a row; None when it is given up.

    0, then 0.1 s doubling to 30 s, at most ten in a row without a handled mail between.
    """
    state = RetryCallState(Retrying(), None, (), {})
    state.attempt_number = failures
    return None if _STOP(state) else float(_WAIT(state))


def described(error: BaseException) -> str:
    """The error's type and text; an error whose text cannot be made is described all the same."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return f"{type(error).__name__}, whose text cannot be made"


def named_fields(mail: Any) -> dict[str, Any]:
    """What the mail says about agent, turn, room and message, for the log (S12)."""
    found = {name: getattr(mail, name, None) for name in _NAMED}
    turn, row, message = (getattr(mail, name, None) for name in ("turn", "row", "message"))
    if isinstance(turn, Turn):
        found |= {"agent": turn.agent, "turn": turn.number, "room": turn.room}
    if isinstance(row, Row):
        found |= {"channel": row.metadata.get("channelId"), "message": row.metadata.get("messageId") or row.id}
    if isinstance(message, Incoming):
        found |= {"channel": message.channel, "message": message.id}
    return {name: value for name, value in found.items() if isinstance(value, (str, int))}


def log_failure(address: Address, mail: Any, error: BaseException, delay: float | None) -> None:
    """One error line: address, mail type, and agent, turn, room and message where the mail names them."""
    fields = named_fields(mail)
    what = "its start" if mail is None else type(mail).__name__
    said = "".join(f" {name}={value!r}" for name, value in fields.items())
    end = "it is ended" if delay is None else f"it is built anew in {delay:g} s"
    _log.error(
        "%s raised on %s%s; %s", address, what, said, end, exc_info=(type(error), error, error.__traceback__),
        extra={"address": str(address), "mail": what, "fields": fields},
    )
