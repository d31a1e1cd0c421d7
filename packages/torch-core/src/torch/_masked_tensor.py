"""``torch.masked.MaskedTensor``: a tensor beside a mask that says which of its elements are specified.

Element-wise operators and those that rearrange elements are seen below autograd, by their rows, and act on data and mask. Reductions
are seen above it: they are those of ``torch.masked`` on the data, whose gradient comes back with the mask.
"""

from __future__ import annotations

import functools
import sys
import warnings

import torch

from . import _C, masked
from ._parts import need

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor


__all__ = ["MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"]

#: where the functions of torch.masked stand for the operators of the same name
REDUCE = {"sum", "mean", "prod", "amax", "amin", "argmax", "argmin", "var", "std"}
LINES = {"softmax", "log_softmax", "softmin"}
#: what moves elements without being a view by its row
MOVES = {
    "cat", "concat", "stack", "expand", "reshape", "repeat", "contiguous", "flatten", "index_select", "flip", "roll", "tile", "split",
    "chunk", "tensor_split", "select_backward", "slice_backward",
}  # fmt: skip
KEEPS = {"clone", "detach", "alias", "_to_copy", "to", "copy", "lift_fresh", "requires_grad_"}
FRESH = 1  # Memory::Fresh of a row


@functools.cache
def _kinds() -> dict[str, set[str]]:
    """Names of operators by what they do with elements, from their rows."""
    kinds: dict[str, set[str]] = {"pointwise": set(), "view": set(), "fresh": set()}
    for row in _C._rows():
        name = row["schema"].partition("(")[0].partition(".")[0]
        for kind in ("pointwise", "view"):
            if row[kind]:
                kinds[kind].add(name)
        if row["memory"] == FRESH:
            kinds["fresh"].add(name)
    return kinds


def _gradients():
    """Functions that lead gradients into and out of the data; loaded with torch-autograd."""
    need("autograd")
    return _functions()


@functools.cache
def _functions():
    class Data(torch.autograd.Function):
        """The data of a masked tensor; its gradient is specified where the data is."""

        @staticmethod
        def forward(ctx, x):
            ctx.mask = x._mask
            return x._data.detach()

        @staticmethod
        def backward(ctx, grad):
            return grad if is_masked_tensor(grad) else MaskedTensor(grad, ctx.mask)

    class Made(torch.autograd.Function):
        """A masked tensor of data that has a gradient."""

        @staticmethod
        def forward(ctx, data, mask, plain):
            ctx.plain = plain
            return MaskedTensor(data.detach(), mask)

        @staticmethod
        def backward(ctx, grad):
            return (grad.to_tensor(0) if ctx.plain and is_masked_tensor(grad) else grad), None, None

    return Data, Made


