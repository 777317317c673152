"""The IRC host on a real ngircd, with a person who is a client of its own."""

import asyncio
import contextlib
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tenacity import wait_fixed

from manyminds.actors.hosts.irc import IrcHost, IrcSettings
from manyminds.messages.errors import InvalidSetting
from manyminds.messages.posts import Delivered, NotSent, Unknown
from tests.actors.hosts.irc_running import Recorder, Start, hosting, settings
from tests.irc_server import Ngircd, person, running

pytestmark = pytest.mark.socket


def test_lines_come_in_once_and_address_residents(ircd: Ngircd, start: Start) -> None:
    """[done-when 2] Two residents hear a line once; nick mentions address; an action reads `* nick does`."""

    async def run() -> None:
        async with start("ada bert", "#a #b") as on, person(ircd.port, "mira", "#a", "#b") as mira:
            mira.say("#a", "Ada: one")
            mira.say("#b", "hi @bert")
            mira.say("#b", "nobody in particular")
            mira.say("#b", "\x01VERSION\x01")
            mira.say("#B", "\x01ACTION waves at ada\x01")
            await on.recorder.until(lambda: len(on.recorder.messages) == 4)
            await mira.sync()

            seen = [(m.server, m.channel, m.author.name, m.text, m.mentions, m.kind) for m in on.recorder.messages]
            assert seen == [
                ("irc", "#a", "mira", "Ada: one", ("ada",), "channel"),
                ("irc", "#b", "mira", "hi @bert", ("bert",), "channel"),
                ("irc", "#b", "mira", "nobody in particular", (), "channel"),
                ("irc", "#b", "mira", "* mira waves at ada", ("ada",), "channel"),
            ]
            assert not any(m.from_self for m in on.recorder.messages)

    asyncio.run(run())


def test_a_direct_message_is_its_residents_own(ircd: Ngircd, start: Start) -> None:
    """A PRIVMSG to a resident's nick is a direct message for that resident, and its answer goes back the same way."""

    async def run() -> None:
        async with start("ada bert", "#a") as on, person(ircd.port, "mira") as mira:
            mira.say("bert", "psst")
            await on.recorder.until(lambda: on.recorder.messages)

            message = on.recorder.messages[0]
            assert (message.channel, message.kind, message.mentions) == ("bert/mira", "dm", ("bert",))
            assert isinstance(await on.post("bert", message.channel, "yes?"), Delivered)
            await mira.until(mira.heard)
            assert mira.heard() == [("bert", "mira", "yes?")]

    asyncio.run(run())


def test_words_leave_by_their_authors_connection_and_come_back_as_echoes(ircd: Ngircd, start: Start) -> None:
    """[S33] A resident speaks under its own nick; what another of our connections hears of it is an echo."""

    async def run() -> None:
        async with start("ada bert", "#a") as on, person(ircd.port, "mira", "#a") as mira:
            mira.say("#a", "begin")
            await on.recorder.until(lambda: on.recorder.messages)
            assert isinstance(await on.post("ada", "#a", "from ada"), Delivered)
            assert isinstance(await on.post("bert", "#a", "from bert, ada"), Delivered)
            mira.say("#a", "end")
            await on.recorder.until(lambda: "end" in on.recorder.texts())
            await mira.sync()

            assert mira.heard() == [("ada", "#a", "from ada"), ("bert", "#a", "from bert, ada")]
            echoes = [(m.author.name, m.text) for m in on.recorder.messages if m.from_self]
            assert len(echoes) == 1  # the listener does not hear itself
            assert echoes[0] in [("ada", "from ada"), ("bert", "from bert, ada")]
            assert [m.text for m in on.recorder.messages if not m.from_self] == ["begin", "end"]

    asyncio.run(run())


def test_a_long_post_arrives_whole(ircd: Ngircd, start: Start) -> None:
    """[S31] Line breaks make lines; 512 bytes a line, prefix included, in UTF-8; no cut inside a code point."""
    text = "first\n" + "😀" * 400 + "\n\n" + "wörter " * 200 + "\nlast"

    async def run() -> None:
        async with start("ada", "#a") as on, person(ircd.port, "mira", "#a") as mira:
            assert isinstance(await on.post("ada", "#a", text), Delivered)
            await mira.sync()

            lines = [line for line in mira.raw if b" PRIVMSG " in line]
            assert all(len(line) <= 512 for line in lines)
            assert max(map(len, lines)) > 505  # the real prefix is known: lines are filled
            said = "".join(words for _, _, words in mira.heard())
            assert "".join(said.split()) == "".join(text.split())

    asyncio.run(run())


def test_a_refused_post_was_not_sent(ircd: Ngircd, start: Start) -> None:
    """[prose 11.1] What the server sends back before the PONG was not sent, and trying again is of no use."""

    async def run() -> None:
        async with start("ada", "#a") as on, person(ircd.port, "mira", "#m") as mira:
            outcome = await on.post("ada", "ada/nobody", "anyone?")
            assert isinstance(outcome, NotSent)
            assert outcome.permanent
            mira.send("MODE #m +m")
            await mira.sync()
            outcome = await on.post("ada", "#m", "may I?")
            assert isinstance(outcome, NotSent)
            assert outcome.permanent
            assert isinstance(await on.post("ada", "#a", "\n \n"), NotSent)

    asyncio.run(run())


