"""Training when the ranks have different numbers of batches."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod

import torch

from .. import _collectives as collectives

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """What a rank without data does in place of an iteration (``main_hook``), and once at the end (``post_hook``)."""

    def main_hook(self) -> None:
        """Take part in the collectives of one iteration of the others."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called when all ranks are done; ``is_last_joiner`` on those that had data longest."""


class _Config:
    def __init__(self, enable=False, throw=False, first=False, join=None):
        self.enable, self.throw_on_early_termination, self.is_first_joinable = enable, throw, first
        self.join = join
        self.has_data = True


class Joinable(ABC):
    """A class whose iterations contain collectives, and which can be in a :class:`Join`."""

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = _Config()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook of this object."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of its collectives."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The group of its collectives."""


class Join:
    """A context in which ranks may run different numbers of iterations of ``joinables``.

    A rank that leaves its block goes on with the hooks of the joinables until all ranks have left theirs.  With
    ``throw_on_early_termination`` all ranks raise RuntimeError as soon as one has no more data.
    """

    def __init__(
        self, joinables: Any, enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        groups = {id(one.join_process_group): one.join_process_group for one in joinables}
        if len(groups) > 1:
            raise ValueError("Using join context manager with multiple process groups")
        (self._group,) = groups.values()
        self._device = joinables[0].join_device
        self._joinables, self._enable = list(joinables), enable
        self._throw = throw_on_early_termination
        self.active = self._group.size()  # how many ranks have data in this iteration
        self._hooks = [one.join_hook(**kwargs) for one in joinables]
        for one in joinables:
            one._join_config = _Config(enable, throw_on_early_termination, one is joinables[0], self)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> Any:
        if not self._enable or kind is not None:
            self._leave()
            return
        for one in self._joinables:
            one._join_config.has_data = False
        last = True
        rounds = 0
        while True:
            still = self._count(0)
            if still == 0:
                break
            if self._throw:
                self._leave()
                raise RuntimeError(f"Rank {self._group.rank()} exhausted all inputs.")
            last = False
            rounds += 1
            if rounds == 1000:
                warnings.warn("Detected uneven input skew of greater than 1000.", stacklevel=2)
            for hook in self._hooks:
                hook.main_hook()
        for hook in self._hooks:
            hook.post_hook(last)
        self._leave()

    def _leave(self):
        for one in self._joinables:
            one._join_config = _Config()

    def _count(self, mine):
        """How many ranks still have data."""
        count = torch.tensor([mine], device=self._device)
        collectives.all_reduce(count, group=self._group)
        return int(count)

    @staticmethod
    def notify_join_context(joinable: Any) -> Any:
        """Called by a joinable at the start of each iteration: tells the ranks without data to take part."""
        config = joinable._join_config
        if not config.enable or not config.is_first_joinable:
            return None
        group = joinable.join_process_group
        count = torch.tensor([1], device=joinable.join_device)
        work = collectives.all_reduce(count, group=group, async_op=True)
        work.wait()
        config.join.active = int(count)
        if config.throw_on_early_termination and config.join.active < group.size():
            raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        return work
