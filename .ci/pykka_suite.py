"""Run pykka's own test suite on the pooled runtime, from a fresh machine.

Downloads the sdist of the pykka that is installed and pytest-mock, adds the pooled runtime to the suite's own list
of runtimes, and runs it in a folder that is thrown away. Exits 0 when every test passes, 1 when one fails or
none ran, and 0, loudly, without a network.
"""

import importlib.metadata
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

POOLED = '''

from manyminds.actors.pykka_actor import PooledActor
from manyminds.actors.pykka_future import PooledFuture

_runtime = Runtime(
    name="pooled", actor_class=PooledActor, event_class=threading.Event, future_class=PooledFuture,
    sleep_func=time.sleep,
)
RUNTIMES = {"pooled": pytest.param(_runtime, id="pooled")}
'''
ANCHOR = "\n\n@pytest.fixture(scope=\"session\", params=RUNTIMES.values())"


def main() -> int:
    """Run the suite; the exit code."""
    version = importlib.metadata.version("pykka")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        missing = fetch(folder, version)
        if missing:
            print(f"SKIPPED: pykka's own suite was NOT run, {missing} could not be downloaded", flush=True)
            return 0
        source = unpack(folder)
        conftest = source / "tests" / "conftest.py"
        text = conftest.read_text()
        if ANCHOR not in text:
            print(f"FAILED: the suite of pykka {version} is laid out differently; adapt .ci/pykka_suite.py")
            return 1
        conftest.write_text(text.replace(ANCHOR, POOLED + ANCHOR, 1))
        return run(source, folder, version)


def fetch(folder: Path, version: str) -> str:
    """Download what the suite needs; the name of what could not be had, or nothing."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    steps = {
        f"pykka {version}": [
            *pip, "download", "--no-binary", "pykka", "--no-deps", "-d", str(folder), f"pykka=={version}",
        ],
        "pytest-mock": [*pip, "install", "--no-deps", "--target", str(folder / "plugins"), "pytest-mock>=3.14"],
    }
    for what, command in steps.items():
        if subprocess.run(command, check=False).returncode:
            return what
    return ""


def unpack(folder: Path) -> Path:
    """Unpack the sdist; the folder in it."""
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as sdist:
        sdist.extractall(folder / "source", filter="data")
    (source,) = (folder / "source").iterdir()
    return source


def run(source: Path, folder: Path, version: str) -> int:
    """Run the suite and print its result line; the exit code."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "plugins"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "pytest_mock", "-p", "no:cacheprovider", "tests"]
    done = subprocess.run(
        command, cwd=source, env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    lines = done.stdout.strip().splitlines()
    summary = lines[-1] if lines else "nothing ran"
    passed = re.search(r"(\d+) passed", summary)
    if done.returncode or passed is None or re.search(r"failed|error", summary):
        print(done.stdout, done.stderr, sep="\n")
        print(f"FAILED: pykka {version}'s own suite on the pooled runtime: {summary}")
        return 1
    print(f"pykka {version}'s own suite on the pooled runtime: {summary}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
