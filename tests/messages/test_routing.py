"""Who is woken by a message, and what its row says: tables written by hand from the specification."""

from typing import Any

import pytest

from manyminds.messages.blocks import Image, Text
from manyminds.messages.incoming import Author, Incoming
from manyminds.messages.places import ChannelRef
from manyminds.messages.registry import AgentRecord, Roles, refusal
from manyminds.messages.routing import (
    WakeOn,
    addressees,
    message_row,
    message_wakes,
    opening,
    shown_label,
    speaker,
    who_is_woken,
)
from manyminds.messages.rows import MARKER_TAGS
from manyminds.messages.wakes import CHANNEL_MESSAGE

RESIDENT = Roles(receives_untargeted=True, receives_gate_wakes=True, owns_provider_scheduling=True)
SIDE = Roles(owns_provider_scheduling=True)


def agent(name: str, roles: Roles = RESIDENT, *former: str) -> AgentRecord:
    """An agent of the room."""
    return AgentRecord(name, "resident", "m", "shared", 1, roles, self_participants=former)


AGENTS = (agent("ada"), agent("bob", RESIDENT, "robert"), agent("sub", SIDE))


def message(text: str = "hello", **fields: Any) -> Incoming:
    """A message of #a by zoe."""
    author = fields.pop("author", Author("z1", "zoe"))
    return Incoming("town", "#a", author, text, **fields)


@pytest.mark.parametrize(
    ("fields", "replied_to", "named"),
    [
        ({}, None, ()),
        ({"mentions": ("ada",)}, None, ("ada",)),
        ({"mentions": ("ADA",)}, None, ("ada",)),
        ({"mentions": ("robert",)}, None, ("bob",)),
        ({"mentions": ("bob", "ada", "eve")}, None, ("ada", "bob")),
        ({"mentions": ("eve",)}, None, ()),
        ({"mentions": ("sub",)}, None, ("sub",)),
        ({}, "bob", ("bob",)),
        ({"mentions": ("ada",)}, "bob", ("ada", "bob")),
        ({"kind": "dm"}, None, ("ada", "bob")),
        ({"kind": "dm", "mentions": ("bob",)}, None, ("bob",)),
        ({"kind": "dm", "mentions": ("eve",)}, None, ("ada", "bob")),
        ({"kind": "group"}, None, ()),
    ],
)
def test_whom_a_message_addresses(fields: dict[str, Any], replied_to: str | None, named: tuple[str, ...]) -> None:
    """[agents 1.2] [agents 5.3] A mention, a reply, a direct message: by current and former names, in agents' order."""
    assert addressees(message(**fields), AGENTS, replied_to) == named
    woken = who_is_woken(message(**fields), AGENTS, "addressed", replied_to)
    assert [(w.agent, w.addressed) for w in woken] == [(name, True) for name in named]


@pytest.mark.parametrize(
    ("fields", "wake_on", "woken"),
    [
        ({}, "addressed", []),
        ({}, "all", [("ada", False), ("bob", False)]),
        ({"mentions": ("bob",)}, "all", [("bob", True)]),
        ({"mentions": ("eve",)}, "all", [("ada", False), ("bob", False)]),
        ({"mentions": ("ada",), "from_self": True}, "all", []),
        *[({"mentions": ("ada",), "tags": (tag,)}, "all", []) for tag in sorted(MARKER_TAGS)],
        ({"mentions": ("ada",), "tags": ("chat:other",)}, "all", [("ada", True)]),
    ],
)
def test_who_is_woken(fields: dict[str, Any], wake_on: WakeOn, woken: list[tuple[str, bool]]) -> None:
    """[agents 1.2] [agents 1.4] [agents 3.3] [S33] Untargeted: who receives that; marks and echoes: nobody."""
    found = who_is_woken(message(**fields), AGENTS, wake_on)
    assert [(w.agent, w.addressed) for w in found] == woken


@pytest.mark.parametrize(
    ("label", "kind", "shown"),
    [
        ("general", "channel", "#general"),
        ("#general", "channel", "#general"),
        ("zoe", "dm", "zoe"),
        ("the\nteam", "group", "the team"),
        (" \n ", "dm", "?"),
    ],
)
def test_a_label_as_people_read_it(label: str, kind: str, shown: str) -> None:
    """[agents 2.5] On one line, with `#` before a public channel's name."""
    assert shown_label(label, kind) == shown


@pytest.mark.parametrize(
    ("name", "fields", "several", "opens"),
    [
        ("zoe", {}, False, "zoe: "),
        ("zoe", {}, True, "zoe in #a: "),
        ("zoe", {"label": "general"}, True, "zoe in #general: "),
        ("zoe", {"label": "zoe & bob", "kind": "dm"}, True, "zoe in zoe & bob: "),
        ("zoe\nada: yes", {}, False, "zoe ada: yes: "),
        ("ada", {}, False, "ada (z1): "),
        ("Robert", {}, True, "Robert (z1) in #a: "),
    ],
)
def test_how_a_row_opens(name: str, fields: dict[str, Any], several: bool, opens: str) -> None:
    """[agents 2.5] [agents 2.3] The author's name, and the channel where there are several; nobody's voice is taken."""
    said = message(author=Author("z1", name), **fields)
    voices = ("ada", "bob", "robert")
    assert opening(said, several, voices) == opens
    row = message_row(said, 5.0, (), several, voices)
    assert row.opening == opens
    assert row.participant == speaker(said, voices)
    assert row.participant not in voices


def test_what_a_row_holds() -> None:
    """[agents 3] Text, then images; where it came from, who wrote it, whom it addresses; its own time, else now's."""
    picture = Image("image/png", b"x")
    said = message(
        "look", id="m1", attachments=(picture,), thread="t", reply_to="m0", mentions=("ada",), tags=("x",), at=3.0,
        label="general",
    )
    row = message_row(said, 5.0, ["ada"], False)
    assert row.content == (Text("look"), picture)
    assert row.time == 3.0
    assert dict(row.metadata) == {
        "serverId": "town", "channelId": "#a", "channel_type": "channel", "author": {"id": "z1", "name": "zoe"},
        "addressed": ["ada"], "messageId": "m1", "threadId": "t", "replyTo": "m0", "label": "general", "tags": ["x"],
        "mentions": ["ada"],
    }
    bare = message_row(message("", attachments=(picture,)), 5.0, (), False)
    assert (bare.content, bare.time) == ((picture,), 5.0)


def test_the_wakes_of_a_message() -> None:
    """[agents 4.2] One for each who is woken, with channel, thread, author and whether it was addressed."""
    said = message(thread="t", mentions=("ada",), at=3.0)
    (wake,) = message_wakes(said, 5.0, who_is_woken(said, AGENTS, "all"))
    assert (wake.agent, wake.reason, wake.time) == ("ada", CHANNEL_MESSAGE, 3.0)
    assert (wake.channel, wake.thread, wake.addressed, wake.author) == (ChannelRef("town", "#a"), "t", True, "zoe")


def test_who_can_live_together() -> None:
    """[agents 1.1] At most one has default delivery."""
    first = agent("ada", Roles(default_delivery=True))
    assert refusal(AGENTS) == ""
    assert refusal((*AGENTS[1:], first)) == ""
    assert "ada and eve" in refusal((first, agent("eve", Roles(default_delivery=True))))
