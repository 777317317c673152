"""Channels that are opened and closed: by decisions of agents, and by what is sent into them."""

import asyncio
import itertools
import re
from collections.abc import Callable
from typing import Any

from manyminds.actors.faults import Faults
from manyminds.actors.providers.scripted import Answer, Scripted, call, say
from manyminds.actors.spec import Resident
from manyminds.messages.blocks import ToolResult, text_of
from manyminds.messages.mail import channel_address
from manyminds.messages.places import ChannelRef
from manyminds.messages.posts import NotSent
from manyminds.messages.registry import ChannelRecord, Desired, ProseMode
from manyminds.messages.request import Request
from manyminds.storage import registry
from tests.actors.simulated import SERVER, SimulatedHouse, variations

A = ChannelRef(SERVER, "#a")
# A killed channel may have asked the surface already, so callbacks are counted without that fault.
SURE = Faults(commit_refused=0.05, map_full=0.02, parked=0.2)


class Door:
    """A surface's open and close callbacks: what was asked, in order, and how long each took."""

    def __init__(self, took: float = 0.0, fails: int = 0, permanent: bool = False) -> None:
        self.asked: list[str] = []
        self.inside = 0
        self.most = 0
        self.took = took
        self.fails = fails
        self.permanent = permanent
        self.on_disk: Callable[[], Any] = lambda: None
        self.seen: list[Any] = []

    async def open(self, server: str, channel: str) -> None:
        """Open."""
        await self._ask("open")

    async def close(self, server: str, channel: str) -> None:
        """Close."""
        await self._ask("close")

    async def _ask(self, what: str) -> None:
        self.asked.append(what)
        self.seen.append(self.on_disk())
        self.inside += 1
        self.most = max(self.most, self.inside)
        await asyncio.sleep(self.took)
        self.inside -= 1
        if self.fails:
            self.fails -= 1
            raise NotSent("the door is stuck", permanent=self.permanent)


class Hall(SimulatedHouse):
    """A house with one known channel #a, in a state that somebody decided, and a door."""

    def __init__(
        self, seed: int, model: Scripted, desired: Desired, source: str = "agent-tool", door: Door | None = None,
        names: tuple[str, ...] = ("ada",), prose: ProseMode = "locus", **options: Any,
    ) -> None:
        self.door = door or Door()
        residents = [Resident(name, "m", prose=prose) for name in names]
        super().__init__(seed, residents, model, open=self.door.open, close=self.door.close, **options)
        self.write(registry.put_channel(ChannelRecord(A, "channel", "", desired, source, 5.0)))
        self.crash()
        self.door.on_disk = self.record

    def record(self) -> tuple[str, str]:
        """The desired state of #a, and its source."""
        with self.simulation.store.snapshot() as snap:
            known = registry.channel(snap, A)
        assert known is not None
        return known.desired, known.source

    def opened(self) -> int:
        """How many notices say that the channel is open."""
        return sum(row.metadata.get("event") == "opened" for row in self.notices("channel-notice"))

    def results(self) -> list[tuple[str, bool]]:
        """The words of all tool results, and whether each is an error."""
        blocks = [b for row in self.log() for b in row.content if isinstance(b, ToolResult)]
        return [(text_of(b.content), b.is_error) for b in blocks]


def test_delivery_into_a_closed_channel_opens_it_with_one_notice(seeds: list[int]) -> None:
    """[agents 10.4] Decided closed: desired first, then the surface, then the post; one notice, told once."""
    for seed in seeds:
        for setting in variations(SURE):
            with Hall(seed, Scripted("one", "two"), "closed", **setting) as hall:
                for text in ("first", "second"):
                    hall.insist(hall.message(text, to="ada"))
                    hall.run()
                hall.finish()
                assert hall.platform.texts("#a") == ["one", "two"]
                assert hall.door.asked == ["open"]
                assert hall.door.seen == [("open", "opened-by-delivery")]
                assert hall.record() == ("open", "opened-by-delivery")
                assert hall.opened() == 1


