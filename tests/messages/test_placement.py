"""Where change messages stand in a request that is sent."""

from collections.abc import Callable, Sequence
from random import Random

import pytest

from manyminds.messages.blocks import SystemChange, Text
from manyminds.messages.placement import place, place_messages
from manyminds.messages.request import Msg, Role

NAMES: dict[str, Role] = {"u": "user", "a": "assistant", "s": "change"}

# providers.md 1.4, its table, and the corners beside it
TABLE: list[tuple[str, str | None]] = [
    ("u1 s1", "u1 s1"),
    ("u1 a1 s1 u2", "u1 a1 u2 s1"),
    ("u1 s1 u2 a1", "u1 u2 s1 a1"),
    ("s1 u1", "u1 s1"),
    ("u1 s1 a1 u2 s2 s3", "u1 s1 a1 u2 s2 s3"),
    ("u1 a1 s1 u2 u3 a2 u4", "u1 a1 u2 u3 s1 a2 u4"),
    ("u1 a1 s1", None),
    ("", ""),
    ("s1", None),
    ("s1 a1", None),
    ("s1 a1 u1", "a1 u1 s1"),
    ("u1 a1 s1 a2 u2", "u1 a1 a2 u2 s1"),
    ("u1 a1 a2", "u1 a1 a2"),
]


@pytest.mark.parametrize(("rows", "sent"), TABLE)
def test_table(rows: str, sent: str | None) -> None:
    """[providers 1.4] A held run goes out before the next assistant turn, or at the end, behind a user message."""
    names = rows.split()
    order = place([NAMES[name[0]] for name in names])
    assert (None if order is None else " ".join(names[index] for index in order)) == sent


def legal(roles: Sequence[Role]) -> bool:
    """Rules 1 to 3 of providers.md 1.4, on runs of changes."""
    for index, role in enumerate(roles):
        if role != "change":
            continue
        before = next((other for other in reversed(roles[:index]) if other != "change"), None)
        after = next((other for other in roles[index:] if other != "change"), None)
        if before != "user" or after == "user":
            return False
    return True


def random_roles(dice: Random) -> list[Role]:
    """Roles in any order."""
    return [dice.choice(("user", "user", "assistant", "change")) for _ in range(dice.randint(0, 12))]


def test_what_is_sent_is_legal_and_loses_nothing(amount: Callable[[int, int], int]) -> None:
    """[providers 1.4, rules 1-3] After a user message, last or before an assistant one; all rows, in order."""
    for seed in range(amount(300, 20_000)):
        roles = random_roles(Random(seed))
        order = place(roles)
        turns = [role for role in roles if role != "change"]
        if order is None:
            assert "change" in roles, f"seed {seed}"
            assert not turns or turns[-1] == "assistant", f"seed {seed}"
            continue
        assert sorted(order) == list(range(len(roles))), f"seed {seed}"
        assert legal([roles[index] for index in order]), f"seed {seed}: {roles}"
        for kind in ("change", "turn"):
            of_kind = [index for index in order if (roles[index] == "change") == (kind == "change")]
            assert of_kind == sorted(of_kind), f"seed {seed}"


def test_a_placed_change_is_between_no_call_and_its_result(amount: Callable[[int, int], int]) -> None:
    """[providers 1.4, rule 4] A call is answered by the next message, so nothing goes between them."""
    for seed in range(amount(300, 20_000)):
        dice = Random(seed)
        roles: list[Role] = []
        results: set[int] = set()
        for _ in range(dice.randint(1, 6)):
            before: tuple[Role, ...] = ("user", "change")
            roles.extend(role for role in before if dice.random() < 0.5)
            roles.append("assistant")
            results.add(len(roles))
            roles.append("user")
        order = place(roles)
        assert order is not None
        for index in results:
            assert order[order.index(index) - 1] == index - 1, f"seed {seed}"


def test_the_slot_of_an_answered_change_never_moves(amount: Callable[[int, int], int]) -> None:
    """[providers 1.4] What was sent up to the last assistant turn is a prefix of what is sent later."""
    for seed in range(amount(300, 20_000)):
        dice = Random(seed)
        roles = random_roles(dice)
        order = place(roles)
        if order is None or not roles:
            continue
        later = place([*roles, "assistant", *random_roles(dice), "user"])
        assert later is not None
        if roles[-1] == "user" or (roles[-1] == "change" and "user" in roles):
            answered = order
        else:
            last = max((order.index(index) for index, role in enumerate(roles) if role == "assistant"), default=-1)
            answered = order[: last + 1]
        assert later[: len(answered)] == answered, f"seed {seed}: {roles}"


def test_messages() -> None:
    """[providers 1.4] The same on messages; changes stay messages of their own."""
    user, change = Msg("user", (Text("hi"),)), Msg("change", (SystemChange(system=("x",)),))
    assert place_messages((change, change, user)) == (user, change, change)
    assert place_messages((change,)) is None
