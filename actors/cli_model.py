"""From options of the command line to residents and their model: names, a provider by its name, a script of the user's.

Owns nothing that runs. Every wrong option is an InvalidSetting whose text says what was expected. A key is no option:
it would be in the shell's history and in the list of processes; providers read it from the environment.
"""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from ..messages.errors import InvalidSetting
from ..messages.request import Request
from .providers.addresses import check_address
from .providers.provider import Provider
from .providers.scripted import Answer, Scripted, newest_text
from .spec import Resident

PROVIDERS = ("scripted", "anthropic", "openai")
SYSTEM = "You are {name}, who lives in this chat room. Answer briefly, in plain text."


def residents_of(named: Sequence[str], system: str | None, model: str | None = None) -> list[Resident]:
    """Residents from `NAME=MODEL`, or `NAME` where `model` says which; in order. Without any it is ada.

    `{name}` in the system text stands for each one's name. Raises InvalidSetting.
    """
    residents: list[Resident] = []
    for item in named or (f"ada={model or 'scripted'}",):
        name, equals, own = item.partition("=")
        answers = own if equals else model or ""
        if not (name.strip() and answers.strip()):
            raise InvalidSetting(f"--resident {item!r} must be NAME=MODEL, such as ada=scripted, or NAME with --model")
        residents.append(Resident(name.strip(), answers.strip(), (system or SYSTEM).replace("{name}", name.strip())))
    return residents


def check_model(provider: str, script: str | None, named: Sequence[str], model: str | None) -> None:
    """Raise InvalidSetting where a real provider is to answer and nothing says with which model."""
    if provider != "scripted" and not script and not model and not named:
        raise InvalidSetting(f"--provider {provider} needs --model NAME, or --resident NAME=MODEL")


def provider_of(name: str, script: str | None, base_url: str | None = None) -> Provider:
    """The provider that a script makes, else the one of this name. `base_url`: where its server is.

    Raises InvalidSetting, and ProviderError where a package or the key is missing.
    """
    if base_url and (script or name == "scripted"):
        raise InvalidSetting("--base-url is for a provider with a server; give --provider anthropic or openai too")
    if script:
        return load_script(script)
    check_address(base_url)
    if name == "anthropic":
        from .providers.anthropic import Anthropic

        return Anthropic(base_url=base_url)
    if name == "openai":
        from .providers.openai import OpenAI

        return OpenAI(base_url=base_url)
    if name != "scripted":
        raise InvalidSetting(f"--provider must be one of {', '.join(PROVIDERS)}, or use --script FILE.py:FUNCTION")
    return Scripted(otherwise=_parrot, name="scripted")


def _parrot(request: Request) -> Answer:
    heard = newest_text(request).strip().splitlines()
    return f"(scripted, no model) You said: {heard[-1] if heard else 'nothing'}"


def load_script(script: str) -> Provider:
    """The provider that a function of a Python file returns; it is called without arguments.

    Raises InvalidSetting where there is no such file or function, or it gives no provider. What the file itself raises
    goes through.
    """
    file, colon, function = script.rpartition(":")
    path = Path(file)
    if not colon or not function.isidentifier() or path.suffix != ".py":
        raise InvalidSetting(f"--script {script!r} must be FILE.py:FUNCTION")
    if not path.is_file():
        raise InvalidSetting(f"--script: there is no file {file!r}")
    spec = importlib.util.spec_from_file_location(f"manyminds_script_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InvalidSetting(f"--script: {file!r} cannot be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    make = getattr(module, function, None)
    if not callable(make):
        raise InvalidSetting(f"--script: {file!r} has no function {function!r}")
    provider = make()
    if not isinstance(provider, Provider):
        raise InvalidSetting(f"--script: {function}() must return a Provider, not {type(provider).__name__}")
    return provider
