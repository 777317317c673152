"""What a host gets by pip: the wheel, built from the sdist, holds every module and nothing else."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = ("actors", "messages", "storage")


@pytest.mark.process
def test_the_wheel_of_the_sdist_has_every_module(tmp_path: Path) -> None:
    """[style 8] Real folders are mapped into the wheel; none is lost on the way through the sdist."""
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)],
        check=True, capture_output=True,
    )
    wheel = next(tmp_path.glob("*.whl"))
    sdist = next(tmp_path.glob("*.tar.gz"))
    expected = {
        f"manyminds/{path.relative_to(ROOT)}" for layer in LAYERS for path in (ROOT / layer).rglob("*.py")
    } | {"manyminds/__init__.py", "manyminds/py.typed"}

    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if not name.split("/")[0].endswith(".dist-info")}
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}

    assert packed == expected
    assert {"tests/conftest.py", "examples/two_residents.py", "README.md", "LICENSE"} <= names


def test_core_dependencies_are_four() -> None:
    """[design, dependencies] pykka, msgpack, lmdb, tenacity, and no others."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = sorted(requirement.split(">")[0] for requirement in project["dependencies"])
    assert names == ["lmdb", "msgpack", "pykka", "tenacity"]
    assert {"anthropic", "openai", "cli", "irc", "mcp", "web", "otel", "nats", "all", "test"} <= set(
        project["optional-dependencies"]
    )
