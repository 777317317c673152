"""The real SDK pointed at a stand-in on a loopback socket.

Owns: the client as every test wants it (no retries of its own, no credential read from
the environment).
"""

from contextlib import AbstractAsyncContextManager
from typing import Any

import anthropic

from tests.messages_api.replies import Answer, Queue, Script
from tests.messages_api.server import MessagesServer
from tests.messages_api.service import Service
from tests.messages_api_tests.asking import Clock, models


def serving(*answers: Answer, script: Script | None = None, clock: Clock | None = None) -> MessagesServer:
    """A running stand-in that gives these answers in turn."""
    return MessagesServer(Service(script or Queue(answers), models(), clock or Clock()))


def client(url: str, timeout: float = 5, retries: int = 0) -> AbstractAsyncContextManager[Any]:
    """A client of it; untyped, because these tests send what its types would not let through. `timeout` in seconds."""
    return anthropic.AsyncAnthropic(api_key="test", base_url=url, max_retries=retries, timeout=timeout)
