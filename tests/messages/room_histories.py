"""Random histories of a room: residents in turns at once, people who talk in between, and what each agent sent.

A small model of the boundaries (design, "What lasts"; agents.md 4.4, 5.3): messages wait in an inbox, move into
the log where somebody stands at a boundary, and an agent hears what lies past its watermark. It compiles nothing
by itself but through the functions under test, and keeps for each agent the rows that its requests contain.
"""

from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from manyminds.messages.assembly import assemble, extend, prompt_stamp
from manyminds.messages.blocks import (
    Block,
    Image,
    RedactedThinking,
    ReplyBlock,
    SystemChange,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from manyminds.messages.heard import as_heard, is_turn_row
from manyminds.messages.request import Msg
from manyminds.messages.rows import Placed, Row
from manyminds.messages.views import resident_view


@dataclass
class Agent:
    """One resident: its voices, its turn, and the rows and messages of its latest request."""

    name: str
    voices: frozenset[str]
    changes: bool
    turn: int = 0
    alive: bool = False
    watermark: int = 0
    rows: list[Placed] = field(default_factory=list[Placed])
    request: tuple[Msg, ...] = ()
    answered: bool = True


class Room:
    """A log, an inbox, and residents."""

    def __init__(self, dice: Random, names: tuple[str, ...]) -> None:
        self.dice = dice
        self.log: list[Placed] = []
        self.inbox: list[Row] = []
        self.agents = [
            Agent(name, frozenset({name, f"former-{name}"}), dice.random() < 0.5) for name in names
        ]
        self.position = 0
        self.made = 0

    def store(self, row: Row) -> Placed:
        """Append a row. Positions have gaps: they count every write, not only rows."""
        self.position += self.dice.choice((1, 1, 1, 2, 4))
        placed = Placed(self.position, row)
        self.log.append(placed)
        return placed

    def fresh_id(self) -> str:
        self.made += 1
        return f"r{self.made}"

    def arrive(self) -> None:
        """Something is written to the room by somebody outside every turn."""
        self.inbox.append(self.outside_row())
        if not any(agent.alive for agent in self.agents):
            self.drain()

    def drain(self) -> None:
        """The inbox moves into the log, in order."""
        for row in self.inbox:
            self.store(row)
        self.inbox.clear()

    def outside_row(self) -> Row:
        dice = self.dice
        name = dice.choice(("ann", "ben"))
        opening = f"{name}: "
        text = Text(dice.choice(("hello", "  padded ", "two\nlines")))
        blank, image = Text(dice.choice(("", "  \n"))), Image("image/png", b"x")
        some = dice.choice(self.agents).name
        kinds: list[Row] = [
            Row("", name, (text,), opening=opening),
            Row("", name, (text,), opening=opening),
            Row("", name, (blank, image, text, text), opening=opening),
            Row("", name, (image,), opening=opening),
            Row("", name, (blank,), opening=opening),
            Row("", "user", (text,), {"system": True, "kind": "routing-notice"}),
            Row("", "user", (text,), {"kind": "injection", "agent": some}),
            Row("", name, (text,), {"tuneOut": {"epochId": "e"}}, opening=opening),
            Row("", "host", (SystemChange(system=("more",)),)),
            Row("", some, (SystemChange(removed=("look",)),), {"kind": "system-change", "agent": some}),
            Row("", some, (text,)),
            Row("", f"former-{some}", (text,)),
        ]
        return replace(dice.choice(kinds), id=self.fresh_id())

    def view(self, agent: Agent) -> list[Placed]:
        keep = resident_view(agent.voices)
        return [placed for placed in self.log if keep(placed.row)]

    def start(self, agent: Agent, window: int | None = None) -> None:
        """A turn begins: the inbox is drained, and the compile takes the log as it stands.

        `window`: only so many of the newest rows, in heard order.
        """
        self.drain()
        agent.alive, agent.turn, agent.watermark = True, agent.turn + 1, self.position
        rows = as_heard(self.view(agent), agent.voices)
        agent.rows = without_orphans(rows[-window:] if window else rows)
        agent.request = assemble(agent.rows, agent.voices, changes=agent.changes)

    def blocks(self, calls: int) -> tuple[ReplyBlock, ...]:
        dice = self.dice
        before: list[ReplyBlock] = [
            block for block in (
                Thinking("hm", "sig"), RedactedThinking("xx"), Text("I look"), Text(" \n"), Text("again"),
            ) if dice.random() < 0.5
        ]
        # Call ids repeat from round to round, as some providers' do.
        return (*before, *(ToolCall(f"c{number}", "look", "{}") for number in range(calls)))

    def round(self, agent: Agent) -> tuple[Msg, ...]:
        """A round ends in calls and its results are in: the boundary. The request that `extend` makes."""
        blocks = self.blocks(self.dice.randint(1, 3))
        results = tuple(
            ToolResult(block.id, self.dice.choice(((Text("seen"),), (Text(""), Image("image/png", b"y")), ())))
            for block in blocks if isinstance(block, ToolCall)
        )
        old = agent.watermark
        stamp = prompt_stamp(agent.request, agent.turn)
        self.own_row(agent, blocks, stamp)
        self.own_row(agent, results, {"results": True})
        self.drain()
        keep = resident_view(agent.voices)
        past = [placed for placed in self.log if placed.position > old and keep(placed.row)]
        handed = [placed for placed in past if not is_turn_row(placed.row, agent.voices)]
        agent.watermark = self.position
        agent.rows = as_heard([*agent.rows, *past], agent.voices)
        agent.request = extend(agent.request, blocks, results, handed, agent.voices, changes=agent.changes)
        return agent.request

    def own_row(self, agent: Agent, content: tuple[Block, ...], metadata: dict[str, Any]) -> None:
        self.store(Row(self.fresh_id(), agent.name, content, metadata, turn=agent.turn, heard=agent.watermark))

    def close(self, agent: Agent) -> None:
        """The turn ends, with words or without; a notice may follow. `answered`: the last request got an answer."""
        words = tuple(block for block in self.blocks(0) if isinstance(block, Text) and block.text.strip())
        agent.answered = bool(words)
        if words:
            self.own_row(agent, words, prompt_stamp(agent.request, agent.turn))
        agent.alive = False
        if self.dice.random() < 0.3:
            self.store(Row(self.fresh_id(), "user", (Text("[delivered] …"),), {"system": True}))
        if not any(other.alive for other in self.agents):
            self.drain()


def without_orphans(rows: list[Placed]) -> list[Placed]:
    """The rows without the results whose call stands before them (passthrough leaves those out)."""
    called: set[str] = set()
    kept: list[Placed] = []
    for placed in rows:
        content = placed.row.content
        if all(block.call_id in called for block in content if isinstance(block, ToolResult)):
            kept.append(placed)
            called.update(block.id for block in content if isinstance(block, ToolCall))
    return kept
