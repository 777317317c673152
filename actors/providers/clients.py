"""SDK clients: imported when first needed, one for each event loop, closed with their loop.

A client's connections belong to one loop, and a provider may be used on several. Nobody tells an adapter that a loop
ends; an async generator is told (`shutdown_asyncgens`), so each client lives in one. Knows no SDK by name.
"""

import asyncio
import importlib
import os
from collections.abc import AsyncGenerator, Callable
from typing import Any

from ...messages.errors import ProviderError
from .failures import Secret

CONNECT = 10.0


def load(module: str) -> Any:
    """The SDK. Raises ProviderError, naming the extra to install, where it is missing. Takes seconds the first time."""
    try:
        return importlib.import_module(module)
    except ImportError as exc:
        raise ProviderError(f"this provider needs {module}: pip install 'manyminds[{module}]'") from exc


def key_of(given: str | None, variable: str, *, needed: bool, otherwise: str = "") -> Secret:
    """The host's key, else the environment's, else an empty one. Raises ProviderError where one is needed, and for one
    that no header can hold: an SDK would show it in its log.

    `otherwise`: what can be done without a key, for that error's text.
    """
    key = (given or os.environ.get(variable) or "").strip()
    if needed and not key:
        raise ProviderError(f"no key: set {variable} in the environment, or give api_key=...{otherwise}")
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ProviderError(f"the key ({variable}, or api_key=...) holds what no key does, as a space; copy it again")
    return Secret(key)


def key_of_client(client: Any, otherwise: Secret) -> Secret:
    """The key that a host gave its own client, which is to be shown as little as any; else the adapter's own."""
    key = getattr(client, "api_key", None)
    return Secret(key) if isinstance(key, str) else otherwise


def patience(sdk: Any, seconds: float) -> Any:
    """The SDK's timeout: so many seconds without a byte, and fewer for a connection, which no model thinks about."""
    return sdk.Timeout(seconds, connect=min(seconds, CONNECT))


class Clients:
    """The clients of one provider, by loop."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._living: dict[asyncio.AbstractEventLoop, tuple[Any, AsyncGenerator[Any, None]]] = {}

    async def get(self) -> Any:
        """The running loop's client."""
        loop = asyncio.get_running_loop()
        if loop not in self._living:
            life = self._life(loop)
            self._living[loop] = (await anext(life), life)
        return self._living[loop][0]

    async def close(self) -> None:
        """Close the running loop's client, if it has one."""
        living = self._living.get(asyncio.get_running_loop())
        if living is not None:
            await living[1].aclose()

    async def _life(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[Any, None]:
        client = self._make()
        try:
            yield client
        finally:
            self._living.pop(loop, None)
            await client.close()
