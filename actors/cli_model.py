"""From options of the command line to residents and their model: names, the built-in provider, a script of the user's.

Owns nothing that runs. Every wrong option is an InvalidSetting whose text says what was expected.
"""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from ..messages.errors import InvalidSetting
from ..messages.request import Request
from .providers.provider import Provider
from .providers.scripted import Answer, Scripted, newest_text
from .spec import Resident

PROVIDERS = ("scripted",)
SYSTEM = "You are {name}, who lives in this chat room. Answer briefly, in plain text."


def residents_of(named: Sequence[str], system: str | None) -> list[Resident]:
    """Residents from `NAME=MODEL`, in order; `{name}` in the system text stands for each one's name."""
    residents: list[Resident] = []
    for item in named or ("ada=scripted",):
        name, equals, model = item.partition("=")
        if not (name.strip() and equals and model.strip()):
            raise InvalidSetting(f"--resident {item!r} must be NAME=MODEL, such as ada=scripted")
        residents.append(Resident(name.strip(), model.strip(), (system or SYSTEM).replace("{name}", name.strip())))
    return residents


def provider_of(name: str, script: str | None) -> Provider:
    """The provider that a script makes, else the built-in one of this name."""
    if script:
        return load_script(script)
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
