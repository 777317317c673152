"""The `drafts` tool through a whole house: kept words and waiting posts, sent again or let go (prose 9, 11.3)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from manyminds.actors.faults import Faults
from manyminds.actors.providers.scripted import Answer, Scripted, call, newest_results
from manyminds.messages.blocks import text_of
from manyminds.messages.drafts import Draft
from manyminds.messages.mail import Receipt, agent_address
from manyminds.messages.posts import NotSent, Post, Unknown
from manyminds.messages.request import Request
from manyminds.storage import drafts, outbox
from tests.actors.simulated import Platform, SimulatedHouse, variations
from tests.actors.speaking import Slow, ask, send, states, town

# A call whose unit the store refuses says so and ends; that has tests of its own.
SURE = Faults(parked=0.3)


def drafts_of(house: SimulatedHouse, agent: str = "ada") -> dict[str, Draft]:
    """An agent's drafts by their text."""
    with house.simulation.store.snapshot() as snap:
        return {draft.text: draft for draft in drafts.of_agent(snap, agent)}


def state_of(house: SimulatedHouse) -> dict[str, str]:
    """The state of each draft, by its text."""
    return {text: draft.state for text, draft in drafts_of(house).items()}


class Dialogue:
    """A model that makes one call after the other and keeps their results; ids are asked for when they are needed."""

    def __init__(self) -> None:
        self.calls: list[Callable[[], Any]] = []
        self.results: list[tuple[str, bool]] = []
        self.heard: set[str] = set()
        self.house: SimulatedHouse | None = None

    def say(self, *made: Callable[[], Any]) -> None:
        """These calls next, one a round."""
        self.calls.extend(made)

    def ids(self, *texts: str) -> list[str]:
        """The ids of the drafts with these texts."""
        assert self.house is not None
        known = drafts_of(self.house)
        return [known[text].id for text in texts]

    def drafts(self, action: str, *texts: str, **fields: Any) -> Callable[[], Any]:
        """A call of the tool about the drafts with these texts."""

        def make() -> Any:
            named = {"ids": self.ids(*texts)} if texts else {}
            return call("drafts", action=action, **named, **fields)

        return make

    def answer(self, request: Request) -> Answer:
        """The next call."""
        for result in newest_results(request):
            if result.call_id not in self.heard:
                self.heard.add(result.call_id)
                self.results.append((text_of(result.content), result.is_error))
        return self.calls.pop(0)() if self.calls else call("skip_reply")


def kept(*texts: str, state: str = "held") -> list[Any]:
    """Operations that give ada drafts with these texts, oldest first."""
    return [
        drafts.put(Draft(
            "ada", number, f"d-{'23456789abcdefghjkmn'[number]}aaaa", "publish-failed", text, text, None,
            state, 0, float(number),  # type: ignore[arg-type]
        ))
        for number, text in enumerate(texts, 1)
    ]


def talking(
    seed: int, dialogue: Dialogue, platform: Platform, *texts: str, state: str = "held", **options: Any
) -> SimulatedHouse:
    """A house in which ada has these drafts and is about to call."""
    house = town(seed, Scripted().always(dialogue.answer), platform, prose="explicit", **options)
    dialogue.house = house
    house.write(*kept(*texts, state=state))
    house.crash()
    return house


# --- list, read, dismiss


def test_the_list_is_newest_first_and_ten_a_page() -> None:
    """[prose 9] Ten a page; what lies past the end is said to be empty; unused fields with values are refused."""
    talk = Dialogue()
    words = [f"words {n}" for n in range(1, 13)]
    talk.say(
        talk.drafts("list"), talk.drafts("list", page=2), talk.drafts("list", page=3), talk.drafts("list", page=0),
        talk.drafts("list", ids=["d-2aaaa"]), talk.drafts("list", ids=None, channelId=None, page=None),
        talk.drafts("read", "words 3", page=1), talk.drafts("dismiss", "words 3", confirmDuplicate=False),
    )
    with talking(1, talk, Slow(), *words) as house:
        ask(house)
        house.run()
        first, second, third, zero, unused, nulls, read, dismissed = talk.results[:8]
        assert [line.rsplit(": ", 1)[1] for line in first[0].splitlines()[1:]] == words[:1:-1]
        assert [line.rsplit(": ", 1)[1] for line in second[0].splitlines()[1:]] == words[1::-1]
        assert "page 3 is empty" in third[0]
        assert zero == ("page counts from 1", True)
        assert unused == ("list does not use ids; leave it out", True)
        assert nulls == first
        assert (read[1], dismissed[1]) == (True, True)
        assert set(state_of(house).values()) == {"held"}


