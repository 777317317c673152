"""The JSON text of a tool call, read strictly: what a cut or a lenient parser would let through is named instead.

Pure. Adapters ask it when a call's block has ended; a call whose text it does not take is never run (providers.md 2.1,
fact 9). The text itself is kept as the model wrote it.
"""

import json
from typing import Any, cast

from ...messages.blocks import ToolCall


class _Beyond(ValueError):
    """A number that JSON has no text for."""


def _refuse(text: str) -> Any:
    raise _Beyond(text)


def _number(text: str) -> float:
    value = float(text)
    return value if value - value == 0.0 else _refuse(text)


def parse_object(text: str) -> dict[str, Any]:
    """The object that a JSON text says. Raises ValueError for anything else, numbers beyond JSON included."""
    try:
        value: Any = json.loads(text, parse_constant=_refuse, parse_float=_number)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("no object")
    json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair cannot be sent back
    return cast("dict[str, Any]", value)


def why_unusable(text: str) -> str:
    """Why the arguments cannot be used, as in "its arguments ...", or "" where they can."""
    try:
        parse_object(text)
    except _Beyond:
        return "hold a number that JSON cannot say"
    except json.JSONDecodeError as exc:
        ended = exc.pos >= len(text.rstrip()) or exc.msg.startswith("Unterminated")
        return "ended in the middle of the JSON text" if ended else "are no valid JSON"
    except UnicodeEncodeError:
        return "hold half of a character"
    except ValueError:
        return "are no JSON object that can be read"
    return ""


def call_of(call_id: str, name: str, text: str, unusable: str = "") -> ToolCall:
    """The call; a text of nothing stands for no arguments. `unusable`: what is known against it already."""
    arguments = text if text.strip() else "{}"
    return ToolCall(call_id, name, arguments, unusable or why_unusable(arguments))


def whole_text(text: str) -> str:
    """Text put together from deltas: halves of a character that met are one, a half alone is replaced."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
