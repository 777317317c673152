"""Runs the stand-in by itself: `python -m tests.messages_api`, from the root of the repository.

Owns: the options. The address is the first line of stdout. Each line on stdin releases the next slow reply
(`--fault slow`), now or when it comes; the end of stdin changes nothing; SIGINT or SIGTERM ends it, with status 0.
"""

import argparse
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from threading import Event, Thread
from types import FrameType

from .errors import api_error
from .faults import (
    BAD_REQUESTS,
    Cut,
    EmptyStream,
    EndEarly,
    Gate,
    Hold,
    StreamError,
    overloaded,
    rate_limited,
    server_error,
    spend_limited,
)
from .models import DEFAULT_MODELS, ModelTable, load_models
from .replies import Answer, Queue, Reply, always, echo, partial_call, reply
from .server import MessagesServer
from .service import Service

FAULTS: dict[str, Callable[[], Answer]] = {
    "none": lambda: reply("ok"),
    "end-early": lambda: reply("ok", faults=[EndEarly()]),
    "cut": lambda: reply("ok", faults=[Cut()]),
    "no-response": lambda: reply("ok", faults=[Cut(None)]),
    "stream-error": lambda: reply("ok", faults=[StreamError(api_error(529, "Overloaded"))]),
    "stream-refusal": lambda: reply("ok", faults=[StreamError(BAD_REQUESTS["unknown-tool"], 0)]),
    "empty": lambda: reply("ok", faults=[EmptyStream()]),
    "slow": lambda: reply("ok", faults=[Hold(Gate())]),
    "partial-tool": lambda: partial_call("write", '{"path":"a.txt","body":"hel'),
    "429": rate_limited,
    "429-spend": spend_limited,
    "500": server_error,
    "529": overloaded,
    **{f"400-{name}": partial(BAD_REQUESTS.__getitem__, name) for name in BAD_REQUESTS},
}


ABOUT = (
    "A local stand-in for the Anthropic Messages API. Prints its address and serves until a signal comes. Each line on "
    "stdin releases the next slow reply."
)


def options(given: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.messages_api", description=ABOUT)
    parser.add_argument("--port", type=_port, default=0, help="0, the default, takes a free one")
    parser.add_argument(
        "--models",
        type=_models,
        default=DEFAULT_MODELS,
        metavar="FILE",
        help="JSON list of model rows, added to the table or replacing rows",
    )
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        choices=sorted(FAULTS),
        metavar="KIND",
        help=f"what the next request meets; may be repeated. One of: {', '.join(sorted(FAULTS))}",
    )
    parser.add_argument("--reply", default="ok", help="the text of every reply after the faults")
    parser.add_argument("--echo", action="store_true", help="after the faults, answer with an outline of the request")
    return parser.parse_args(given)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 to 65535")
    return int(text)


def _models(text: str) -> ModelTable:
    try:
        return load_models(Path(text))
    except (OSError, ValueError, TypeError) as wrong:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of model rows ({wrong})") from None


def answers_of(chosen: argparse.Namespace) -> list[Answer]:
    """What the first requests meet."""
    return [FAULTS[kind]() for kind in chosen.fault]


def gates_of(answers: Iterable[Answer]) -> list[Gate]:
    """The gates of these answers, in their order."""
    replies = (answer for answer in answers if isinstance(answer, Reply))
    return [fault.gate for held in replies for fault in held.faults if isinstance(fault, Hold)]


def main(given: Sequence[str]) -> int:
    """Serves until a signal comes. The status: 1 where the port cannot be used."""
    chosen = options(given)
    ended = Event()

    def end(number: int, frame: FrameType | None) -> None:
        ended.set()

    signal.signal(signal.SIGINT, end)
    signal.signal(signal.SIGTERM, end)
    answers = answers_of(chosen)
    script = Queue(answers, then=echo() if chosen.echo else always(chosen.reply))
    try:
        running = MessagesServer(Service(script, chosen.models), chosen.port)
    except OSError as wrong:
        print(f"port {chosen.port} cannot be used: {wrong.strerror}", file=sys.stderr)
        return 1
    with running as server:
        print(server.url, flush=True)
        Thread(target=_open_in_turn, args=(gates_of(answers),), daemon=True).start()
        ended.wait()
    return 0


def _open_in_turn(gates: Iterable[Gate]) -> None:
    for gate, _ in zip(gates, sys.stdin, strict=False):
        gate.open()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
