"""What a docstring says of a function: its description, and a line for each argument.

Reads the three customs in use: an `Args:` section, a `Parameters` section with dashes below, and `:param x:`
fields. Pure text; everything that is not about arguments stays in the description.
"""

import re
from collections.abc import Iterator

_SECTION = re.compile(r"(Args|Arguments|Parameters|Params|Attributes|Keyword Args|Keyword Arguments)\s*:?\s*$")
_GOOGLE = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_NUMPY = re.compile(r"\*{0,2}(\w+(?:\s*,\s*\w+)*)\s*(?::.*)?$")
_FIELD = re.compile(r":(param|parameter|arg|argument|type)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)$")


def split_docstring(text: str) -> tuple[str, dict[str, str]]:
    """(description, text by argument). `text` is cleaned of its indentation, as by inspect.getdoc."""
    lines = text.splitlines()
    kept: list[str] = []
    arguments: dict[str, str] = {}
    at = 0
    while at < len(lines):
        step = _section(lines, at, arguments) or _field(lines, at, arguments)
        if not step:
            kept.append(lines[at])
        at += step or 1
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip(), arguments


def _section(lines: list[str], at: int, into: dict[str, str]) -> int:
    """How many lines a section of arguments beginning here has; 0 if none begins."""
    heading = lines[at]
    if not _SECTION.match(heading):
        return 0
    dashed = at + 1 < len(lines) and re.fullmatch(r"-{3,}\s*", lines[at + 1]) is not None
    if dashed:
        body = list(_numpy_body(lines, at + 2))
        into.update(_entries(body, _NUMPY, indent=0))
        return len(body) + 2
    if not heading.rstrip().endswith(":"):
        return 0
    body = list(_indented(lines, at + 1))
    depth = min((_depth(line) for line in body if line.strip()), default=0)
    into.update(_entries(body, _GOOGLE, indent=depth))
    return len(body) + 1


def _indented(lines: list[str], start: int) -> Iterator[str]:
    """The lines below a heading: deeper than it, blank ones among them."""
    for line in lines[start:]:
        if line.strip() and not line[0].isspace():
            return
        yield line


def _numpy_body(lines: list[str], start: int) -> Iterator[str]:
    """The lines up to the next dashed heading."""
    for number, line in enumerate(lines[start:], start):
        if number + 1 < len(lines) and re.fullmatch(r"-{3,}\s*", lines[number + 1]):
            return
        yield line


def _entries(body: list[str], head: re.Pattern[str], indent: int) -> dict[str, str]:
    """Entries of a section: a head at this depth, with deeper lines that go on."""
    found: dict[str, list[str]] = {}
    names: list[str] = []
    for line in body:
        match = head.match(line.strip()) if _depth(line) == indent else None
        if match:
            names = re.split(r"\s*,\s*", match[1])
            rest = match[2] if head.groups > 1 else ""
            found.update({name: [rest] for name in names})
        else:
            for name in names:
                found[name].append(line.strip())
    return {name: " ".join(" ".join(parts).split()) for name, parts in found.items()}


def _field(lines: list[str], at: int, into: dict[str, str]) -> int:
    """How many lines a `:param x:` field beginning here has; 0 if none begins."""
    match = _FIELD.match(lines[at])
    if not match:
        return 0
    more: list[str] = []
    for line in lines[at + 1 :]:
        if not line.strip() or not line[0].isspace():
            break
        more.append(line.strip())
    if match[1] != "type":
        into[match[2]] = " ".join([match[3].strip(), *more]).strip()
    return 1 + len(more)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
