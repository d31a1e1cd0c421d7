"""Operators under the names of libraries: ``torch.ops.aten.add(a, b)``. There is one library, aten: the operators of torch-core
and what is composed of them. An overload (``torch.ops.aten.add.Tensor``) names one kind of calls of the operator, which sorts
arguments out itself.

>>> torch.ops.aten.slice.Tensor(torch.arange(5), 0, 1, 3)
tensor([1, 2])
"""

from __future__ import annotations

import builtins
from types import SimpleNamespace

import torch

from . import _C
from ._names import FUNCTIONAL, LAZY, RECURRENT
from ._overloads import AtenOverload, OpOverloadPacket, stand_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Packet(OpOverloadPacket):
    """An operator under one name."""

    def __init__(self, library: Any, name: str, function: Callable[..., Any]) -> None:
        self._library, self.__name__, self._function = library, name, function
        self._qualified_op_name, self._made = f"{library}::{name}", {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if (found := stand_in(args) or stand_in(kwargs.values())) is not None:
            return found.__torch_function__(self, (found,), args, kwargs)
        return self._function(*args, **kwargs)

    def __getattr__(self, overload: str) -> AtenOverload:
        if overload.startswith("_"):
            raise AttributeError(overload)
        made = self._made.get(overload)
        if made is None:
            made = self._made.setdefault(overload, AtenOverload(self, self.__name__, overload, self._function))
        return made

    def overloads(self) -> list[str]:
        """The names of the overloads that programs asked for, or "default": any is taken, since the operator sorts its
        arguments out itself."""
        return list(self._made) or ["default"]

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._library}.{self.__name__}')>"

    def __str__(self) -> str:
        return f"{self._library}.{self.__name__}"


class Library:
    """The operators of one library, made when first asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        function = getattr(BELOW, name, None)
        if function is None:
            try:
                function = _C._operator(ROWS.get(name, name))
            except AttributeError:
                if (function := self._composed(name)) is None:
                    raise AttributeError(f"torch.ops.{self._name} has no operator {name!r}") from None
        packet = self.__dict__[name] = Packet(self._name, name, function)
        return packet

    @staticmethod
    def _composed(name):
        """A function of torch, a method of tensors or a function of torch.nn.functional that is no operator of its own."""
        if name in LAZY or name in RECURRENT or name.startswith("_foreach_"):
            return getattr(torch, name, None)
        if name in ABSENT:
            return lambda *args, **kwargs: _refuse(name)
        if not name.startswith("__") and callable(method := getattr(_C.Tensor, name, None)):
            return method
        if name in FUNCTIONAL or name == "scaled_dot_product_attention":
            return getattr(torch.nn.functional, name)
        return None


#: rows whose calls have a name of their own there
ROWS = {"linalg_vector_norm": "vector_norm"}

#: operators of PyTorch that serve a device or a compiler of its own; libraries name them
ABSENT = {
    "_scaled_dot_product_cudnn_attention", "_scaled_dot_product_cudnn_attention_backward", "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_efficient_attention_backward", "_scaled_dot_product_flash_attention", "_scaled_mm", "_sparse_addmm",
    "_scaled_dot_product_flash_attention_backward", "_scaled_dot_product_flash_attention_for_cpu", "_sparse_mm_reduce_impl",
    "_embedding_bag", "_pin_memory", "_make_per_tensor_quantized_tensor", "_nested_view_from_buffer",
}  # fmt: skip


def _refuse(name):
    raise NotImplementedError(
        f"torch.ops.aten.{name} is not part of this stack: use the public function that calls it in PyTorch"
    )


def _assert_true(condition, message="the condition is false"):
    """Raises RuntimeError unless the number or tensor is true."""
    if not condition:
        raise RuntimeError(message)


def _assert_tensor_metadata(a, size=None, stride=None, dtype=None, *, device=None, layout=None):
    """Raises RuntimeError unless the tensor has this size, stride, dtype, device and layout; None is not looked at."""
    for what, found, wanted in (
        ("size", tuple(a.shape), size),
        ("stride", tuple(a.stride()) if stride is not None else None, stride),
        ("dtype", a.dtype, dtype),
        ("device", a.device, device),
        ("layout", a.layout, layout),
    ):
        if wanted is not None and found != (tuple(wanted) if what in ("size", "stride") else wanted):
            raise RuntimeError(f"Tensor {what} mismatch! Expected: {wanted}, Got: {found}")


def _batch_norm_with_update(input, weight, bias, running_mean, running_var, momentum, eps):
    """Batch norm in training, with its statistics and an empty reserve."""
    result = torch.native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return (*result, input.new_empty(0, dtype=_C.uint8))


def _upsample_bilinear2d_aa(input, output_size, align_corners, scales_h=None, scales_w=None, scale_factors=None):
    """Images resized bilinearly with a filter against aliasing; of sizes and factors, one is given.

    ``scales_h`` and ``scales_w`` stand beside sizes: how much the image is enlarged where that is not sizes divided.
    """
    if scales_h is None and scales_w is None:
        return torch.nn.functional.interpolate(
            input, output_size, scale_factors, "bilinear", align_corners or None, antialias=True
        )
    if input.dim() != 4 or len(output_size) != 2 or min(*output_size, *input.shape[1:]) < 1:
        raise RuntimeError(
            f"_upsample_bilinear2d_aa: expected images (N, C, H, W) and two sizes from 1, got {tuple(input.shape)} and {tuple(output_size)}"
        )
    wide = input if input.is_floating_point() else input.to(_C.float32)
    height, width = (
        _triangles(n, size, align_corners, scale).to(wide.dtype)
        for n, size, scale in zip(input.shape[2:], output_size, (scales_h, scales_w))
    )
    result = height @ wide @ width.T
    return result if wide is input else result.round().to(input.dtype)


def _triangles(n, size, align_corners, scale):
    """How much each of n elements adds to each of ``size`` resized ones: triangles as wide as the step, that sum to 1."""
    if align_corners:
        step = (n - 1) / (size - 1) if size > 1 else 0.0
    else:
        step = 1 / scale if scale is not None and scale > 0 else n / size
    reach = max(step, 1.0)
    center = (torch.arange(size, dtype=_C.float64)[:, None] + 0.5) * step
    element = torch.arange(n, dtype=_C.float64)
    first, last = (center - reach + 0.5).trunc().clamp(min=0), (center + reach + 0.5).trunc().clamp(max=n)
    weights = (1 - ((element - center + 0.5) / reach).abs()).clamp(min=0)
    weights = weights.masked_fill((element < first) | (element >= last), 0)
    total = weights.sum(1, keepdim=True)
    return weights / total.masked_fill(total == 0, 1)


def _convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, *switches):
    """A convolution of any number of dims; the switches at the end are about cuDNN."""
    return torch.convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


def _convolution_backward(*args, **kwargs):
    """The gradients of a convolution, as programs write it that differentiate convolutions by themselves:
    ``(grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask)``,
    None where the mask says no; or in the row's own form."""
    row = _C._operator("convolution_backward")
    if len(args) > len(_CONVOLUTION_BACKWARD) or "for_input" in kwargs:
        return row(*args, **kwargs)
    given = {**dict(zip(_CONVOLUTION_BACKWARD, args, strict=False)), **kwargs}
    grad, input, weight, _, *how, mask = (given[name] for name in _CONVOLUTION_BACKWARD)
    return tuple(g if m else None for g, m in zip(row(grad, input, weight, *how, *mask), mask, strict=True))


