"""Where change messages may stand in a request (providers.md 1.4).

A change is accepted only right after a user message, and only as the last message or before an assistant one.
Changes that stand elsewhere move on to the next such place, in order, never merged; a request in which none is
left is refused before it is sent. Once an assistant turn follows a placed change, its place never moves.
"""

from collections.abc import Sequence

from .request import Msg, Role


def place(roles: Sequence[Role]) -> tuple[int, ...] | None:
    """Indices of the messages in the order sent; None where a change has no place and the request is refused."""
    sent: list[int] = []
    held: list[int] = []
    after_user = False
    for index, role in enumerate(roles):
        if role == "change":
            held.append(index)
            continue
        if role == "assistant" and after_user:
            sent += held
            held = []
        sent.append(index)
        after_user = role == "user"
    if held and not after_user:
        return None
    return (*sent, *held)


def place_messages(messages: Sequence[Msg]) -> tuple[Msg, ...] | None:
    """The messages in the order sent, or None where the request is refused (see `place`)."""
    order = place([message.role for message in messages])
    return None if order is None else tuple(messages[index] for index in order)
