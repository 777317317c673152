"""What a turn tells its provider's gate: what it is about to use, and what an answer has said of the limits.

Functions of one agent's desk; they tell mail and keep nothing. A provider without limits hears nothing but Admit.
"""

from ..messages.address import Address
from ..messages.mail import Admit, Metered, provider_address
from ..messages.request import Done, Limits, Started, Usage
from .desk import Desk
from .providers.provider import Provider

NOTHING_YET = Usage()


def limits_of(provider: Provider) -> Limits | None:
    """The limits that the host set on its provider, if it is one that has such."""
    own = getattr(provider, "own_limits", None)
    return own if isinstance(own, Limits) else None


def ask(provider: Provider, agent: Address, key: int, last: Usage = NOTHING_YET) -> Admit:
    """The question for admission. The next request holds what the last one did and what was answered."""
    return Admit(agent, key, _counted(last), limits_of(provider))


def meter(desk: Desk, event: Started | Done, last: Usage) -> None:
    """Tell the gate what the answer's head said, and at the end what was used beyond the estimate."""
    provider = desk.spec.provider
    if isinstance(event, Started):
        mail = Metered(event.limits) if event.limits is not None else None
    else:
        mail = Metered(beyond=_counted(event.usage) - _counted(last)) if limits_of(provider) is not None else None
    if mail is not None:
        desk.system.tell(provider_address(provider.name), mail)


def _counted(usage: Usage) -> int:
    """What counts against a limit: a cache read does not (anthropic), and is the smaller part elsewhere."""
    return usage.fresh + usage.written + usage.output
