"""The demo as a person starts it: in a process of its own, without key or network."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from manyminds.actors import demo as acts
from manyminds.actors.demo_platform import Said
from manyminds.actors.demo_show import Plain

pytestmark = pytest.mark.process


def demo(*options: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run it."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "manyminds.actors.cli", "demo", *options], capture_output=True, text=True,
        timeout=110, check=False, env={**os.environ, **env},
    )


def test_the_demo_proves_what_it_says() -> None:
    """Two residents, a tool, a busy moment, a SIGKILL and a restart: every figure holds, and the exit code is 0."""
    done = demo("--plain")

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert "FAIL" not in done.stdout
    assert done.stdout.count("ok   ") >= 8
    assert "\x1b" not in done.stdout
    assert "#garden  ada: [1] greenhouse: 21.5 °C" in done.stdout
    assert "#kitchen bert: [2] ada said: greenhouse: 21.5 °C" in done.stdout
    assert "SIGKILL" in done.stdout


def test_the_demo_in_colour() -> None:
    """By default it is coloured where the terminal can show it, with a bar that ends full."""
    done = demo(FORCE_COLOR="1", TERM="xterm-256color", COLUMNS="120")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "\x1b[" in done.stdout
    assert "100%" in done.stdout


def test_a_house_that_dies_fails_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is not 0 where the demo could not come to its end."""
    monkeypatch.setattr(sys, "executable", "/bin/false")

    assert acts.run(plain=True, folder=tmp_path) == 1
    assert "FAIL the demo came to its end: the house ended" in capsys.readouterr().out


def held(*answers: Said) -> dict[str, bool]:
    """What the demo would say was proved, had these been the house's words."""
    played = acts.Demo(Path("nowhere"), Plain(1))
    played._platform.shown.extend(answers)
    return {what: found for what, _, found in played._proved()}


def test_lost_doubled_and_misplaced_answers_are_seen() -> None:
    """The figures are counted from what was shown: one answer too few, too many or elsewhere does not pass."""
    right = [Said(channel, to, f"[{number}] yes") for number, (channel, _, to, _) in acts.QUESTIONS.items()]
    once, place, order = list(held(*right))[:3]

    assert [held(*right)[what] for what in (once, place, order)] == [True, True, True]
    assert [held(*right[1:])[what] for what in (once, place)] == [False, False]
    assert [held(*right, right[0])[what] for what in (once, place)] == [False, False]
    assert [held(*right[:-1], Said("#kitchen", "ada", "[10] yes"))[what] for what in (once, place)] == [True, False]
    assert not held(right[2], *right[:2], *right[3:])[order]