class MaskedTensor(torch.Tensor):
    """Data of any shape and a bool mask of that shape, true where an element is specified.

    Operators of two masked tensors want equal masks; one of a masked and a plain tensor has the mask of the first. Reductions leave
    out what is not specified.

    >>> x = torch.masked.masked_tensor(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([True, False, True]))
    >>> x + 1
    MaskedTensor(
      [  2.0000,       --,   5.0000]
    )
    >>> x.mean()
    MaskedTensor(  2.5000, True)
    """

    _data: Tensor
    _mask: Tensor

    def __new__(cls, data: Tensor, mask: Tensor, requires_grad: bool = False) -> MaskedTensor:
        if not isinstance(data, torch.Tensor):
            raise TypeError(f"MaskedTensor: data must be a Tensor, got {type(data).__name__}")
        if not isinstance(mask, torch.Tensor):
            raise TypeError(f"MaskedTensor: mask must be a Tensor, got {type(mask).__name__}")
        if is_masked_tensor(data) or is_masked_tensor(mask):
            raise TypeError("MaskedTensor: data and mask are plain tensors; one of the two is masked itself")
        if data.layout != torch.strided or mask.layout != torch.strided:
            raise NotImplementedError(f"MaskedTensor: only strided data and masks, got {data.layout} and {mask.layout}")
        if mask.dtype != torch.bool:
            raise TypeError(f"MaskedTensor: mask must have dtype bool. Got {mask.dtype}")
        if data.dim() != mask.dim():
            raise ValueError(f"MaskedTensor: data.dim() must equal mask.dim(), got {data.dim()} and {mask.dim()}")
        if data.shape != mask.shape:
            raise ValueError(
                f"MaskedTensor: data.size() must equal mask.size(), got {tuple(data.shape)}, {tuple(mask.shape)}"
            )
        if data.requires_grad:
            warnings.warn(
                "a MaskedTensor of data that requires gradients is cut off from their graph; as_masked_tensor(data, mask) is not",
                stacklevel=2,
            )
        made = torch.Tensor._make_wrapper_subclass(
            cls, data.shape, strides=data.stride(), dtype=data.dtype, device=data.device, requires_grad=requires_grad
        )
        made._data, made._mask = data.detach(), mask.detach()
        return made

    def __init__(self, data: Tensor, mask: Tensor, requires_grad: bool = False) -> None:
        """See the class."""

    def get_data(self) -> Tensor:
        """The data, also where it is not specified."""
        if self.requires_grad and torch.is_grad_enabled():
            return _gradients()[0].apply(self)
        return self._data

    def get_mask(self) -> Tensor:
        """The mask."""
        return self._mask

    def to_tensor(self, value: float) -> Tensor:
        """The data, and ``value`` where it is not specified."""
        return self.get_data().masked_fill(~self._mask, value)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        with torch._C.DisableTorchFunctionSubclass():
            if self.dim() == 0:
                said = _number(self._data.item()) if self._mask.item() else "--"
                return f"MaskedTensor({said}, {bool(self._mask.item())})"
            return "MaskedTensor(\n" + _lines(self._data.tolist(), self._mask.tolist(), 2) + "\n)"

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        with torch._C.DisableTorchFunctionSubclass():
            if (name in REDUCE or name in LINES or name == "all") and args and is_masked_tensor(args[0]):
                return _reduced(name, *args, **kwargs)
            return func(*args, **kwargs)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func.__name__.partition(".")[0]
        kinds = _kinds()
        if name == "_local_scalar_dense":
            return args[0]._data.item()
        if name == "where":
            return _where(func, *args, **kwargs)
        if name.removesuffix("_") in kinds["pointwise"] or name in kinds["pointwise"]:
            return _pointwise(func, name, args, kwargs)
        if name in KEEPS or name in kinds["fresh"]:
            made = func(*_of(args, "_data"), **_of(kwargs, "_data"))
            return cls(made, args[0]._mask.to(made.device))
        if name in MOVES or name in kinds["view"]:
            made, mask = func(*_of(args, "_data"), **kwargs), func(*_of(args, "_mask"), **kwargs)
            return cls(made, mask) if isinstance(made, torch.Tensor) else tuple(map(cls, made, mask))
        if _is_unrecorded():  # of a gradient
            if name == "masked_fill":
                return cls(func(*_of(args, "_data"), **kwargs), args[0]._mask)
            if name == "sum":
                x, dim, keepdim = args
                return _reduced(name, x, dim, keepdim=keepdim)
        return NotImplemented


def _is_unrecorded():
    """Whether operators run without being recorded, as those of a backward pass do."""
    autograd = sys.modules.get("torch.autograd")
    return autograd is not None and not autograd.is_grad_enabled()


def _of(values, which):
    """The arguments with the data, or the mask, of each masked tensor in its place."""
    if isinstance(values, dict):
        return {key: _of([value], which)[0] for key, value in values.items()}
    return [
        getattr(v, which) if is_masked_tensor(v) else _of(v, which) if isinstance(v, (list, tuple)) else v
        for v in values
    ]


