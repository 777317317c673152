"""Who said what where, on standard output: in colour where a person looks on, else plain lines."""

import zlib
from collections.abc import Callable

_COLOURS = ("green", "cyan", "magenta", "yellow", "blue", "bright_red")

Show = Callable[[str, str, str], None]


def colour(who: str) -> str:
    """Everybody's own colour, the same every time."""
    return _COLOURS[zlib.crc32(who.encode()) % len(_COLOURS)]


def printer(plain: bool) -> Show:
    """A function of (channel, who, words) that prints a line; `who` empty: a remark."""
    return _plain if plain else _coloured()


def _plain(channel: str, who: str, words: str) -> None:
    place = f"{channel} " if channel else ""
    print(f"{place}{who}: {words}" if who else f"{place}{words}", flush=True)


def _coloured() -> Show:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)

    def show(channel: str, who: str, words: str) -> None:
        place = (f"{channel} " if channel else "", "blue")
        if who:
            console.print(Text.assemble(place, (f"{who}: ", f"bold {colour(who)}"), words))
        else:
            console.print(Text.assemble(place, (words, "italic bright_black")))

    return show
