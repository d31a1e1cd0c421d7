"""Operators under the names of libraries: ``torch.ops.aten.add(a, b)``. There is one library, aten: the operators of torch-core
and what is composed of them. An overload (``torch.ops.aten.add.Tensor``) is the operator, which sorts arguments out itself.

>>> torch.ops.aten.slice.Tensor(torch.arange(5), 0, 1, 3)
tensor([1, 2])
"""

from types import SimpleNamespace

import torch

from . import _C
from ._parts import LAZY


class Packet:
    """An operator under one name."""

    def __init__(self, library, name, function):
        self._library, self.__name__, self._function = library, name, function

    def __call__(self, *args, **kwargs):
        return self._function(*args, **kwargs)

    def __getattr__(self, overload):
        if overload.startswith("__"):
            raise AttributeError(overload)
        return self

    def __repr__(self):
        return f"<operator {self._library}.{self.__name__}>"


class Library:
    """The operators of one library, made when first asked for."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        function = getattr(BELOW, name, None)
        if function is None:
            try:
                function = _C._operator(name)
            except AttributeError:
                if name not in LAZY:
                    raise AttributeError(f"torch.ops.{self._name} has no operator {name!r}") from None
                function = getattr(torch, name)
        packet = self.__dict__[name] = Packet(self._name, name, function)
        return packet


def _safe_softmax(input, dim, dtype=None):
    """Softmax, with zeros along lines that are -inf as a whole."""
    hidden = (input == -float("inf")).all(dim, keepdim=True)
    return _C._operator("softmax")(input.masked_fill(hidden, 0), dim, dtype=dtype).masked_fill(hidden, 0)


def _batch_norm_with_update(input, weight, bias, running_mean, running_var, momentum, eps):
    """Batch norm in training, with its statistics and an empty reserve."""
    result = torch.native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return (*result, input.new_empty(0, dtype=_C.uint8))


def _upsample_bilinear2d_aa(input, output_size, align_corners, scales_h=None, scales_w=None, scale_factors=None):
    """Images resized bilinearly with a filter against aliasing; of sizes and factors, one is given."""
    if scales_h is not None or scales_w is not None:
        raise NotImplementedError(
            f"_upsample_bilinear2d_aa: sizes and factors of their own, {scales_h} and {scales_w}, are not there together: "
            "leave scales_h and scales_w away, or give scale_factors"
        )
    return torch.nn.functional.interpolate(
        input, output_size, scale_factors, "bilinear", align_corners or None, antialias=True
    )


#: what stands below the functions that users know
BELOW = SimpleNamespace(
    _safe_softmax=_safe_softmax,
    _batch_norm_with_update=_batch_norm_with_update,
    _upsample_bilinear2d_aa=_upsample_bilinear2d_aa,
)
aten = Library("aten")


def __getattr__(name):
    raise AttributeError(
        f"torch.ops.{name}: no such library of operators is loaded; there is torch.ops.aten", name=name
    )
