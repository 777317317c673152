"""The prose vectors of kinds `turn` and `publish-outcome`, through the real actors under the simulation.

A case's rounds are the script of a model; the registry of the case stands in for the known channels, and everything
else is the runtime's own. What was decided is read from the store, the platform and the notices; nothing is computed
here.
"""

import asyncio
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from manyminds.actors import admitting, aftermath, speaking, turn_end
from manyminds.actors.house import ROOM
from manyminds.actors.providers.scripted import Reply, call, fail, say
from manyminds.actors.providers.scripted import Scripted as Model
from manyminds.actors.spec import Resident
from manyminds.messages.blocks import ReplyBlock, Text, Thinking, ToolCall
from manyminds.messages.drafts import Draft
from manyminds.messages.incoming import Incoming
from manyminds.messages.outcomes import read_receipt
from manyminds.messages.places import ChannelRef
from manyminds.messages.posts import Delivered, NotSent, Post, Unknown
from manyminds.messages.prose import Bounce, Judged, Resolution, Resolved, Retained, Unresolved, without_whitespace
from manyminds.messages.prose.bounces import judge
from manyminds.messages.prose_notices import bounced
from manyminds.messages.registry import ChannelRecord
from manyminds.messages.request import Request, Usage
from manyminds.messages.speech import routing_of
from manyminds.messages.turns import Turn
from manyminds.messages.wakes import Wake
from manyminds.storage import Op, drafts, inbox, registry, wakes
from tests.actors.simulated import Platform, SimulatedHouse

Case = Mapping[str, Any]
START = "first-target"