def test_the_notice_is_told_once_whatever_dies(seeds: list[int]) -> None:
    """[agents 10.4] With kills between all steps, and a crash: opened, posted and told once."""
    for seed in seeds:
        for setting in variations(Faults(commit_refused=0.1, map_full=0.02, killed=0.05, parked=0.2)):
            with Hall(seed, Scripted(otherwise="one"), "closed", keeps_keys=True, **setting) as hall:
                hall.insist(hall.message("first", to="ada"))
                for _ in range(seed % 60):
                    hall.simulation.step()
                hall.crash()
                hall.finish()
                hall.insist(hall.message("second", to="ada"))
                hall.finish()
                posted = 2 - len(hall.notices("inference-failed"))  # a turn that was killed three times is set aside
                assert len({post.key for post in hall.platform.posts}) == posted
                assert hall.opened() == min(posted, 1)


def test_an_explicit_send_opens_as_a_reply(seeds: list[int]) -> None:
    """[agents 10.4] A send tool's opening has the source `opened-by-reply`; its result is the post's."""
    for seed in seeds:
        model = Scripted(call("channel_publish", content="hi", channelId="#a"), "done")
        with Hall(seed, model, "closed") as hall:
            hall.say("say hi in a", channel="#b", to="ada")
            hall.run()
            assert hall.platform.texts("#a") == ["hi"]
            assert hall.record() == ("open", "opened-by-reply")
            assert hall.opened() == 1
            assert hall.results() == [("Delivered to town/#a as message p1.", False)]


def test_an_opening_that_is_not_confirmed_is_done_again_without_a_notice(seeds: list[int]) -> None:
    """[agents 10.4] Decided open: opened again once after a start, silently; then posts just go."""
    for seed in seeds:
        for setting in variations(SURE):
            with Hall(seed, Scripted("one", "two"), "open", **setting) as hall:
                for text in ("first", "second"):
                    hall.insist(hall.message(text, to="ada"))
                    hall.run()
                hall.finish()
                assert hall.platform.texts("#a") == ["one", "two"]
                assert hall.door.asked == ["open"]
                assert hall.record() == ("open", "agent-tool")
                assert hall.opened() == 0


def test_a_tune_out_is_kept(seeds: list[int]) -> None:
    """[agents 10.4] Delivery never clears a tune-out: posted, not opened, no notice."""
    for seed in seeds:
        for setting in variations(SURE):
            with Hall(seed, Scripted("one"), "tuned-out", **setting) as hall:
                hall.insist(hall.message("first", to="ada"))
                hall.finish()
                assert hall.platform.texts("#a") == ["one"]
                assert hall.door.asked == []
                assert hall.record() == ("tuned-out", "agent-tool")
                assert hall.opened() == 0


def test_a_tuned_out_channel_is_not_opened_by_its_tool() -> None:
    """[agents 10.5] channel_open refuses it, pointing at cancelling, and does not say that it stays selected."""
    model = Scripted(call("channel_open", channelId="#a"), "so be it")
    with Hall(1, model, "tuned-out") as hall:
        hall.say("open a", channel="#b", to="ada")
        hall.run()
        [(text, error)] = hall.results()
        assert error
        assert "cancel" in text
        assert "stays selected" not in text
        assert hall.record() == ("tuned-out", "agent-tool")


def test_a_failed_opening_sends_nothing_and_is_tried_again(seeds: list[int]) -> None:
    """[agents 10.3, 10.7; prose 11.1, 11.3] Nothing sent, the intent kept, the post waits; then sent and told."""
    for seed in seeds:
        for setting in variations(SURE):
            door = Door(fails=2)
            with Hall(seed, Scripted("one"), "closed", door=door, **setting) as hall:
                hall.insist(hall.message("first", to="ada"))
                hall.run(lambda: len(door.asked) == 2)  # noqa: B023
                assert hall.platform.posts == []
                assert hall.record() == ("open", "opened-by-delivery")
                hall.finish()
                assert hall.door.asked == ["open"] * 3
                assert hall.platform.texts() == ["one"]
                assert hall.opened() == 1


def test_an_opening_that_is_refused_for_good_fails_the_post() -> None:
    """[prose 11.3] `permanent` is failed: the marker says that nothing was posted, and why."""
    door = Door(fails=1, permanent=True)
    with Hall(1, Scripted("one"), "closed", door=door) as hall:
        hall.say("first", to="ada")
        hall.run()
        assert hall.platform.posts == []
        assert [entry.state for entry in hall.outbox("ada", 1)] == ["failed"]
        [marker] = hall.notices("discord-send-failed")
        assert "the door is stuck" in text_of(marker.content)
        assert hall.opened() == 0


