"""A live stream's requests against what compiles would give, over random histories of a room."""

from collections.abc import Callable
from random import Random

import pytest

from manyminds.messages.assembly import assemble
from manyminds.messages.heard import as_heard
from manyminds.messages.request import Msg
from tests.messages.room_histories import Agent, Room

Amount = Callable[[int, int], int]
# The whole counts take minutes on a small machine.
pytestmark = pytest.mark.timeout(900)


def recompiled(agent: Agent) -> object:
    """The request that a compile of the agent's rows gives."""
    return assemble(agent.rows, agent.voices, changes=agent.changes)


def up_to_the_last_answer(request: tuple[Msg, ...]) -> tuple[Msg, ...]:
    """The request's messages to its last assistant one."""
    answers = [index for index, message in enumerate(request) if message.role == "assistant"]
    return request[: answers[-1] + 1] if answers else ()


@pytest.mark.parametrize("names", [("a",), ("a", "b"), ("a", "b", "c")])
def test_an_extended_request_equals_a_compile_of_the_rows_as_they_then_stand(
    amount: Amount, names: tuple[str, ...]
) -> None:
    """[agents 5.2, 2.10] Live round n+1 equals a compile at that point, with several in turns at once."""
    for seed in range(amount(300, 20_000) // 3):
        room = Room(Random(seed), names)
        for _ in range(24):
            agent = room.dice.choice(room.agents)
            if room.dice.random() < 0.4:
                room.arrive()
            elif not agent.alive:
                room.start(agent, window=room.dice.choice((None, 3, 7)))
            elif room.dice.random() < 0.7:
                room.round(agent)
                assert agent.request == recompiled(agent), f"seed {seed}, agents {names}"
            else:
                room.close(agent)


def test_a_fresh_turn_repeats_the_last_request_of_the_agent(amount: Amount) -> None:
    """[agents 2.10] Each request repeats its predecessor up to the last answered turn, whoever else was in a turn."""
    for seed in range(amount(300, 20_000)):
        room = Room(Random(seed), ("a", "b"))
        for _ in range(24):
            agent = room.dice.choice(room.agents)
            if room.dice.random() < 0.4:
                room.arrive()
            elif not agent.alive:
                before, answered = agent.request, agent.answered
                room.start(agent)
                # What follows the last answer was bound to nothing; a request-only turn in it may go.
                known = before if answered else up_to_the_last_answer(before)
                assert agent.request[: len(known)] == known, f"seed {seed}"
            elif room.dice.random() < 0.6:
                room.round(agent)
            else:
                room.close(agent)


def test_a_round_moves_no_row_that_was_sent(amount: Amount) -> None:
    """[agents 2.5] The rows of a compile at a later boundary begin with the rows of every earlier one."""
    for seed in range(amount(300, 20_000)):
        room = Room(Random(seed), ("a", "b"))
        sent: dict[str, list[str]] = {agent.name: [] for agent in room.agents}
        for _ in range(20):
            agent = room.dice.choice(room.agents)
            if room.dice.random() < 0.4:
                room.arrive()
            elif not agent.alive:
                room.start(agent)
            elif room.dice.random() < 0.6:
                room.round(agent)
            else:
                room.close(agent)
                continue
            rows = [placed.row.id for placed in as_heard(room.view(agent), agent.voices)]
            if agent.alive and not room.inbox and agent.watermark == room.position:
                assert rows[: len(sent[agent.name])] == sent[agent.name], f"seed {seed}"
                sent[agent.name] = rows
