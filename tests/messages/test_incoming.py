"""What a host hands in."""

import dataclasses
from typing import Any

import pytest

from manyminds.messages.blocks import Image, Text
from manyminds.messages.errors import Error, InvalidMessage
from manyminds.messages.incoming import Author, Incoming, check_incoming
from manyminds.messages.places import ChannelRef

ANN = Author("u1", "Ann")
GOOD = Incoming("irc", "#tea", ANN, "hi")
PIC = Image("image/png", b"123")


def changed(**fields: Any) -> Incoming:
    """A good message with some fields changed, of any type."""
    return dataclasses.replace(GOOD, **fields)


WRONG: list[tuple[str, Any, str]] = [
    ("not an Incoming", {"text": "hi"}, "takes an Incoming, not dict"),
    ("no server", changed(server=""), r"Incoming\.server must not be empty"),
    ("a blank channel", changed(channel=" "), r"Incoming\.channel must not be empty"),
    ("a channel of another type", changed(channel=7), r"Incoming\.channel must be a str, not int"),
    ("an author of another type", changed(author="Ann"), r"must be an Author\(id, name\)"),
    ("an author without id", changed(author=Author("", "Ann")), r"Incoming\.author\.id must not be empty"),
    ("an author without name", changed(author=Author("u", " ")), r"Incoming\.author\.name must not be empty"),
    ("text of another type", changed(text=b"hi"), r"Incoming\.text must be a str, not bytes"),
    ("no text and no attachment", changed(text=" \n"), r"Incoming\.text must not be empty where"),
    ("an empty id", changed(id=""), r"Incoming\.id must not be empty"),
    ("an id of another type", changed(id=7), r"Incoming\.id must be a str, not int"),
    ("a label of another type", changed(label=7), r"Incoming\.label"),
    ("an empty thread", changed(thread=""), r"Incoming\.thread"),
    ("a reply to nothing", changed(reply_to=""), r"Incoming\.reply_to"),
    ("an unknown kind", changed(kind="room"), "must be one of channel, dm, group"),
    ("mentions as a str", changed(mentions="tea"), r"Incoming\.mentions must be a tuple of str, not str"),
    ("a mention of another type", changed(mentions=(7,)), r"Incoming\.mentions must be a str, not int"),
    ("tags as a set", changed(tags={"a"}), r"Incoming\.tags must be a tuple of str, not set"),
    ("a time that is none", changed(at=float("nan")), r"Incoming\.at must be Unix seconds"),
    ("an endless time", changed(at=float("inf")), r"Incoming\.at must be Unix seconds"),
    ("a time of another type", changed(at="now"), r"Incoming\.at must be Unix seconds"),
    ("an attachment of another type", changed(attachments=(Text("x"),)), "must hold Image blocks with data"),
    ("an attachment without data", changed(attachments=(Image("image/png", blob="h"),)), "Image blocks with data"),
]


@pytest.mark.parametrize(("what", "message", "words"), WRONG, ids=[case[0] for case in WRONG])
def test_bad_input_has_a_name(what: str, message: Any, words: str) -> None:
    """[design, "The way of a message"] Checked before anything is stored; the error names the field."""
    with pytest.raises(InvalidMessage, match=words) as caught:
        check_incoming(message)
    assert isinstance(caught.value, Error)


def test_no_error_repeats_the_words() -> None:
    """[messages.errors] An error never carries a message's words."""
    with pytest.raises(InvalidMessage) as caught:
        check_incoming(changed(text="my secret", kind="room"))
    assert "secret" not in str(caught.value)


def test_a_good_message_is_unchanged() -> None:
    """[messages.incoming] All fields filled, equal after the check."""
    full = Incoming(
        "irc", "#tea", ANN, "hi", "m1", "dm", ("tea",), "Tea", "t1", "m0", (PIC,), ("chat:new",), 12.5, True
    )
    assert check_incoming(full) == full
    assert check_incoming(GOOD) == GOOD


def test_lists_become_tuples_and_whole_seconds_a_float() -> None:
    """[messages.incoming] What is kept is frozen through and through."""
    checked = check_incoming(changed(mentions=["tea"], tags=["a"], attachments=[PIC], at=12))
    assert (checked.mentions, checked.tags, checked.attachments) == (("tea",), ("a",), (PIC,))
    assert isinstance(checked.at, float)


def test_a_picture_needs_no_words() -> None:
    """[messages.incoming] Text may be empty where there are attachments."""
    assert check_incoming(changed(text="", attachments=(PIC,))).text == ""


def test_place_and_size() -> None:
    """[agents 10.1; S24] Identity is the pair; the size counts bytes, also of what is no valid Unicode."""
    assert GOOD.place == ChannelRef("irc", "#tea")
    assert changed(text="").size() == changed(text="é").size() - 2
    assert changed(text="\ud83d").size() == changed(text="").size() + 3
    assert changed(attachments=(PIC,)).size() == GOOD.size() + 3
