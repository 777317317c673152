"""What stands below a message from a closed channel."""

import pytest

from manyminds.messages.blocks import Image, Text
from manyminds.messages.invitations import invited
from manyminds.messages.places import ChannelRef
from manyminds.messages.prose.resolve import ChannelEntry, Resolved, resolve
from manyminds.messages.registry import ChannelRecord
from manyminds.messages.rows import Row

AT = ChannelRef("irc", "C1")


def entry(label: str, at: ChannelRef = AT) -> ChannelEntry:
    """A channel as it is resolved."""
    return ChannelEntry(at.channel, at.server, label)


@pytest.mark.parametrize(
    ("label", "others", "target"),
    [
        ("#attic", [], "#attic"), ("the attic", [], "C1"), ("attic (old)", [], "attic"), ("skip_reply", [], "C1"),
        ("#attic", [entry("#attic", ChannelRef("irc", "C2"))], "C1"),
        ("#attic", [entry("attic", ChannelRef("web", "C1"))], None),
    ],
)
def test_the_target_resolves_back(label: str, others: list[ChannelEntry], target: str | None) -> None:
    """[prose 12] One token without whitespace that names this very channel, or none is quoted."""
    mine = entry(label)
    record = ChannelRecord(AT, label=label, desired="closed")
    row = invited(Row("m1", "zoe", (Text("hi"),)), record, mine, [mine, *others])
    said = row.content[-1]
    assert isinstance(said, Text)
    assert row.metadata["channelInvitation"].get("target") == target
    assert (f"name {target} as" in said.text) is (target is not None)
    assert all(word in said.text for word in ("channel_open", "channel_publish", "'C1'", "'irc'", "do nothing"))
    if target is not None:
        assert target.split() == [target]
        assert resolve(target, [mine, *others]) == Resolved("C1", "irc")


def test_the_speakers_own_words_stay_apart() -> None:
    """[agents 2.5, 10.8] The invitation is a block of its own; an opening never comes to stand before it."""
    record, mine = ChannelRecord(AT, label="#attic", desired="closed"), entry("#attic")
    words = invited(Row("m1", "zoe", (Text("hi"),), opening="zoe: "), record, mine, [mine])
    assert (words.content[0], words.opening, len(words.content)) == (Text("hi"), "zoe: ", 2)
    picture = Image("image/png", b"x")
    only = invited(Row("m1", "zoe", (picture,), opening="zoe: "), record, mine, [mine])
    assert (only.content[:2], only.opening, len(only.content)) == ((Text("zoe:"), picture), "", 3)
