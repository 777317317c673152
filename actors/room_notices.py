"""What a room tells an agent at the edge of a turn: that its prose mode has changed, and where its plain words go.

Composes rows for the room's unit, and the settings that say what the agent knows by now, so that each change is told
once. Reads the store; decides nothing of the turn.
"""

from ..messages.notices import notice_row, routing
from ..messages.places import Place
from ..messages.prose_notices import mode_changed
from ..messages.rows import Row
from ..messages.turns import Turn
from ..storage import Op, registry
from .room_unit import RoomUnit
from .system import System


def mode_told(system: System, turn: Turn, unit: RoomUnit) -> list[Row]:
    """The one notice that the prose mode has changed since the agent was last told (prose 12)."""
    if turn.mode == _known(system, f"mode:{turn.agent}", "locus"):
        return []
    unit.ops.append(registry.put_setting(f"mode:{turn.agent}", turn.mode))
    notice = mode_changed(turn.mode)
    if notice is None:
        return []
    return [notice_row(f"{turn.agent}/{turn.number}/mode", notice, system.clock.now(), turn.agent)]


def announced(system: System, turn: Turn, unit: RoomUnit) -> list[Row]:
    """The routing notice at a turn's start, only where the locus is not the one the agent knows (agents.md 5.2)."""
    if turn.locus is None:
        return []
    known = _known(system, f"locus:{turn.agent}", None)
    if known == str(turn.locus.at):
        return []
    unit.ops.append(locus_known(turn.agent, turn.locus))
    return [] if known is None else [routing_row(system, turn, turn.locus, moved=False)]


def locus_known(agent: str, locus: Place) -> Op:
    """That the agent knows this locus."""
    return registry.put_setting(f"locus:{agent}", str(locus.at))


def routing_row(system: System, turn: Turn, locus: Place, moved: bool) -> Row:
    """The routing notice as a row; `moved`: in the middle of the turn."""
    with system.store.snapshot() as snap:
        channel = registry.channel(snap, locus.at)
    notice = routing(locus, channel.label if channel else "", moved_mid_turn=moved)
    return notice_row(f"{turn.agent}/{turn.number}/{turn.rounds}routing", notice, system.clock.now(), turn.agent)


def _known(system: System, setting: str, otherwise: object) -> object:
    with system.store.snapshot() as snap:
        return registry.setting(snap, setting, otherwise)
