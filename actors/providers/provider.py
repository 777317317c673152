"""What a model adapter is: one round of one request, and nothing else (providers.md 2.2).

Owns the `Provider` protocol, the wrapper to build on, and the one place that asks an adapter whether it
can carry a request. The tool loop, retries and the fail-safe are the runtime's. An adapter never sees
rows, rooms or branches, and what does not say that it can answer is never asked to.
"""

from abc import abstractmethod
from collections.abc import AsyncIterator, Iterable
from typing import Protocol, runtime_checkable

from ...messages.blocks import SystemChange
from ...messages.errors import ProviderError
from ...messages.request import Capabilities, ErrorKind, ErrorRecord, Event, Limits, Request


class RefusedBeforeSending(ProviderError):
    """A request that this model on this adapter cannot carry; nothing was sent.

    `error`: the record, with `before_send` set.
    """

    def __init__(self, error: ErrorRecord) -> None:
        super().__init__(error.text)
        self.error = error


@runtime_checkable
class Provider(Protocol):
    """A model adapter. Derive from it, or have the same methods.

    An adapter that derives from it and overrides nothing but `stream` can do nothing: `check` refuses
    every request, since `capabilities` says so (providers.md 2.2). It may have `own_limits`, a `Limits`: what the
    host lets all agents of this provider ask for (agents.md 6.1).
    """

    name: str

    def capabilities(self, model: str) -> Capabilities:
        """What `model` can do on this adapter. The default: nothing."""
        return Capabilities()

    def check(self, request: Request) -> None:
        """Raise RefusedBeforeSending if `request` cannot be carried. Pure: no I/O, no state.

        The default compares the request with `capabilities(request.model)`.
        """
        refuse_beyond(self.name, self.capabilities(request.model), request)

    @abstractmethod
    def stream(self, request: Request) -> AsyncIterator[Event]:
        """One provider round: its events, exactly one of them terminal (`Done` or `RoundFailed`), last.

        A provider's failure is a `RoundFailed`, not an exception. Cancellation goes through.
        """
        ...

    async def count_tokens(self, request: Request) -> int | None:
        """The input tokens of `request`, or None where the provider cannot tell (the default)."""
        return None


class WrappingProvider(Provider):
    """A provider around another one; override what should differ, all else is the inner one's.

    Forgetting `capabilities` here is harmless: the wrapper claims what the inner provider claims, and the
    inner one checks each request.
    """

    def __init__(self, inner: Provider, name: str = "") -> None:
        self.inner = inner
        self.name = name or inner.name
        self.own_limits: Limits | None = getattr(inner, "own_limits", None)

    def capabilities(self, model: str) -> Capabilities:
        """What the inner provider can do."""
        return self.inner.capabilities(model)

    def check(self, request: Request) -> None:
        """Refuse what this wrapper's own capabilities exclude, then what the inner provider refuses."""
        refuse_beyond(self.name, self.capabilities(request.model), request)
        self.inner.check(request)

    def stream(self, request: Request) -> AsyncIterator[Event]:
        """The inner provider's round."""
        return self.inner.stream(request)

    async def count_tokens(self, request: Request) -> int | None:
        """The inner provider's count."""
        return await self.inner.count_tokens(request)


def refusal(provider: Provider, request: Request) -> ErrorRecord | None:
    """Why `request` must not be sent to `provider`, or None. Never raises.

    It asks `capabilities` first, also of an adapter whose own `check` does not, so that a forgotten
    `capabilities` refuses rather than sends (providers.md 2.2).
    """
    try:
        refuse_beyond(provider.name, provider.capabilities(request.model), request)
        provider.check(request)
    except RefusedBeforeSending as refused:
        return refused.error
    except Exception as exc:
        text = f"the adapter's check of the request failed ({type(exc).__name__}: {exc}); nothing was sent"
        return ErrorRecord("unsupported", text, before_send=True)
    return None


def refuse_beyond(name: str, able: Capabilities, request: Request) -> None:
    """Raise RefusedBeforeSending if `request` needs more than `able` (declarations E3, asked per kind)."""
    if not able.answers:
        raise _refused(
            "unsupported",
            f"provider {name!r} says that it cannot answer for model {request.model!r}: "
            "name a model it serves, or let the adapter's capabilities() return Capabilities(answers=True, ...)",
        )
    missing = _cannot_carry(able, request)
    if missing:
        raise _refused(
            "system_change_refused",
            f"model {request.model!r} on provider {name!r} cannot carry {' and '.join(missing)} "
            "in mid-conversation; move the head instead",
        )


def _refused(kind: ErrorKind, text: str) -> RefusedBeforeSending:
    return RefusedBeforeSending(ErrorRecord(kind, text, before_send=True))


def _cannot_carry(able: Capabilities, request: Request) -> list[str]:
    """The kinds of change in `request` that are beyond `able`, in a fixed order."""
    standing = {tool.name for tool in request.tools}
    needed: set[str] = set()
    for change in _changes(request):
        needed |= {"a removed tool"} if change.removed else set()
        standing -= set(change.removed)
        for tool in change.defined:
            needed.add("a redefined tool" if tool.name in standing else "an added tool")
            standing.add(tool.name)
        needed |= {"system text"} if change.system else set()
    carried = {
        "an added tool": able.tool_add == "definition",
        "a redefined tool": able.tool_add == "definition" and able.tool_redefine,
        "a removed tool": able.tool_remove,
        "system text": able.system_text,
    }
    return [kind for kind, ok in carried.items() if kind in needed and not ok]


def _changes(request: Request) -> Iterable[SystemChange]:
    return (
        block
        for message in request.messages
        if message.role == "change"
        for block in message.content
        if isinstance(block, SystemChange)
    )
