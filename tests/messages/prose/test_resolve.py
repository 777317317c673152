"""Resolving a target (prose 4.5)."""

import pytest

from manyminds.messages.places import ChannelRef, Place
from manyminds.messages.prose import ChannelEntry, Resolution, Resolved, RoundTargets, Unresolved, resolve, spelled

PORCH = ChannelEntry("s:porch", "s", "#porch (by the sea)", "100")
DOCK = ChannelEntry("s:dock", "s", "#Dock", "200")
DOCK_OLD = ChannelEntry("s:dock-old", "s", "#dock (old)", "201")
DOCKYARD = ChannelEntry("s:yard", "s", "dockyard", "202")
MIRA = ChannelEntry("s:dm:1", "s", "DM: mira", "300", "dm", "4242", "Mira")
MIRABEL = ChannelEntry("s:dm:2", "s", "DM: mirabel", "301", "dm", "4343", "Mirabel")
OLE = ChannelEntry("s:dm:3", "s", "DM: ole", "302", "dm", "4444", "Ole")
JO = ChannelEntry("s:dm:4", "s", "DM: jo", "303", "dm", "4545", "jo")
ATSIGN = ChannelEntry("s:at", "s", "@lounge", "400")
CHANNELS = [PORCH, DOCK, DOCK_OLD, DOCKYARD, MIRA, MIRABEL, OLE, JO, ATSIGN]


def found(entry: ChannelEntry) -> Resolved:
    """The answer that names this channel."""
    return Resolved(entry.id, entry.server)


RESOLVED = {
    "exact id": ("s:dock", DOCK),
    "trimmed first": ("\ufeff s:dock\n", DOCK),
    "raw id": ("200", DOCK),
    "label without case": ("#DOCK", DOCK),
    "label without its hash": ("dock", DOCK),
    "hash against a label without": ("#dockyard", DOCKYARD),
    "label without its parenthetical": ("#porch", PORCH),
    "the whole label, parenthetical and all": ("#porch (by the sea)", PORCH),
    "mention": ("<@4242>", MIRA),
    "mention with a bang": ("<@!4343>", MIRABEL),
    "a name exactly, before the lenient ones": ("@mira", MIRA),
    "a name's beginning": ("@OL", OLE),
    "the stored name is a beginning": ("@ole_1", OLE),
    "the stored name contains it": ("@rabe", MIRABEL),
    "a short name exactly": ("@jo", JO),
}

UNRESOLVED = {
    "empty": ("", Unresolved("empty")),
    "only whitespace": (" \u2003", Unresolved("empty")),
    "no such channel": ("#attic", Unresolved("no-match")),
    "near ones": ("#doc", Unresolved("no-match", (DOCK, DOCK_OLD, DOCKYARD))),
    "ids are exact": ("S:dock", Unresolved("no-match")),
    "one is the other's beginning, both ways": ("@mirab", Unresolved("ambiguous", (MIRA, MIRABEL))),
    "two people fit": ("@ira", Unresolved("ambiguous", (MIRA, MIRABEL))),
    "short stored names are not lenient": ("@jo_1", Unresolved("no-dm", (MIRA, MIRABEL, OLE, JO))),
    "an at sign looks at people only": ("@lounge", Unresolved("no-dm", (MIRA, MIRABEL, OLE, JO))),
    "an at sign alone": ("@", Unresolved("no-dm", (MIRA, MIRABEL, OLE, JO))),
    "a mention of nobody": ("<@99>", Unresolved("no-dm", (MIRA, MIRABEL, OLE, JO))),
    "a hash alone": ("#", Unresolved("no-match")),
}


@pytest.mark.parametrize(("spec", "entry"), RESOLVED.values(), ids=RESOLVED.keys())
def test_resolves(spec: str, entry: ChannelEntry) -> None:
    """The first rule that matches exactly one channel wins [prose 4.5]."""
    assert resolve(spec, CHANNELS) == found(entry)


@pytest.mark.parametrize(("spec", "answer"), UNRESOLVED.values(), ids=UNRESOLVED.keys())
def test_does_not_resolve(spec: str, answer: Unresolved) -> None:
    """No match and more than one are answers with candidates, never a guess [prose 4.5]."""
    assert resolve(spec, CHANNELS) == answer


def test_earlier_rules_win() -> None:
    """An id wins over a raw id, a raw id over a label [prose 4.5]."""
    one, two, three = ChannelEntry("x", "s", "a"), ChannelEntry("b", "s", "c", "x"), ChannelEntry("d", "s", "x", "y")
    assert resolve("x", [three, two, one]) == found(one)
    assert resolve("x", [three, two]) == found(two)
    assert resolve("x", [three]) == found(three)


def test_an_ambiguous_rule_ends_the_search() -> None:
    """Two channels of one id are an error, though a label would decide [prose 4.5, 11.1]."""
    here, there, named = ChannelEntry("x", "s", "a"), ChannelEntry("x", "t", "b"), ChannelEntry("y", "s", "x")
    assert resolve("x", [here, there, named]) == Unresolved("ambiguous", (here, there))


def test_candidates_are_few() -> None:
    """At most five near channels, at most six known people [prose 4.5]."""
    channels = [ChannelEntry(f"c{n}", "s", f"#room {n}") for n in range(9)]
    people = [ChannelEntry(f"d{n}", "s", "", None, "dm", str(n), f"person{n}") for n in range(9)]
    near, known = resolve("room", channels), resolve("@nobody", people)
    assert near == Unresolved("no-match", tuple(channels[:5]))
    assert known == Unresolved("no-dm", tuple(people[:6]))


def test_the_place() -> None:
    """An answer is a place on its server [agents 10.1]."""
    assert found(DOCK).place == Place(ChannelRef("s", "s:dock"))


def test_once_a_round() -> None:
    """A token is resolved once for each envelope; a second question gets the first answer [prose 13, gap 4]."""
    asked: list[str] = []

    def registry(token: str) -> Resolution:
        asked.append(token)
        return Resolved(f"{token}-{len(asked)}")

    targets = RoundTargets(registry)
    assert [targets(0, "#a"), targets(1, "#a"), targets(0, "#a"), targets(0, "#b")] == [
        Resolved("#a-1"), Resolved("#a-2"), Resolved("#a-1"), Resolved("#b-3"),
    ]  # fmt: skip
    assert asked == ["#a", "#a", "#b"]


def test_a_resolver_that_raises() -> None:
    """What it raised is kept for the log; the answer is neutral [prose 5.2, 16.6]."""

    def registry(token: str) -> Resolution:
        raise KeyError(token)

    answer = RoundTargets(registry)(0, "#a")
    assert answer == Unresolved("resolver-error")
    assert isinstance(answer, Unresolved)
    assert isinstance(answer.error, KeyError)


@pytest.mark.parametrize(
    ("entry", "token"),
    [(PORCH, "#porch"), (DOCK, "#Dock"), (DOCK_OLD, "s:dock-old"), (MIRA, "@Mira"), (ATSIGN, "s:at")],
)
def test_a_token_that_leads_back(entry: ChannelEntry, token: str) -> None:
    """One whitespace-free token that resolves back to the channel [prose 12]."""
    assert spelled(entry, CHANNELS) == token


def test_no_such_token() -> None:
    """A channel that no single token reaches has none [prose 12]."""
    odd = ChannelEntry("an id with spaces", "s", "a label with spaces")
    private = ChannelEntry("skip_reply", "s", "skip_reply")
    assert spelled(odd, [odd]) is None
    assert spelled(private, [private]) is None
