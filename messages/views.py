"""Views: which rows of a room's log an agent may see (agents.md 2.2).

Owns the one rule of what an agent's *own* change row is, and the resident's view. A view is a predicate over
rows: compile, boundary and history tools read through the same one, so what a live round hears is what the
next request shows. Never orders rows (`heard`) and never renders them (`assembly`).
"""

from collections.abc import Callable, Mapping
from typing import Any

from .rows import Row, is_change

CHANGE_KIND = "system-change"
INJECTION_KIND = "injection"
HELD = "tuneOut"


def is_injection(row: Row) -> bool:
    """Whether the row is a stored context injection: something handed to an agent, said by nobody."""
    return row.metadata.get("kind") == INJECTION_KIND


def is_held(metadata: Mapping[str, Any]) -> bool:
    """Whether a tune-out or focus keeps the row from residents."""
    return metadata.get(HELD) is not None


def owner(row: Row) -> str | None:
    """The agent whose change row this is; None for a host's row, which belongs to nobody, and for any other row."""
    if not is_change(row) or row.metadata.get("kind") != CHANGE_KIND:
        return None
    name = row.metadata.get("agent")
    return name if isinstance(name, str) and name else None


def is_own_change(row: Row, agent_names: frozenset[str]) -> bool:
    """Whether the change row belongs to the agent of these names: its name and its self participants (2.2)."""
    name = owner(row)
    return name is not None and name in agent_names


def _foreign_injection(metadata: Mapping[str, Any], agent_names: frozenset[str]) -> bool:
    if metadata.get("kind") != INJECTION_KIND:
        return False
    name = metadata.get("agent")
    return name is not None and name not in agent_names


def _for_another(metadata: Mapping[str, Any], agent_names: frozenset[str]) -> bool:
    """A notice that speaks to one agent of what became of its own turn; it would mislead any other (9.2)."""
    if metadata.get("system") is not True:
        return False
    name = metadata.get("for")
    return name is not None and name not in agent_names


def sees(agent_names: frozenset[str]) -> Callable[[Mapping[str, Any]], bool]:
    """The resident view by metadata alone. Coarser than the view only in that it keeps every change row."""

    def keep(metadata: Mapping[str, Any]) -> bool:
        if is_held(metadata) or _foreign_injection(metadata, agent_names):
            return False
        return not _for_another(metadata, agent_names)

    return keep


def resident_view(agent_names: frozenset[str]) -> Callable[[Row], bool]:
    """The compile filter of a resident of the room, known by these names (agents.md 2.2, table).

    Leaves out held rows, another agent's stored injections, change rows stamped as another's, and notices that are
    for another agent by name. Keeps a host's unstamped change rows, its own rows, and all conversation.
    """
    seen = sees(agent_names)

    def keep(row: Row) -> bool:
        if not seen(row.metadata):
            return False
        name = owner(row)
        return name is None or name in agent_names

    return keep