def _pointwise(func, name, args, kwargs):
    masks = [a._mask for a in args if is_masked_tensor(a)]
    mask = masks[0]
    for other in masks[1:]:
        if not torch.equal(mask, other):
            if not _is_unrecorded() or mask.shape != other.shape:
                raise ValueError(
                    f"{name}: Input masks must match, and differ in {int((mask != other).sum())} of {mask.numel()} elements"
                    if mask.shape == other.shape
                    else f"{name}: Input masks must match, got masks of {tuple(mask.shape)} and {tuple(other.shape)}"
                )
            mask = mask & other  # of gradients
    made = func(*_of(args, "_data"), **_of(kwargs, "_data"))
    if name.endswith("_") and not name.endswith("__"):
        return args[0]
    return MaskedTensor(made, mask.expand(made.shape))


def _where(func, condition, *sides):
    data = func(condition, *_of(sides, "_data"))
    masks = [side._mask if is_masked_tensor(side) else torch.ones_like(data, dtype=torch.bool) for side in sides]
    return MaskedTensor(data, torch.where(condition, *(m.expand(data.shape) for m in masks)))


def _reduced(name, x, *args, **kwargs):
    data, mask = x.get_data(), x._mask
    if name == "all":
        return MaskedTensor((data.bool() | ~mask).all(*args, **kwargs), _any(mask, *args, **kwargs))
    if name in ("var", "std"):
        kwargs.setdefault("unbiased", kwargs.pop("correction", 1) != 0)
    if name in LINES:
        args, kept = (args[:1] if args else (kwargs.pop("dim"),)), mask
        kwargs.pop("_stacklevel", None)
    else:
        kept = _any(mask, *args[:2], **{k: kwargs[k] for k in ("dim", "keepdim") if k in kwargs})
    if name in ("var", "std") and "unbiased" in kwargs:
        dim = kwargs.pop("dim", args[0] if args else None)
        found = getattr(masked, name)(data, dim, mask=mask, **kwargs)
    else:
        found = getattr(masked, name)(data, *args, mask=mask, **kwargs)
    if found.requires_grad:
        return _gradients()[1].apply(found, kept, True)
    return MaskedTensor(found, kept)


def _any(mask, dim=None, keepdim=False):
    """Whether anything is specified of what a reduction puts together."""
    dims = range(mask.dim()) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    for d in sorted((d % max(mask.dim(), 1) for d in dims), reverse=True):
        mask = mask.any(d, keepdim=keepdim) if mask.dim() else mask
    return mask


def _number(value):
    return f"{value:8.4f}" if isinstance(value, float) else str(value)


def _lines(data, mask, indent):
    pad = " " * indent
    if not data or not isinstance(data[0], list):
        said = [_number(v) if m else "--" for v, m in zip(data, mask, strict=True)]
        width = max([8, *map(len, said)])
        return f"{pad}[" + ", ".join(s.rjust(width) if s == "--" else s for s in said) + "]"
    inner = ",\n".join(_lines(d, m, indent + 2) for d, m in zip(data, mask, strict=True))
    return f"{pad}[\n{inner}\n{pad}]"


def is_masked_tensor(obj: Any, /) -> bool:
    """Whether an object is a :class:`MaskedTensor`.

    >>> torch.masked.is_masked_tensor(torch.ones(2))
    False
    """
    return type(obj) is MaskedTensor or isinstance(obj, MaskedTensor)


def masked_tensor(data: Tensor, mask: Tensor, requires_grad: bool = False) -> MaskedTensor:
    """A leaf over this data and mask, apart from the graph of the data.

    >>> torch.masked.masked_tensor(torch.tensor([1, 2]), torch.tensor([True, False]))
    MaskedTensor(
      [1,       --]
    )
    """
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Tensor, mask: Tensor) -> MaskedTensor:
    """The data under a mask; gradients flow to it.

    >>> torch.masked.as_masked_tensor(torch.tensor(1.0), torch.tensor(False))
    MaskedTensor(--, False)
    """
    if isinstance(data, torch.Tensor) and data.requires_grad and torch.is_grad_enabled():
        return _gradients()[1].apply(data, mask, False)
    return MaskedTensor(data, mask)
