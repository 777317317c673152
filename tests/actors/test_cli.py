"""The command line: options become values, wrong ones are named, and nothing is imported before it is needed."""

import subprocess
import sys
from pathlib import Path

import pytest

from manyminds import Resident, Scripted
from manyminds.actors import cli
from manyminds.actors.cli_irc import settings_of, shown
from manyminds.actors.cli_model import load_script, provider_of, residents_of
from manyminds.actors.hosts.irc import IrcEvent
from manyminds.messages.errors import InvalidSetting


def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """`manyminds` as a process."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "manyminds.actors.cli", *arguments], input=stdin, capture_output=True,
        text=True, timeout=60, check=False,
    )


@pytest.mark.parametrize("name", ["click", "rich"])
def test_a_missing_extra_is_named(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the extra the command says what to install, and ends with 2."""
    monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(SystemExit) as ended:
        cli.main(["demo"])

    assert ended.value.code == 2
    assert capsys.readouterr().err == f"the command line needs {name}: pip install 'manyminds[cli]'\n"


@pytest.mark.process
def test_importing_the_entry_point_imports_no_extra() -> None:
    """click, rich and pydle are imported when a command needs them."""
    code = (
        "import sys; import manyminds.actors.cli, manyminds.actors.hosts.irc, manyminds.actors.hosts.terminal; "
        "print([name for name in ('click', 'rich', 'pydle') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout == "[]\n"


@pytest.mark.process
def test_help_and_version() -> None:
    """The three commands are listed; the version is the package's."""
    assert all(f"\n  {name} " in run("--help").stdout for name in ("chat", "irc", "demo"))
    assert run("--version").stdout.startswith("manyminds, version ")


@pytest.mark.process
def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """Not a traceback but what to do; a resident needs no model where a script or the parrot answers."""
    (tmp_path / "file").write_text("")
    done = run("chat", "--folder", str(tmp_path / "file" / "room"), "--resident", "bob")

    assert done.returncode == 1
    assert done.stderr.startswith("Error: --folder ")
    assert "name another" in done.stderr
    assert run("chat", "--plain", "--folder", str(tmp_path / "room"), "--resident", "bob", stdin="hi\n").returncode == 0


def test_residents_of_options() -> None:
    """NAME=MODEL, in order; one scripted resident where none is named; `{name}` in the system text is each one's."""
    assert residents_of([], None)[0].name == "ada"
    assert residents_of(["ada=m1", "bert=m=2"], "I am {name}.") == [
        Resident("ada", "m1", "I am ada."), Resident("bert", "m=2", "I am bert."),
    ]


@pytest.mark.parametrize("wrong", ["ada", "=model", "ada=", " = "])
def test_a_wrong_resident_is_named(wrong: str) -> None:
    """What is no NAME=MODEL is refused, with an example."""
    with pytest.raises(InvalidSetting, match="NAME=MODEL"):
        residents_of([wrong], None)


def test_a_script_gives_the_provider(tmp_path: Path) -> None:
    """`FILE.py:FUNCTION`: the function's provider is used."""
    script = tmp_path / "my_model.py"
    script.write_text("from manyminds import Scripted\ndef make(): return Scripted('hello', name='mine')\n")

    assert provider_of("scripted", f"{script}:make").name == "mine"
    assert isinstance(provider_of("scripted", None), Scripted)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("my_model.py", "FILE.py:FUNCTION"),
        ("my_model:make", "FILE.py:FUNCTION"),
        ("none.py:make", "no file"),
        ("my_model.py:other", "no function 'other'"),
        ("my_model.py:number", "no function 'number'"),
        ("my_model.py:wrong", "must return a Provider, not int"),
    ],
)
def test_a_wrong_script_is_named(tmp_path: Path, script: str, words: str) -> None:
    """Whatever is wrong with a script, the text says what was expected."""
    (tmp_path / "my_model.py").write_text("number = 4\ndef wrong(): return 4\n")

    with pytest.raises(InvalidSetting, match=words):
        load_script(str(tmp_path / script) if script != "my_model.py" else script)


@pytest.mark.parametrize(
    ("server", "tls", "unverified", "expected"),
    [
        ("irc.test", False, False, ("irc.test", 6667, False, True)),
        ("irc.test:7000", False, False, ("irc.test", 7000, False, True)),
        ("irc.test", True, False, ("irc.test", 6697, True, True)),
        ("irc.test", False, True, ("irc.test", 6697, True, False)),
        ("irc.test:7000", True, False, ("irc.test", 7000, True, True)),
        ("::1", False, False, ("::1", 6667, False, True)),
        ("[::1]:7000", False, False, ("::1", 7000, False, True)),
    ],
)
def test_a_server_of_options(server: str, tls: bool, unverified: bool, expected: tuple[str, int, bool, bool]) -> None:
    """HOST, HOST:PORT and their IPv6 forms; TLS has its own port and checks the certificate unless told otherwise."""
    made = settings_of(server, ["#a"], tls, unverified, None, (4, 0.7))

    assert (made.host, made.port, made.tls, made.tls_verify) == expected


@pytest.mark.parametrize(("server", "channel"), [("irc.test:x", "#a"), ("irc.test", "a"), (":6667", "#a")])
def test_a_wrong_server_or_channel_is_named(server: str, channel: str) -> None:
    """A port that is no number, a channel without its sign, an empty host."""
    with pytest.raises(InvalidSetting):
        settings_of(server, [channel], False, False, None, (4, 0.7))


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (IrcEvent("heard", "mira", "#a", "hi"), ("#a", "mira", "hi")),
        (IrcEvent("posted", "ada", "#a", "yes"), ("#a", "ada", "yes")),
        (IrcEvent("joined", "ada", "#a"), ("", "", "[ada is in #a]")),
        (IrcEvent("nick", "ada", "", "ada_"), ("", "", "[ada has the nick ada_]")),
        (IrcEvent("down", "ada", "", "refused"), ("", "", "[ada is not connected: refused]")),
    ],
)
def test_what_is_shown_of_irc(event: IrcEvent, expected: tuple[str, str, str]) -> None:
    """Words with their speaker and channel; all else as a remark. A taken nick is told."""
    assert shown(event) == expected


@pytest.mark.process
def test_an_error_ends_the_command_with_its_text(tmp_path: Path) -> None:
    """An error with a name is shown as its text, without a traceback."""
    done = run("chat", "--folder", str(tmp_path / "room"), "--script", "nowhere.py:make")

    assert done.returncode == 1
    assert done.stderr == "Error: --script: there is no file 'nowhere.py'\n"


@pytest.mark.process
def test_a_chat_over_a_pipe(tmp_path: Path) -> None:
    """Lines go in, answers come out in their order, commands are carried out, and the room lasts."""
    room = ("chat", "--folder", str(tmp_path / "room"), "--plain", "--name", "mira")
    both = ("--resident", "ada=scripted", "--resident", "bert=scripted")
    done = run(*room, *both, stdin="\nbert: hello\n/nonsense\n/health\nand both?\n/quit\nnever read\n")

    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("[ada, bert in this room.")
    assert lines[1] == "bert: (scripted, no model) You said: mira: bert: hello"
    assert lines[2].startswith("[no such command.")
    assert lines[3:5] == ["[ada: idle, 0 posts waiting]", "[bert: idle, 0 posts waiting]"]
    assert sorted(lines[5:]) == [f"{name}: (scripted, no model) You said: mira: and both?" for name in ("ada", "bert")]
    assert run(*room, stdin="ada: again\n").stdout.splitlines()[1:] == [
        "ada: (scripted, no model) You said: mira: ada: again"
    ]
