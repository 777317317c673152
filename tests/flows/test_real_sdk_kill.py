"""kill -9 in the middle of a stream of the real SDK, and a restart in the same folder."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.messages_api.faults import Hold
from tests.messages_api.replies import Text, Thinking, ToolUse, reply
from tests.messages_api_tests.sdk import serving

pytestmark = [pytest.mark.socket, pytest.mark.process, pytest.mark.timeout(120)]
SCRIPT = Path(__file__).with_name("claude_town.py")


def lines(path: Path) -> list[str]:
    """The lines of a file, none if there is none."""
    return path.read_text().splitlines() if path.exists() else []


def start(folder: Path, url: str) -> subprocess.Popen[str]:
    """The town as a process."""
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), str(folder), url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


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
        with start(tmp_path, server.url) as town:
            assert town.stdin is not None
            try:
                town.stdin.write("ada: weather?\n")
                town.stdin.flush()
                assert held.gate.reached.wait(60)
            finally:
                town.kill()
        with start(tmp_path, server.url) as town:
            town.communicate("", timeout=60)
        rounds = server.log.rounds()
    assert [one.error for one in rounds] == [None] * 3
    assert lines(tmp_path / "tools.txt") == ["Riga"]
    assert lines(tmp_path / "posts.txt")[-1:] == ["Sunny in Riga."]
    sent = rounds[2].request["messages"]
    results = [b for m in sent if m["role"] == "user" for b in m["content"] if b["type"] == "tool_result"]
    assert len(results) == 1
    said = [b for m in sent if m["role"] == "assistant" for b in m["content"]]
    assert [b for b in said if b["type"] == "thinking"] == (rounds[0].message or {})["content"][:1]