def test_only_ones_own_are_seen() -> None:
    """[prose 9] Own drafts only: another's id is not there, in no action, and its words in no list."""
    talk = Dialogue()
    talk.say(*(talk.drafts(action, ids=["d-3aaaa"]) for action in ("read", "dismiss")), talk.drafts("list"))
    talk.say(talk.drafts("resend", ids=["d-3aaaa"], channelId="#a"))
    platform = Slow()
    with talking(1, talk, platform) as house:
        house.write(drafts.put(Draft("bob", 1, "d-3aaaa", "bounced", "bob's", "bob's", None, "held", 0, 1.0)))
        ask(house)
        house.run()
        read, dismissed, listed, resent = talk.results[:4]
        for text, error in (read, dismissed, resent):
            assert error
            assert "no draft d-3aaaa" in text
        assert "bob" not in listed[0]
        assert platform.calls == []


def test_read_and_dismiss() -> None:
    """[prose 9] Text byte for byte; set aside it is nobody's any more, and cannot be sent."""
    talk = Dialogue()
    words = "  two\n\nlines \t"
    talk.say(talk.drafts("read", words), talk.drafts("dismiss", words), talk.drafts("resend", words, channelId="#a"))
    platform = Slow()
    with talking(1, talk, platform, words) as house:
        ask(house)
        house.run()
        assert talk.results[0] == (f"d-3aaaa:\n{words}", False)
        assert talk.results[1] == ("Set aside: d-3aaaa.", False)
        assert talk.results[2] == ("d-3aaaa was set aside; nothing was sent", True)
        assert state_of(house) == {words: "dismissed"}
        assert platform.calls == []


# --- resend


def test_resend_goes_in_order_and_stops_at_the_first_that_fails(seeds: list[int]) -> None:
    """[prose 9] In the order named, verbatim, one channel; not confirmed: it stops, and says what was not tried."""
    for seed in seeds:
        for setting in variations(SURE):
            for answer, state in ((NotSent("no", permanent=True), "held"), (Unknown("lost"), "unconfirmed")):
                talk = Dialogue()
                talk.say(talk.drafts("resend", "c", " b\n", "a", channelId="#b"))
                platform = Slow({" b\n": answer})
                with talking(seed, talk, platform, "a", " b\n", "c", **setting) as house:
                    ask(house)
                    house.finish()
                    assert platform.called() == ["c", " b\n"]
                    assert {post.channel for post in platform.calls} == {"#b"}
                    [(text, error)] = talk.results[:1]
                    lines = text.splitlines()
                    assert error
                    assert [line.split(":")[0].split(" ")[0] for line in lines] == ["d-5aaaa", "d-4aaaa", "not"]
                    assert "delivered to town/#b" in lines[0]
                    assert lines[2] == "not tried: d-3aaaa"
                    assert state_of(house) == {"a": "held", " b\n": state, "c": "delivered"}
                    assert house.notices("discord-send-failed") == []


def test_a_delivered_draft_gives_its_receipt_and_sends_nothing(seeds: list[int]) -> None:
    """[prose 9] Already delivered: the historical receipt, in its place among the others."""
    for seed in seeds:
        talk = Dialogue()
        talk.say(talk.drafts("resend", "a", channelId="#b"), talk.drafts("resend", "b", "a", channelId="#a"))
        platform = Slow()
        with talking(seed, talk, platform, "a", "b") as house:
            ask(house)
            house.run()
            assert platform.called() == ["a", "b"]
            assert talk.results[1] == (
                "d-4aaaa: delivered to town/#a as p2\nd-3aaaa: delivered before to town/#b as p1", False,
            )


def test_what_may_be_out_needs_a_confirmation(seeds: list[int]) -> None:
    """[prose 9] Unconfirmed: refused whole, nothing sent, until confirmDuplicate is true."""
    for seed in seeds:
        talk = Dialogue()
        talk.say(
            talk.drafts("resend", "a", channelId="#a"),
            talk.drafts("resend", "a", channelId="#a", confirmDuplicate=False),
            talk.drafts("resend", "a", channelId="#a", confirmDuplicate=True),
        )
        platform = Slow()
        with talking(seed, talk, platform, "a", state="unconfirmed") as house:
            ask(house)
            house.run()
            assert [error for _, error in talk.results[:3]] == [True, True, False]
            assert "confirmDuplicate" in talk.results[0][0]
            assert platform.called() == ["a"]
            assert state_of(house) == {"a": "delivered"}


