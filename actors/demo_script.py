"""What the two residents of the demo say and the tools they have: a scripted model, no key and no network.

Questions carry a number in brackets and answers repeat it, so that anybody can count. The script reads nothing
but the request it is given, as a model does, so what it answers after a restart comes from what was stored.
"""

import asyncio
import json
import re
import threading
from collections.abc import Callable
from pathlib import Path

from ..messages.blocks import text_of
from ..messages.request import Request
from .providers.scripted import Answer, Scripted, call, newest_results
from .spec import Resident
from .tools import ToolContext

FIRST_CHANNEL = "#garden"
COUNT_SECONDS = 0.8

_WARMTH = {"greenhouse": "21.5 °C", "cellar": "9 °C"}
_PLANTS = {"tomatoes": 48, "pumpkins": 12}
_ASKED = re.compile(r"^[^:]+?(?: in (?P<where>\S+))?: (?P<to>\w+): (?P<what>.*) \[(?P<number>\d+)\]$", re.DOTALL)
_ADA_SAID = re.compile(r"^ada(?: in \S+)?: (.*)")
_ANSWERED = re.compile(r"\[(\d+)\]")


def provider() -> Scripted:
    """The model of both residents."""
    return Scripted(chunk=12, gap=0.005).always(_ada, agent="ada").always(_bert, agent="bert")


def residents(journal: Path, enough: threading.Event) -> list[Resident]:
    """Ada, who has tools, and bert. Every run of a tool adds a line to the journal; counting goes on until `enough`."""
    return [
        Resident("ada", "scripted", "You look after the garden and answer briefly.", tools=_tools(journal, enough)),
        Resident("bert", "scripted", "You look after the kitchen and answer briefly."),
    ]


def _tools(journal: Path, enough: threading.Event) -> list[Callable[..., object]]:
    def note(context: ToolContext, what: str) -> None:
        with journal.open("a") as file:
            file.write(json.dumps({"call": context.call_id, "what": what}) + "\n")

    def thermometer(place: str, context: ToolContext) -> str:
        """Read the thermometer.

        Args:
            place: Where it hangs, such as greenhouse or cellar.
        """
        note(context, "thermometer")
        return _WARMTH.get(place, "there is no thermometer")

    async def count(plants: str, context: ToolContext) -> str:
        """Count plants, which takes a while.

        Args:
            plants: What to count.
        """
        note(context, "count")
        await asyncio.sleep(COUNT_SECONDS)
        while not enough.is_set():
            await asyncio.sleep(0.02)
        enough.clear()
        note(context, "counted")
        return str(_PLANTS.get(plants, 0))

    return [thermometer, count]


def _open_questions(request: Request) -> list[tuple[int, str]]:
    """Questions to this agent that it has not answered, in order, those of the channel that this turn is about.

    The oldest one names the channel, as it does for the runtime (agents.md 19.8).
    """
    answered: set[str] = set()
    asked: list[tuple[str, str, str]] = []
    for message in request.messages:
        text = text_of(message.content)
        if message.role == "assistant":
            answered |= set(_ANSWERED.findall(text))
        elif (found := _ASKED.match(text)) and found["to"] == request.agent:
            asked.append((found["where"] or FIRST_CHANNEL, found["number"], found["what"]))
    due = [question for question in asked if question[1] not in answered]
    return [(int(number), what) for where, number, what in due if where == due[0][0]]


def _ada(request: Request) -> Answer:
    questions = _open_questions(request)
    results = [text_of(result.content) for result in newest_results(request)]
    known = [result for result in results if result.replace(".", "")[:1].isdigit()]
    if not known:
        for _, what in questions:
            if "warm" in what:
                return call("thermometer", place=what.split()[-1].strip("?"))
            if what.startswith("count"):
                again = "The count was cut short; I begin again." if results else ""
                return [*([again] if again else []), call("count", plants=what.split()[-1])]
    return "\n".join(f"[{number}] {_answer(what, known)}" for number, what in questions) or "Nothing is left to answer."


def _answer(what: str, known: list[str]) -> str:
    if "warm" in what or what.startswith("count"):
        return f"{what.rstrip('?').split()[-1]}: {known[0]}"
    return f"yes, {what.rstrip('?').split()[-1]} too."


def _bert(request: Request) -> Answer:
    found = (_ADA_SAID.match(text_of(message.content)) for message in request.messages)
    said = [match[1] for match in found if match]
    last = _ANSWERED.sub("", said[-1]).strip() if said else "nothing yet"
    return "\n".join(f"[{number}] ada said: {last}" for number, _ in _open_questions(request))
