"""A real IRC server, and a host on it."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.actors.hosts.irc_running import Running, hosting, settings
from tests.irc_server import Ngircd, running


@pytest.fixture
def ircd(tmp_path: Path) -> Iterator[Ngircd]:
    """An ngircd on a free port of loopback."""
    with running(tmp_path) as server:
        yield server


@pytest.fixture
def start(ircd: Ngircd) -> Callable[..., contextlib.AbstractAsyncContextManager[Running]]:
    """start(residents, channels, **settings): a host on the test server."""

    def begin(
        residents: str, channels: str, *, ready: bool = True, **more: Any
    ) -> contextlib.AbstractAsyncContextManager[Running]:
        return hosting(settings(ircd.port, *channels.split(), **more), *residents.split(), ready=ready)

    return begin
