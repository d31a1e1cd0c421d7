"""``torch._foreach_*``: one operator over lists of tensors, as optimizers call them.

>>> torch._foreach_add([torch.ones(2), torch.zeros(1)], 2.0)
(tensor([3., 3.]), tensor([2.]))
>>> torch._foreach_mul_([torch.ones(2)], [5.0])
[tensor([5., 5.])]
"""

import functools

import torch

from .. import _C, _seams
from .._C import Tensor

UNARY = (
    "abs", "acos", "asin", "atan", "ceil", "clone", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac", "lgamma", "log",
    "log10", "log1p", "log2", "max", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan",
    "tanh", "trunc", "zero",
)  # fmt: skip
BINARY = (
    "add", "clamp_max", "clamp_min", "copy", "div", "maximum", "minimum", "mm", "mul", "pow", "sub",
)  # fmt: skip
TERNARY = ("addcdiv", "addcmul", "lerp")
#: No in-place form, and only an in-place form.
PLAIN, IN_PLACE = ("clone", "max", "mm"), ("copy", "zero")


def _lists(name, first, *others):
    """The lists of a call, each as long as the first; what is no list stands for itself everywhere."""
    if not isinstance(first, (list, tuple)):
        raise TypeError(f"_foreach_{name}: expected a list of tensors, got {type(first).__name__}")
    if not first:
        raise RuntimeError(f"_foreach_{name}: Tensor list must have at least one tensor.")
    for i, tensor in enumerate(first):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"_foreach_{name}: element {i} of self must be a Tensor, got {type(tensor).__name__}")
    columns = [first]
    for other in others:
        if isinstance(other, (list, tuple)):
            if len(other) != len(first):
                raise RuntimeError(
                    f"_foreach_{name}: lists must have the same number of tensors, got {len(first)} and {len(other)}"
                )
            columns.append(other)
        else:
            columns.append([other] * len(first))
    return zip(*columns, strict=True)


def _in_list(function):
    """On CUDA, calls for a list of tensors are a few launches for all instead of one for each."""

    @functools.wraps(function)
    def called(self, *others, **options):
        tensors = next((a for a in (self, *others) if isinstance(a, (list, tuple))), ())
        if not any(isinstance(t, Tensor) and t.is_cuda for t in tensors):
            return function(self, *others, **options)
        with _seams.in_list_on_cuda():
            return function(self, *others, **options)

    return called


def _operator(name):
    # maximum with a number and the like are the clamps of one bound.
    clamp = {"maximum": "clamp_min", "minimum": "clamp_max"}.get(name)
    operator = _C._operator(name) if not name.endswith("_") else None

    def call(tensor, *others, **options):
        if clamp and not isinstance(others[0], Tensor):
            return _C._operator(clamp)(tensor, *others)
        return operator(tensor, *others, **options)

    return call if clamp else operator


def _plain(name):
    if name == "powsum":
        return _powsum
    operator = _operator(name)

    def function(self, *others, **options):
        if name in TERNARY[:2]:
            return tuple(operator(t, a, b, value=v) for t, a, b, v in _scaled(name, self, *others, **options))
        others, options = _by_name(name, others, options)
        if name == "pow" and not isinstance(self, (list, tuple)):
            return tuple(torch.pow(self, e) for (e,) in _lists(name, others[0]))
        return tuple(operator(t, *rest, **options) for t, *rest in _lists(name, self, *others))

    return _in_list(function)


def _in_place(name):
    method = {"maximum": "clamp_min_", "minimum": "clamp_max_"}.get(name, f"{name}_")

    def function(self, *others, **options):
        if name in TERNARY[:2]:
            for t, a, b, v in list(_scaled(name, self, *others, **options)):
                getattr(t, method)(a, b, value=v)
            return list(self)
        others, options = _by_name(name, others, options)
        for t, *rest in list(_lists(name, self, *others)):
            getattr(t, method)(*rest, **options)
        return list(self)

    return _in_list(function)


def _by_name(name, others, options):
    """Arguments that came by a name the operators do not have: ``other``, ``scalar``, ``tensors1``, ``weights``, ..."""
    options = dict(options)
    for word in ("tensors1", "other", "scalar", "scalars", "exponent", "src", "mat2", "weight", "weights"):
        if word in options:
            others = (*others, options.pop(word))
    if name == "copy" and len(others) > 1:
        others, options = others[:1], {"non_blocking": others[1]}
    return others, options


def _scaled(name, self, tensor1, tensor2, value=1, *, scalars=None):
    """The calls of addcmul and addcdiv; their factors may be a number, a list, or a tensor with one for each."""
    value = value if scalars is None else scalars
    if isinstance(value, Tensor):
        if value.numel() != len(self):
            raise RuntimeError(f"_foreach_{name}: expected {len(self)} factors, got a tensor of {value.numel()}")
        value = value.tolist()
    return _lists(name, self, tensor1, tensor2, value)


@_in_list
def _norm(self, ord=2, dtype=None):
    """The norm of each tensor."""
    tensors = [t for (t,) in _lists("norm", self)]
    if dtype is None and tensors[0].is_cuda and (found := _seams.norms_on_cuda(tensors, ord)) is not None:
        return found.unbind()
    return tuple(torch.linalg.vector_norm(t, ord, dtype=dtype) for t in tensors)


@_in_list
def _powsum(self, ord=2, dtype=None):
    """The sum of powers of the magnitudes of each tensor."""
    return tuple(t.abs().pow(ord).sum(dtype=dtype) for (t,) in _lists("powsum", self))


_foreach_norm, _foreach_powsum = _norm, _powsum
for _name in (*UNARY, *BINARY, *TERNARY):
    for _make, _word in ((_plain, f"_foreach_{_name}"), (_in_place, f"_foreach_{_name}_")):
        if _name in (IN_PLACE if _make is _plain else PLAIN):
            continue
        _function = _make(_name)
        _function.__name__ = _function.__qualname__ = _word
        _function.__doc__ = f"``{_word.removeprefix('_foreach_')}`` of each tensor of a list."
        globals()[_word] = _function

__all__ = [n for n in list(globals()) if n.startswith("_foreach")]
