"""Random legal conversations with changes: all pass, and what is computed from them agrees with who made them."""

import copy
import random
from collections.abc import Callable

from tests.messages_api.betas import BINDING
from tests.messages_api.conversations import BETAS, Moment, conversation
from tests.messages_api.models import DEFAULT_MODELS
from tests.messages_api.prompt import render
from tests.messages_api.recording import Recorded
from tests.messages_api.replies import Answer, Block, Text, Thinking, ToolUse, reply
from tests.messages_api.service import Service
from tests.messages_api.tools import offered_texts, offered_tools
from tests.messages_api.validator import validate
from tests.messages_api.wire import JsonObject, blocks
from tests.messages_api_tests.asking import Clock, models, said, told

ROUNDS = 12


def body_of(moment: Moment, messages: list[JsonObject]) -> JsonObject:
    """The moment's body with other messages."""
    return {**moment.request, "messages": messages}


def test_every_request_is_legal(seeds: list[int]) -> None:
    """[context 6.1] placement, references, pairs, markers: nothing to object to."""
    for seed in seeds:
        for marked in (False, True):
            for moment in conversation(seed, ROUNDS, marked=marked):
                assert validate(moment.request, BETAS, DEFAULT_MODELS) is None, f"seed {seed}"


def test_the_offer_is_the_one_its_maker_kept(seeds: list[int]) -> None:
    """[context 6.3] tools and texts folded from the request are those of the generator's own account."""
    for seed in seeds:
        for moment in conversation(seed, ROUNDS):
            by_name = {tool["name"]: tool for tool in offered_tools(moment.request)}
            assert by_name == {tool["name"]: tool for tool in moment.tools}, f"seed {seed}"
            assert offered_texts(moment.request) == moment.texts, f"seed {seed}"


def test_the_compiled_order_is_legal_only_where_nothing_had_to_move(seeds: list[int]) -> None:
    """[providers 1.4] the same messages as sent; refused whenever a change stands before a user message."""
    moved = 0
    for seed in seeds:
        for moment in conversation(seed, ROUNDS):
            sent, compiled = moment.request["messages"], list(moment.compiled)
            assert sorted(map(str, sent)) == sorted(map(str, compiled)), f"seed {seed}"
            for systems in (True, False):
                of_role = [[one for one in given if (one["role"] == "system") is systems] for given in (sent, compiled)]
                assert of_role[0] == of_role[1], f"seed {seed}"
            error = validate(body_of(moment, compiled), BETAS, DEFAULT_MODELS)
            assert (error is None) is (sent == compiled), f"seed {seed}"
            moved += sent != compiled
    assert moved > len(seeds)


def test_the_same_seed_gives_the_same_conversation() -> None:
    """[house rule] a failure can be run again from its seed."""
    assert list(conversation(7, 5)) == list(conversation(7, 5))
    assert list(conversation(7, 5)) != list(conversation(8, 5))


def _one_result_less(rng: random.Random, messages: list[JsonObject]) -> bool:
    places = [
        (message, block)
        for message in messages
        if message["role"] == "user"
        for block in blocks(message["content"])
        if block["type"] == "tool_result"
    ]
    if places:
        message, block = rng.choice(places)
        message["content"].remove(block)
    return bool(places)


def _a_result_too_many(rng: random.Random, messages: list[JsonObject]) -> bool:
    message = rng.choice([one for one in messages if one["role"] == "user"])
    message["content"] = [{"type": "tool_result", "tool_use_id": "ghost", "content": "x"}]
    return True


def _a_ghost_removed(rng: random.Random, messages: list[JsonObject]) -> bool:
    tool = {"type": "tool_reference", "name": "ghost"}
    messages.append({"role": "system", "content": [{"type": "tool_removal", "tool": tool}]})
    return True


def _an_unknown_key(rng: random.Random, messages: list[JsonObject]) -> bool:
    rng.choice(messages)["colour"] = 1
    return True


def _a_change_after_an_answer(rng: random.Random, messages: list[JsonObject]) -> bool:
    places = [index for index, one in enumerate(messages) if one["role"] == "assistant"]
    if places:
        note = {"role": "system", "content": [{"type": "text", "text": "x"}]}
        messages.insert(rng.choice(places) + 1, note)
    return bool(places)


BREAKS: tuple[Callable[[random.Random, list[JsonObject]], bool], ...] = (
    _one_result_less, _a_result_too_many, _a_ghost_removed, _an_unknown_key, _a_change_after_an_answer,
)  # fmt: skip


def test_one_broken_rule_is_found_anywhere(seeds: list[int]) -> None:
    """[providers 3.7] a legal conversation with one thing broken at a random place is refused."""
    for seed in seeds:
        rng = random.Random(seed)
        for moment in conversation(seed, ROUNDS // 2):
            for broken in BREAKS:
                messages = copy.deepcopy(moment.request["messages"])
                if broken(rng, messages):
                    error = validate(body_of(moment, messages), BETAS, DEFAULT_MODELS)
                    assert error is not None, f"seed {seed}, {broken.__name__}"
                    assert error.status == 400


def _thinker(seed: int) -> Callable[[Recorded], Answer]:
    """A script of random replies, most of them thinking."""
    rng = random.Random(seed)

    def script(recorded: Recorded) -> Answer:
        names = [tool["name"] for tool in recorded.request["tools"]]
        parts: list[Block] = [Thinking(f"thought {rng.random()}", cut=5)] if rng.random() < 0.8 else []
        parts += [Text("so")] if rng.random() < 0.7 else []
        parts += [Thinking("again")] if parts and rng.random() < 0.2 else []
        calls = rng.randint(0 if parts else 1, 2)
        return reply(*parts, *(ToolUse(rng.choice(names), {"z": 1, "a": rng.random()}) for _ in range(calls)))

    return script


def test_declared_changes_keep_thinking_and_cache(seeds: list[int]) -> None:
    """[context 6.24, 6.28] over whole conversations: no block dropped, and all that was written is read again."""
    for seed in seeds:
        at = Service(_thinker(seed), models(), Clock())
        before: list[JsonObject] = []

        def answer(request: JsonObject, at: Service = at, before: list[JsonObject] = before) -> JsonObject:
            before.append(told(at, request, BETAS | {BINDING}))
            return said(before[-1])

        ends: list[int] = []
        for moment in conversation(seed, ROUNDS, answer, marked=True):
            pieces = render(moment.request)
            ends.append(max(index for index, piece in enumerate(pieces) if piece.ttl))
        assert all(message["input_transformations"] == [] for message in before), f"seed {seed}"
        for number in range(1, len(before)):
            old, new = before[number - 1]["usage"], before[number]["usage"]
            if ends[number] - ends[number - 1] < 20:
                cached = old["cache_read_input_tokens"] + old["cache_creation_input_tokens"]
                assert new["cache_read_input_tokens"] == cached, f"seed {seed}, request {number}"