_CONVOLUTION_BACKWARD = (
    "grad_output", "input", "weight", "bias_sizes", "stride", "padding", "dilation", "transposed", "output_padding", "groups",
    "output_mask",
)  # fmt: skip
_convolution_backward.schemas = _C._operator("convolution_backward").schemas


def _grid_sampler_backward(grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask):
    """The gradients of ``grid_sample`` by its input and by its grid, None where the mask says no."""
    mode = ("bilinear", "nearest", "bicubic")[interpolation_mode]
    padding = ("zeros", "border", "reflection")[padding_mode]
    with torch.enable_grad():
        given = [x.detach().requires_grad_() for x in (input, grid)]
        sampled = torch.nn.functional.grid_sample(*given, mode, padding, align_corners)
    wanted = [x for x, m in zip(given, output_mask, strict=True) if m]
    grads = iter(torch.autograd.grad(sampled, wanted, grad_output, allow_unused=True, materialize_grads=True))
    return tuple(next(grads) if m else None for m in output_mask)


def _upsample(mode, input, output_size, align_corners, factors=()):
    given = {"scale_factor": factors} if output_size is None else {"size": output_size}
    return torch.nn.functional.interpolate(input, mode=mode, align_corners=align_corners, **given)


def _drawn(fill):
    """Numbers of a tensor's shape and dtype, drawn by what fills one in place."""
    return lambda self, *args, generator=None: getattr(torch.empty_like(self), fill)(*args, generator=generator)


