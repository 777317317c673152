"""What each OpenAI model takes of a changing head, as of 2026-09: dated data, for a host to override by name.

The item that adds tools, and developer messages between others, are OpenAI's own: a server that merely speaks the
Responses API may take them and ignore them, so there no change is sent unless the host says so (providers.md 2.4).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from ...messages.request import Capabilities

AS_OF = "2026-09"
Transport: TypeAlias = Literal["api", "compatible"]

ANSWERS = Capabilities(answers=True, prompt_cache="implicit", usage_includes_cache=True, write_multiplier=1.0)
CHANGES = replace(ANSWERS, system_text=True, tool_add="definition")

# By family: `gpt-5` stands for `gpt-5-mini` and `gpt-5.2` as well, where no longer name does.
MODELS: Mapping[str, Capabilities] = {
    "gpt-4o": replace(CHANGES, read_multiplier=0.5),
    "gpt-4.1": replace(CHANGES, read_multiplier=0.25),
    "o3": replace(CHANGES, read_multiplier=0.25),
    "o4-mini": replace(CHANGES, read_multiplier=0.25),
    "gpt-5": CHANGES,
    "gpt-5.6": replace(CHANGES, write_multiplier=1.25),
    "gpt-6": replace(CHANGES, write_multiplier=1.25),
}
REASONING = ("o1", "o3", "o4-mini", "gpt-5", "gpt-6")


def capabilities_of(model: str, transport: Transport, own: Mapping[str, Capabilities]) -> Capabilities:
    """What the model can do over this transport; the host's own table goes before the data, by the full name."""
    if model in own:
        return own[model]
    known = [family for family in MODELS if _is_of(model, family)]
    if transport != "api" or not known:
        return ANSWERS
    return MODELS[max(known, key=len)]


def reasons(model: str) -> bool:
    """Whether it is one of OpenAI's reasoning models, whose thinking is asked for in encrypted form."""
    return "-chat" not in model and any(_is_of(model, family) for family in REASONING)


def transport_of(base_url: str | None) -> Transport:
    """`api` for OpenAI's own servers, regional ones included; `compatible` for any other address."""
    host = urlsplit(base_url).hostname or "" if base_url else "api.openai.com"
    return "api" if host == "api.openai.com" or host.endswith(".api.openai.com") else "compatible"


def _is_of(model: str, family: str) -> bool:
    name = model.removeprefix("ft:").partition(":")[0]
    return name == family or name.startswith((f"{family}-", f"{family}."))
