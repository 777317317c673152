"""The judgement of a whole request, as a pure function: no socket, no clock, no memory.

Owns: the order of the rules. Form and unknown keys come first (`fields.py`), then what the model takes, then the
turns, the placement of changes, the tools and the markers. The first rule broken is the answer, as at the provider.
Thinking signatures are judged apart (`thinking.py`), because they need the signing key.
"""

from collections.abc import Collection, Mapping

from .betas import judge_betas
from .errors import ApiError, api_error, at, invalid
from .fields import body_check
from .markers import judge_markers
from .models import Model
from .pairing import judge_turns
from .placement import judge_placement
from .tools import Limits, walk
from .wire import TOOL_CHANGES, JsonObject, blocks, section

NO_ROLE = "role 'system' is not supported on this model"
NO_CHANGES = "tool_addition/tool_removal is not supported on this model"
NO_DEFINITIONS = "tool_definition is not supported on this model"


def validate(
    request: JsonObject,
    betas: Collection[str],
    model_table: Mapping[str, Model],
    *,
    counting: bool = False,
    limits: Limits | None = None,
) -> ApiError | None:
    """The error a provider answers this body with, or None for a legal one (providers.md 3, point 7).

    `counting`: the body goes to `count_tokens`, which knows fewer fields.
    """
    model = model_table.get(str(request.get("model")))
    sampling = model is not None and model.sampling
    error = judge_betas(betas) or body_check(betas, sampling=sampling, counting=counting)(request, "")
    if error:
        return error
    if model is None:
        return api_error(404, f"model: {request['model']}")
    return (
        judge_model(request, model)
        or judge_thinking_budget(request)
        or judge_placement(request["messages"])
        or judge_turns(request, model)
        or _judge_tools(request, limits or Limits())
        or judge_markers(request)
    )


def judge_model(request: JsonObject, model: Model) -> ApiError | None:
    """Whether the model takes the system role and the changes in it (providers.md 1.3)."""
    held = [message for message in request["messages"] if message["role"] == "system"]
    if held and model.system_text == "no":
        return invalid(NO_ROLE)
    changes = [block for message in held for block in blocks(message.get("content")) if block["type"] in TOOL_CHANGES]
    if changes and model.tool_changes == "none":
        return invalid(NO_CHANGES)
    defined = any(block["tool"]["type"] == "tool_definition" for block in changes)
    return invalid(NO_DEFINITIONS) if defined and model.tool_changes == "reference" else None


def judge_thinking_budget(request: JsonObject) -> ApiError | None:
    """A fixed thinking budget lies below `max_tokens`."""
    thinking = section(request, "thinking")
    if thinking.get("type") == "enabled" and thinking["budget_tokens"] >= request.get("max_tokens", float("inf")):
        return at("thinking", "`max_tokens` must be greater than `thinking.budget_tokens`")
    return None


def _judge_tools(request: JsonObject, limits: Limits) -> ApiError | None:
    end = walk(request, limits)
    return end if isinstance(end, ApiError) else None
