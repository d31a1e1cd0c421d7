"""Steps on CUDA in few launches: one for parameters that lie in memory without gaps, as their gradients and states do, where
the algorithm has a kernel, and else one for each operator of it.
"""

from __future__ import annotations

import collections
import contextlib

import torch
from torch import _seams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor

__all__ = ["in_few_launches", "joined_of", "like_parameter", "may_join", "may_join_in", "step_together"]

#: what the kernels compute
DTYPES = frozenset((torch.float16, torch.bfloat16, torch.float32, torch.float64))
#: of classes that are no wrappers
PLAIN = (torch.Tensor.__torch_function__, _seams.no_torch_function)


def may_join_in(group: dict[str, Any]) -> bool:
    """Whether the options of a group leave it to us how many parameters a launch has."""
    return not group.get("differentiable") and not (group.get("foreach") is False and not group.get("fused"))


def joined_of() -> dict[Any, list[tuple[Tensor, Tensor]]]:
    """A place for pairs of parameters and gradients, by device and dtype."""
    return collections.defaultdict(list)


def in_few_launches(group: dict[str, Any]) -> contextlib.AbstractContextManager[None]:
    """A block in which each operator of an algorithm is one launch for many parameters on CUDA."""
    if may_join_in(group) and any(p.is_cuda for p in group["params"]):
        return _seams.in_list_on_cuda()
    return contextlib.nullcontext()


def is_plain(t: Tensor) -> bool:
    return (
        t.__torch_function__ in PLAIN
        and type(t).__torch_dispatch__ is _seams.no_torch_dispatch
        and t.layout is torch.strided
        and (t.is_contiguous() or (t.dim() == 4 and t.is_contiguous(memory_format=torch.channels_last)))
    )


def like_parameter(p: Tensor, t: Any) -> bool:
    """Whether a gradient or a state lies as its parameter does."""
    return t.dtype is p.dtype and t.device == p.device and t.stride() == p.stride() and t.shape == p.shape


def may_join(p: Tensor, g: Tensor) -> bool:
    return p.is_cuda and p.dtype in DTYPES and is_plain(p) and is_plain(g) and like_parameter(p, g)


def kernel_of_steps() -> Any:
    """The plug-in's, of algorithms that have no operator of their own; None where core or plug-in are older than it."""
    try:
        return _seams.step_on_cuda
    except (AttributeError, ImportError):
        return None


def step_together(
    optimizer: Any, algorithm: str, pairs: list[tuple[Tensor, Tensor]], group: dict[str, Any], states: tuple[str | None, ...],
    numbers: Any, **options: float,
) -> None:  # fmt: skip
    """One step of all pairs of parameter and gradient by the kernel for that file.

    ``states`` are names of what lies as the parameter does, in the kernel's order, None for what these options do without.
    ``numbers(state, group)`` counts the step and gives what each parameter has of its own, floats or tensors of the device.
    """
    kernel, used = kernel_of_steps(), [name for name in states if name]
    for p, _ in pairs:  # before any step is counted: there may be no memory for all
        if not optimizer.state.get(p):
            state = {}
            optimizer._begin(p, state, group)
            optimizer.state[p] = state
    calls = collections.defaultdict(list)
    for p, g in pairs:
        state = optimizer.state[p]
        if kernel is None or not all(like_parameter(p, state[name]) for name in used):
            optimizer._update(p, -g if group["maximize"] else g, state, group)
            continue
        own = numbers(state, group)
        on_device = any(isinstance(n, torch.Tensor) for n in own)
        calls[on_device].append((p, g, state, own if on_device else tuple(map(float, own))))
    for call in calls.values():
        p, g, kept, own = map(list, zip(*call, strict=True))
        lists = [p, g, *([state[name] for state in kept] if name else [] for name in states)]
        shared = {"maximize": group["maximize"], **options}
        kernel(
            algorithm, lists, list(map(list, zip(*own, strict=True))),
            **{name: float(value) for name, value in shared.items()},
        )  # fmt: skip
