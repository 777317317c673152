"""The stand-in as a process of its own: `python -m tests.messages_api`."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic.types import ToolReferenceUnresolvedError

from tests.messages_api.__main__ import FAULTS, answers_of, gates_of, options
from tests.messages_api.replies import Reply
from tests.messages_api.server import MessagesServer
from tests.messages_api_tests.building import body, u
from tests.messages_api_tests.sdk import client

ROOT = Path(__file__).parents[2]


@contextmanager
def running(*arguments: str) -> Generator[tuple["subprocess.Popen[str]", str], None, None]:
    """The process and its address; ended by a signal, with status 0 and nothing on stderr."""
    command = [sys.executable, "-W", "error", "-m", "tests.messages_api", *arguments]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=20)
        assert (process.returncode, errors) == (0, "")


def asked(url: str, **more: Any) -> Any:
    """The reply of the server there, or the error."""

    async def talk() -> Any:
        async with client(url, timeout=20) as sdk:
            try:
                return await sdk.messages.create(**body(u("m1 and m2"), **more))
            except anthropic.APIError as error:
                return error

    return asyncio.run(talk())


@pytest.mark.socket
@pytest.mark.process
def test_the_address_is_the_first_line(tmp_path: Path) -> None:
    """[providers 3.1] options for faults and for the model table; then the same reply for ever."""
    table = tmp_path / "models.json"
    table.write_text('[{"name": "local-model"}]', encoding="utf-8")
    arguments = ("--fault", "429", "--fault", "400-unknown-tool", "--models", str(table), "--reply", "hello")
    with running(*arguments) as (_, url):
        assert url.startswith("http://127.0.0.1:")
        assert isinstance(asked(url), anthropic.RateLimitError)
        assert isinstance(asked(url), ToolReferenceUnresolvedError)
        for model in ("claude-opus-5", "local-model"):
            assert asked(url, model=model).content[0].text == "hello"
        assert isinstance(asked(url, model="nobody"), anthropic.NotFoundError)


@pytest.mark.socket
@pytest.mark.process
def test_a_line_on_stdin_releases_a_slow_reply() -> None:
    """[providers 3.6] by an event from outside, never by time; the outline follows."""
    with running("--fault", "slow", "--echo") as (process, url):
        first, second = asyncio.run(_one_held(process, url))
        assert (first, second) == ("m1\nm2", "ok")


async def _one_held(process: "subprocess.Popen[str]", url: str) -> tuple[str, str]:
    """Two requests at once: the text of the one that comes through, and of the other once a line was written."""
    assert process.stdin is not None
    tasks = [asyncio.create_task(asyncio.to_thread(asked, url)) for _ in range(2)]
    done, held = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    process.stdin.write("\n")
    process.stdin.flush()
    return done.pop().result().content[0].text, (await held.pop()).content[0].text


def test_every_fault_of_the_command_is_an_answer() -> None:
    """[providers 3.6] one for each kind, and a gate for the slow one."""
    chosen = options([argument for name in FAULTS for argument in ("--fault", name)])
    answers = answers_of(chosen)
    assert len(answers) == len(FAULTS)
    assert sum(isinstance(answer, Reply) for answer in answers) == 9
    assert len(gates_of(answers)) == 1


def test_a_fault_that_is_not_known_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """[house rule] the message names those that are."""
    with pytest.raises(SystemExit):
        options(["--fault", "fire"])
    assert "end-early" in capsys.readouterr().err


WRONG = {
    "a port beyond the last": (("--port", "70000"), "'70000' is no number from 0 to 65535"),
    "a port in words": (("--port", "http"), "'http' is no number from 0 to 65535"),
    "a file that is not there": (("--models", "/nowhere.json"), "is no list of model rows ("),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_option_is_said_in_words(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    """[house rule] Status 2 and one line, no traceback."""
    given, words = WRONG[case]
    with pytest.raises(SystemExit) as ended:
        options(given)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("text", ["{", "[1]", '[{"name": "x", "colour": 1}]', "5"])
def test_a_file_that_is_no_model_table(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """[house rule] The file is named, and what is wrong with it."""
    path = tmp_path / "models.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit):
        options(["--models", str(path)])
    assert f"{str(path)!r} is no list of model rows" in capsys.readouterr().err


@pytest.mark.socket
@pytest.mark.process
def test_a_port_that_is_taken() -> None:
    """[house rule] Status 1 and one line that says which."""
    with MessagesServer() as server:
        port = server.url.rpartition(":")[2]
        done = subprocess.run(
            [sys.executable, "-m", "tests.messages_api", "--port", port], cwd=ROOT, capture_output=True, text=True,
            timeout=20, check=False,
        )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"port {port} cannot be used: ")
    assert done.stderr.count("\n") == 1
