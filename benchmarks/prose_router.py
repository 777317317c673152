"""The stream router against table 6.3 written as one call a character, on 1 MB of lines.

    python -m benchmarks.prose_router [--json] [--rounds 7] [--megabytes 1]

Lines of 1 to 140 characters, one in twenty opening an envelope, cut into chunks of 4, 32 and 1,024 characters. Rounds
are interleaved; the ratio is the median of the rounds' ratios. Exits with 1 when a ratio to the table is below its
bar, which chunks of 4 and of 1,024 have. The floor is a loop that only appends the chunks to a list and joins them:
nothing that routes can be faster.
"""

import argparse
import json
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable

from benchmarks.prose_table import TableRouter
from manyminds.messages.places import ChannelRef, Place
from manyminds.messages.prose import Resolution, Resolved, StreamRouter

BARS: dict[int, float | None] = {4: 1.8, 32: None, 1024: 6.0}
ENVELOPES = 20
CHANNELS = [f"#room-{n}" for n in range(8)]
LETTERS = "abcdefghijklmnopqrstuvwxyz      ,.'>é"


def text_of(characters: int, seed: int = 7) -> str:
    """Lines of 1 to 140 characters, prefix included; each twentieth opens an envelope."""
    dice = random.Random(seed)
    lines: list[str] = []
    size = 0
    while size < characters:
        length = dice.randint(1, 140)
        prefix = f">>{dice.choice(CHANNELS)} " if len(lines) % ENVELOPES == ENVELOPES - 1 else ""
        line = prefix + "".join(dice.choices(LETTERS, k=max(1, length - len(prefix))))
        lines.append(line)
        size += len(line) + 1
    return "\n".join(lines)[:characters]


def chunks_of(text: str, size: int) -> list[str]:
    """The text cut into chunks of this many characters."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def place_of(token: str) -> Place:
    """The place of a room."""
    return Place(ChannelRef("bench", token))


def by_router(chunks: list[str]) -> dict[Place, str]:
    """The router under test, its deltas taken as an agent takes them."""
    router = StreamRouter("explicit", answer, place_of(CHANNELS[0]))
    deltas = 0
    for chunk in chunks:
        for _ in router.feed(chunk):
            deltas += 1
    router.finish()
    return router.by_channel()


def answer(ordinal: int, token: str) -> Resolution:
    """Every token is a room."""
    return Resolved(token, "bench")


def by_table(chunks: list[str]) -> dict[Place, str]:
    """The table, one call a character, its deltas taken likewise."""
    router = TableRouter("explicit", place_of, place_of(CHANNELS[0]))
    deltas = 0
    for chunk in chunks:
        for _ in router.feed(chunk):
            deltas += 1
    router.end_segment()
    return router.by_channel()


def by_floor(chunks: list[str]) -> str:
    """No routing at all."""
    taken: list[str] = []
    for chunk in chunks:
        taken.append(chunk)  # noqa: PERF402 - the loop is what is measured
    return "".join(taken)


def seconds(work: Callable[[list[str]], object], chunks: list[str]) -> float:
    """One pass, in seconds."""
    start = time.perf_counter()
    work(chunks)
    return time.perf_counter() - start


def measure(text: str, size: int, rounds: int) -> dict[str, float | None]:
    """Medians at one chunk size: characters a second of the three, and the two ratios."""
    chunks = chunks_of(text, size)
    if by_router(chunks) != by_table(chunks):
        raise SystemExit("router and table route the text differently")
    works = (by_router, by_table, by_floor)
    times = [[seconds(work, chunks) for work in works] for _ in range(rounds)]
    router, table, floor = (statistics.median(column) for column in zip(*times, strict=True))
    return {
        "chunk": size,
        "router_chars_s": len(text) / router,
        "table_chars_s": len(text) / table,
        "floor_chars_s": len(text) / floor,
        "router_to_table": statistics.median(t / r for r, t, _ in times),
        "router_to_floor": statistics.median(f / r for r, _, f in times),
        "bar": BARS[size],
    }


def main() -> int:
    """Run, print, and say with the exit code whether the bars hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds (7)")
    parser.add_argument("--megabytes", type=float, default=1.0, help="size of the text (1)")
    options = parser.parse_args()
    text = text_of(int(options.megabytes * 1e6))
    results = [measure(text, size, options.rounds) for size in BARS]
    passed = all((r["router_to_table"] or 0.0) >= (r["bar"] or 0.0) for r in results)
    if options.json:
        print(json.dumps({"python": platform.python_version(), "results": results, "passed": passed}))
    else:
        for r in results:
            bar = f"bar {r['bar']}x" if r["bar"] else "no bar"
            print(
                f"chunks of {r['chunk']:>4}: router {r['router_chars_s']:,.0f} characters/s, table "
                f"{r['table_chars_s']:,.0f}: {r['router_to_table']:.1f}x ({bar}); "
                f"{r['router_to_floor']:.3f} of the bare loop"
            )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
