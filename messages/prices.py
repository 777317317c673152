"""Token prices: what blocks and rows are estimated to cost (context.md 5).

Estimates are made for budgets and shares; thresholds compare them with the provider's reported usage. All
lengths are in UTF-16 units and all rounding is half-up, so that the figures are the same in every port.
Pure; a row is priced as it goes out to the agent that asks (`assembly.shown`), its opening included.
"""

import json
import math
from collections.abc import Callable

from .assembly import shown
from .blocks import (
    Block,
    Image,
    RedactedThinking,
    SystemChange,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from .errors import InvalidSetting
from .rows import Placed, Row
from .tooldefs import change_json

IMAGE = 1600
CALL = 20
REDACTED = 600
_JSON_RATE = 2.3
_PLAIN_RATE = 2.9
_SAMPLE = 2000
_DENSE_SHARE = 0.12
_DENSE = "{}[]\":_/=`"


def half_up(value: float) -> int:
    """The nearest whole number, halves up, as JavaScript rounds."""
    return math.floor(value + 0.5)


def utf16_length(text: str) -> int:
    """Length in UTF-16 units; a lone surrogate is one."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def json_price(length: int) -> int:
    """Tokens of JSON text of this many UTF-16 units: ceil(length / 2.3), divided in doubles (230 gives 101)."""
    return math.ceil(length / _JSON_RATE)


def text_estimate(text: str) -> int:
    """Tokens of text: 2.3 units each where over 12 % of the first 2,000 are dense, else 2.9; rounded up."""
    units, dense = _dense(text)
    return math.ceil(utf16_length(text) / (_JSON_RATE if dense > _DENSE_SHARE * units else _PLAIN_RATE))


def _dense(text: str) -> tuple[int, int]:
    """(units of the sample, how many of them are dense). Dense: not ASCII, or a sign that code is full of."""
    sample = text[:_SAMPLE]
    if sample.isascii():
        return len(sample), sum(map(sample.count, _DENSE))
    # The cut may fall inside a pair; what is left of it then counts as the one unit that it is.
    cut = sample.encode("utf-16-le", "surrogatepass")[: 2 * _SAMPLE]
    ascii_only = cut.decode("utf-16-le", "replace").encode("ascii", "ignore").decode("ascii")
    units = len(cut) // 2
    return units, units - len(ascii_only) + sum(map(ascii_only.count, _DENSE))


def _arguments(call: ToolCall) -> str:
    """The arguments as compact JSON; as they were written where they cannot be read."""
    try:
        return json.dumps(json.loads(call.arguments), ensure_ascii=False, separators=(",", ":"))
    except ValueError:
        return call.arguments


def block_price(block: Block) -> int:
    """Tokens of one block, uncalibrated."""
    if isinstance(block, Text):
        price = text_estimate(block.text)
    elif isinstance(block, Image):
        price = IMAGE
    elif isinstance(block, Thinking):
        signed = half_up(utf16_length(block.signature) / 3.3)
        price = max(text_estimate(block.text), signed) if block.tokens is None else block.tokens
    elif isinstance(block, RedactedThinking):
        hidden = half_up(utf16_length(block.data) / 6) if block.data else REDACTED
        price = hidden if block.tokens is None else block.tokens
    elif isinstance(block, ToolCall):
        price = json_price(utf16_length(_arguments(block))) + CALL
    elif isinstance(block, ToolResult):
        price = sum(block_price(part) for part in block.content)
    elif isinstance(block, SystemChange):
        price = json_price(utf16_length(change_json(block)))
    else:
        price = json_price(utf16_length(block.json))
    return price


def check_calibration(multiplier: float) -> float:
    """The multiplier. Raises InvalidSetting outside 0.25 to 4."""
    if not 0.25 <= multiplier <= 4:
        raise InvalidSetting(f"a calibration multiplier must be between 0.25 and 4, not {multiplier!r}")
    return multiplier


def blocks_price(blocks: tuple[Block, ...], multiplier: float = 1.0) -> int:
    """Tokens of the blocks: each calibrated and rounded, then summed. A change's price is never calibrated (4.0)."""
    return sum(
        block_price(block) if isinstance(block, SystemChange) else half_up(block_price(block) * multiplier)
        for block in blocks
    )


def row_price(row: Row, voices: frozenset[str], multiplier: float = 1.0) -> int:
    """Tokens of what the row shows to the agent of these voices, its opening included; 0 where it is dropped."""
    return blocks_price(shown(row, voices), multiplier)


def pricer(voices: frozenset[str], multiplier: float = 1.0) -> Callable[[Placed], int]:
    """The price function that a strategy takes. Raises InvalidSetting for a multiplier outside 0.25 to 4."""
    checked = check_calibration(multiplier)
    return lambda placed: row_price(placed.row, voices, checked)
