"""Token prices."""

import pytest

from manyminds.messages.blocks import (
    Block,
    Image,
    Opaque,
    RedactedThinking,
    SystemChange,
    Text,
    Thinking,
    ToolCall,
    ToolDef,
    ToolResult,
)
from manyminds.messages.errors import InvalidSetting
from manyminds.messages.prices import (
    block_price,
    blocks_price,
    half_up,
    json_price,
    pricer,
    row_price,
    text_estimate,
    utf16_length,
)
from manyminds.messages.rows import Placed, Row

A = frozenset({"a"})


@pytest.mark.parametrize(
    ("length", "tokens"),
    [(0, 0), (1, 1), (2, 1), (3, 2), (23, 10), (230, 101), (430, 187), (930, 405), (931, 405), (2530, 1100)],
)
def test_json_price(length: int, tokens: int) -> None:
    """[context 5] ceil(length / 2.3) in doubles, as in JavaScript: 230 gives 101."""
    assert json_price(length) == tokens


@pytest.mark.parametrize(("value", "whole"), [(0.5, 1), (1.5, 2), (2.5, 3), (2.4, 2), (0.49, 0), (0.0, 0)])
def test_halves_go_up(value: float, whole: int) -> None:
    """[context 5] Math.round is half-up where Python's round is half-even."""
    assert half_up(value) == whole


@pytest.mark.parametrize(
    ("text", "units"), [("", 0), ("abc", 3), ("é", 1), ("日本", 2), ("😀", 2), ("a😀b", 4), ("\ud83d", 1)]
)
def test_length_is_in_utf16_units(text: str, units: int) -> None:
    """[context 5] JavaScript's string length."""
    assert utf16_length(text) == units


TEXTS = [
    ("", 0),
    ("hello world", 4),  # 11 / 2.9 = 3.79
    ('{"a":1}', 4),  # dense: 7 / 2.3 = 3.04
    ("word " * 58, 100),  # 290 / 2.9
    ("a" * 88 + "{" * 12, 35),  # exactly 12 % is not more than 12 %: 100 / 2.9 = 34.5
    ("a" * 87 + "{" * 13, 44),  # 100 / 2.3 = 43.5
    ("日本語", 2),  # 3 / 2.3 = 1.3
    ("😀" * 10, 9),  # 20 units, all dense: 20 / 2.3 = 8.7
    ("a" * 2000 + "{" * 1000, 1035),  # only the first 2,000 are looked at: 3000 / 2.9 = 1034.5
    ("{" * 241 + "a" * 1759 + "b" * 301, 1001),  # 241 of 2,000 is over 12 %: 2301 / 2.3 = 1000.4
    ("`" * 3 + "x" * 17, 9),  # 15 % backticks: 20 / 2.3 = 8.7
    ("path/to/file", 6),  # 2 of 12: 12 / 2.3 = 5.2
]


@pytest.mark.parametrize(("text", "tokens"), TEXTS, ids=range(len(TEXTS)))
def test_text_estimate(text: str, tokens: int) -> None:
    """[context 5] 2.3 units a token where over 12 % of the first 2,000 are dense, else 2.9; rounded up."""
    assert text_estimate(text) == tokens


def test_the_sample_is_cut_in_units() -> None:
    """[context 5] 1,000 emoji fill the sample of 2,000 units, so what follows does not count."""
    # 1,000 emoji and 4,000 plain letters: all of the sample is dense, 6,000 / 2.3 = 2,608.7.
    assert text_estimate("😀" * 1000 + "a" * 4000) == 2609
    # 125 emoji are 250 of the first 2,000 units, 12.5 %, though under 12 % of 2,000 code points: 4,250 / 2.3 = 1,847.8.
    assert text_estimate("😀" * 125 + "a" * 4000) == 1848
    # 1,880 plain letters and 60 emoji are 120 of 2,000 units: 6 %, not dense.
    assert text_estimate("a" * 1880 + "😀" * 60) == 690  # 2000 / 2.9 = 689.7