def test_a_channel_is_opened_and_closed(ircd: Ngircd, start: Start) -> None:
    """[agents 10.4] Opening a channel joins it; one that lets nobody in raises NotSent; closing leaves."""

    async def run() -> None:
        async with start("ada bert", "#a") as on, person(ircd.port, "mira", "#new", "#locked") as mira:
            mira.send("MODE #locked +i")
            await mira.sync()
            await on.recorder.open("irc", "#new")
            await mira.line("JOIN :#new", 20)
            mira.say("#new", "welcome")
            await on.recorder.until(lambda: "welcome" in on.recorder.texts())
            with pytest.raises(NotSent) as refused:
                await on.recorder.open("irc", "#locked")
            assert refused.value.permanent
            await on.recorder.open("irc", "ada/mira")
            await on.recorder.close("irc", "#new")
            await mira.until(lambda: sum(" PART " in line for line in mira.lines) == 2)

    asyncio.run(run())


def test_the_server_goes_and_comes_back(ircd: Ngircd, start: Start) -> None:
    """No connection: NotSent. Afterwards every resident is back in its channels and the runtime is told."""

    async def run() -> None:
        async with start("ada bert", "#a") as on:
            before = on.recorder.connects
            ircd.stop()
            await on.event(lambda e: e.kind == "down" and e.who == "ada")
            await on.event(lambda e: e.kind == "down" and e.who == "bert")
            outcome = await on.post("ada", "#a", "into the void")
            assert isinstance(outcome, NotSent)
            assert not outcome.permanent
            ircd.start()
            await on.host.until_ready()
            assert on.recorder.connects > before
            async with person(ircd.port, "mira", "#a") as mira:
                assert isinstance(await on.post("ada", "#a", "back again"), Delivered)
                mira.say("#a", "welcome back")
                await on.recorder.until(lambda: on.recorder.texts()[-1:] == ["welcome back"])
                await mira.sync()
                assert [words for _, _, words in mira.heard()] == ["back again"]

    asyncio.run(run())


def test_another_listens_when_the_first_drops(ircd: Ngircd, start: Start) -> None:
    """The connection that listens drops: another one takes over, and each line still comes in once."""

    async def run() -> None:
        async with start("ada bert", "#a", backoff=wait_fixed(30)) as on, person(ircd.port, "mira", "#a") as mira:
            mira.say("#a", "one")
            await on.recorder.until(lambda: on.recorder.texts() == ["one"])
            mira.send("OPER root secret")
            first = on.host._hearings["#a"].listener
            mira.send(f"KILL {first} :testing")
            await on.event(lambda e: e.kind == "down" and e.who == first)
            mira.say("#a", "two")
            mira.say("#a", "three")
            await on.recorder.until(lambda: len(on.recorder.messages) == 3)
            await mira.sync()
            assert on.recorder.texts() == ["one", "two", "three"]

    asyncio.run(run())


def test_kicked_and_back(ircd: Ngircd, start: Start) -> None:
    """A resident that is kicked comes back and listens again."""

    async def run() -> None:
        async with person(ircd.port, "mira", "#a") as mira, start("ada", "#a") as on:
            mira.send("KICK #a ada :out")
            await on.event(lambda e: e.kind == "left" and "out" in e.text)
            await on.host.until_ready()
            mira.say("#a", "there you are")
            await on.recorder.until(lambda: on.recorder.texts() == ["there you are"])

    asyncio.run(run())


def test_a_taken_nick(ircd: Ngircd, start: Start) -> None:
    """The nick is in use: the resident takes another one and says so, is addressed by both, and gets its own back."""

    async def run() -> None:
        async with (
            person(ircd.port, "ada", "#a") as other, start("ada bert", "#a", regain=0.05) as on,
            person(ircd.port, "mira", "#a") as mira,
        ):
            assert (await on.event(lambda e: e.kind == "nick")).text == "ada_"
            mira.say("#a", "ada_: you")
            mira.say("#a", "ada: or you")
            await on.recorder.until(lambda: len(on.recorder.messages) == 2)
            assert [m.mentions for m in on.recorder.messages] == [("ada",), ("ada",)]
            other.say("#a", "I am no echo")
            await on.recorder.until(lambda: len(on.recorder.messages) == 3)
            assert not on.recorder.messages[-1].from_self
            await on.post("ada", "#a", "hello")
            other.send("QUIT")
            await on.event(lambda e: e.kind == "nick" and e.text == "ada")
            await on.post("ada", "#a", "myself again")
            await mira.sync()
            assert [(n, w) for n, _, w in mira.heard() if n != "ada" or w != "I am no echo"] == [
                ("ada_", "hello"), ("ada", "myself again"),
            ]

    asyncio.run(run())


