"""What each Claude model takes of a changing head, as of 2026-09: dated data, for a host to override by name.

Where the sources disagree the row takes the stricter reading, since a model may answer 200 and ignore a change, so
that no capability can be found out by asking (providers.md 1.3). A model that is not listed can answer, and no more.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

from ...messages.request import Capabilities

AS_OF = "2026-09"
Transport: TypeAlias = Literal["api", "bedrock", "vertex", "foundry"]

ANSWERS = Capabilities(answers=True, prompt_cache="explicit", max_breakpoints=4)
CHANGES = replace(ANSWERS, system_text=True, tool_add="definition", tool_remove=True, tool_redefine=True)

MODELS: Mapping[str, Capabilities] = {
    "fable-5": replace(CHANGES, thinking_binds=False),
    "fable-5-1": replace(CHANGES, thinking_binds=True, read_multiplier=0.025),
    "fable-5-2": replace(ANSWERS, thinking_binds=True),
    "mythos-5": CHANGES,
    "mythos-5-1": CHANGES,
    "mythos-5-2": replace(ANSWERS, thinking_binds=True),
    "opus-4-8": CHANGES,
    "opus-5": replace(CHANGES, thinking_binds=False),
    "opus-5-5": replace(CHANGES, thinking_binds=True, read_multiplier=0.05),
    "sonnet-5": replace(ANSWERS, thinking_binds=False),
    "sonnet-5-5": replace(CHANGES, thinking_binds=True, read_multiplier=0.05),
    "haiku-5-5": replace(CHANGES, thinking_binds=True),
}
_DECORATION = re.compile(
    r"^(?:[a-z]{2,}\.)*(?:anthropic\.)?claude-|(?:[-@]\d{8})?(?:-v\d+(?::\d+)?)$|[-@]\d{8}$|-latest$|@default$"
)


def bare_name(model: str) -> str:
    """`opus-5-5` of `claude-opus-5-5`, of a dated id, and of a cloud's name for it."""
    return _DECORATION.sub("", model)


def capabilities_of(model: str, transport: Transport, own: Mapping[str, Capabilities]) -> Capabilities:
    """What the model can do over this transport; the host's own table goes before the data, by full or bare name."""
    if model in own or bare_name(model) in own:
        return own.get(model) or own[bare_name(model)]
    known = MODELS.get(bare_name(model), ANSWERS)
    if transport == "api" or known.tool_add == "none":
        return known
    if transport == "foundry":
        return replace(known, system_text=False, tool_add="none", tool_remove=False, tool_redefine=False)
    return replace(known, tool_add="reference", tool_redefine=False)
