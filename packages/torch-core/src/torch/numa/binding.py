"""How launchers would bind processes to the processors beside their memory. Bind with ``numactl`` outside of Python.

>>> from torch.numa.binding import AffinityMode, NumaOptions
>>> NumaOptions(AffinityMode.NODE).affinity_mode.value
'node'
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class AffinityMode(str, Enum):
    """What a process is bound to."""

    NODE = "node"
    SOCKET = "socket"
    EXCLUSIVE = "exclusive"
    CORE_COMPLEX = "core-complex"


@dataclass(frozen=True)
class NumaOptions:
    """What to bind processes to, and whether to go on unbound where that fails."""

    affinity_mode: AffinityMode
    should_fall_back_if_binding_fails: bool = False


def maybe_wrap_command_args_with_numa_binding(command_args: Any, *, gpu_index: int, numa_options: Any) -> Any:
    """The command, unchanged where no options are given; NotImplementedError else: nothing here binds processes."""
    if numa_options is None:
        return command_args
    raise NotImplementedError(
        "torch.numa: processes are not bound to the nodes of a machine; start them under numactl --cpunodebind"
    )
