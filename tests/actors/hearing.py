"""What a test asks of a log: which turn heard a message first, and how a turn's rows stand."""

from manyminds.messages.blocks import text_of
from manyminds.messages.request import Request
from manyminds.messages.rows import Row
from tests.actors.simulated import SimulatedHouse, request_texts


def first_heard(house: SimulatedHouse, agent: str, author: str = "zoe") -> dict[str, int]:
    """The words of each message of `author` that turns of the agent heard, with the first such turn."""
    rows = house.rows()
    heard = [(row.row.heard, row.row.turn) for row in rows if row.row.participant == agent and row.row.turn]
    found: dict[str, int] = {}
    for placed in rows:
        numbers = [turn for at, turn in heard if at is not None and turn and at >= placed.position]
        if placed.row.participant == author and numbers:
            found[text_of(placed.row.content)] = min(numbers)
    return found


def turn_numbers(house: SimulatedHouse, agent: str) -> list[int]:
    """The turns of an agent that left rows, in order."""
    return list(dict.fromkeys(r.turn for r in house.log() if r.participant == agent and r.turn is not None))


def shape(rows: list[Row]) -> list[str]:
    """Each row in a word: its words, or `calls` or `results`, or the kind of notice."""
    words: list[str] = []
    for row in rows:
        if row.metadata.get("system") is True:
            words.append(f"[{row.metadata['kind']}]")
        elif row.metadata.get("results"):
            words.append("results")
        else:
            words.append(text_of(row.content) or "calls")
    return words


def asked(request: Request, author: str = "zoe") -> str:
    """The newest words of `author` in a request."""
    return next((text for text in reversed(request_texts(request)) if text.startswith(f"{author}")), "")


def rounds_since(request: Request, author: str = "zoe") -> int:
    """How many rounds of its own the agent has had since the newest words of `author`."""
    count = 0
    for message, text in zip(request.messages, request_texts(request), strict=True):
        count = 0 if text.startswith(author) else count + (message.role == "assistant")
    return count


def holds(request: Request, words: str) -> bool:
    """Whether a request contains these words."""
    return any(words in text for text in request_texts(request))


def ended(house: SimulatedHouse, agent: str = "ada") -> list[tuple[str, object]]:
    """Every terminal that was said of an agent's turns: (name, turn)."""
    names = ("inference:completed", "inference:turn_ended", "inference:aborted", "inference:exhausted")
    return [
        (trace.name, trace.fields["turn"]) for trace in house.traces
        if trace.name in names and trace.fields["agentName"] == agent
    ]


def run_to_tool(house: SimulatedHouse) -> bool:
    """Until a tool runs; False where the turn ended without one, since a fault interrupted its call before it began."""
    tools, ends = len(house.traced("tool:started")), len(ended(house))
    if tools > ends:
        return True  # it runs already
    house.run(until=lambda: len(house.traced("tool:started")) > tools or len(ended(house)) > ends)
    return len(house.traced("tool:started")) > tools


def gave_up(house: SimulatedHouse) -> bool:
    """Whether faults cut a turn short three times, so that it was set aside as it must be (agents.md 19.15)."""
    return any(trace.name == "inference:exhausted" for trace in house.traces)