def test_speech_during_an_explicit_close_does_not_reopen(seeds: list[int]) -> None:
    """[agents 10.5 of its invariants] While the channel is being closed a post fails, visibly, and opens nothing."""
    for seed in seeds:
        for setting in variations(SURE):
            model = Scripted().then(call("channel_close", channelId="#a"), "closed it", agent="ada")
            model.then(say("still here", delay=3.0), agent="bob")
            door = Door(took=8.0)
            with Hall(seed, model, "open", "received", door, ("ada", "bob"), **setting) as hall:
                hall.insist(hall.message("are you there?", to="bob"))
                hall.insist(hall.message("close a", channel="#b", to="ada"))
                hall.finish()
                if "faults" in setting and not hall.notices("discord-send-failed"):
                    continue  # the close began only after the post had left, or was refused
                assert hall.door.asked == ["close"]
                assert hall.record() == ("closed", "agent-tool")
                assert hall.platform.texts("#a") == []
                assert len(hall.notices("discord-send-failed")) == 1


def test_the_last_decision_wins(seeds: list[int]) -> None:
    """[agents 10.1 of its invariants] Serial per channel: never two at once; surface and record agree at the end."""
    for seed in seeds:
        for setting in variations(SURE):
            model = Scripted()
            for name, tool in (("ada", "channel_open"), ("bob", "channel_close"), ("cy", "channel_open")):
                model.then(call(tool, channelId="#a"), "done", agent=name)
            door = Door(took=2.0)
            with Hall(seed, model, "closed", door=door, names=("ada", "bob", "cy"), **setting) as hall:
                for name in ("ada", "bob", "cy"):
                    hall.insist(hall.message("go", channel="#b", to=name))
                hall.finish()
                last = {"open": "open", "closed": "close"}[hall.record()[0]]
                assert door.most == 1
                assert not door.asked or door.asked[-1] == last
                assert len(hall.results()) == 3


def test_a_new_label_does_not_undo_a_decision(seeds: list[int]) -> None:
    """[agents 10.2, 10.3] Real decisions stick against descriptor upgrades; a label change opens nothing."""
    for seed in seeds:
        for setting in variations(SURE):
            model = Scripted(call("channel_close", channelId="#a"), "done")
            with Hall(seed, model, "open", "received", **setting) as hall:
                hall.insist(hall.message("close a", channel="#b", to="ada"))
                hall.finish()
                closed = not hall.results()[0][1]  # under faults the decision itself may have been refused
                hall.insist(hall.message("we moved", label="the attic"))
                hall.finish()
                with hall.simulation.store.snapshot() as snap:
                    known = registry.channel(snap, A)
                assert known is not None
                state = ("closed", "agent-tool") if closed else ("open", "received")
                assert (known.desired, known.source, known.label) == (*state, "the attic")
                assert hall.door.asked == (["close"] if closed else [])


def open_once(request: Request) -> Answer:
    """Open #a, unless some call was answered before."""
    answered = any(isinstance(block, ToolResult) for message in request.messages for block in message.content)
    return "done" if answered else call("channel_open", channelId="#a")


def test_a_killed_channel_answers_who_asked_it(seeds: list[int]) -> None:
    """[design, "Every actor can be rebuilt"] The turn that waits for channel_open ends, and the channel is open."""
    for seed in seeds:
        for setting in variations(Faults(commit_refused=0.1, killed=0.03, parked=0.3)):
            model = Scripted(otherwise=open_once)
            with Hall(seed, model, "closed", door=Door(took=1.0), **setting) as hall:
                hall.insist(hall.message("open a", channel="#b", to="ada"))
                hall.run(lambda: bool(hall.door.asked) or (hall.last_turn("ada") > 0 and not hall.turns()))
                hall.simulation.kill(channel_address(A))
                hall.finish()
                assert hall.turns() == []
                assert len(hall.results()) == 1 or hall.notices("inference-failed")
                for text, error in hall.results():
                    assert error or hall.record() == ("open", "agent-tool"), text