#: what stands below the functions that users know
BELOW = SimpleNamespace(
    **{
        name: _drawn(f"{name.removesuffix('_functional')}_")
        for name in ("cauchy", "exponential", "geometric", "log_normal", "normal_functional", "random", "uniform")
    },
    **{
        name: lambda input, output_size, align_corners, *factors, _mode=mode: _upsample(
            _mode, input, output_size, align_corners, *factors[:1]
        )
        for name, mode in (
            ("upsample_linear1d", "linear"),
            ("upsample_bilinear2d", "bilinear"),
            ("upsample_bicubic2d", "bicubic"),
            ("upsample_trilinear3d", "trilinear"),
        )
    },
    **{
        f"upsample_nearest{dims}d": lambda input, output_size, *factors: _upsample(
            "nearest", input, output_size, None, *factors[:1]
        )
        for dims in (1, 2, 3)
    },
    convolution_backward=_convolution_backward,
    grid_sampler_2d_backward=_grid_sampler_backward,
    grid_sampler_3d_backward=_grid_sampler_backward,
    _adaptive_avg_pool2d=lambda self, output_size: torch.nn.functional.adaptive_avg_pool2d(self, output_size),
    _adaptive_avg_pool3d=lambda self, output_size: torch.nn.functional.adaptive_avg_pool3d(self, output_size),
    _assert_async=_assert_true,
    _assert_scalar=_assert_true,
    _assert_tensor_metadata=_assert_tensor_metadata,
    _convolution=_convolution,
    _conj=lambda self: torch.conj(self),
    _grouped_mm=lambda self, mat2, offs=None, bias=None, out_dtype=None: torch.nn.functional.grouped_mm(
        self, mat2, offs=offs, bias=bias, out_dtype=out_dtype
    ),
    _is_all_true=lambda self: self.all(),
    _is_any_true=lambda self: self.any(),
    _local_scalar_dense=lambda self: self.item(),
    _log_softmax=lambda self, dim, half_to_float: torch.log_softmax(self, dim, _C.float32 if half_to_float else None),
    _softmax=lambda self, dim, half_to_float: torch.softmax(self, dim, _C.float32 if half_to_float else None),
    _unsafe_view=lambda self, size: self.reshape(size),
    log_sigmoid_forward=lambda self: (torch.nn.functional.logsigmoid(self), self.new_empty(0)),
    col2im=lambda self, output_size, kernel_size, dilation, padding, stride: torch.nn.functional.fold(
        self, output_size, kernel_size, dilation, padding, stride
    ),
    im2col=lambda self, kernel_size, dilation, padding, stride: torch.nn.functional.unfold(
        self, kernel_size, dilation, padding, stride
    ),
    **{
        f"{kind}_pad{dims}d": lambda self, padding, _mode=mode: torch.nn.functional.pad(self, padding, _mode)
        for kind, mode in (("reflection", "reflect"), ("replication", "replicate"))
        for dims in (1, 2, 3)
    },
    lift_fresh=lambda self: self,
    lift_fresh_copy=lambda self: self.clone(),
    sym_constrain_range=lambda size, *, min=None, max=None: torch.sym_constrain_range(size, min=min, max=max),
    sym_constrain_range_for_size=lambda size, *, min=None, max=None: torch.sym_constrain_range_for_size(
        size, min=min, max=max
    ),
    sym_numel=lambda self: self.numel(),
    sym_size=lambda self, dim=None: self.shape if dim is None else self.shape[dim],
    sym_storage_offset=lambda self: self.storage_offset(),
    sym_stride=lambda self, dim=None: self.stride() if dim is None else self.stride(dim),
    _batch_norm_with_update=_batch_norm_with_update,
    _upsample_bilinear2d_aa=_upsample_bilinear2d_aa,
)
aten = Library("aten")
loaded_libraries = set()
#: namespaces of torch-distributed
COLLECTIVES = {"c10d", "_c10d_functional", "_c10d_functional_autograd", "c10d_functional"}


def load_library(path):
    """Loads a shared library, whose own code may add operators (TORCH_LIBRARY, or PyTorch's stable ABI). Raises OSError when
    it, or a library that it needs, is not there, or when it uses PyTorch's C++ classes, which are not ours.

    >>> torch.ops.load_library("/nowhere/lib.so")
    Traceback (most recent call last):
    OSError: torch.ops.load_library: /nowhere/lib.so: cannot open shared object file: No such file or directory
    """
    import os

    from ._stable import load

    try:
        load(os.fspath(path))
    except OSError as error:
        raise OSError(f"torch.ops.load_library: {error}") from None
    loaded_libraries.add(os.path.realpath(path))
    from ._registered import pull

    pull()


def __getattr__(name):
    """A namespace of operators that programs register by torch.library."""
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.ops' has no attribute {name!r}")
    from importlib.util import find_spec

    from ._registered import Namespace

    if name == "higher_order":
        from ._higher_order_ops import namespace

        globals()[name] = namespace
        return namespace
    if name == "quantized" and find_spec("torch.ao"):  # which has it
        from .ao.nn.quantized._operators import library

        globals()[name] = library
        return library
    if name == "quantized_decomposed":  # torch-nn registers it
        from .ao.quantization.fx import _decomposed  # noqa: F401

    namespace = Namespace(name)
    if not hasattr(builtins, name):  # torch.ops.max must not stand for max in this file
        globals()[name] = namespace
    if name in COLLECTIVES and find_spec("torch.distributed"):  # which registers them
        from .distributed import _functional_operators, _group_operators  # noqa: F401
    return namespace
