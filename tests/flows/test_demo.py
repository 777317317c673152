"""The demo as a person starts it: in a process of its own, without key or network."""

import os
import subprocess
import sys

import pytest

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