TOOL = ToolDef("look", "Looks.", '{"type":"object"}')
BLOCKS: list[tuple[str, Block, int]] = [
    ("text", Text("hello world"), 4),
    ("image", Image("image/png", b"x"), 1600),
    ("call: compact JSON and 20", ToolCall("c", "look", '{"at": "sky"}'), 26),  # {"at":"sky"} is 12: 5.2
    ("call: non-ASCII is kept", ToolCall("c", "look", '{"at":"\\u65e5"}'), 25),  # {"at":"日"} is 10: 4.3
    ("call: unreadable arguments as written", ToolCall("c", "look", '{"at": ', unusable="cut"), 24),  # 7: 3.04
    ("result: the sum of its blocks", ToolResult("c", (Text("hello world"), Image("image/png", b"x"))), 1604),
    ("result: empty", ToolResult("c", ()), 0),
    ("thinking: stamped", Thinking("long " * 100, "s" * 100, tokens=7), 7),
    ("thinking: its text", Thinking("word " * 58, "s" * 33), 100),
    ("thinking: its signature", Thinking("hi", "s" * 330), 100),
    ("thinking: halves up", Thinking("", "s" * 5), 2),  # 1.515
    ("redacted: stamped", RedactedThinking("d" * 60, tokens=3), 3),
    ("redacted: its data", RedactedThinking("d" * 60), 10),
    ("redacted: half up", RedactedThinking("d" * 15), 3),  # 2.5
    ("redacted: nothing known", RedactedThinking(""), 600),
    ("unknown block: JSON", Opaque("x" * 23), 10),
    # {"type":"system_change","system":["Sei kurz, 日."]} is 50 units: 21.7
    ("change: text", SystemChange(system=("Sei kurz, 日.",)), 22),
    # {"type":"system_change","removed":["a"]} is 40 units: 17.4
    ("change: removal", SystemChange(removed=("a",)), 18),
    # {"type":"system_change","defined":[{"name":"look","description":"Looks.","input_schema":{"type":"object"}}]}
    ("change: definition", SystemChange(defined=(TOOL,)), 47),  # 108 units: 46.96
]


@pytest.mark.parametrize(("what", "block", "tokens"), BLOCKS, ids=[case[0] for case in BLOCKS])
def test_block_prices(what: str, block: Block, tokens: int) -> None:
    """[context 5; invariant 6.27] One price per kind of block."""
    assert block_price(block) == tokens


def test_calibration_is_rounded_per_block() -> None:
    """[context 5] Two one-token blocks at 0.6 make 2, not 1; a change's price is never calibrated (4.0)."""
    assert blocks_price((Text("a"), Text("b")), 0.6) == 2
    assert blocks_price((Text("hello world"),), 4) == 16
    assert blocks_price((SystemChange(removed=("a",)),), 4) == 18


def test_a_row_is_priced_as_it_goes_out() -> None:
    """[agents 2.5] With its opening; without what another's row does not show."""
    assert row_price(Row("r", "ann", (Text("hello world"),), opening="ann: "), A) == 6  # 16 / 2.9 = 5.5
    assert row_price(Row("r", "a", (Text("hello world"),), opening="ann: "), A) == 4
    call = ToolCall("c", "look", "{}")
    assert row_price(Row("r", "a", (call,)), A) == 21
    assert row_price(Row("r", "b", (call,)), A) == 0
    assert row_price(Row("r", "ann", (Text("  "),), opening="ann: "), A) == 0


def test_pricer() -> None:
    """[context 5] The multiplier is between 0.25 and 4; outside it is refused by name."""
    placed = Placed(1, Row("r", "ann", (Text("hello world"),)))
    assert pricer(A)(placed) == 4
    assert pricer(A, 0.25)(placed) == 1
    for wrong in (0.2, 4.1, float("nan")):
        with pytest.raises(InvalidSetting, match=r"between 0\.25 and 4"):
            pricer(A, wrong)
