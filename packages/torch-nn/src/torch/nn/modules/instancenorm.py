"""Instance normalisation (Ulyanov 2016): batch norm of each example by itself."""

from __future__ import annotations

from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase

TYPE_CHECKING = False
if TYPE_CHECKING:
    import torch
    from torch import Tensor


__all__ = [
    "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d",
]  # fmt: skip


class _InstanceNorm(_NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        batched = input.dim() == self._dims[1]
        x = input if batched else input.unsqueeze(0)
        if x.shape[1] != self.num_features and self.affine:
            raise ValueError(
                f"{type(self).__name__}: expected input of {self.num_features} channels, got shape {tuple(input.shape)}"
            )
        use_input_stats = self.training or not self.track_running_stats
        output = F.instance_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias, use_input_stats, self.momentum or 0.0, self.eps
        )  # fmt: skip
        return output if batched else output.squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """Normalises every channel of every example of (N, C, L) or (C, L) by itself.

    >>> torch.nn.InstanceNorm1d(2)(torch.tensor([[[1.0, 3.0], [10.0, 30.0]]]))
    tensor([[[-1.0000,  1.0000],
             [-1.0000,  1.0000]]])
    """

    _dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalises every channel of every image of (N, C, H, W) or (C, H, W) by itself.

    >>> torch.nn.InstanceNorm2d(3, affine=True)(torch.randn(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    _dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalises every channel of every volume of (N, C, D, H, W) or (C, D, H, W) by itself.

    >>> torch.nn.InstanceNorm3d(3)(torch.randn(2, 3, 4, 4, 4)).shape
    torch.Size([2, 3, 4, 4, 4])
    """

    _dims = (4, 5)


class LazyInstanceNorm1d(_LazyNormBase, InstanceNorm1d):
    """:class:`InstanceNorm1d` that reads ``num_features`` off its first input."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNormBase, InstanceNorm2d):
    """:class:`InstanceNorm2d` that reads ``num_features`` off its first input."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNormBase, InstanceNorm3d):
    """:class:`InstanceNorm3d` that reads ``num_features`` off its first input."""

    cls_to_become = InstanceNorm3d
