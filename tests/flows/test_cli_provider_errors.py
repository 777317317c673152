"""What a user does wrong with `--provider`: each is said in words, before anything runs, for chat and for irc alike."""

from pathlib import Path

import pytest

from manyminds.actors.cli import main
from tests.flows.test_cli_provider import KEY, MODEL, run
from tests.messages_api_tests.sdk import serving

HOSTS = {"chat": ("chat", "--plain"), "irc": ("irc", "--server", "127.0.0.1:1", "--channel", "#a")}
CLAUDE = ("--provider", "anthropic")
WRONG: dict[str, tuple[tuple[str, ...], str | None, int, str]] = {
    "no key": ((*CLAUDE, "--model", MODEL), None, 1, "Error: no key: set ANTHROPIC_API_KEY in the environment"),
    "an empty key": ((*CLAUDE, "--model", MODEL), "", 1, "Error: no key: set ANTHROPIC_API_KEY in the environment"),
    "two keys in one": (
        (*CLAUDE, "--model", MODEL), f"{KEY}\n{KEY}", 1,
        "Error: the key (ANTHROPIC_API_KEY, or api_key=...) holds what no key does"),
    "no model": (CLAUDE, KEY, 1, "Error: --provider anthropic needs --model NAME, or --resident NAME=MODEL"),
    "an address that is none": (
        (*CLAUDE, "--model", MODEL, "--base-url", "localhost:8080"), KEY, 1,
        "Error: base_url, where the model's server is, must be http://HOST[:PORT] or https://HOST[:PORT]"),
    "an empty address": (
        (*CLAUDE, "--model", MODEL, "--base-url", ""), KEY, 1, "Error: base_url, where the model's server is, must be"),
    "an address and no provider": (
        ("--model", MODEL, "--base-url", "http://127.0.0.1:1"), KEY, 1,
        "Error: --base-url is for a provider with a server; give --provider"),
    "an address that is none, for openai": (
        ("--provider", "openai", "--model", "gpt-x", "--base-url", "localhost:11434"), KEY, 1,
        "Error: base_url, where the model's server is, must be http://HOST[:PORT] or https://HOST[:PORT]"),
    "two keys in one, for openai": (
        ("--provider", "openai", "--model", "gpt-x"), f"{KEY}\n{KEY}", 1,
        "Error: the key (OPENAI_API_KEY, or api_key=...) holds what no key does"),
    "a provider that is not known": (
        ("--provider", "anthropos", "--model", MODEL), KEY, 2, "'anthropos' is not one of 'scripted', 'anthropic'"),
}


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_option_is_said_in_words(
    host: str, case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """[issue 4] The text says what to do; no traceback, no key, and no room is made."""
    options, key, status, words = WRONG[case]
    for provider in ("ANTHROPIC", "OPENAI"):
        monkeypatch.delenv(f"{provider}_BASE_URL", raising=False)
        monkeypatch.delenv(f"{provider}_API_KEY", raising=False)
        if key is not None:
            monkeypatch.setenv(f"{provider}_API_KEY", key)
    folder = tmp_path / "room"
    with pytest.raises(SystemExit) as ended:
        main([*HOSTS[host], "--folder", str(folder), *options])
    said = capsys.readouterr()
    assert ended.value.code == status
    assert words in said.err
    assert KEY not in said.err + said.out
    assert not folder.exists()


@pytest.mark.process
@pytest.mark.socket
def test_a_model_that_is_not_there_is_said_in_words(tmp_path: Path) -> None:
    """[issue 4] The provider's words, and what to look at, where the answer would stand."""
    with serving() as server:
        done = run(
            "chat", "--plain", "--folder", str(tmp_path), *CLAUDE, "--model", "claude-nobody", "--base-url", server.url,
            stdin="ada: hi\n",
        )
    assert done.returncode == 0, done
    assert (
        "[ada could not answer: the model's server answered with 404: model: claude-nobody; check the model's name and "
        "the server's address]"
    ) in done.stdout.splitlines()
