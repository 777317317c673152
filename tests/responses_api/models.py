"""What each model of the stand-in does: reasons or not, reports cache writes or not, from where on it caches.

Data and its type; tests make tables of their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Model:
    """One row. `cache_minimum`: tokens below which nothing is read; `cache_step`: reads are whole multiples of it."""

    name: str
    reasons: bool = True
    reports_writes: bool = False
    cache_minimum: int = 1024
    cache_step: int = 128


ModelTable: TypeAlias = Mapping[str, Model]


def table(*rows: Model) -> ModelTable:
    """Rows by name."""
    return MappingProxyType({row.name: row for row in rows})


DEFAULT_MODELS = table(
    Model("gpt-4.1", reasons=False), Model("gpt-5.5"), Model("gpt-5.6-sol", reports_writes=True),
    Model("gpt-6-sol", reports_writes=True),
)
