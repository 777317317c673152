"""Cache markers: each refusal with its legal neighbour."""

import pytest

from tests.messages_api.wire import JsonObject
from tests.messages_api_tests.building import HOUR, MARK, a, add, body, call, judged, refused, result, s, t, tool, u


def marked(count: int, **more: JsonObject) -> JsonObject:
    """A body with so many marked blocks in its one message."""
    return body(u([t(f"x{number}", cache_control=MARK) for number in range(count)]), **more)


CASES: dict[str, tuple[JsonObject, JsonObject, str]] = {
    "five": (marked(5), marked(4), "A maximum of 4 blocks with cache_control may be provided. Found 5."),
    "five across the levels": (
        body(u([t("x", cache_control=MARK)]), s(add(tool("b"), cache_control=MARK)),
             system=[t("x", cache_control=MARK)], tools=[tool("c", cache_control=MARK), tool("d", cache_control=MARK)]),
        body(u([t("x", cache_control=MARK)]), s(add(tool("b"), cache_control=MARK)),
             system=[t("x", cache_control=MARK)], tools=[tool("c", cache_control=MARK), tool("d")]),
        "Found 5.",
    ),
    "four and one in a definition": (
        body(u([t(f"x{number}", cache_control=MARK) for number in range(4)]), s(add(tool("b", cache_control=MARK)))),
        body(u([t(f"x{number}", cache_control=MARK) for number in range(3)]), s(add(tool("b", cache_control=MARK)))),
        "Found 5.",
    ),
    "four and one in a tool result": (
        body(u([t(f"x{number}", cache_control=MARK) for number in range(4)]), a([call()]),
             u([result(content=[t("y", cache_control=MARK)])])),
        body(u([t(f"x{number}", cache_control=MARK) for number in range(3)]), a([call()]),
             u([result(content=[t("y", cache_control=MARK)])])),
        "Found 5.",
    ),
    "four and the automatic one": (
        body(u([t(f"x{number}", cache_control=MARK) for number in range(4)]), a(), u(), cache_control=MARK),
        marked(4, cache_control=MARK),
        "Found 5.",
    ),
    "on the block and in the definition": (
        body(u(), s(add(tool("b", cache_control=MARK), cache_control=MARK))),
        body(u(), s(add(tool("b"), cache_control=MARK))),
        "messages.1.content.0: cache_control may be set on the block or inside the definition, not on both",
    ),
    "on a deferred tool of the head": (
        body(tools=[tool("b", defer_loading=True, cache_control=MARK)]),
        body(tools=[tool("b", defer_loading=True), tool("c", cache_control=MARK)]),
        "tools.0: cache_control cannot be set on a tool with defer_loading",
    ),
    "on a deferred definition": (
        body(u(), s(add(tool("b", defer_loading=True, cache_control=MARK)))),
        body(u(), s(add(tool("b", cache_control=MARK)))),
        "cache_control cannot be set on a tool with defer_loading",
    ),
    "an hour after five minutes": (
        body(u([t("x", cache_control=HOUR)]), system=[t("y", cache_control=MARK)]),
        body(u([t("x", cache_control=MARK)]), system=[t("y", cache_control=HOUR)]),
        "messages.0.content.0: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block",
    ),
    "an automatic one of another lifetime": (
        body(u([t("x", cache_control=MARK)]), cache_control=HOUR),
        body(u([t("x", cache_control=MARK)]), cache_control=MARK),
        "cache_control: the ttl of the top-level cache_control differs",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_markers(case: str) -> None:
    """[providers 1.4, 1.8] where markers may be, how many, in which order."""
    wrong, right, message = CASES[case]
    assert message in refused(wrong).message
    assert judged(right) is None


def test_a_marker_that_is_null_is_none() -> None:
    """[providers 1.1] `cache_control` may be null."""
    assert judged(body(u([t(f"x{number}", cache_control=None) for number in range(9)]))) is None
