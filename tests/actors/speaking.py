"""A platform that is slow, fails or hangs as a test says, and a house that speaks to it."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from manyminds.actors.providers.scripted import Scripted, call
from manyminds.actors.spec import Resident
from manyminds.messages.posts import Post
from manyminds.messages.registry import ProseMode
from tests.actors.simulated import Platform, SimulatedHouse


class Slow(Platform):
    """A platform whose answers take as long as a test says, or fail as it says; every call is noted when it comes.

    `does`: text -> seconds, an exception, a value to return, or "lost" for one that is stored and then raises; a pair
    of seconds and such; a list of all these for one attempt after the other.
    """

    def __init__(self, does: Mapping[str, Any] | None = None, keeps: bool = False) -> None:
        super().__init__()
        self.does: dict[str, Any] = dict(does or {})
        self.calls: list[Post] = []
        self.keys: dict[str, str] = {}
        self.keeps = keeps

    async def __call__(self, post: Post) -> Any:
        """The publisher."""
        self.calls.append(post)
        does: Any = self.does.get(post.text, 0.0)
        script, pause = cast("list[Any]", does), cast("tuple[float, Any]", does)
        if type(does) is list:
            does = script.pop(0) if script else 0.0
            pause = cast("tuple[float, Any]", does)
        if type(does) is tuple:
            await asyncio.sleep(pause[0])
            does = pause[1]
        if isinstance(does, float):
            await asyncio.sleep(does)
            return self._stored(post)
        if does == "lost":
            self._stored(post)
            raise ConnectionError("the line went dead")
        if isinstance(does, Exception):
            raise does
        return does

    def _stored(self, post: Post) -> str:
        if not self.keeps or post.key not in self.keys:
            self.posts.append(post)
            self.keys[post.key] = f"p{len(self.posts)}"
        return self.keys[post.key]

    def called(self, channel: str | None = None) -> list[str]:
        """The texts of all attempts, in the order in which they were made."""
        return [post.text for post in self.calls if channel in (None, post.channel)]


class Shown:
    """A surface that shows what is being written."""

    def __init__(self) -> None:
        self.chunks: list[tuple[str, str]] = []
        self.ends: list[tuple[str, str]] = []

    def chunk(self, _server: str, channel: str, _thread: str | None, _stream: str, _index: int, text: str) -> None:
        """More of it."""
        self.chunks.append((channel, text))

    def complete(self, _server: str, channel: str, _thread: str | None, _stream: str, text: str) -> None:
        """The whole."""
        self.ends.append((channel, text))


def town(
    seed: int, model: Scripted, platform: Platform, *names: str, prose: ProseMode = "locus",
    tools: Sequence[Callable[..., Any]] = (), **options: Any,
) -> SimulatedHouse:
    """A house of these residents in which #a and #b are known."""
    residents = [Resident(name, "m", prose=prose, tools=tools) for name in names or ("ada",)]
    house = SimulatedHouse(seed, residents, model, platform=platform, **options)
    for channel in ("#a", "#b"):
        house.insist(house.message("hello", channel))
    return house


def send(channel: str, text: str) -> Any:
    """An explicit send."""
    return call("channel_publish", channelId=channel, content=text)


def ask(house: SimulatedHouse, channel: str = "#a", to: str = "ada", text: str = "hm?") -> None:
    """A message that wakes."""
    house.insist(house.message(text, channel, to=to))


def states(house: SimulatedHouse, turn: int = 1, agent: str = "ada") -> list[str]:
    """The states of a turn's posts, part by part."""
    return [entry.state for entry in house.outbox(agent, turn)]
