"""Which operators work on the pieces of spread tensors as they are; all others get whole ones."""

import torch

from .._reduce import ReduceOp

POINTWISE = frozenset(
    [
        "abs",
        "acos",
        "add",
        "addcdiv",
        "addcmul",
        "asin",
        "atan",
        "atan2",
        "ceil",
        "clamp",
        "clamp_max",
        "clamp_min",
        "clip",
        "clone",
        "contiguous",
        "copysign",
        "cos",
        "cosh",
        "detach",
        "div",
        "divide",
        "double",
        "bfloat16",
        "empty_like",
        "eq",
        "erf",
        "exp",
        "expm1",
        "fill",
        "float",
        "floor",
        "fmod",
        "full_like",
        "gelu",
        "ge",
        "greater",
        "gt",
        "half",
        "isfinite",
        "isinf",
        "isnan",
        "le",
        "lerp",
        "less",
        "log",
        "log10",
        "log1p",
        "log2",
        "logical_and",
        "logical_not",
        "logical_or",
        "lt",
        "masked_fill",
        "maximum",
        "minimum",
        "mul",
        "multiply",
        "nan_to_num",
        "ne",
        "neg",
        "negative",
        "ones_like",
        "pow",
        "reciprocal",
        "relu",
        "remainder",
        "round",
        "rsqrt",
        "rsub",
        "sigmoid",
        "sign",
        "silu",
        "sin",
        "sinh",
        "softplus",
        "sqrt",
        "square",
        "sub",
        "subtract",
        "tan",
        "tanh",
        "to",
        "true_divide",
        "trunc",
        "type_as",
        "where",
        "xlogy",
        "zero",
        "zeros_like",
    ]
)
"""With their in-place forms and operators such as ``__add__``."""

LINEAR = frozenset(
    [
        "clone",
        "contiguous",
        "detach",
        "div",
        "double",
        "float",
        "half",
        "bfloat16",
        "mul",
        "neg",
        "to",
        "empty_like",
        "zeros_like",
    ]
)
"""Those of one tensor, and numbers, that may be computed on summands as on the sum."""

DRAWS = frozenset(
    ["bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "normal_", "random_", "uniform_"]
)
"""In place, with random numbers: the whole is drawn, alike on all ranks."""

LIKE = {"rand_like": "uniform_", "randn_like": "normal_"}

REFUSED = frozenset(["bernoulli", "feature_dropout", "alpha_dropout", "multinomial", "randint_like", "rrelu"])
"""Ranks would draw numbers of their own where the tensor has one."""


def _extreme(function, of_nothing):
    return lambda x: function(x) if x.numel() else x.new_full((), getattr(torch.iinfo(x.dtype), of_nothing))


_EXTREMES = {
    "max": (_extreme(torch.max, "min"), ReduceOp.MAX, None),
    "amax": (_extreme(torch.amax, "min"), ReduceOp.MAX, None),
    "min": (_extreme(torch.min, "max"), ReduceOp.MIN, None),
    "amin": (_extreme(torch.amin, "max"), ReduceOp.MIN, None),
}
"""Of integers, which have no gradients."""


def plain_name(name: str) -> str:
    """The name of a function without the marks of operators and of work in place.

    >>> plain_name("__radd__"), plain_name("mul_"), plain_name("__itruediv__")
    ('add', 'mul', 'div')
    """
    if name.startswith("__") and name.endswith("__"):
        name = name[2:-2]
        if name not in POINTWISE and name[:1] in "ri" and name != "rsub":
            name = name[1:]
        return {"truediv": "div", "mod": "remainder"}.get(name, name)
    return name[:-1] if name.endswith("_") else name


def in_place(name: str) -> bool:
    """Whether a function writes into its first argument."""
    if name.startswith("__") and name.endswith("__"):
        return name.startswith("__i") and name not in ("__invert__", "__int__", "__index__", "__iter__")
    return name.endswith("_") and not name.startswith("_")


def reduction(name, args, kwargs):
    """How to reduce over all elements, as (of a piece, over the ranks, afterwards), or None where dims are kept."""
    if (len(args) > 1 and name != "norm") or set(kwargs) - {"p", "ord", "dtype"} or kwargs.get("dtype") is not None:
        return None
    if name == "sum":
        return torch.sum, ReduceOp.SUM, None
    if name in _EXTREMES and not (args[0].is_floating_point() or args[0].dtype == torch.bool) and not kwargs:
        return _EXTREMES[name]
    if name in ("norm", "vector_norm", "linalg_vector_norm"):
        p = kwargs.get("p", kwargs.get("ord", args[1] if len(args) == 2 else 2.0 if len(args) < 2 else "dims"))
        p = 2.0 if p == "fro" else p
        if isinstance(p, str) or p is None:
            return None
        p = float(p)
        if p == float("inf"):
            return (lambda x: x.abs().max() if x.numel() else x.new_zeros(())), ReduceOp.MAX, None
        if p <= 0:
            return None
        return (lambda x: x.abs().pow(p).sum()), ReduceOp.SUM, lambda total: total.pow(1 / p)
    return None
