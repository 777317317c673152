"""The judgement of a whole request, as a pure function: no socket, no clock, no memory.

Owns: the order of the rules. Form comes first (`fields.py`), then what the model takes, then how the items stand
together (`items.py`). The first rule broken is the answer.
"""

from tests.messages_api.wire import JsonObject

from .errors import ResponsesError, error, invalid
from .fields import judge_form
from .items import items_of, judge_calls, judge_reasoning, judge_tools
from .models import DEFAULT_MODELS, Model, ModelTable

ENCRYPTED = "reasoning.encrypted_content"


def validate(
    request: JsonObject, models: ModelTable = DEFAULT_MODELS, *, counting: bool = False
) -> ResponsesError | None:
    """The error a provider answers this body with, or None for a legal one."""
    wrong = judge_form(request, counting=counting)
    if wrong:
        return wrong
    model = models.get(request["model"])
    if model is None:
        return error(404, f"The model '{request['model']}' does not exist.", "model_not_found", "model")
    items = items_of(request)
    return (
        judge_model(request, model) or judge_tools(request, items) or judge_calls(items) or judge_reasoning(items)
    )


def judge_model(request: JsonObject, model: Model) -> ResponsesError | None:
    """What only a reasoning model takes."""
    if model.reasons:
        return None
    if request.get("reasoning"):
        return invalid(
            "Unsupported parameter: 'reasoning' is not supported with this model.", "reasoning", "unsupported_parameter"
        )
    if ENCRYPTED in (request.get("include") or ()):
        return invalid("Encrypted content is not supported with this model.", "include")
    return None