def test_at_most_twenty() -> None:
    """[prose 9] Up to 20 at once; one more is refused, and nothing is sent."""
    words = [f"w{n}" for n in range(21)]
    many = [
        drafts.put(Draft("ada", n + 1, f"d-zz{n:03}", "bounced", text, text, None, "held", 0, 1.0))
        for n, text in enumerate(words)
    ]
    talk = Dialogue()
    talk.say(talk.drafts("resend", *words, channelId="#a"), talk.drafts("resend", *words[:20], channelId="#a"))
    platform = Slow()
    with talking(1, talk, platform) as house:
        house.write(*many)
        house.crash()
        ask(house)
        house.run()
        assert talk.results[0] == ("resend takes at most 20 drafts, not 21", True)
        assert platform.called() == words[:20]


def test_a_batch_is_claimed_whole_before_its_first_send(seeds: list[int]) -> None:
    """[prose 9] Two calls of one round: the second is refused for what the first has claimed, as is a dismiss."""
    for seed in seeds:
        talk = Dialogue()
        talk.say(lambda talk=talk: [  # type: ignore[misc]
            talk.drafts("resend", "a", "b", channelId="#a")(), talk.drafts("resend", "b", channelId="#b")(),
            talk.drafts("dismiss", "b")(),
        ])
        platform = Slow({"a": 5.0})
        with talking(seed, talk, platform, "a", "b") as house:
            ask(house)
            house.run()
            assert [(post.channel, post.text) for post in platform.posts] == [("#a", "a"), ("#a", "b")]
            assert [error for _, error in talk.results[:3]] == [False, True, True]
            assert all("another call" in text for text, _ in talk.results[1:3])
            assert state_of(house) == {"a": "delivered", "b": "delivered"}


def test_each_is_looked_at_again_at_its_own_turn(seeds: list[int]) -> None:
    """[prose 9] Another post of the same words is confirmed meanwhile: at its turn it is delivered, and not sent."""
    for seed in seeds:
        talk = Dialogue()
        talk.say(talk.drafts("resend", "b", channelId="#b"), talk.drafts("resend", "a", "b", channelId="#a",
                                                                         confirmDuplicate=True))
        # The first attempt of b is confirmed after its deadline, while a of the second call is out.
        platform = Slow({"b": 40.0, "a": 20.0})
        with talking(seed, talk, platform, "a", "b") as house:
            ask(house)
            house.run()
            assert platform.called() == ["b", "a"]
            assert "b: not confirmed" in talk.results[0][0].replace("d-4aaaa", "b")
            assert talk.results[1][0].splitlines()[1].startswith("d-4aaaa: delivered before to town/#b")
            assert state_of(house) == {"a": "delivered", "b": "delivered"}


def test_a_resend_that_waits_is_in_flight_until_it_ends(seeds: list[int]) -> None:
    """[prose 9, 11.3] Queued: in flight, so that neither resend nor dismiss takes it; delivered late, it is settled."""
    for seed in seeds:
        for setting in variations(SURE):
            for second, state in ((0.0, "delivered"), (NotSent("no", permanent=True), "held")):
                talk = Dialogue()
                talk.say(
                    talk.drafts("resend", "a", "b", channelId="#a"), talk.drafts("resend", "a", channelId="#b"),
                    talk.drafts("dismiss", "a"), talk.drafts("list"),
                )
                platform = Slow({"a": [NotSent("down"), second]})
                with talking(seed, talk, platform, "a", "b", **setting) as house:
                    ask(house)
                    house.run(lambda: house.last_turn("ada") == 1 and not house.turns())
                    assert "waits" in talk.results[0][0]
                    assert talk.results[0][0].endswith("not tried: d-4aaaa")
                    assert [error for _, error in talk.results[:3]] == [False, True, True]
                    assert "[in flight, publish-failed]" in talk.results[3][0]
                    house.finish()
                    assert state_of(house) == {"a": state, "b": "held"}
                    assert platform.called() == ["a", "a"]
                    assert len(drafts_of(house)) == 2