class Run:
    """One case while it runs."""

    def __init__(self, case: Case, seed: int) -> None:
        self.case = case
        self.names: dict[str, str] = dict(case["channels"])
        self.bounced: list[dict[str, str]] = []
        self.judged: list[Judged] = []
        self.streamed: dict[str, str] = {}
        self.ended: list[Turn] = []
        self.kept_at: list[Retained | None] = []
        self.seen = 0
        self.outcomes = list(case.get("publish", ()))
        self.platform = Platform(answer=self.publish)
        self.delivered: list[list[str]] = []
        self.rounds = list(case["rounds"])
        self.at = 0
        self.house = self.open(seed)

    # --- the world of the case

    def open(self, seed: int) -> SimulatedHouse:
        resident = Resident(
            "ada", "m", prose=self.case["mode"], tools=[self.step(), self.send()], max_stream_tokens=10**6,
            think_policy="private" if any(r.get("private_think") for r in self.rounds) else "public", result_guard=True,
        )
        return SimulatedHouse(
            seed, [resident], Model().always(self.answer), platform=self.platform, chunk=self.chunk,
            complete=self.complete,
        )

    def resolver(self, _store: object) -> Callable[[str], Resolution]:
        def answer(token: str) -> Resolution:
            if token in self.case.get("resolver_throws", ()):
                raise RuntimeError("the registry is broken")
            if token == START:
                return Resolved(self.case["initial_target"], "town")
            found = self.names.get(token)
            return Unresolved("no-match") if found is None else Resolved(found, "town")

        return answer

    def publish(self, post: Post) -> Any:
        outcome = self.outcomes.pop(0) if self.outcomes else "delivered"
        if outcome == "delivered":
            self.delivered.append([post.channel, post.text])
            return Delivered(f"p{len(self.delivered)}")
        return Unknown("lost") if outcome == "unknown" else NotSent(outcome, permanent=True)

    def chunk(self, _server: str, _channel: str, _thread: str | None, _stream: str, _index: int, _text: str) -> None:
        """A surface that shows what is written; what it was shown is read from the ends."""

    def complete(self, _server: str, channel: str, _thread: str | None, _stream: str, text: str) -> None:
        self.streamed[channel] = self.streamed.get(channel, "") + text

    # --- the model's script

    def step(self) -> Callable[..., Any]:
        async def step() -> str:
            """Go on."""
            await self.between_rounds()
            return "done"

        return step

    def send(self) -> Callable[..., Any]:
        async def send_message() -> str:
            """Send something by itself."""
            await self.between_rounds()
            return "sent"

        return send_message

    async def between_rounds(self) -> None:
        """What happens after this round was admitted and before the next one."""
        self.names.update(self.present.get("rebind", {}))
        following: Mapping[str, Any] = self.rounds[self.at] if self.at < len(self.rounds) else {}
        if following.get("injected"):
            tags = ("chat:reaction",) if following.get("injected_kind") == "reaction" else ()
            handed = self.house.hand_in(self.message("psst", tags=tags))
            while handed.answer is None:
                await asyncio.sleep(0.01)

    def message(self, text: str, **fields: Any) -> Incoming:
        channel = self.case["initial_target"] if self.case["mode"] != "explicit" else None
        return self.house.message(text, channel or "lobby", **fields)

    def answer(self, request: Request) -> Reply:
        if self.at >= len(self.rounds):
            return say(call("skip_reply"))
        if self.at == 0 and self.case["mode"] == "explicit" and self.case["initial_target"] and not self.opened:
            self.opened = True
            return say(f">>{START}", call("step"))
        self.present = round_ = self.rounds[self.at]
        self.at += 1
        last = self.at == len(self.rounds) or bool(self.rounds[self.at].get("new_turn"))
        if round_.get("refused"):
            return say(*blocks_of(round_), stop_reason="refusal")
        if round_.get("abandoned"):
            return fail("overloaded", *blocks_of(round_), after=10**6)
        made = [*blocks_of(round_), *calls_of(round_)]
        if not last and not any(isinstance(block, ToolCall) for block in made):
            made.append(call("step"))
        restart = round_.get("then") == "budget_restart"
        return say(*made, usage=Usage(fresh=2 * 10**6) if restart else Usage(fresh=10))

    opened = False
    present: Mapping[str, Any] = {}

    # --- running

    def run(self) -> None:
        with self.watched(), self.house:
            self.prepare()
            if not self.case.get("streak_before"):
                self.say()
            self.drive()
            while self.at < len(self.rounds):
                self.say()
                self.drive()

    def say(self) -> None:
        channel = self.case.get("trigger_channel") or self.case["initial_target"] or "lobby"
        if self.case["mode"] == "explicit":
            channel = self.case.get("trigger_channel") or "lobby"
        self.house.say("ada: go on", channel, to="ada")

    def drive(self) -> None:
        """Until the turn that runs the script is over; turns that it asked for itself come after and do not count."""
        before = self.seen
        self.house.run(until=lambda: len(self.judged) > before and not self.house.turns())
        self.last, self.kept, self.verdict = self.ended[before], self.kept_at[before], self.judged[before]
        self.house.simulation.settle()
        self.seen = len(self.judged)

    def prepare(self) -> None:
        ops: list[Op] = []
        if self.case.get("retained_before") is not None:
            kept = self.case["retained_before"]
            ops.append(drafts.put(Draft("ada", 1, "d-before", "bounced", kept, kept, None, "held", 0, 0.0)))
        ops += [
            registry.put_channel(ChannelRecord(ChannelRef("town", channel), label=""))
            for channel in dict.fromkeys([*self.names.values(), self.case["initial_target"] or "lobby"])
        ]
        ops.append(registry.put_setting("mode:ada", self.case["mode"]))
        ops.append(registry.put_setting("bounces:ada", self.case.get("streak_before", 0)))
        if self.case.get("streak_before"):
            at = ChannelRef("town", self.case["initial_target"]) if self.case["mode"] == "hybrid" else None
            ops += [wakes.put(ROOM, Wake(1, "ada", "prose-bounce", 0.0, at)), inbox.set_last_number(ROOM, 1)]
        system = self.house.simulation
        reply = system.open_reply(lambda _: None)
        system.commit(ops, ((reply, None),))
        system.settle()
        self.house.crash()

    @contextmanager
    def watched(self) -> Generator[None]:
        def note(bounce: Bounce, mode: Any, at_risk: bool) -> Any:
            self.bounced.append({"text": bounce.text, "reason": bounce.reason})
            return bounced(bounce, mode, at_risk)

        def judging(*args: Any) -> Judged:
            found = judge(*args)
            self.judged.append(found)
            return found

        original = turn_end.TurnEnd._judge

        def ending(end: turn_end.TurnEnd, turn: Turn) -> Any:
            self.ended.append(turn)
            self.kept_at.append(end.desk.book.retained())
            return original(end, turn)

        with (
            patch.object(speaking, "resolver", self.resolver), patch.object(admitting, "bounced", note),
            patch.object(aftermath, "bounced", note), patch.object(turn_end, "judge", judging),
            patch.object(turn_end.TurnEnd, "_judge", ending),
        ):
            yield


def blocks_of(round_: Mapping[str, Any]) -> list[ReplyBlock]:
    """The blocks that a case's round writes."""
    made: list[ReplyBlock] = []
    for block in round_.get("blocks") or [{"type": "text", "text": round_.get("text", "")}]:
        if block["type"] == "text" and block.get("text"):
            made.append(Text(block["text"]))
        elif block["type"] == "thinking":
            made.append(Thinking(block.get("text", "hm"), "signed"))
        elif block["type"] == "tool_use":
            made.append(call("step"))
    return made


