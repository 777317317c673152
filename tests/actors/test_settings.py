"""What a host declares: every wrong setting is an InvalidSetting that says what to write, before anything is there."""

import asyncio
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from manyminds.actors.bridge import call_in
from manyminds.actors.providers.scripted import Scripted
from manyminds.actors.runtime import Opened, Runtime
from manyminds.actors.runtime_async import AsyncRuntime
from manyminds.actors.spec import Resident, check_resident
from manyminds.messages.errors import InvalidSetting, RuntimeClosed
from manyminds.storage import open_store
from tests.actors.on_threads import ADA, message, runtime

WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({"name": 3}, "name must be a str, not int"),
    ({"name": " ada"}, "name must not be empty"),
    ({"name": "user"}, "runtime's own notices bear that name; choose another"),
    ({"name": "User"}, "runtime's own notices"),
    ({"model": None}, "model must be a non-empty str"),
    ({"system": 3}, "system must be a list or tuple of str, not int"),
    ({"system": ["x", 3]}, "system must hold str, not int"),
    ({"tools": print}, r"tools must be a list or tuple of functions, not builtin_function_or_method: write \[...\]"),
    ({"prose": "markdown"}, "prose must be one of locus, hybrid, explicit, disabled"),
    ({"prose": None}, "prose must be one of"),
    ({"prose": ["locus"]}, "prose must be one of"),
    ({"think_policy": "hidden"}, "think_policy must be one of public, private"),
    ({"provider": "anthropic"}, "must be a Provider, .* not a str"),
    ({"provider": Scripted}, "must be a Provider, .* not the class Scripted"),
    ({"max_tokens": "9"}, "max_tokens must be a number of at least 1, not a str"),
    ({"max_tokens": 0}, "max_tokens must be a number of at least 1, not 0"),
    ({"max_tokens": True}, "max_tokens"),
    ({"context_tokens": float("nan")}, "context_tokens must be a number of at least 1, not nan"),
    ({"max_stream_tokens": -1}, "max_stream_tokens"),
    ({"tool_deadline": 0}, "tool_deadline"),
    ({"reserve": "4"}, "reserve must be a number of at least 0, not a str"),
    ({"reserve": 100_000}, "reserve must be below context_tokens"),
    ({"self_participants": "old"}, "self_participants must be a list or tuple of str, not str"),
    ({"self_participants": ("user",)}, "runtime's own notices"),
    ({"trigger_sources": "timer"}, "trigger_sources must be a list or tuple of str, not str"),
    ({"present_as": None}, "present_as must be a str"),
    ({"extra": 3}, "extra must be a dict, not int"),
    ({"thinking": "on"}, "thinking must be a dict, not str"),
)


@pytest.mark.parametrize(("fields", "told"), WRONG, ids=lambda value: str(value)[:40])
def test_a_wrong_setting_of_a_resident_says_what_to_write(fields: dict[str, Any], told: str) -> None:
    """[the host's API] Whatever a declaration gets wrong is named with what it should be, and never taken for more."""
    with pytest.raises(InvalidSetting, match=told):
        check_resident(replace(ADA, **fields), Scripted(), "shared", first=True)


def test_what_is_right_is_taken_as_it_is() -> None:
    """[the host's API] Lists and tuples are alike; a resident's own provider goes before the shared one."""
    own = Scripted(name="own")
    spec = check_resident(
        Resident("ada", "m", ["a", " ", "b"], provider=own, self_participants=("eva",), trigger_sources=("timer",)),
        Scripted(), "shared", first=False,
    )
    assert (spec.system, spec.provider, spec.trigger_sources) == (("a", "b"), own, ("timer",))
    assert spec.voices == {"ada", "eva"}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"residents": ADA}, r"residents must be a list or tuple of Resident, not Resident: write \[Resident"),
        ({"residents": ["ada"]}, "residents must be Resident values, not str: write Resident"),
        ({"provider": None}, "has no provider: give open"),
        ({"wake_on": "mentions"}, "wake_on must be 'addressed' or 'all'$"),
        ({"folder": 3}, "folder must be the path"),
        ({"folder": ""}, "folder must be the path"),
        ({"folder": b"room"}, "folder must be the path"),
        ({"switch_interval": 0}, "switch_interval must be a number of seconds above 0"),
        ({"switch_interval": "x"}, "switch_interval"),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [Runtime, AsyncRuntime])
def test_a_wrong_option_opens_nothing(
    kind: Any, options: dict[str, Any], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[the host's API] open() refuses at once, in both runtimes, and makes no folder."""
    monkeypatch.chdir(tmp_path)
    given: dict[str, Any] = {"folder": "room", "residents": [ADA], "provider": Scripted(), **options}
    with pytest.raises(InvalidSetting, match=told):
        kind.open(**given)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.pool
def test_a_decorator_without_its_parentheses() -> None:
    """[the host's API] `@runtime.publisher` without a server's name is refused where it stands."""
    with runtime(Scripted()) as (opened, board):
        for wrong in (board, "", None):
            with pytest.raises(InvalidSetting, match=r"publisher\(\) needs the name of a server"):
                opened.publisher(wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidSetting, match="the channel's name as a str, not NoneType"):
            opened.last_seen("town", None)  # type: ignore[arg-type]


@pytest.mark.pool
def test_an_async_runtime_is_open_between_its_start_and_its_stop() -> None:
    """[the host's API] Before it is entered each name says to enter it; after its stop it starts no second time."""

    async def main() -> None:
        opened = AsyncRuntime.open(None, [ADA], Scripted())
        with pytest.raises(RuntimeClosed, match="not open yet; enter or await it"):
            await opened.receive(message("hello"))
        with pytest.raises(RuntimeClosed, match="not open yet"):
            opened.publisher("town")
        async with opened:
            assert (await opened.receive(message("hello"))).routed
        with pytest.raises(RuntimeClosed, match="open a new one"):
            async with opened:
                raise AssertionError("it was entered a second time")

    asyncio.run(main())


@pytest.mark.pool
def test_a_start_that_is_cancelled_leaves_the_folder_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[what lasts] A start cut off at any point (a host's timeout) still closes what it has opened."""
    began, go_on = threading.Event(), threading.Event()
    real = Opened.__init__

    def slow(self: Opened, *args: Any) -> None:
        real(self, *args)
        loop = loops[0]
        call_in(loop, began_in_loop.set)
        began.set()
        go_on.wait(60)

    monkeypatch.setattr(Opened, "__init__", slow)
    loops: list[asyncio.AbstractEventLoop] = []

    async def main() -> None:
        loops.append(asyncio.get_running_loop())

        async def start() -> None:
            await AsyncRuntime.open(tmp_path / "room", [ADA], Scripted())

        starting = asyncio.ensure_future(start())
        await began_in_loop.wait()
        starting.cancel()
        asyncio.get_running_loop().call_soon(go_on.set)
        with pytest.raises(asyncio.CancelledError):
            await starting

    began_in_loop = asyncio.Event()
    asyncio.run(main())
    assert began.is_set()
    open_store(str(tmp_path / "room")).close()
