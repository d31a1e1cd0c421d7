"""``ZeroRedundancyOptimizer``: the state of an optimizer, cut over the ranks (Rajbhandari 2020, stage 1)."""

from __future__ import annotations

import copy

import torch

from .. import _collectives as collectives
from .. import _objects
from .. import _world as world
from ..algorithms.join import Join, Joinable, JoinHook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["ZeroRedundancyOptimizer"]


class _Hook(JoinHook):
    def __init__(self, optimizer):
        self.optimizer = optimizer

    def main_hook(self):
        self.optimizer.step()


class ZeroRedundancyOptimizer(torch.optim.Optimizer, Joinable):
    """Each rank keeps the state for, and updates, a part of the parameters; then all take over each other's.

    Gradients must be the same on all ranks, as DistributedDataParallel makes them.  The parts are of about one size.

    Args:
        optimizer_class: of ``torch.optim``, made from the rank's part with ``defaults``
        process_group: the ranks; all of them unless given
        overlap_with_ddp: backward itself updates the parameters, by the hook that ``hook_with_zero_step`` makes; ``step`` then
            does nothing

    >>> import torch, torch.distributed as dist
    >>> from torch.distributed.optim import ZeroRedundancyOptimizer
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> w = torch.nn.Parameter(torch.ones(2))
    >>> optimizer = ZeroRedundancyOptimizer([w], torch.optim.SGD, lr=0.1)
    >>> w.sum().backward(); optimizer.step(); w.data
    tensor([0.9000, 0.9000])
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        params: Any,
        optimizer_class: Any,
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        self.process_group = world.resolve(process_group)
        self.rank, self.world_size = self.process_group.rank(), self.process_group.size()
        self.optim = None
        self._overlaps, self._parts = overlap_with_ddp, {}
        Joinable.__init__(self)
        torch.optim.Optimizer.__init__(self, params, defaults)
        self._optimizer_class = optimizer_class
        self._assign()
        self.optim = optimizer_class(self._our_groups(), **defaults)
        self._all_state_dicts: list = []
        self._defaults_of_class()

    def _assign(self):
        """The largest parameters first, each to the rank that has least."""
        loads = [0] * self.world_size
        self.owner = {}
        parameters = [p for group in self.param_groups for p in group["params"]]
        for parameter in sorted(parameters, key=lambda p: -p.numel()):
            rank = loads.index(min(loads))
            self.owner[parameter] = rank
            loads[rank] += max(1, parameter.numel())

    def _our_groups(self):
        groups = []
        for group in self.param_groups:
            ours = {name: value for name, value in group.items() if name != "params"}
            groups.append(ours | {"params": [p for p in group["params"] if self.owner[p] == self.rank]})
        return [group for group in groups if group["params"]] or [{"params": [torch.zeros(0, requires_grad=True)]}]

    def _defaults_of_class(self):
        """Settings that the class has and were not given, so that schedulers find them in our groups."""
        for group in self.param_groups:
            for name, value in self.optim.param_groups[0].items():
                if name != "params":
                    group.setdefault(name, value)

    def _settings(self):
        """Settings that a scheduler has changed in our groups, into those of the optimizer."""
        ours = [g for g in self.param_groups if any(self.owner[p] == self.rank for p in g["params"])]
        for group, inner in zip(ours, self.optim.param_groups, strict=False):
            for name in group:
                if name != "params":
                    inner[name] = group[name]

    def step(self, closure: Any = None, **kwargs: Any) -> Any:
        """Update our part of the parameters and take over the others'."""
        if self._overlaps:
            if closure is not None:
                raise RuntimeError(
                    "ZeroRedundancyOptimizer.step: with overlap_with_ddp=True no closure can be evaluated"
                )
            return None
        Join.notify_join_context(self)
        self._settings()
        loss = self.optim.step(closure, **kwargs) if closure is not None else self.optim.step(**kwargs)
        self._spread()
        return loss

    def _spread(self):
        self._take_over(self._hand_out([p for group in self.param_groups for p in group["params"]]))

    @torch.no_grad()
    def _hand_out(self, parameters):
        """Begin to send parameters from the ranks that have updated them to all."""
        lines: dict = {}
        for parameter in parameters:
            lines.setdefault((self.owner[parameter], parameter.dtype), []).append(parameter)
        works = []
        for (rank, _), alike in lines.items():
            line = torch.cat([p.detach().reshape(-1) for p in alike])
            work = collectives.broadcast(line, group=self.process_group, group_src=rank, async_op=True)
            works.append((work, rank, line, alike))
        return works

    @torch.no_grad()
    def _take_over(self, works):
        for work, rank, line, parameters in works:
            work.wait()
            if rank != self.rank:
                for parameter, piece in zip(parameters, line.split([p.numel() for p in parameters]), strict=True):
                    parameter.copy_(piece.view(parameter.shape))

    def _step_part(self, parameters, gradients):
        """Update those of some parameters that are ours, with gradients that are not yet their own."""
        ours = [(p, g) for p, g in zip(parameters, gradients, strict=True) if self.owner[p] == self.rank]
        if not ours:
            return
        chosen = {p for p, _ in ours}
        key = frozenset(chosen)
        groups = [
            group | {"params": [p for p in group["params"] if p in chosen]} for group in self.param_groups
        ]  # with the settings of now: schedulers change them
        groups = [group for group in groups if group["params"]]
        part = self._parts.get(key)
        if part is None:
            part = self._parts[key] = self._optimizer_class(groups, **self.defaults)
            part.state = self.optim.state  # one for all parts, so that buckets may change
        for inner, group in zip(part.param_groups, groups, strict=True):
            inner.update(group)
        before = [p.grad for p, _ in ours]
        try:
            for p, g in ours:
                p.grad = g
            part.step()
        finally:
            for (p, _), grad in zip(ours, before, strict=True):
                p.grad = grad

    def add_param_group(self, param_group: Any) -> None:
        """Add parameters, which are assigned anew; only before the first step."""
        super().add_param_group(param_group)
        if self.optim is not None:
            if self.optim.state:
                raise NotImplementedError("ZeroRedundancyOptimizer.add_param_group: only before the first step")
            self._assign()
            self._parts.clear()
            self.optim = self._optimizer_class(self._our_groups(), **self.defaults)
            self._defaults_of_class()

    def join_hook(self, **kwargs: Any) -> Any:
        """A rank without data goes on with the steps of its part: ``Join([model, optimizer])``, in this order."""
        if self._overlaps:
            raise NotImplementedError(
                "ZeroRedundancyOptimizer: with overlap_with_ddp=True ranks have as many batches each"
            )
        return _Hook(self)

    @property
    def join_device(self) -> Any:
        """Where the parameters are."""
        return torch.device("cpu")

    @property
    def join_process_group(self) -> Any:
        """The ranks."""
        return self.process_group

    # ---- saving

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Bring the state of all ranks to rank ``to``, whose :meth:`state_dict` is then that of a plain optimizer."""
        order = [p for group in self.param_groups for p in group["params"]]
        state = {
            i: self.optim.state[p] for i, p in enumerate(order) if self.owner[p] == self.rank and p in self.optim.state
        }
        ours = self.rank == to
        everything = [None] * self.world_size if ours else None
        _objects.gather_object(state, everything, group=self.process_group, group_dst=to)
        if ours:
            self._all_state_dicts = everything

    def state_dict(self) -> Any:
        """The state of the whole optimizer, on the rank that :meth:`consolidate_state_dict` brought it to."""
        if not self._all_state_dicts:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict(to="
                f"{self.rank})` on all ranks beforehand if you meant to save the global state."
            )
        self._settings()
        plain, at = [], 0
        for group in self.param_groups:
            count = len(group["params"])
            plain.append({k: v for k, v in group.items() if k != "params"} | {"params": list(range(at, at + count))})
            at += count
        state = {}
        for part in self._all_state_dicts:
            state |= part
        return {"state": dict(sorted(state.items())), "param_groups": plain}

    def load_state_dict(self, state_dict: Any) -> None:
        """Take the state of a plain optimizer, or of one of these with any number of ranks; each keeps its part."""
        order = [p for group in self.param_groups for p in group["params"]]
        if [len(g["params"]) for g in state_dict["param_groups"]] != [len(g["params"]) for g in self.param_groups]:
            raise ValueError("ZeroRedundancyOptimizer.load_state_dict: the groups have other numbers of parameters")
        for group, loaded in zip(self.param_groups, state_dict["param_groups"], strict=True):
            group.update({k: v for k, v in loaded.items() if k != "params"})
        self._settings()
        for i, parameter in enumerate(order):
            if i in state_dict["state"] and self.owner[parameter] == self.rank:
                self.optim.state[parameter] = copy.deepcopy(state_dict["state"][i])