class Lamp:
    """The typing callback, and who is shown as typing now."""

    def __init__(self) -> None:
        self.told: list[tuple[float, str, bool]] = []
        self.clock: Callable[[], float] = lambda: 0.0

    async def __call__(self, server: str, channel: str, thread: str | None, on: bool, author: str) -> None:
        """Show or hide."""
        self.told.append((self.clock(), author, on))

    def on(self) -> set[str]:
        """Whose indicator is on."""
        return {who for _, who, _ in self.told} - {who for who in {w for _, w, _ in self.told} if not self.last(who)}

    def last(self, who: str) -> bool:
        """What was shown last of somebody."""
        return [on for _, name, on in self.told if name == who][-1]


def test_typing_is_shown_from_the_turns_start_to_its_end(seeds: list[int]) -> None:
    """[prose 10] Started with the turn, refreshed every 7 s, stopped when it ends; only one's own is stopped."""
    for seed in seeds:
        for setting in variations(SURE):
            lamp = Lamp()
            model = Scripted().then(say("slow", delay=20.0), agent="ada")
            model.then(say("quick", delay=1.0), agent="bob")
            residents = [Resident("ada", "m"), Resident("bob", "m")]
            with SimulatedHouse(seed, residents, model, typing=lamp, **setting) as house:
                lamp.clock = house.simulation.clock.now
                house.insist(house.message("ada, bob?", mentions=("ada", "bob")))
                house.finish()
                assert lamp.on() == set()
                times = [at for at, who, on in lamp.told if who == "ada" and on]
                assert len(times) >= 3
                assert all(later - earlier <= 8.5 for earlier, later in itertools.pairwise(times))


def test_typing_stops_on_every_exit() -> None:
    """[prose 10] Also when the model fails before a stream exists, and when the turn is cancelled."""
    for ending in ("failed", "cancelled"):
        lamp = Lamp()
        model = Scripted(otherwise=say("never", delay=500.0)) if ending == "cancelled" else Scripted()
        with SimulatedHouse(1, [Resident("ada", "m")], model, typing=lamp) as house:
            house.say("ada?", to="ada")
            house.run(lambda: bool(lamp.told))  # noqa: B023
            if ending == "cancelled":
                house.run(lambda: bool(model.rounds))  # noqa: B023
                assert house.cancel("ada")
            house.run()
            assert [on for _, _, on in lamp.told] == [True, False]


# --- messages from a closed channel


def invitations(house: SimulatedHouse) -> list[str]:
    """The last words of each row that invites."""
    return [text_of(row.content[-1:]) for row in house.log() if "channelInvitation" in row.metadata]


def test_who_is_addressed_in_a_closed_channel_is_invited(seeds: list[int]) -> None:
    """[prose 12; agents 10.8] Below the message, with a target that is read back; it opens nothing itself."""
    for seed in seeds:
        for setting in variations(SURE):
            with Hall(seed, Scripted(otherwise=call("skip_reply")), "closed", **setting) as hall:
                hall.insist(hall.message("not to you"))
                hall.insist(hall.message("are you there?", to="ada"))
                hall.finish()
                [words] = invitations(hall)
                assert "name #a as the destination" in words
                assert hall.door.asked == []
                assert hall.record()[0] == "closed"


def test_the_target_of_an_invitation_is_said_as_it_stands(seeds: list[int]) -> None:
    """[prose 12, 11.1] What it quotes, written behind the prefix, opens the channel and is posted there."""

    def says(request: Request) -> Answer:
        for message in reversed(request.messages):
            found = re.search(r"name (\S+) as the destination", text_of(message.content))
            if message.role == "user" and found:
                return say(f">>{found[1]} I am here") if len(model.requests) == 1 else call("skip_reply")
        return call("skip_reply")

    for seed in seeds:
        model = Scripted(otherwise=says)
        with Hall(seed, model, "closed", prose="explicit") as hall:
            hall.say("are you there?", to="ada")
            hall.run()
            assert hall.platform.texts("#a") == ["I am here"]
            assert hall.door.asked == ["open"]
            assert hall.opened() == 1
            hall.say("good", to="ada")
            hall.run()
            assert len(invitations(hall)) == 1
