"""Averages of weights over training: stochastic weight averaging (Izmailov 2018) and exponential moving averages."""

from __future__ import annotations

import copy
import itertools
import math

import torch

from ._extending import _group_tensors_by_device_and_dtype  # noqa: F401  (averages of one's own group by it)
from .lr_scheduler.base import LRScheduler
from .lr_scheduler.cyclic import _per_group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, Literal

    from torch.nn import Module
    from torch.optim import Optimizer

    class AveragedModel(Module):
        module: Module
        n_averaged: torch.Tensor

        def __init__(
            self,
            model: Module,
            device: torch.device | str | int | None = None,
            avg_fn: Callable[..., torch.Tensor] | None = None,
            multi_avg_fn: Callable[..., None] | None = None,
            use_buffers: bool = False,
        ) -> None: ...
        def update_parameters(self, model: Module) -> None: ...


__all__ = [
    "AveragedModel",
    "SWALR", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
    "update_bn",
]  # fmt: skip


def get_swa_avg_fn() -> Any:
    """The running mean of one parameter: ``avg + (p - avg) / (n + 1)``."""

    def swa_update(averaged, current, num_averaged):
        return averaged + (current - averaged) / (num_averaged + 1)

    return torch.no_grad()(swa_update)


def get_swa_multi_avg_fn() -> Any:
    """The running mean of a list of parameters, in place."""

    def swa_update(averaged, current, num_averaged):
        _toward(averaged, current, 1 / (float(num_averaged) + 1))

    return torch.no_grad()(swa_update)


def _toward(averaged, current, weight):
    for a, p in zip(averaged, current):
        if a.is_floating_point() or a.is_complex():
            a.lerp_(p.to(a.dtype), weight)
        else:  # counts are rounded down
            a.copy_(a * (1 - weight) + p * weight)


def _check_decay(decay):
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_avg_fn(decay: float = 0.999) -> Any:
    """The exponential moving average of one parameter: ``decay * avg + (1 - decay) * p``."""
    _check_decay(decay)

    def ema_update(averaged, current, num_averaged):
        return decay * averaged + (1 - decay) * current

    return torch.no_grad()(ema_update)


def get_ema_multi_avg_fn(decay: float = 0.999) -> Any:
    """The exponential moving average of a list of parameters, in place."""
    _check_decay(decay)

    def ema_update(averaged, current, num_averaged):
        _toward(averaged, current, 1 - decay)

    return torch.no_grad()(ema_update)


def _averaged_model():
    """The class, made at first use: it is a Module, and torch.optim does without torch.nn."""

    class AveragedModel(torch.nn.Module):
        """A copy of ``model`` whose parameters are averages: ``update_parameters(model)`` takes one more into them.

        ``avg_fn(averaged, current, n)`` or ``multi_avg_fn`` (lists, in place) is the mean by default; with
        ``use_buffers`` buffers are averaged too.
        """

        def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
            super().__init__()
            if avg_fn is not None and multi_avg_fn is not None:
                raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
            self.module = copy.deepcopy(model)
            if device is not None:
                self.module = self.module.to(device)
            self.register_buffer("n_averaged", torch.tensor(0, dtype=torch.int64, device=device))
            self.avg_fn = avg_fn
            self.multi_avg_fn = multi_avg_fn
            self.use_buffers = use_buffers

        def forward(self, *args, **kwargs):
            return self.module(*args, **kwargs)

        def _tensors(self, model):
            buffers = model.buffers() if self.use_buffers else ()
            return [tensor.detach() for tensor in itertools.chain(model.parameters(), buffers)]

        def update_parameters(self, model):
            """Take the parameters of ``model`` into the average."""
            averaged = self._tensors(self.module)
            current = [p.to(a.device) for p, a in zip(self._tensors(model), averaged)]
            with torch.no_grad():
                if self.n_averaged == 0:
                    for a, p in zip(averaged, current):
                        a.copy_(p)
                elif self.avg_fn is not None:
                    for a, p in zip(averaged, current):
                        a.copy_(self.avg_fn(a, p, self.n_averaged))
                else:
                    average = self.multi_avg_fn or get_swa_multi_avg_fn()
                    for dtype in dict.fromkeys(a.dtype for a in averaged):
                        of_dtype = [(a, p) for a, p in zip(averaged, current) if a.dtype == dtype]
                        average(*map(list, zip(*of_dtype)), self.n_averaged)
                if not self.use_buffers:
                    for b, source in zip(self.module.buffers(), model.buffers()):
                        b.detach().copy_(source.detach())
                self.n_averaged += 1

    AveragedModel.__module__, AveragedModel.__qualname__ = __name__, "AveragedModel"
    return AveragedModel


def __getattr__(name):
    if name == "AveragedModel":
        globals()[name] = _averaged_model()
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@torch.no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: torch.device | str | int | None = None) -> None:
    """Compute the running statistics of all batch norms of ``model`` anew, by one pass over ``loader``."""
    norms = [module for module in model.modules() if isinstance(module, torch.nn.modules.batchnorm._BatchNorm)]
    if not norms:
        return
    momenta = [module.momentum for module in norms]
    training = model.training
    model.train()
    for module in norms:
        module.reset_running_stats()
        module.momentum = None  # the plain mean over all batches
    try:
        for batch in loader:
            batch = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(batch if device is None else batch.to(device))
    finally:
        for module, momentum in zip(norms, momenta):
            module.momentum = momentum
        model.train(training)


class SWALR(LRScheduler):
    """Anneals each group's learning rate to ``swa_lr`` over ``anneal_epochs`` and keeps it there."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | Sequence[float],
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        for group, lr in zip(optimizer.param_groups, _per_group("swa_lr", optimizer, swa_lr)):
            group["swa_lr"] = lr
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Any:
        self._warn_outside_step()
        # Another scheduler may have set the rates in between: go on from where they would have begun to be here now.
        steps = self._step_count - 1
        before, now = self._share(steps - 1), self._share(steps)
        rates = []
        for group in self.optimizer.param_groups:
            swa_lr = group["swa_lr"]
            start = swa_lr if before == 1 else (group["lr"] - before * swa_lr) / (1 - before)
            rates.append(now * swa_lr + (1 - now) * start)
        return rates

    def _share(self, epoch):
        """How much of swa_lr is in the rate at ``epoch``."""
        if self.anneal_epochs == 0:
            return 1.0 if epoch >= 0 else 0.0
        t = max(0.0, min(1.0, epoch / self.anneal_epochs))
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t
