"""The prose vectors, case by case: each function runs one case and lists what differs; nothing is a pass.

Every case with text runs at chunks of 1, 2, 3, 5, 7 and 11 characters, whole, and at splits drawn from
fixed seeds. Expected values stand in the vector file and are never computed here.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from manyminds.messages.prose import (
    ChannelEntry,
    Resolution,
    Resolved,
    RoundTargets,
    StreamRouter,
    Unresolved,
    prose_mode,
    resolve,
    segments,
    without_whitespace,
)
from tests.conformance_turns import run_turn_through_actors
from tests.messages.prose.pure_turn import Cut, PureTurn, pieces, place, run_case, whole

Case = Mapping[str, Any]

CHUNKS = (1, 2, 3, 5, 7, 11)
SPLIT_SEEDS = range(20)


def cuts() -> Iterator[tuple[str, Cut]]:
    """The ways to cut a text, each with its name."""
    yield "whole", whole
    for size in CHUNKS:
        yield f"chunks of {size}", _by_size(size)
    for seed in SPLIT_SEEDS:
        yield f"random splits, seed {seed}", _by_chance(seed)


def _by_size(size: int) -> Cut:
    return lambda text: [text[at : at + size] for at in range(0, len(text), size)]


def _by_chance(seed: int) -> Cut:
    def cut(text: str) -> list[str]:
        dice = random.Random(f"{seed}:{text}")
        marks = sorted(dice.sample(range(len(text) + 1), min(len(text), dice.randint(0, 8))))
        return [text[a:b] for a, b in zip([0, *marks], [*marks, len(text)], strict=True)]

    return cut


def run_segments(case: Case) -> list[str]:
    """Kind `segments`: the runs of a round, trimmed and not."""
    found = [segment for round_ in case["rounds"] for segment in segments(pieces(round_))]
    wrong = _differs("segments", [s.text for s in found], case["segments"])
    return wrong + (_differs("runs", [s.run for s in found], case["runs"]) if "runs" in case else [])


def run_router(case: Case) -> list[str]:
    """Kind `router`: each round's text, followed by an end of segment, at every cut."""
    wrong: list[str] = []
    for name, cut in cuts():
        targets = RoundTargets(_registry(case["channels"]))
        router = StreamRouter(prose_mode(case["mode"]), targets, place(case["initial_target"]))
        for round_ in case["rounds"]:
            for chunk in cut(round_["text"]):
                router.feed(chunk)
            router.end_segment()
        found = {at.at.channel: text for at, text in router.by_channel().items()}
        wrong += _streams_differ(name, found, case)
    return wrong


def run_resolve(case: Case) -> list[str]:
    """Kind `resolve`: one target against the channels registered."""
    answer = resolve(case["spec"], [_entry(registered) for registered in case["registered"]])
    if isinstance(answer, Resolved):
        return _differs("resolves_to", answer.id, case.get("resolves_to"))
    wrong = _differs("error", answer.reason, case.get("error"))
    if "candidates" in case:
        wrong += _differs("candidates", len(answer.candidates), case["candidates"])
    if len(answer.candidates) < case.get("candidates_at_least", 0):
        wrong.append(f"candidates: {len(answer.candidates)}, expected at least {case['candidates_at_least']}")
    return wrong


def run_turn(case: Case) -> list[str]:
    """Kind `turn`: by the pure gateway, outcomes known at once and only after the turn, then by the real actors."""
    wrong: list[str] = []
    for early in (True, False):
        for name, cut in cuts():
            label = f"{name}, outcomes {'at once' if early else 'at the end'}"
            wrong += [f"{label}: {line}" for line in _turn_differs(run_case(case, early, cut), case)]
    return wrong + [f"actors: {line}" for line in run_turn_through_actors(case)]


def _turn_differs(turn: PureTurn, case: Case) -> list[str]:
    retained, goes_to = turn.routing.retained, turn.routing.unprefixed_to
    found = {
        "delivered": turn.delivered,
        "bounced": turn.bounced,
        "final_destination": goes_to.at.channel if goes_to else None,
        "continuation": turn.continuation,
        "wakes": turn.wakes,
        "retained_after": retained.text if retained else None,
        "suppressed": turn.suppressed,
    }
    wrong = [line for key, value in found.items() if key in case for line in _differs(key, value, case[key])]
    return wrong + (_streams_differ("streamed", turn.streamed, case) if "streamed" in case else [])


def _streams_differ(label: str, found: Mapping[str, str], case: Case) -> list[str]:
    exact = case["stream_compare"] == "exact"
    read: Callable[[str], str] = str if exact else without_whitespace
    texts = {channel: read(text) for channel, text in found.items() if read(text)}
    expected = {channel: read(text) for channel, text in case["streamed"].items() if read(text)}
    return _differs(label, texts, expected)


def _registry(channels: Mapping[str, str]) -> Callable[[str], Resolution]:
    return lambda token: Resolved(channels[token]) if token in channels else Unresolved("no-match")


def _entry(registered: Mapping[str, str]) -> ChannelEntry:
    return ChannelEntry(
        registered["id"],
        registered["server"],
        registered["label"],
        registered.get("raw_id"),
        registered.get("channelType"),
        registered.get("recipientId"),
        registered.get("recipientName"),
    )


def _differs(label: str, found: object, expected: object) -> list[str]:
    return [] if found == expected else [f"{label}: {found!r}, expected {expected!r}"]
