"""What the tests of tools share: hints of every kind, and a tool that gives back what it was given."""

import dataclasses
import enum
import json
from typing import Annotated, Any, Generic, NamedTuple, NewType, NotRequired, TypedDict, TypeVar

import pytest

from manyminds.actors.tools import BadCall, Tool, ToolContext
from manyminds.messages.places import ChannelRef

CONTEXT = ToolContext("ada", 7, "c1", ChannelRef("irc", "#den"))
UserId = NewType("UserId", str)
T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Odd(enum.Enum):
    PAIR = (1, 2)


@dataclasses.dataclass(frozen=True)
class Spot:
    """A spot on the map.

    Attributes:
        x: steps to the east
    """

    x: int
    y: float = 0.0
    tags: list[str] = dataclasses.field(default_factory=list[str])

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x is below 0")


@dataclasses.dataclass
class Tree:
    name: str
    below: "list[Tree]"


@dataclasses.dataclass
class Lost:
    where: "Nowhere"  # type: ignore[name-defined]  # noqa: F821  # pyright: ignore


class Query(TypedDict):
    words: str
    limit: NotRequired[Annotated[int, "at most so many"]]


class Pair(NamedTuple):
    a: int


class Box(Generic[T]):
    pass


def taking(hint: Any) -> Tool:
    """A tool with one parameter `it` of this hint, which gives it back."""

    def give_back(it: Any) -> Any:
        return it

    give_back.__annotations__ = {"it": hint}
    return Tool.of(give_back)


def schema(made: Tool) -> dict[str, Any]:
    """The schema as a value."""
    read: dict[str, Any] = json.loads(made.definition.schema)
    return read


def call(made: Tool, arguments: str) -> Any:
    """What the function gives for a call."""
    return made.invoke(made.parse(arguments), CONTEXT)


def complaint(made: Tool, arguments: str) -> str:
    """What a bad call is told."""
    with pytest.raises(BadCall) as bad:
        made.parse(arguments)
    return str(bad.value)


def roll(sides: int, count: int = 1) -> list[int]:
    """Roll dice.

    Each die is fair.

    Args:
        sides: how many sides
            a die has
        count (int): how many dice

    Returns:
        What was rolled.
    """
    return [sides] * count
