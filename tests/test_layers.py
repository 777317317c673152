"""The shape of the house: who may import whom, how big a file may be, and what importing costs."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ALLOWED = {"messages": {"messages"}, "storage": {"storage", "messages"}, "actors": {"actors", "storage", "messages"}}
LONGEST_FILE = 460
NO_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}
EXTRAS = {"anthropic", "openai", "click", "rich", "pydle", "mcp", "starlette", "opentelemetry", "nats"}


def files(layer: str) -> list[Path]:
    """The modules of a layer."""
    return sorted((ROOT / layer).rglob("*.py"))


def imports(path: Path, *, top_level_only: bool = False) -> Iterator[str]:
    """Absolute dotted names of what a module imports; ours begin with the layer's name."""
    tree = ast.parse(path.read_text())
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    nodes = tree.body if top_level_only else list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*base, *((node.module or "").split(".") if node.module else ())))
            yield module
            if node.level:
                yield from (f"{module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("layer", sorted(ALLOWED))
def test_a_layer_imports_only_what_it_may(layer: str) -> None:
    """[design, three rooms] messages: nothing of ours; storage: messages; actors: both. Ours only relatively."""
    for path in files(layer):
        for name in imports(path):
            top = name.split(".")[0]
            assert top != "manyminds", f"{path} imports {name}; import relatively"
            if top in ALLOWED:
                assert top in ALLOWED[layer], f"{path} imports {name}"


def test_only_the_dispatcher_knows_pykka() -> None:
    """[design, "How actors run"] Only dispatcher.py and the pykka_* files import pykka."""
    for layer in ALLOWED:
        for path in files(layer):
            if any(name.split(".")[0] == "pykka" for name in imports(path)):
                assert path.name == "dispatcher.py" or path.name.startswith(("pykka_", "inbox")), path


def test_extras_are_imported_lazily() -> None:
    """[design, dependencies] No extra is imported at the top of a module that the core imports."""
    for layer in ALLOWED:
        for path in files(layer):
            for name in imports(path, top_level_only=True):
                assert name.split(".")[0] not in EXTRAS or "hosts" in path.parts or path.name.startswith("cli"), (
                    f"{path} imports {name} at its top"
                )


def test_messages_is_pure() -> None:
    """[design, three rooms] No I/O, no thread, no clock, no randomness in messages/."""
    banned = {"os", "io", "socket", "threading", "asyncio", "time", "random", "secrets", "logging", "pathlib", "lmdb"}
    for path in files("messages"):
        assert banned.isdisjoint(name.split(".")[0] for name in imports(path)), path


def test_no_cycle_between_modules() -> None:
    """[how to work] No module imports itself through others at its top level."""
    graph: dict[str, set[str]] = {}
    for layer in ALLOWED:
        for path in files(layer):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            graph[name] = {n for n in imports(path, top_level_only=True) if n.split(".")[0] in ALLOWED}
    known = set(graph)
    state: dict[str, int] = {}

    def visit(name: str, trail: tuple[str, ...]) -> None:
        if name not in known or state.get(name) == 2:
            return
        assert state.get(name) != 1, f"a cycle: {' -> '.join((*trail, name))}"
        state[name] = 1
        for other in sorted(graph[name]):
            visit(other, (*trail, name))
        state[name] = 2

    for name in sorted(graph):
        visit(name, ())


def test_names_and_sizes() -> None:
    """[how to work] A file has one subject, says it in its docstring, and stays readable."""
    for layer in ALLOWED:
        for path in files(layer):
            text = path.read_text()
            assert path.stem not in NO_NAMES, path
            assert len(text.splitlines()) <= LONGEST_FILE, f"{path} has grown past {LONGEST_FILE} lines"
            assert ast.get_docstring(ast.parse(text)), f"{path} has no docstring"


@pytest.mark.process
def test_importing_is_cheap_and_pulls_in_no_extra() -> None:
    """[design, dependencies] `import manyminds` takes no extra with it, and leaves no bare `actors` behind."""
    program = (
        "import sys, time; start = time.process_time(); import manyminds; spent = time.process_time() - start; "
        "names = {m.split('.')[0] for m in sys.modules}; print(spent, sorted(names))"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd="/").stdout
    loaded = set(ast.literal_eval(out.split(" ", 1)[1]))
    assert EXTRAS.isdisjoint(loaded)
    assert {"actors", "messages", "storage"}.isdisjoint(loaded)


@pytest.mark.process
def test_no_bare_layer_can_be_imported() -> None:
    """[design, three rooms] Nothing called actors, messages or storage is importable by itself."""
    for layer in ALLOWED:
        done = subprocess.run([sys.executable, "-c", f"import {layer}"], capture_output=True, check=False, cwd="/")
        assert done.returncode != 0, layer