def test_a_restart_in_a_resend_sends_nothing_more(seeds: list[int]) -> None:
    """[prose 5.2] Entries that were not yet written are not posted, and the call's result says how far it came."""
    for seed in seeds:
        for keeps in (False, True):
            talk = Dialogue()
            talk.say(talk.drafts("resend", "a", "b", "c", channelId="#a"))
            platform = Slow({"b": [10.0, 0.0]}, keeps=keeps)
            with talking(seed, talk, platform, "a", "b", "c", keeps_keys=keeps) as house:
                ask(house)
                house.run(lambda: platform.called() == ["a", "b"])  # noqa: B023
                house.crash()
                house.run()
                assert platform.called() == (["a", "b", "b"] if keeps else ["a", "b"])
                [(text, error)] = talk.results[:1]
                lines = text.splitlines()
                assert error
                assert "interrupted" in lines[0]
                assert lines[1].startswith("d-3aaaa: delivered to town/#a as ")
                assert lines[2].startswith("d-4aaaa: ")
                assert lines[3] == "d-5aaaa: not tried"
                after = "delivered" if keeps else "unconfirmed"
                assert state_of(house) == {"a": "delivered", "b": after, "c": "held"}
                assert len(drafts_of(house)) == 3
                markers = house.notices("discord-send-failed")
                assert len(markers) == (0 if keeps or "not confirmed" in lines[2] else 1)


def test_an_outcome_that_is_told_again_is_not_taken_for_the_next(seeds: list[int]) -> None:
    """[prose 9] A channel built anew says once more what became of a post: the one that is out is not settled by it."""
    for seed in seeds:
        talk = Dialogue()
        talk.say(talk.drafts("resend", "a", "b", "c", channelId="#a"))
        platform = Slow({"b": (20.0, NotSent("no", permanent=True))})
        with talking(seed, talk, platform, "a", "b", "c") as house:
            ask(house)
            house.run(lambda: platform.called() == ["a", "b"])  # noqa: B023
            first = house.outbox("ada", 1)[0]
            again = Receipt(1, first.number, first.at, "delivered", "", (first.message_id,), first.call_id)
            house.simulation.tell(agent_address("ada"), again)
            house.run()
            assert platform.called() == ["a", "b"]
            assert "d-4aaaa: not sent (no)" in talk.results[0][0]
            assert state_of(house) == {"a": "delivered", "b": "held", "c": "held"}


def test_a_resend_that_the_store_refuses_says_so() -> None:
    """[prose 9] An attempt that cannot be recorded is not made; the call is answered, and the draft is as it was."""
    talk = Dialogue()
    talk.say(talk.drafts("resend", "a", channelId="#a"))
    platform = Slow()
    with talking(1, talk, platform, "a") as house:
        store, refuse = house.simulation.store, {"now": True}
        submit = store.submit

        def submits(ops: Any, done: Any) -> None:
            first = next((value for table, _, value in ops if table == "outbox" and value), None)
            if refuse["now"] and first is not None:
                refuse["now"] = False
                house.simulation.call_later(0.0, lambda: done(OSError("the disk is full")), "refused")
                return
            submit(ops, done)

        store.submit = submits  # type: ignore[method-assign, assignment]
        ask(house)
        house.run()
        [(text, error)] = talk.results[:1]
        assert error
        assert "the disk is full" in text
        assert platform.calls == []
        assert state_of(house) == {"a": "held"}


# --- posts that wait


def waiting_id(house: SimulatedHouse, turn: int = 1, letters: int = 6) -> str:
    """The shortest name of a turn's first post."""
    return house.outbox("ada", turn)[0].key[:letters]


def test_waiting_posts_are_listed_and_taken_back(seeds: list[int]) -> None:
    """[prose 9, 11.3] list shows them, read their words; dismiss by a prefix of six takes one back; others go on."""
    for seed in seeds:
        for setting in variations(SURE):
            talk, down = Dialogue(), {"now": True}
            platform = Platform()

            def answer(post: Post, platform: Platform = platform, down: dict[str, bool] = down) -> Any:
                if down["now"]:
                    return NotSent("down")
                platform.posts.append(post)
                return f"p{len(platform.posts)}"

            platform.answer = answer
            talk.say(lambda: [send("#a", "one"), send("#a", "two"), send("#b", "three")])
            with talking(seed, talk, platform, **setting) as house:

                def key(text: str, house: SimulatedHouse = house) -> str:
                    return next(e.key for e in house.outbox("ada", 1) if e.text == text)

                talk.say(
                    talk.drafts("list"), lambda: call("drafts", action="read", ids=[key("two")[:7]]),
                    lambda: call("drafts", action="dismiss", ids=[key("one")[:6], key("three")[:6]]),
                    lambda: call("drafts", action="dismiss", ids=[key("two")[:5]]),
                    talk.drafts("list"),
                )
                ask(house)
                house.run(lambda: house.last_turn("ada") == 1 and not house.turns())
                listed, read, taken, short, after = talk.results[3:8]
                assert listed[0].count("[waiting for ") == 3
                assert read[0].endswith(":\ntwo")
                assert (read[1], taken[1], short[1]) == (False, False, True)
                assert taken[0].count("taken back, nothing of it was posted") == 2
                assert after[0].count("[waiting for ") == 1
                assert sorted(states(house)) == ["queued", "withdrawn", "withdrawn"]
                down["now"] = False
                house.register()
                house.finish()
                assert platform.texts() == ["two"]
                assert [row.metadata["event"] for row in house.notices("outbox-notice")] == ["delivered-late"]
                assert drafts_of(house) == {}


