"""kill -9 in the middle of a stream of each real SDK, and a restart in the same folder."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.actors.providers import openai_rounds
from tests.messages_api.faults import Gate, Hold
from tests.messages_api.recording import Recorded
from tests.messages_api.replies import Text, Thinking, ToolUse, reply
from tests.messages_api_tests.sdk import serving
from tests.responses_api import replies as responses

pytestmark = [pytest.mark.socket, pytest.mark.process, pytest.mark.timeout(120)]
SCRIPT = Path(__file__).with_name("model_town.py")


def lines(path: Path) -> list[str]:
    """The lines of a file, none if there is none."""
    return path.read_text().splitlines() if path.exists() else []


def start(provider: str, folder: Path, url: str) -> subprocess.Popen[str]:
    """The town as a process."""
    command = [sys.executable, str(SCRIPT), provider, str(folder), url]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def killed_and_started(provider: str, folder: Path, url: str, gate: Gate) -> None:
    """Ask for the weather, kill the town as the server stands before the gate, start it again until it is idle."""
    with start(provider, folder, url) as town:
        assert town.stdin is not None
        try:
            town.stdin.write("ada: weather?\n")
            town.stdin.flush()
            assert gate.reached.wait(60)
        finally:
            town.kill()
    with start(provider, folder, url) as town:
        town.communicate("", timeout=60)


def judge(folder: Path, rounds: tuple[Recorded, ...]) -> None:
    """Three requests, all legal; the tool ran once, and the turn ended with the last answer."""
    assert [one.error for one in rounds] == [None] * 3
    assert lines(folder / "tools.txt") == ["Riga"]
    assert lines(folder / "posts.txt")[-1:] == ["Sunny in Riga."]


@pytest.mark.parametrize("after", [None, 1, 4, 8])
@pytest.mark.parametrize("second", ["text", "call"])
def test_killed_in_the_middle_of_a_stream(tmp_path: Path, after: int | None, second: str) -> None:
    """[providers 3] [agents, crash] A tool has run, the next stream is cut by the kill: the turn goes on with valid
    history and with the thinking of its first round, no tool runs twice, no call of the cut stream runs.
    """
    held = Hold(after=after)
    cut = Text("half an answer", cut=1) if second == "text" else ToolUse("weather", {"city": "Oslo"}, cut=1)
    first = reply(Thinking("hm"), ToolUse("weather", {"city": "Riga"}))
    with serving(first, reply(cut, faults=[held]), reply("Sunny in Riga.")) as server:
        killed_and_started("anthropic", tmp_path, server.url, held.gate)
        rounds = server.log.rounds()
    judge(tmp_path, rounds)
    sent = rounds[2].request["messages"]
    results = [b for m in sent if m["role"] == "user" for b in m["content"] if b["type"] == "tool_result"]
    assert len(results) == 1
    said = [b for m in sent if m["role"] == "assistant" for b in m["content"]]
    assert [b for b in said if b["type"] == "thinking"] == (rounds[0].message or {})["content"][:1]


@pytest.mark.parametrize(("second", "after"), [("text", None), ("call", 8)])
def test_killed_in_the_middle_of_a_stream_of_openai(tmp_path: Path, after: int | None, second: str) -> None:
    """[providers 2.4] [agents, crash] The same over the Responses API: reasoning of the first round goes back as it
    came, the calls of the cut stream are as if they had never been.
    """
    held = Hold(after=after)
    cut: responses.Item = responses.Text("half an answer", cut=1)
    if second == "call":
        cut = responses.Call("weather", {"city": "Oslo"}, cut=1)
    first = responses.reply(responses.Reasoning(("hm",)), responses.Call("weather", {"city": "Riga"}))
    answers = (first, responses.reply(cut, faults=[held]), responses.reply("Sunny in Riga."))
    with openai_rounds.serving(*answers) as server:
        killed_and_started("openai", tmp_path, server.base_url, held.gate)
        rounds = server.log.rounds()
    judge(tmp_path, rounds)
    sent = rounds[2].request["input"]
    assert len([item for item in sent if item.get("type") == "function_call_output"]) == 1
    said = (rounds[0].message or {})["output"]
    assert [item for item in sent if item.get("type") == "reasoning"] == said[:1]
