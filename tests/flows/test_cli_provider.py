"""`--provider` on the command line: over the real SDKs against the stand-ins, the key from the environment."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from manyminds import Resident, Scripted
from manyminds.actors.cli_model import check_model, provider_of, residents_of
from manyminds.actors.providers.anthropic import Anthropic
from manyminds.actors.providers.openai import OpenAI
from manyminds.messages.errors import InvalidSetting, ProviderError
from tests.actors.providers import openai_rounds
from tests.irc_server import person, running
from tests.messages_api.errors import api_error
from tests.messages_api.replies import reply
from tests.messages_api_tests.sdk import serving
from tests.responses_api import replies as responses
from tests.responses_api.errors import error

MODEL = "claude-opus-5-5"
KEY = "sk-ant-planted-cli-00d1e"
COMMAND = (sys.executable, "-W", "error", "-m", "manyminds.actors.cli")


def environment(key: str | None = KEY, variable: str = "ANTHROPIC_API_KEY") -> dict[str, str]:
    """The environment of a command, with this key alone."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC_", "OPENAI_"))}
    return kept if key is None else {**kept, variable: key}


def run(
    *arguments: str, stdin: str = "", key: str | None = KEY, variable: str = "ANTHROPIC_API_KEY"
) -> subprocess.CompletedProcess[str]:
    """`manyminds` as a process."""
    return subprocess.run(
        [*COMMAND, *arguments], input=stdin, capture_output=True, text=True, timeout=60, check=False,
        env=environment(key, variable),
    )


def test_the_model_of_who_names_none() -> None:
    """`--model` is every resident's that names none; NAME alone is enough then."""
    made = residents_of(["ada", "bert=other"], "I am {name}.", MODEL)
    assert made == [Resident("ada", MODEL, "I am ada."), Resident("bert", "other", "I am bert.")]
    assert [(one.name, one.model) for one in residents_of([], None, MODEL)] == [("ada", MODEL)]
    with pytest.raises(InvalidSetting, match="NAME with --model"):
        residents_of(["ada"], None)


def test_options_that_do_not_go_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A real provider needs a model, and a server's address a provider with a server; a missing key is named."""
    with pytest.raises(InvalidSetting, match="--provider anthropic needs --model NAME"):
        check_model("anthropic", None, (), None)
    for named, model in ((("ada=m",), None), ((), "m")):
        check_model("anthropic", None, named, model)
    check_model("scripted", None, (), None)
    for name, script in (("scripted", None), ("anthropic", "my.py:make"), ("openai", "my.py:make")):
        with pytest.raises(InvalidSetting, match="--base-url"):
            provider_of(name, script, "http://127.0.0.1:1")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(ProviderError, match="ANTHROPIC_API_KEY"):
        provider_of("anthropic", None)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    assert isinstance(provider_of("anthropic", None), Anthropic)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ProviderError, match=r"OPENAI_API_KEY.*--base-url"):
        provider_of("openai", None)
    assert isinstance(provider_of("openai", None, "http://127.0.0.1:1/v1"), OpenAI)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert isinstance(provider_of("openai", None), OpenAI)
    assert isinstance(provider_of("scripted", None), Scripted)


@pytest.mark.process
@pytest.mark.socket
def test_a_chat_with_a_model(tmp_path: Path) -> None:
    """[providers 2.1] The answer of the server comes out; a failed turn shows no key; nothing holds the key."""
    with serving(reply("hello there"), api_error(401, f"invalid x-api-key {KEY}")) as server:
        done = run(
            "chat", "--folder", str(tmp_path), "--plain", "--provider", "anthropic", "--model", MODEL, "--base-url",
            server.url, stdin="ada: hi\nada: again\n",
        )
        rounds = server.log.rounds()
    assert (done.returncode, "ada: hello there" in done.stdout.splitlines()) == (0, True), done
    assert [one.request["model"] for one in rounds] == [MODEL] * 2
    assert rounds[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in done.stdout + done.stderr
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


@pytest.mark.process
@pytest.mark.socket
def test_a_chat_with_openai(tmp_path: Path) -> None:
    """[providers 2.4] The same over the Responses API."""
    told = error(401, f"Incorrect API key provided: {KEY}", "invalid_api_key")
    with openai_rounds.serving(responses.reply("hello there"), told) as server:
        done = run(
            "chat", "--folder", str(tmp_path), "--plain", "--provider", "openai", "--model", openai_rounds.MODEL,
            "--base-url", server.base_url, stdin="ada: hi\nada: again\n", variable="OPENAI_API_KEY",
        )
        rounds = server.log.rounds()
    assert (done.returncode, "ada: hello there" in done.stdout.splitlines()) == (0, True), done
    assert [one.request["model"] for one in rounds] == [openai_rounds.MODEL] * 2
    assert rounds[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in done.stdout + done.stderr
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


@pytest.mark.process
@pytest.mark.socket
def test_a_chat_with_a_local_server_needs_no_key(tmp_path: Path) -> None:
    """[providers 2.4] An address is enough, as for Ollama or llama.cpp."""
    with openai_rounds.serving(responses.reply("hello there"), keyed=False) as server:
        done = run(
            "chat", "--folder", str(tmp_path), "--plain", "--provider", "openai", "--model", "local", "--base-url",
            server.base_url, stdin="ada: hi\n", key=None,
        )
    assert (done.returncode, "ada: hello there" in done.stdout.splitlines()) == (0, True), done


@pytest.mark.process
def test_a_chat_without_a_key_says_what_to_set(tmp_path: Path) -> None:
    """An error with a name is shown as its text, and ends with 1."""
    done = run("chat", "--folder", str(tmp_path), "--provider", "anthropic", "--model", MODEL, key=None)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: no key: set ANTHROPIC_API_KEY")


@pytest.mark.process
@pytest.mark.socket
def test_irc_with_a_model(tmp_path: Path) -> None:
    """[providers 2.1] The same options for irc: what the server answers is said in the channel."""
    (tmp_path / "ircd").mkdir()

    async def go(port: int, url: str) -> int:
        async with person(port, "mira", "#a") as mira:
            bot = await asyncio.create_subprocess_exec(
                *COMMAND, "irc", "--server", f"127.0.0.1:{port}", "--channel", "#a", "--folder", str(tmp_path / "room"),
                "--plain", "--flood", "1000", "0", "--resident", "ada", "--provider", "anthropic", "--model", MODEL,
                "--base-url", url, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
                env=environment(),
            )
            try:
                await mira.until(lambda: any(line.startswith(":ada!") and " JOIN " in line for line in mira.lines))
                mira.send("PRIVMSG #a :ada: hi")
                await mira.until(lambda: any(line.endswith(" PRIVMSG #a :hello there") for line in mira.lines))
                bot.send_signal(signal.SIGTERM)
                return await bot.wait()
            finally:
                if bot.returncode is None:
                    bot.kill()
                    await bot.wait()

    with serving(reply("hello there")) as server, running(tmp_path / "ircd") as ircd:
        assert asyncio.run(go(ircd.port, server.url)) == 0
        assert [one.request["model"] for one in server.log.rounds()] == [MODEL]
