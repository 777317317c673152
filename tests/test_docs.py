"""What the documents say is so: named tests and files exist; the README's program and commands are the real ones."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
SEMANTICS = ROOT / "docs" / "semantics.md"
CHECK = ROOT / ".ci" / "run"
DOCUMENTS = [README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]

LINK = re.compile(r"\]\(([^)\s]+)\)")
PATH = re.compile(r"`((?:actors|benchmarks|docs|examples|messages|storage|tests)/[\w/.-]*)")
TEST = re.compile(r"`([\w/]+\.py(?:::\w+)+)`")


def section(text: str, title: str) -> str:
    """What stands under a heading of the second level; empty if there is none."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def block(text: str, language: str) -> str:
    """The first code block in a language."""
    found = re.search(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found, f"there is no block in {language}"
    return found[1]


def named_in(path: Path) -> set[str]:
    """The tests of a file as pytest names them: `test_x` and `TestClass::test_x`."""
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        inner = node.body if isinstance(node, ast.ClassDef) and node.name.startswith("Test") else [node]
        owner = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        functions = (n for n in inner if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
        names |= {f"{owner}{f.name}" for f in functions if f.name.startswith("test_")}
    return names


def missing(names: list[str]) -> list[str]:
    """Those of the named tests that are not there."""
    parted = [(name, *name.split("::", 1)) for name in names]
    return [name for name, file, test in parted if not (ROOT / file).is_file() or test not in named_in(ROOT / file)]


def test_every_named_test_exists() -> None:
    """[docs] A promise names the tests that prove it; a test that was renamed is renamed there too."""
    names = TEST.findall(SEMANTICS.read_text())
    assert names
    assert missing(names) == []
    assert len(names) == SEMANTICS.read_text().count("::test_"), "a test is named in a form that is not looked at"


def test_a_test_that_is_not_there_is_seen() -> None:
    """[docs] Wrong file, wrong name, wrong class, and a function that is no test."""
    wrong = [
        "tests/test_nothing.py::test_x", "tests/test_docs.py::test_x",
        "tests/test_docs.py::TestX::test_links_lead_to_files", "tests/test_docs.py::section",
    ]
    assert missing([*wrong, "tests/test_docs.py::test_links_lead_to_files"]) == wrong


@pytest.mark.parametrize(
    "title", ["Acknowledgement", "Order", "Loss and crash", "Restart and stop", "Posts", "Actors"]
)
def test_every_promise_names_a_test(title: str) -> None:
    """[docs] No promise without a proof."""
    promises = re.split(r"^- ", section(SEMANTICS.read_text(), title), flags=re.MULTILINE)[1:]
    assert promises
    assert [promise for promise in promises if not TEST.search(promise)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_to_files(document: Path) -> None:
    """[docs] Every link to a file, and every path of the repository that a document names, leads somewhere."""
    text = document.read_text()
    links = [link.partition("#")[0] for link in LINK.findall(text) if not re.match(r"\w+:|#", link)]
    assert [link for link in links if not (document.parent / link).exists()] == []
    assert [path for path in PATH.findall(text) if not (ROOT / path).exists()] == []


@pytest.mark.process
def test_the_readmes_program_runs(tmp_path: Path) -> None:
    """[docs] What a newcomer copies runs with the repository's package, takes the message and complains of nothing."""
    program = tmp_path / "bot.py"
    program.write_text(block(README.read_text(), "python"))
    done = subprocess.run(
        [sys.executable, "-W", "error", str(program)], cwd=tmp_path, capture_output=True, text=True, timeout=60,
        check=False, env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert any(line.startswith("Accepted(") for line in done.stdout.splitlines())


def test_set_up_is_two_commands_that_can_work() -> None:
    """[docs] A demo and the tests, each from nothing: the extras and the command that they name are the package's."""
    commands = block(section(README.read_text(), "Set-up"), "sh").splitlines()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert [command.rsplit(" && ", 1)[1] for command in commands] == [
        ".venv/bin/manyminds demo", ".venv/bin/python -m pytest -q",
    ]
    assert "manyminds" in project["scripts"]
    for command in commands:
        found = re.fullmatch(r"python3 -m venv \.venv && \.venv/bin/pip install -q -e '\.\[(\w+)\]' && .*", command)
        assert found, command
        assert found[1] in project["optional-dependencies"]


@pytest.mark.process
@pytest.mark.skipif(not CHECK.is_file(), reason="an unpacked sdist has no .ci folder")
def test_the_check_runs_the_readmes_test_command() -> None:
    """[docs] `.ci/run` takes its command out of the README; what it finds there is the second of the two."""
    [line] = [line for line in CHECK.read_text().splitlines() if line.startswith("command=")]
    found = subprocess.run(
        ["bash", "-c", f'{line}; printf %s "$command"'], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert found.stdout == block(section(README.read_text(), "Set-up"), "sh").splitlines()[1]
    assert 'bash -c "$command"' in CHECK.read_text()