def calls_of(round_: Mapping[str, Any]) -> list[ToolCall]:
    """The calls that a case's round makes beside its blocks."""
    made: list[ToolCall] = []
    if round_.get("skip_reply"):
        made.append(call(round_.get("tool_name", "skip_reply")))
    if round_.get("send"):
        made.append(call("send_message"))
    if round_.get("private_think"):
        made.append(call("think", thought="hm"))
    return made


def found_of(run: Run) -> dict[str, object]:
    """What a case may ask for, as it came out."""
    turn, kept, judged = run.last, run.kept, run.verdict
    routing = routing_of(turn, kept)
    goes_to = routing.unprefixed_to
    return {
        "delivered": run.delivered,
        "bounced": run.bounced,
        "final_destination": goes_to.at.channel if goes_to else None,
        "continuation": (turn.continuation or judged.continuation) and turn.ending == "completed",
        "wakes": len(judged.wakes),
        "retained_after": kept.text if kept else None,
        "suppressed": routing.suppressed,
    }



def run_turn_through_actors(case: Case, seed: int = 1) -> list[str]:
    """Kind `turn`, by the actors themselves."""
    run = Run(case, seed)
    run.run()
    found = found_of(run)
    asked = {key: value for key, value in found.items() if key in case}
    wrong = [f"{key}: {value!r}, expected {case[key]!r}" for key, value in asked.items() if value != case[key]]
    if "streamed" in case:
        read = str if case["stream_compare"] == "exact" else without_whitespace
        texts = {channel: read(text) for channel, text in run.streamed.items() if read(text)}
        expected = {channel: read(text) for channel, text in case["streamed"].items() if read(text)}
        if texts != expected:
            wrong.append(f"streamed: {texts!r}, expected {expected!r}")
    return wrong


OUTCOMES = {"queued": "failed", "expired": "failed"}


class Publishing:
    """A case of kind `publish-outcome`: one post to one channel, whose surface does what the case says."""

    def __init__(self, event: Mapping[str, Any]) -> None:
        self.event = event
        self.published = self.opened = 0

    async def publish(self, post: Post) -> Any:
        """The publisher."""
        self.published += 1
        match self.event.get("error"):
            case "not-sent":
                raise NotSent("it never left", permanent=True)
            case "timeout":
                await asyncio.sleep(3600)
            case "closed-while-awaiting":
                raise ConnectionError("the connection was lost")
            case _:
                pass
        return read_receipt(self.event.get("receipt", {"delivered": True, "messageId": "m"}))

    def open(self, _server: str, _channel: str) -> None:
        """The surface's open callback."""
        self.opened += 1
        if not self.event.get("open_succeeds", True):
            raise NotSent("the platform would not open it", permanent=True)

    def run(self, seed: int) -> dict[str, object]:
        """What came of it."""
        target = "lobby" if self.event.get("registered", True) else "nowhere"
        model = Model(call("channel_publish", content="hello", channelId=target), "done")
        house = SimulatedHouse(seed, [Resident("ada", "m")], model, register=False)
        with house:
            house.register(self.publish, open=self.open)
            house.hand_in(house.message("hi", "lobby"))
            house.simulation.settle()
            if not self.event.get("open", True):
                closed = ChannelRecord(ChannelRef("town", "lobby"), desired="closed", source="agent-tool")
                house.simulation.commit([registry.put_channel(closed)])
                house.simulation.settle()
                house.crash()
            house.say("ada: publish", "elsewhere", to="ada")
            house.run(until=lambda: bool(house.traced("inference:completed")) and not house.turns())
            entries = house.outbox("ada", 1)
            states = {OUTCOMES.get(entry.state, entry.state) for entry in entries} or {"failed"}
            notices = [row.metadata.get("kind") for row in house.notices("channel-notice")]
        return {
            "status": next(iter(states)), "publishes": self.published, "opens": bool(self.opened),
            "notice": "channels" if len(notices) == 1 else None,
        }


def run_publish_outcome(case: Case, seed: int = 1) -> list[str]:
    """Kind `publish-outcome`, through an explicit send and the channel's actor."""
    found = Publishing(case["event"]).run(seed)
    asked = {key: value for key, value in found.items() if key in case}
    return [f"{key}: {value!r}, expected {case[key]!r}" for key, value in asked.items() if value != case[key]]
