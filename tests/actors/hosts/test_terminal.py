"""The terminal chat with a runtime behind it, its lines and its screen in memory."""

import io
from typing import Any

import pytest

from manyminds import Resident, Scripted
from manyminds.actors.hosts.terminal import Terminal
from manyminds.actors.hosts.terminal_preview import ERASE, preview_line
from manyminds.actors.providers.scripted import call, fail, newest_results, newest_text, say

pytestmark = pytest.mark.pool


def chat(model: Scripted, lines: str, *names: str, tools: Any = ()) -> list[tuple[str, str]]:
    """(who, words) of all that was shown after the greeting."""
    shown: list[tuple[str, str]] = []
    residents = [Resident(name, "m", tools=tools) for name in names]
    Terminal(
        residents, model, "mira", lambda channel, who, words: shown.append((who, words)), io.StringIO(lines)
    ).run(None)
    return shown[1:]


def test_a_name_addresses_and_no_name_asks_everybody() -> None:
    """A resident's name as a word, in any case, addresses it alone; without one all answer."""
    model = Scripted(otherwise=lambda request: newest_text(request).splitlines()[-1])

    assert chat(model, "Ada, you?\nadam?\n", "ada", "bert")[0] == ("ada", "mira: Ada, you?")
    assert sorted(who for who, _ in chat(model, "adam?\n", "ada", "bert")) == ["ada", "bert"]


def test_each_line_is_answered_before_the_next_is_read() -> None:
    """Answers stand in the order of the lines, whatever each takes."""
    model = Scripted("one", "two", "three", delay=0.05)

    assert [words for _, words in chat(model, "a\nb\nc\n", "ada")] == ["one", "two", "three"]


def test_tools_and_failures_are_remarked() -> None:
    """A tool that runs and a turn that could not be completed are shown in brackets."""

    def lookup(word: str) -> str:
        """Look a word up."""
        return f"{word}: found"

    model = Scripted(otherwise=lambda request: "done" if newest_results(request) else call("lookup", word="x"))
    assert chat(model, "look\n", "ada", tools=[lookup]) == [("", "[ada uses lookup]"), ("ada", "done")]

    shown = chat(Scripted(otherwise=fail("auth", text="no key")), "hello\n", "ada")
    assert any(words.startswith("[ada could not answer: ") and "no key" in words for _, words in shown)


def test_commands() -> None:
    """Commands are carried out here and never handed in; an unknown one is named."""
    model = Scripted(otherwise="never")

    shown = [words for _, words in chat(model, "/help\n/health\n/cancel\n/what\n/quit\nhello\n", "ada")]
    assert shown[0].startswith("[Say something;")
    assert shown[1] == "[ada: idle, 0 posts waiting]"
    assert shown[2] == "[nothing was cancelled]"
    assert shown[3].startswith("[no such command.")
    assert len(shown) == 4
    assert model.rounds == []


def test_an_interrupt_while_they_are_busy_cancels(monkeypatch: pytest.MonkeyPatch) -> None:
    """[S13] Ctrl-C in a turn cancels it; the chat goes on."""
    interrupts = iter([True])
    at_rest = Terminal._at_rest

    def once(self: Terminal, runtime: Any) -> bool:
        if model.rounds and model.rounds[0].ending == "running" and next(interrupts, False):
            raise KeyboardInterrupt
        return at_rest(self, runtime)

    monkeypatch.setattr(Terminal, "_at_rest", once)
    model = Scripted(say("never", hangs=True, after=1), "again")
    assert chat(model, "first\nsecond\n", "ada") == [("", "[ada's turn was cancelled]"), ("ada", "again")]


def test_what_is_being_written_is_shown_and_taken_back() -> None:
    """[prose 6.5, 10] On a screen one line shows who writes and what, and is erased before the post is printed."""
    screen = io.StringIO()
    shown: list[tuple[str, str]] = []

    def show(channel: str, who: str, words: str) -> None:
        """Print into the same screen."""
        shown.append((who, words))
        screen.write(f"{who}: {words}\n")

    model = Scripted(say("Good morning", delay=0.3))
    Terminal([Resident("ada", "m")], model, "mira", show, io.StringIO("hello\n"), screen).run(None)
    assert shown[1:] == [("ada", "Good morning")]
    drawn = screen.getvalue().split("\n")[1].split(ERASE)
    assert len(drawn) > 1, "nothing was shown before the post"
    assert drawn[-1] == "ada: Good morning"
    for line in filter(None, drawn[:-1]):
        assert line == "ada is writing" or "Good morning".startswith(line.removeprefix("ada: ").removeprefix("...: "))
    assert screen.getvalue().split("\n")[2:] == [""], "something was left on the screen"


@pytest.mark.parametrize(
    ("writers", "texts", "columns", "line"),
    [
        ([], [], 40, ""), (["ada"], [], 40, "ada is writing"), (["ada", "bert"], [], 40, "ada, bert are writing"),
        (["ada"], ["first", "second\nline"], 40, "ada: second line"), (["ada"], ["0123456789"], 10, "ada: 6789"),
        (["ada"], ["\x1b[2Jred\u202e"], 40, "ada: [2Jred"), (["ada"], ["日本語です"], 12, "ada: 語です"),
        (["somebody"], ["x"], 6, "ebody"), ([], ["late"], 40, "...: late"),
    ],
)  # fmt: skip
def test_the_line(writers: list[str], texts: list[str], columns: int, line: str) -> None:
    """Never as wide as the screen, so that it does not wrap; nothing in it moves the cursor."""
    assert preview_line(writers, texts, columns) == line
