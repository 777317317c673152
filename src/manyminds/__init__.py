"""manyminds: an actor runtime for chat bots that hold many minds.

The names a host needs; the rest is in `manyminds.actors`, `manyminds.messages` and `manyminds.storage`.
"""

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .actors.providers.scripted import Scripted as Scripted
    from .actors.runtime import Runtime as Runtime
    from .actors.runtime_async import AsyncRuntime as AsyncRuntime
    from .actors.spec import Resident as Resident
    from .actors.tools import tool as tool
    from .messages.errors import Error as Error
    from .messages.errors import InvalidMessage as InvalidMessage
    from .messages.errors import QueueFull as QueueFull
    from .messages.errors import RuntimeClosed as RuntimeClosed
    from .messages.incoming import Accepted as Accepted
    from .messages.incoming import Author as Author
    from .messages.incoming import Incoming as Incoming
    from .messages.posts import Delivered as Delivered
    from .messages.posts import NotSent as NotSent
    from .messages.posts import Post as Post
    from .messages.posts import Unknown as Unknown

# Where each name lives; it is imported when it is first asked for, so that `import manyminds` stays quick.
_HOMES = {
    "Scripted": "actors.providers.scripted", "Runtime": "actors.runtime", "AsyncRuntime": "actors.runtime_async",
    "Resident": "actors.spec", "tool": "actors.tools", "Error": "messages.errors",
    "InvalidMessage": "messages.errors", "QueueFull": "messages.errors", "RuntimeClosed": "messages.errors",
    "Accepted": "messages.incoming", "Author": "messages.incoming", "Incoming": "messages.incoming",
    "Delivered": "messages.posts", "NotSent": "messages.posts", "Post": "messages.posts",
    "Unknown": "messages.posts",
}
__all__ = [
    "Accepted", "AsyncRuntime", "Author", "Delivered", "Error", "Incoming", "InvalidMessage", "NotSent", "Post",
    "QueueFull", "Resident", "Runtime", "RuntimeClosed", "Scripted", "Unknown", "tool",
]
__version__ = "0.1.0"

logging.getLogger(__name__).addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'manyminds' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{home}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
