"""IRC's rules about words: names folded, nicks mentioned, CTCP and colours read, text cut into lines.

Pure: no socket, no clock, no library. Lengths are in bytes of UTF-8, since a line of IRC has 512 of them
(RFC 2812, 2.3), its CR LF and the prefix that the server puts before it included.
"""

import re
from collections.abc import Iterator, Mapping

from ...messages.split import clusters

LINE_BYTES = 512
CHANNEL_TYPES = "#&+!"
NICK_CHARACTERS = r"\w\-\[\]\\`^{}|"

_ASCII = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_STRICT = {**_ASCII, **str.maketrans("[]\\", "{}|")}
_FOLDS: Mapping[str, dict[int, int]] = {
    "ascii": _ASCII, "rfc1459-strict": _STRICT, "rfc1459": {**_STRICT, **str.maketrans("~", "^")},
}
_FORMATTING = re.compile(
    r"\x03(\d{1,2}(,\d{1,2})?)?|\x04([0-9A-Fa-f]{6}(,[0-9A-Fa-f]{6})?)?|[\x02\x0f\x11\x16\x1d\x1e\x1f]"
)
_UNSENDABLE = re.compile("[\x00\x01]")


def fold(name: str, mapping: str = "rfc1459") -> str:
    """The name in lower case as the server compares it. An unknown `mapping` counts as ascii."""
    return name.translate(_FOLDS.get(mapping, _ASCII))


def is_channel(target: str) -> bool:
    """Whether a target is a channel rather than a nick."""
    return target[:1] in CHANNEL_TYPES and bool(target)


def nick_of(source: str) -> str:
    """The nick of a prefix `nick!user@host`."""
    return source.partition("!")[0].partition("@")[0]


def nick_for(name: str) -> str:
    """A nick that a server takes, nearest to a resident's name."""
    nick = re.sub(r"[^A-Za-z0-9_\-\[\]\\`^{}|]", "_", name) or "_"
    return f"_{nick}" if nick[0].isdigit() or nick[0] == "-" else nick


def other_nicks(nick: str, longest: int = 9) -> list[str]:
    """Nicks to try where `nick` is taken: underscores behind it, then digits, none over `longest` characters."""
    tails = ["_", "__", *(str(n) for n in range(1, 10))]
    found = (nick[: max(1, longest - len(tail))] + tail for tail in tails)
    return [other for other in dict.fromkeys(found) if other != nick]


def mentioned(text: str, nicks: Mapping[str, str], mapping: str = "rfc1459") -> tuple[str, ...]:
    """The residents that a text names, in the order of their names in it.

    `nicks`: nick -> resident. A nick counts as a whole word only, with or without `@`, in any case.
    """
    folded = fold(text, mapping)
    first: dict[str, int] = {}
    for nick, resident in nicks.items():
        whole = rf"(?<![{NICK_CHARACTERS}]){re.escape(fold(nick, mapping))}(?![{NICK_CHARACTERS}])"
        found = re.search(whole, folded)
        if found:
            first[resident] = min(found.start(), first.get(resident, len(folded)))
    return tuple(sorted(first, key=lambda resident: first[resident]))


def readable(text: str, nick: str) -> str | None:
    """What people see of a PRIVMSG: no colours, an action as `* nick does`. None for any other CTCP or for nothing."""
    if text.startswith("\x01"):
        command, _, rest = text.strip("\x01").partition(" ")
        if command.upper() != "ACTION" or not rest.strip():
            return None
        text = f"* {nick} {rest}"
    plain = _FORMATTING.sub("", text).replace("\x01", "").replace("\x00", "")
    return plain if plain.strip() else None


def room_for_text(source: str, target: str) -> int:
    """Bytes that a text may have, so that the line others get, `:source PRIVMSG target :text`, holds 512."""
    return LINE_BYTES - len(f":{source} PRIVMSG {target} :\r\n".encode())


def lines(text: str, room: int) -> list[str]:
    """The text as lines of at most `room` bytes each; blank lines, which IRC cannot carry, are left out.

    A line is cut at a blank where there is one, never inside a code point, and not inside what is read as one
    sign where a line can hold it. Raises ValueError where `room` holds no character.
    """
    if room < 4:
        raise ValueError(f"no line of IRC can hold the text: {room} bytes are left of {LINE_BYTES}")
    clean = _UNSENDABLE.sub("", text).encode("utf-8", "replace").decode()
    return [piece for line in re.split(r"\r\n|\r|\n", clean) for piece in _pieces(line.rstrip(), room) if piece.strip()]


def _pieces(line: str, room: int) -> Iterator[str]:
    while len(line.encode()) > room:
        end = _end(line, room)
        blank = line.rfind(" ", end // 2, end + 1)
        if blank > 0 and line[:blank].strip():
            yield line[:blank]
            line = line[blank + 1:]
        else:
            yield line[:end]
            line = line[end:]
    yield line


def _end(line: str, room: int) -> int:
    """The length in characters of the longest beginning of `line` that has at most `room` bytes."""
    end = size = 0
    for sign in clusters(line):
        size += len(sign.encode())
        if size > room:
            break
        end += len(sign)
    return end or len(line.encode()[:room].decode("utf-8", "ignore"))
