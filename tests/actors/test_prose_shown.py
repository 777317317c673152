"""What a stream's end carries, and when a hold ends, through a whole house (prose 5.3, 13 gap 1, 16.1)."""

from manyminds.actors.providers.scripted import Scripted, call, say
from manyminds.actors.spec import Resident
from manyminds.messages.posts import NotSent, Post
from tests.actors.simulated import Platform, SimulatedHouse
from tests.actors.speaking import Shown


def refusing(text: str) -> Platform:
    """A platform that takes everything but this text."""
    platform = Platform()

    def answer(post: Post) -> object:
        if post.text == text:
            return NotSent("no", permanent=True)
        platform.posts.append(post)
        return f"p{len(platform.posts)}"

    platform.answer = answer
    return platform


def test_a_later_success_frees_what_names_no_target(seeds: list[int]) -> None:
    """[prose 5.3, 13 gap 3] The newest named post of the turn decides over the hold, not an earlier one that failed."""
    for seed in seeds:
        ada = Resident("ada", "m", prose="hybrid")
        model = Scripted([">>>#b x", call("think", thought="a")], [">>>#b y", call("think", thought="b")], "z",
                         otherwise=call("skip_reply"))
        with SimulatedHouse(seed, [ada], model, platform=refusing("x")) as house:
            house.say("hello all", "#a")
            house.say("hello all", "#b")
            house.say("ada: speak", "#a", to="ada")
            house.run()
            assert [(post.channel, post.text) for post in house.platform.posts] == [("#b", "y"), ("#b", "z")]


def test_a_post_that_has_failed_is_not_carried(seeds: list[int]) -> None:
    """[prose 13, gap 1] Failed by the time `complete` is sent: the channel is closed without its text."""
    for seed in seeds:
        shown = Shown()
        ada = Resident("ada", "m", prose="hybrid")
        model = Scripted([">>>#b x", call("think", thought="a")], say(">>>#a y", delay=5.0),
                         otherwise=call("skip_reply"))
        with SimulatedHouse(
            seed, [ada], model, platform=refusing("x"), chunk=shown.chunk, complete=shown.complete
        ) as house:
            house.say("hello all", "#a")
            house.say("hello all", "#b")
            house.say("ada: speak", "#a", to="ada")
            house.run(until=lambda: bool(house.traced("inference:completed")))
            house.run()
            assert ("#b", "x") in shown.chunks
            assert sorted(shown.ends) == [("#a", "y"), ("#b", "")]


def test_the_newline_between_two_blocks_is_shown(seeds: list[int]) -> None:
    """[prose 16.1, 3.2] The stream emits the newline that joins two text blocks of one round."""
    for seed in seeds:
        shown = Shown()
        with SimulatedHouse(
            seed, [Resident("ada", "m")], Scripted(say("one", "two")), chunk=shown.chunk, complete=shown.complete
        ) as house:
            house.say("ada: speak", "#a", to="ada")
            house.run()
            assert shown.ends == [("#a", "one\ntwo")]
            assert house.platform.texts() == ["one\ntwo"]
