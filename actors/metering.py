"""What an answer tells its provider's gate: what its head said of the limits, and what was used beyond the estimate.

A function of one agent's desk; it tells mail and keeps nothing. A provider without limits hears nothing of it.
"""

from ..messages.mail import Metered, provider_address
from ..messages.request import Done, RoundFailed, Started, Usage
from .desk import Desk
from .gate_pass import counted, limits_of


def meter(desk: Desk, event: Started | Done | RoundFailed, last: Usage) -> None:
    """Tell the gate what the answer's head said, and at the end what was used beyond the estimate."""
    provider = desk.spec.provider
    if isinstance(event, Done):
        mail = Metered(beyond=counted(event.usage) - counted(last)) if limits_of(provider) is not None else None
    else:
        mail = Metered(event.limits) if event.limits is not None else None
    if mail is not None:
        desk.system.tell(provider_address(provider.name), mail)
