"""What spread tensors send, and which operators put wholes together."""

import warnings
from collections import Counter

from .. import _debug as level

counting = []
refusing = []
_told = set()


def sends(name: str) -> None:
    """Count a collective of a spread tensor."""
    for counts in counting:
        counts[name] += 1


def gathers(name: str) -> None:
    """An operator without a rule is about to put its arguments together."""
    for counts in counting:
        counts["wholes"] += 1
    if refusing:
        raise NotImplementedError(
            f"{name}: has no rule for pieces of a DTensor, and refuse_wholes() is on; redistribute its arguments, "
            "or compute on to_local()"
        )
    if level.level >= level.INFO and name not in _told:
        _told.add(name)
        warnings.warn(
            f"{name}: has no rule for pieces of a DTensor; its arguments are put together on every rank", stacklevel=6
        )


class CommDebugMode:
    """Counts what DTensors send within a block, and operators that put wholes together.

    >>> import torch, torch.distributed as dist
    >>> from torch.distributed.tensor import Shard, distribute_tensor
    >>> from torch.distributed.tensor.debug import CommDebugMode
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = distribute_tensor(torch.ones(4, 2), dist.init_device_mesh("cpu", (1,)), [Shard(0)])
    >>> with CommDebugMode() as mode:
    ...     _ = x.softmax(1).full_tensor()
    >>> mode.get_comm_counts(), mode.get_total_counts()
    ({'all_gather': 1}, 1)
    >>> dist.destroy_process_group()
    """

    def __enter__(self):
        self._counts = Counter()
        counting.append(self._counts)
        return self

    def __exit__(self, *error):
        counting[:] = [one for one in counting if one is not self._counts]

    def get_comm_counts(self) -> dict:
        """How often each collective was called."""
        return {name: n for name, n in self._counts.items() if name != "wholes"}

    def get_total_counts(self) -> int:
        """How many collectives were called."""
        return sum(self.get_comm_counts().values())

    def get_wholes(self) -> int:
        """How many operators put their arguments together."""
        return self._counts["wholes"]


class refuse_wholes:
    """A block in which an operator without a rule raises, instead of putting its arguments together."""

    def __enter__(self):
        refusing.append(self)
        return self

    def __exit__(self, *error):
        refusing.remove(self)


CommDebugMode.__module__ = refuse_wholes.__module__ = "torch.distributed.tensor.debug"
