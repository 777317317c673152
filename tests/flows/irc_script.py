"""A model for `manyminds irc --script`: it quotes the numbers it was told in a channel and has not quoted yet.

Loaded from this file by the command under test, so it imports nothing of the tests.
"""

import re

from manyminds.actors.providers.scripted import Scripted
from manyminds.messages.blocks import text_of
from manyminds.messages.request import Request

SAID = re.compile(r"(\w+): number (\d+) of (#\w+)")


def provider() -> Scripted:
    """Streams in small deltas, so that a kill may fall into a stream."""
    return Scripted(otherwise=quote, chunk=4, gap=0.01)


def quote(request: Request) -> str:
    """What was told first and is not quoted names the channel of the turn (agents.md 19.8)."""
    texts = [(message.role, text_of(message.content)) for message in request.messages]
    quoted = {number for role, text in texts if role == "assistant" for number in re.findall(r"\d+", text)}
    told = [found for role, text in texts if role == "user" for found in SAID.findall(text)]
    due = [(number, channel) for who, number, channel in told if who == request.agent and number not in quoted]
    if not due:
        return "nothing new"
    return "quote " + " ".join(number for number, channel in due if channel == due[0][1])
