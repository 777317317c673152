"""The console command `manyminds`: its entry point, and nothing that needs an extra.

click and rich are imported when a command is run, so that importing the package pulls in neither.
"""

import importlib.util
import sys
from collections.abc import Sequence

MISSING = "the command line needs {name}: pip install 'manyminds[cli]'"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; `arguments` are those of the process by default. Ends with SystemExit."""
    for name in ("click", "rich"):
        if importlib.util.find_spec(name) is None:
            print(MISSING.format(name=name), file=sys.stderr)
            raise SystemExit(2)
    import click

    from ..messages.errors import Error
    from .cli_commands import manyminds

    try:
        manyminds(args=arguments, prog_name="manyminds", standalone_mode=True)
    except Error as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
