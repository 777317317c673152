"""The commands: chat, irc, demo. Options become values here; what a command does is in a file of its own.

Imported by `cli` only, once click is known to be there.
"""

import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import click

from ..messages.errors import InvalidSetting
from .cli_model import PROVIDERS, check_model, provider_of, residents_of
from .providers.provider import Provider
from .spec import Resident

F = TypeVar("F", bound=Callable[..., Any])


def _of_the_room(command: F) -> F:
    """The options that every command with a room has."""
    for option in reversed((
        click.option("--folder", type=click.Path(file_okay=False, path_type=Path), help="Where the room is kept."),
        click.option("--resident", "residents", multiple=True, metavar="NAME[=MODEL]",
                     help="Who lives there; may be given several times. Default: ada."),
        click.option("--provider", type=click.Choice(PROVIDERS), default="scripted", show_default=True,
                     help="What answers. A key is read from the environment: ANTHROPIC_API_KEY, OPENAI_API_KEY."),
        click.option("--model", metavar="NAME", help="The model of every resident that names none."),
        click.option("--base-url", metavar="URL",
                     help="The provider's server, where it is not its own. For openai up to /v1."),
        click.option("--script", metavar="FILE.py:FUNCTION",
                     help="A function in a Python file that returns the Provider to use instead."),
        click.option("--system", metavar="TEXT", help="System text; {name} stands for the resident's name."),
        click.option("--plain", is_flag=True, help="No colour and no bars, for logs."),
    )):
        command = option(command)
    return command


def _folder(given: Path | None, name: str) -> Path:
    folder = given or Path(click.get_app_dir("manyminds")) / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise InvalidSetting(f"--folder {str(folder)!r} cannot be made ({exc.strerror}); name another") from exc
    return folder


def _who(
    residents: tuple[str, ...], provider: str, model: str | None, base_url: str | None, script: str | None,
    system: str | None,
) -> tuple[list[Resident], Provider]:
    check_model(provider, script, residents, model)
    if provider == "scripted" or script:
        model = model or "scripted"  # what answers is no model that has a name
    return residents_of(residents, system, model), provider_of(provider, script, base_url)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("manyminds"), prog_name="manyminds")
def manyminds() -> None:
    """An actor runtime for chat bots that hold many minds."""


@manyminds.command()
@click.option("--plain", is_flag=True, help="No colour and no bar, for logs.")
@click.option("--folder", type=click.Path(file_okay=False, path_type=Path),
              help="Where the demo's room is kept; a temporary one by default.")
def demo(plain: bool, folder: Path | None) -> None:
    """Two residents, a tool, a busy moment, a kill and a restart. Needs no key and no network."""
    from .demo import run

    raise SystemExit(run(plain, folder))


@manyminds.command()
@_of_the_room
@click.option("--name", default="you", show_default=True, help="Your name in the room.")
def chat(folder: Path | None, residents: tuple[str, ...], provider: str, model: str | None, base_url: str | None,
         script: str | None, system: str | None, plain: bool, name: str) -> None:
    """Talk with the residents in this terminal."""
    from .cli_show import printer
    from .hosts.terminal import Terminal

    living, answers = _who(residents, provider, model, base_url, script, system)
    screen = sys.stdout if sys.stdout.isatty() and not plain else None
    terminal = Terminal(living, answers, name, printer(plain), screen=screen)
    terminal.run(_folder(folder, "chat"))


@manyminds.command()
@_of_the_room
@click.option("--wake-on", type=click.Choice(("addressed", "all")), default="addressed", show_default=True,
              help="Which messages start a turn.")
@click.option("--server", required=True, metavar="HOST[:PORT]", help="The IRC server. Port 6667, with TLS 6697.")
@click.option("--channel", "channels", multiple=True, required=True, metavar="#NAME",
              help="A channel to be in; may be given several times.")
@click.option("--tls", is_flag=True, help="Connect with TLS and check the certificate.")
@click.option("--tls-unverified", is_flag=True, help="Connect with TLS whatever the certificate.")
@click.option("--password", envvar="MANYMINDS_IRC_PASSWORD", help="The server's password; also from the environment.",
              show_envvar=True)
@click.option("--flood", type=(int, float), default=(4, 0.7), show_default=True, metavar="LINES SECONDS",
              help="Lines that may leave at once, then seconds a line.")
def irc(folder: Path | None, residents: tuple[str, ...], provider: str, model: str | None, base_url: str | None,
        script: str | None, system: str | None, wake_on: str, plain: bool, server: str, channels: tuple[str, ...],
        tls: bool, tls_unverified: bool, password: str | None, flood: tuple[int, float]) -> None:
    """Be on an IRC server, each resident under its own name."""
    from .cli_irc import run, settings_of

    settings = settings_of(server, channels, tls, tls_unverified, password, flood)
    living, answers = _who(residents, provider, model, base_url, script, system)
    run(_folder(folder, f"irc-{settings.host}"), living, answers, settings,
        "all" if wake_on == "all" else "addressed", plain)
