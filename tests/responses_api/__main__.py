"""Runs the stand-in by itself: `python -m tests.responses_api`, from the root of the repository.

Owns: the options. The address is the first line of stdout. Each line on stdin releases the next slow reply
(`--fault slow`), now or when it comes; the end of stdin changes nothing; SIGINT or SIGTERM ends it, with status 0.
"""

import argparse
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from threading import Event, Thread
from types import FrameType

from tests.messages_api.faults import Cut, EmptyStream, EndEarly, Gate, Hold

from .faults import (
    BAD_REQUESTS,
    Failed,
    StreamError,
    out_of_quota,
    overloaded,
    rate_limited,
    server_error,
)
from .models import DEFAULT_MODELS, Model, table
from .replies import Answer, Queue, Refusal, Reply, always, partial_call, reply
from .server import ResponsesServer
from .service import Service

FAULTS: dict[str, Callable[[], Answer]] = {
    "none": lambda: reply("ok"),
    "end-early": lambda: reply("ok", faults=[EndEarly()]),
    "cut": lambda: reply("ok", faults=[Cut()]),
    "no-response": lambda: reply("ok", faults=[Cut(None)]),
    "stream-error": lambda: reply("ok", faults=[StreamError(server_error())]),
    "failed": lambda: reply("ok", faults=[Failed(rate_limited())]),
    "empty": lambda: reply("ok", faults=[EmptyStream()]),
    "slow": lambda: reply("ok", faults=[Hold(Gate())]),
    "partial-tool": lambda: partial_call("write", '{"path":"a.txt","body":"hel'),
    "max-tokens": lambda: reply("o", incomplete="max_output_tokens"),
    "content-filter": lambda: reply("o", incomplete="content_filter"),
    "refusal": lambda: reply(Refusal("I cannot help with that.")),
    "429": rate_limited,
    "429-quota": out_of_quota,
    "500": server_error,
    "503": overloaded,
    **{f"400-{name}": partial(BAD_REQUESTS.__getitem__, name) for name in BAD_REQUESTS},
}
ABOUT = (
    "A local stand-in for the OpenAI Responses API. Prints its address and serves until a signal comes. Each line on "
    "stdin releases the next slow reply."
)


def options(given: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.responses_api", description=ABOUT)
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one")
    parser.add_argument("--model", action="append", default=[], help="a reasoning model's name to know as well")
    parser.add_argument("--no-key", action="store_true", help="ask for no key, as local servers do")
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        choices=sorted(FAULTS),
        metavar="KIND",
        help=f"what the next request meets; may be repeated. One of: {', '.join(sorted(FAULTS))}",
    )
    parser.add_argument("--reply", default="ok", help="the text of every reply after the faults")
    return parser.parse_args(given)


def main(given: Sequence[str]) -> int:
    """Serves until a signal comes."""
    chosen = options(given)
    ended = Event()

    def end(number: int, frame: FrameType | None) -> None:
        ended.set()

    signal.signal(signal.SIGINT, end)
    signal.signal(signal.SIGTERM, end)
    answers = [FAULTS[kind]() for kind in chosen.fault]
    models = table(*DEFAULT_MODELS.values(), *map(Model, chosen.model))
    service = Service(Queue(answers, always(chosen.reply)), models, keyed=not chosen.no_key)
    with ResponsesServer(service, chosen.port) as server:
        print(server.base_url, flush=True)
        Thread(target=_open_in_turn, args=(_gates(answers),), daemon=True).start()
        ended.wait()
    return 0


def _gates(answers: Iterable[Answer]) -> list[Gate]:
    replies = (answer for answer in answers if isinstance(answer, Reply))
    return [fault.gate for held in replies for fault in held.faults if isinstance(fault, Hold)]


def _open_in_turn(gates: Iterable[Gate]) -> None:
    for gate, _ in zip(gates, sys.stdin, strict=False):
        gate.open()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
