"""How much is checked and told: TORCH_DISTRIBUTED_DEBUG, which is OFF, INFO or DETAIL."""

import enum
import os

OFF, INFO, DETAIL = range(3)
level = OFF


class DebugLevel(enum.IntEnum):
    """With DETAIL, all ranks compare what they call, and where, before each collective."""

    OFF = OFF
    INFO = INFO
    DETAIL = DETAIL


DebugLevel.__module__ = "torch.distributed"


def get_debug_level() -> DebugLevel:
    """The level now."""
    return DebugLevel(level)


def set_debug_level(new) -> None:
    """Set the level; all ranks must."""
    global level
    level = int(DebugLevel(new))


def set_debug_level_from_env() -> None:
    """Set the level from TORCH_DISTRIBUTED_DEBUG."""
    name = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if name not in DebugLevel.__members__:
        raise RuntimeError(f"TORCH_DISTRIBUTED_DEBUG must be OFF, INFO or DETAIL, got {name!r}")
    set_debug_level(DebugLevel[name])


set_debug_level_from_env()
