"""What each model takes: a table the validator reads, never asks for.

Owns: `Model`, the dated default table (providers.md 1.3, 1.6) and its loading from a JSON file. Where the sources
disagree the table takes the stricter reading, because a client that lives with that lives with the other as well.
Cache minimums are settings, not facts: the documentation gives only the range 512 to 4,096.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Model:
    """One row of the table.

    `system_text`: whether a system message inside `messages` is honoured, answered with 200 and ignored, or refused.
    `tool_changes`: definitions and references, references only, or none.
    `binds`: whether a returned thinking block is compared with the prefix it was made under.
    `prefill`: whether `messages` may end in an assistant turn that is not paused.
    `sampling`: whether `temperature`, `top_p` and `top_k` are known fields.
    `cache_minimum`: tokens below which a breakpoint is silently off.
    """

    name: str
    system_text: Literal["yes", "ignored", "no"] = "yes"
    tool_changes: Literal["definition", "reference", "none"] = "definition"
    binds: bool = False
    prefill: bool = False
    sampling: bool = False
    cache_minimum: int = 1024


ModelTable: TypeAlias = Mapping[str, Model]


def table(*models: Model) -> ModelTable:
    """A table of these models, by name."""
    return MappingProxyType({model.name: model for model in models})


DEFAULT_MODELS = table(
    *(Model(f"claude-{name}", binds=True) for name in (
        "fable-5-2", "fable-5-1", "mythos-5-2", "mythos-5-1", "opus-5-5", "sonnet-5-5", "haiku-5-5",
    )),
    *(Model(f"claude-{name}") for name in ("fable-5", "mythos-5", "opus-5", "opus-4-8")),
    Model("claude-sonnet-5", system_text="ignored", tool_changes="none"),
    *(Model(f"claude-{name}", system_text="no", tool_changes="none") for name in ("opus-4-7", "mythos-preview")),
    *(Model(f"claude-{name}", system_text="no", tool_changes="none", sampling=True)
      for name in ("opus-4-6", "sonnet-4-6")),
    *(Model(f"claude-{name}", system_text="no", tool_changes="none", sampling=True, prefill=True)
      for name in ("haiku-4-5", "haiku-4-5-20251001", "opus-4-5", "opus-4-5-20251101", "sonnet-4-5",
                   "sonnet-4-5-20250929")),
)  # fmt: skip


def load_models(path: Path) -> ModelTable:
    """The default table with the rows of a JSON file (a list of objects with `Model`'s fields) added or replaced.

    Raises TypeError for a field that a model has not.
    """
    rows = [Model(**row) for row in json.loads(path.read_text(encoding="utf-8"))]
    return table(*DEFAULT_MODELS.values(), *rows)
