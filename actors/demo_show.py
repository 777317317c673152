"""How the demo looks: in colour with a progress bar, or as plain lines for logs.

Only this file of the demo imports rich, and only where colour is wanted. It decides nothing.
"""

import contextlib
from collections.abc import Generator, Sequence
from typing import Any, Protocol

from .demo_platform import Said

COLOURS = {"ada": "bold green", "bert": "bold cyan", "mira": "yellow", "tom": "magenta"}


class Screen(Protocol):
    """Where the demo is shown."""

    def act(self, title: str) -> None:
        """A new act begins."""
        ...

    def said(self, said: Said) -> None:
        """Somebody said something in a channel."""
        ...

    def aside(self, text: str) -> None:
        """What happens behind the scene."""
        ...

    def advance(self, steps: int = 1) -> None:
        """The demo has come further."""
        ...

    def summary(self, proved: Sequence[tuple[str, str, bool]]) -> None:
        """(what, figures, whether it held) of everything that the demo was to prove."""
        ...


class Plain:
    """Lines for a log."""

    def __init__(self, steps: int) -> None:
        self._done, self._steps = 0, steps

    def act(self, title: str) -> None:
        """A heading, with how far the demo is."""
        print(f"== {title} ({self._done}/{self._steps})", flush=True)

    def said(self, said: Said) -> None:
        """`#channel who: text`."""
        for line in said.text.splitlines():
            print(f"{said.channel:<9}{said.who}: {line}", flush=True)

    def aside(self, text: str) -> None:
        """An indented line."""
        print(f"   -- {text}", flush=True)

    def advance(self, steps: int = 1) -> None:
        """Count."""
        self._done += steps

    def summary(self, proved: Sequence[tuple[str, str, bool]]) -> None:
        """One line each."""
        print(f"== What was proved ({self._done}/{self._steps})")
        for what, figures, held in proved:
            print(f"{'ok  ' if held else 'FAIL'} {what}: {figures}", flush=True)


class Coloured:
    """rich's console, under a progress bar that stays at the bottom."""

    def __init__(self, progress: Any, task: Any) -> None:
        self._progress, self._task = progress, task
        self._console = progress.console

    def act(self, title: str) -> None:
        """A rule across the screen."""
        self._progress.update(self._task, description=title)
        self._console.rule(f"[bold]{title}", align="left")

    def said(self, said: Said) -> None:
        """Channel, speaker and words, each in its colour."""
        from rich.text import Text

        for line in said.text.splitlines():
            self._console.print(
                Text.assemble((f"{said.channel:<9}", "blue"), (f"{said.who}: ", COLOURS.get(said.who, "bold")), line)
            )

    def aside(self, text: str) -> None:
        """In italics."""
        from rich.text import Text

        self._console.print(Text(f"         {text}", style="italic bright_black"))

    def advance(self, steps: int = 1) -> None:
        """Move the bar."""
        self._progress.advance(self._task, steps)

    def summary(self, proved: Sequence[tuple[str, str, bool]]) -> None:
        """A table, below the bar's last state."""
        from rich.table import Table

        self._progress.stop()
        table = Table(title="What was proved", title_justify="left", show_header=False)
        for what, figures, held in proved:
            table.add_row("[green]✓" if held else "[bold red]✗", what, figures)
        self._console.print(table)


@contextlib.contextmanager
def screen(plain: bool, steps: int) -> Generator[Screen, None, None]:
    """The screen for the length of a `with`."""
    if plain:
        yield Plain(steps)
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns) as progress:
        yield Coloured(progress, progress.add_task("", total=steps))
