"""What optimisers written elsewhere import from ``torch.optim.optimizer``."""

import collections
import functools
from collections.abc import Iterable
from typing import Any, TypeAlias

import torch

StateDict: TypeAlias = dict[str, Any]
DeviceDict: TypeAlias = dict[torch.device | None, torch.Tensor]
DeviceDtypeDict: TypeAlias = dict[tuple[torch.device, torch.dtype] | None, torch.Tensor]
ParamsT: TypeAlias = Iterable[torch.Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, torch.Tensor]]


def _use_grad_for_differentiable(func):
    """A step that records gradients only where the optimiser was made with ``differentiable=True``."""

    @functools.wraps(func)
    def step(self, *args, **kwargs):
        with torch.set_grad_enabled(bool(self.defaults["differentiable"])):
            return func(self, *args, **kwargs)

    return step


def _disable_dynamo_if_unsupported(single_tensor_fn=None):
    """A decorator that leaves the function as it is: nothing is compiled."""
    return lambda func: func


def _default_to_fused_or_foreach(params, differentiable, use_fused=False):
    """Which of the forms ``fused`` and ``foreach`` to take on its own: neither."""
    return False, False


def _get_capturable_supported_devices(supports_xla=True):
    """Devices on which a step can be part of a recorded graph."""
    return ["cuda", "xpu", "hpu", "privateuseone"] + ["xla"] * supports_xla


def _get_value(x):
    """The number in a tensor, or the number."""
    return x.item() if isinstance(x, torch.Tensor) else x


_to_scalar = _stack_if_compiling = lambda x: x


def _get_scalar_dtype(is_fused=None):
    """The dtype of a count of steps."""
    return torch.float64 if not is_fused and torch.get_default_dtype() is torch.float64 else torch.float32


def _view_as_real(params, *state_and_grads):
    """Put views of pairs of reals in place of the complex tensors among these lists."""
    for i, param in enumerate(params):
        if torch.is_complex(param):
            for tensors in (params, *state_and_grads):
                tensors[i] = torch.view_as_real(tensors[i])


def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
    """Split lists that go together into groups of one device and dtype, by the tensors of the first list.

    >>> grouped = _group_tensors_by_device_and_dtype([[torch.ones(1), torch.ones(2, dtype=torch.float64)]])
    >>> [(str(dtype), len(lists[0])) for (device, dtype), (lists, indices) in grouped.items()]
    [('torch.float32', 1), ('torch.float64', 1)]
    """
    if with_indices:
        tensorlistlist = [*tensorlistlist, list(range(len(tensorlistlist[0])))]
    groups = collections.defaultdict(lambda: [[] for _ in tensorlistlist])
    for row in zip(*tensorlistlist, strict=True):
        for column, value in zip(groups[row[0].device, row[0].dtype], row, strict=True):
            column.append(value)
    split = len(tensorlistlist) - 1 if with_indices else len(tensorlistlist)
    return {key: (lists[:split], lists[split] if with_indices else []) for key, lists in groups.items()}