def test_lines_wait_while_the_inbox_is_full(ircd: Ngircd, start: Start) -> None:
    """[S24] A full inbox makes the host wait and hand the same line in again, in order."""

    async def run() -> None:
        async with start("ada", "#a") as on, person(ircd.port, "mira", "#a") as mira:
            on.recorder.full = [0.001] * 5
            for number in range(4):
                mira.say("#a", f"line {number}")
            await on.recorder.until(lambda: len(on.recorder.messages) == 4)
            assert on.recorder.texts() == [f"line {n}" for n in range(4)]

    asyncio.run(run())


async def relay(
    port: int, take: Callable[[bytes], bytes | None], context: ssl.SSLContext | None = None
) -> asyncio.Server:
    """A proxy before the server. `take` sees each line of the client: None mutes the wire, b"" cuts it."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", port)

        async def down() -> None:
            while data := await up_reader.read(4096):
                writer.write(data)

        task = asyncio.get_running_loop().create_task(down())
        with contextlib.suppress(ConnectionError):
            while data := await reader.readline():
                line = take(data)
                if not line:
                    task.cancel()
                    if line is not None:
                        writer.transport.abort()
                    break
                up_writer.write(line)
            await reader.read()
        task.cancel()
        for end in (writer, up_writer):
            end.close()

    return await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)


@pytest.mark.parametrize(("words", "confirm"), [("cut", 20.0), ("mute", 0.2)])
def test_an_unconfirmed_post_is_unknown(ircd: Ngircd, words: str, confirm: float) -> None:
    """[agents 10, invariant 10] The connection breaks, or no PONG comes in time: it may have arrived."""

    def take(line: bytes) -> bytes | None:
        if words.encode() not in line:
            return line
        return b"" if words == "cut" else None

    async def run() -> None:
        proxy = await relay(ircd.port, take)
        port = proxy.sockets[0].getsockname()[1]
        async with hosting(settings(port, "#a", confirm=confirm, farewell=0.1), "ada") as on:
            assert isinstance(await on.post("ada", "#a", "fine"), Delivered)
            outcome = await on.post("ada", "#a", f"{words} here")
            assert isinstance(outcome, Unknown)
        proxy.close()
        await proxy.wait_closed()

    asyncio.run(run())


def test_a_post_that_the_flood_limit_keeps_back_was_not_sent(ircd: Ngircd, start: Start) -> None:
    """A post whose first line never left within its time is not sent; one with lines out is unknown."""

    async def run() -> None:
        async with start("ada", "#a", burst=4, interval=60.0, confirm=0.3) as on:
            assert isinstance(await on.post("ada", "#a", "one"), Delivered)
            assert isinstance(await on.post("ada", "#a", "two\nthree\nfour"), Unknown)
            outcome = await on.post("ada", "#a", "five")
            assert isinstance(outcome, NotSent)
            assert not outcome.permanent

    asyncio.run(run())


def test_a_password_opens_the_server(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A server's password is sent first; without it the host goes on trying and says why it is down."""
    async def run(port: int) -> None:
        async with hosting(settings(port, "#a", password="letmein"), "ada") as on:
            assert on.host.ready
        async with hosting(settings(port, "#a"), "ada", ready=False) as on:
            assert (await on.event(lambda e: e.kind == "down")).text

    with running(tmp_path_factory.mktemp("ircd"), "letmein") as server:
        asyncio.run(run(server.port))


def test_tls_checks_the_certificate(tmp_path: Path, ircd: Ngircd) -> None:
    """With TLS a certificate that nobody vouches for is refused, and taken only where the check is turned off."""
    pem = tmp_path / "server.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-keyout", str(pem), "-out", str(tmp_path / "cert.pem")], check=True, capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", pem)

    async def run() -> None:
        proxy = await relay(ircd.port, lambda line: line, context)
        port = proxy.sockets[0].getsockname()[1]
        async with hosting(settings(port, "#a", tls=True, tls_verify=False), "ada") as on:
            assert isinstance(await on.post("ada", "#a", "behind the curtain"), Delivered)
        async with hosting(settings(port, "#a", tls=True), "ada", ready=False) as on:
            assert "certificate verify failed" in (await on.event(lambda e: e.kind == "down")).text
        proxy.close()
        await proxy.wait_closed()

    asyncio.run(run())


@pytest.mark.parametrize(
    "wrong",
    [
        {"channels": ("a",)}, {"channels": ("#a b",)}, {"port": 0}, {"interval": -1.0}, {"text_bytes": 10},
        {"confirm": 0.0},
    ],
)
def test_wrong_settings_are_named(wrong: dict[str, object]) -> None:
    """A setting that cannot work is refused before anything is opened."""
    with pytest.raises(InvalidSetting):
        IrcSettings("127.0.0.1", **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("residents", [(), ("a b", "a_b"), ("Ada", "ada")])
def test_residents_need_nicks_of_their_own(residents: tuple[str, ...]) -> None:
    """Two residents cannot share a nick, and without a resident there is nobody to connect."""

    async def run() -> None:
        with pytest.raises(InvalidSetting):
            IrcHost(Recorder(), residents, IrcSettings("127.0.0.1"))

    asyncio.run(run())