def test_a_copy_that_is_taken_back_frees_its_draft(seeds: list[int]) -> None:
    """[prose 9] The draft it came from is `held` again, `unconfirmed` where an attempt may have left."""
    for seed in seeds:
        for keeps, state in ((False, "held"), (True, "unconfirmed")):
            talk = Dialogue()
            talk.say(
                talk.drafts("resend", "a", channelId="#a"),
                lambda: call("drafts", action="dismiss", ids=[waiting_id(house)]),
                talk.drafts("resend", "a", channelId="#b"),
            )
            platform = Slow({"a": [Unknown("lost") if keeps else NotSent("down"), 0.0]})
            with talking(seed, talk, platform, "a", keeps_keys=keeps) as house:
                ask(house)
                house.run()
                assert "draft d-3aaaa is yours again" in talk.results[1][0]
                assert ("may be out" in talk.results[1][0]) is keeps
                if keeps:
                    assert "confirmDuplicate" in talk.results[2][0]
                    assert state_of(house) == {"a": state}
                else:
                    assert state_of(house) == {"a": "delivered"}
                    assert [post.channel for post in platform.posts] == ["#b"]


def test_what_is_being_sent_is_not_taken_back(seeds: list[int]) -> None:
    """[prose 9] Refused while an attempt is out; it is posted, and once."""
    for seed in seeds:
        talk = Dialogue()
        platform = Slow({"one": [NotSent("down"), 20.0]})
        talk.say(lambda: [send("#a", "one")], lambda: call("skip_reply"))
        with talking(seed, talk, platform) as house:
            ask(house)
            house.run(lambda: len(platform.calls) == 2)  # noqa: B023
            talk.say(lambda: call("drafts", action="dismiss", ids=[waiting_id(house)]))
            ask(house, "#b")
            house.run()
            [text] = [text for text, error in talk.results if error]
            assert "being sent just now" in text
            assert states(house)[:1] == ["delivered"]
            assert platform.texts() == ["one"]


def test_a_kill_while_a_post_is_taken_back(seeds: list[int]) -> None:
    """[design, "Every actor can be rebuilt"] Gone or still waiting, never both: what was taken back is not posted."""
    rough = Faults(commit_refused=0.1, map_full=0.02, killed=0.06, parked=0.2)
    for seed in seeds:
        for setting in variations(rough):
            talk = Dialogue()
            platform = Slow({"one": [NotSent("down")] * 3})
            talk.say(lambda: [send("#a", "one")], lambda: call("drafts", action="dismiss", ids=[waiting_id(house)]))
            with talking(seed, talk, platform, **setting) as house:
                ask(house)
                house.finish()
                assert (house.turns(), house.pending()) == ([], [])
                entries = [e for turn in range(1, house.last_turn("ada") + 1) for e in house.outbox("ada", turn)]
                assert all(entry.ended for entry in entries)
                for entry in entries:
                    posted = [post for post in platform.posts if post.key == entry.key]
                    assert len(posted) == (entry.state == "delivered"), entry
                if any("taken back, nothing" in text for text, _ in talk.results):
                    assert "withdrawn" in [entry.state for entry in entries]


def test_several_waiting_posts_of_one_prefix_are_named() -> None:
    """[prose 11.3] A prefix that fits two is refused, never guessed."""
    talk = Dialogue()
    platform = Platform(answer=lambda post: NotSent("down"))
    talk.say(lambda: [send("#a", "one"), send("#a", "two")], lambda: call("skip_reply"))
    with talking(1, talk, platform) as house:
        ask(house)
        house.run(lambda: house.last_turn("ada") == 1 and not house.turns())
        same = [
            op for e in house.outbox("ada", 1) for op in outbox.put(_with_key(e, f"abcdef{e.number}"))
        ]
        house.write(*same)
        talk.say(lambda: call("drafts", action="dismiss", ids=["abcdef"]))
        ask(house)
        house.run(lambda: house.last_turn("ada") == 2 and not house.turns())
        assert "several waiting messages: abcdef1, abcdef2" in talk.results[-1][0]
        assert states(house) == ["queued", "queued"]


def _with_key(entry: Any, key: str) -> Any:
    return replace(entry, key=key)
