"""Batch normalisation (Ioffe 2015)."""

from __future__ import annotations

import torch
from torch import _seams

from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedBuffer, UninitializedParameter, is_lazy
from .lazy import LazyModuleMixin
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor


TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "SyncBatchNorm",
]  # fmt: skip


class _NormBase(Module):
    """Weight, bias and running statistics of one value for each channel."""

    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]

    # Version 2 counts batches; version 1 checkpoints have no num_batches_tracked.
    _version = 2
    _dims = ()

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        options = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(torch.empty(num_features, **options)) if affine else None)
        self.register_parameter("bias", Parameter(torch.empty(num_features, **options)) if affine and bias else None)
        tracked = track_running_stats
        self.register_buffer("running_mean", torch.zeros(num_features, **options) if tracked else None)
        self.register_buffer("running_var", torch.ones(num_features, **options) if tracked else None)
        count = torch.tensor(0, dtype=torch.int64, device=device) if tracked else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget all batches seen."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0, no batches seen."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input):
        if input.dim() not in self._dims:
            expected = " or ".join(f"{n}D" for n in self._dims)
            raise ValueError(f"{type(self).__name__}: expected {expected} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *lists):
        version = local_metadata.get("version")
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            count = self.num_batches_tracked
            state_dict[key] = torch.tensor(0, dtype=torch.int64) if count is None or is_lazy(count) else count
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *lists)


class _BatchNorm(_NormBase):
    def _count_batch(self):
        """The momentum of this batch; None in the settings is the plain average of all batches."""
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                return 1.0 / float(self.num_batches_tracked)
        return self.momentum

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        training = self.training or self.running_mean is None
        momentum = self._count_batch()
        update = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if update else None,
            self.running_var if update else None,
            self.weight,
            self.bias,
            training,
            0.0 if momentum is None else momentum,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """``(x - mean) / sqrt(var + eps) * weight + bias`` for each channel of (N, C) or (N, C, L).

    In training mean and variance are the batch's (the variance without Bessel's correction) and the running ones move
    by ``momentum`` towards them (the variance with it); in evaluation the running ones are used.

    >>> torch.nn.BatchNorm1d(3)(torch.randn(5, 3)).mean(0).abs().max() < 1e-6
    tensor(True)
    """

    _dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch norm for each channel of (N, C, H, W); see :class:`BatchNorm1d`.

    >>> torch.nn.BatchNorm2d(3)(torch.randn(8, 3, 5, 5)).mean(dim=(0, 2, 3)).abs() < 1e-5
    tensor([True, True, True])
    """

    _dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch norm for each channel of (N, C, D, H, W); see :class:`BatchNorm1d`.

    >>> torch.nn.BatchNorm3d(3)(torch.randn(8, 3, 4, 4, 4)).shape
    torch.Size([8, 3, 4, 4, 4])
    """

    _dims = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch norm of (N, C, ...) over the batches of all processes of a group: of all of them unless one is given.

    In training, mean and variance are those of all processes' batches together, and gradients flow through them.
    Without a process group, and in evaluation, it is batch norm of the batch at hand.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any | None = None,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError(f"SyncBatchNorm: expected at least 2D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        if not self.training or self._processes() < 2:
            return super().forward(input)
        self._check_input_dim(input)
        if input.shape[1] != self.num_features:
            raise ValueError(
                f"SyncBatchNorm: expected {self.num_features} channels in dim 1, got input of shape {tuple(input.shape)}"
            )
        from torch.distributed._sync_batch_norm import sync_batch_norm

        momentum = self._count_batch()
        return sync_batch_norm(
            input,
            self.weight,
            self.bias,
            self.running_mean if self.track_running_stats else None,
            self.running_var if self.track_running_stats else None,
            self.eps,
            0.0 if momentum is None else momentum,
            self.process_group,
        )

    def _processes(self):
        distributed = _seams.need("distributed")
        if not distributed.is_initialized():
            if self.process_group is not None:
                raise RuntimeError("SyncBatchNorm: its process group belongs to no job: call init_process_group first")
            return 1
        return distributed.get_world_size(self.process_group)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Any:
        """``module`` with every batch norm in it replaced by a SyncBatchNorm of the same state."""
        converted = module
        if isinstance(module, _BatchNorm):
            converted = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
            )
            for kind in ("_parameters", "_buffers"):
                getattr(converted, kind).update(getattr(module, kind))
            converted.training = module.training
            if hasattr(module, "qconfig"):
                converted.qconfig = module.qconfig
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """A norm that reads ``num_features`` off its first input."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine = affine
        self.track_running_stats = track_running_stats
        options = {"device": device, "dtype": dtype}
        if affine:
            self.weight = UninitializedParameter(**options)
            if bias:
                self.bias = UninitializedParameter(**options)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**options)
            self.running_var = UninitializedBuffer(**options)
            self.num_batches_tracked = torch.tensor(0, dtype=torch.int64, device=device)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        channel = 1 if isinstance(self, _BatchNorm) or input.dim() == max(self._dims) else 0
        self.num_features = input.shape[channel]
        for tensor in (self.weight, self.bias, self.running_mean, self.running_var):
            if tensor is not None:
                tensor.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, BatchNorm1d):
    """:class:`BatchNorm1d` that reads ``num_features`` off its first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNormBase, BatchNorm2d):
    """:class:`BatchNorm2d` that reads ``num_features`` off its first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNormBase, BatchNorm3d):
    """:class:`BatchNorm3d` that reads ``num_features`` off its first input."""

    cls_to_become = BatchNorm3d
