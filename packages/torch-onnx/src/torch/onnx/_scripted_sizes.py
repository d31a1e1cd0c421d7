"""Sizes of an operator's result that are known, whatever the sizes are that may change.

Where one size of a script's inputs may change, each size of each tensor might. A rule tells which do not (the columns of what
``linear`` gives are the rows of its weight), and which are sizes of an argument, by their names. An operator without a rule has
no such size.
"""

from __future__ import annotations

import functools
import math
from collections import Counter

import torch

from ._known import Known, leaves

__all__ = ["certain", "sizes_of"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Sizes = list[int | str | None]  # a name is that of a size that may change, None is one of which nothing is known

#: results are as the first argument is
_ALIKE = (
    "alias", "batch_norm", "bernoulli", "clone", "conj", "contiguous", "cumprod", "cumsum", "detach", "dropout", "flip", "group_norm", "instance_norm",
    "layer_norm", "log_softmax", "logcumsumexp", "mish", "native_dropout", "rms_norm", "roll", "softmax", "softmin", "sort", "argsort", "cummax", "cummin", "to", "_to_copy", "tril", "triu",
    "zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "prelu", "relu", "relu6", "hardtanh", "threshold", "leaky_relu", "elu",
    "selu", "celu", "hardsigmoid", "hardswish", "silu", "gelu", "softplus", "log_sigmoid", "hardshrink", "softshrink", "msort", "fill",
    "scatter", "scatter_add", "scatter_reduce", "index_add", "index_copy", "index_fill", "select_scatter", "slice_scatter",
)  # fmt: skip
#: results are as large as all tensors among the arguments together
_TOGETHER = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "exp", "floor", "log", "neg", "reciprocal", "sigmoid", "sign", "sgn",
    "sin", "sinh", "sqrt", "tan", "tanh", "rsqrt", "exp2", "expm1", "log1p", "log2", "log10", "square", "erfc", "erfinv", "positive", "logit", "trunc", "frac",
    "round", "nan_to_num", "isnan", "isinf", "isfinite", "logical_not", "bitwise_not", "eq", "gt", "ge", "lt", "le", "ne", "logical_and", "logical_or",
    "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "add", "sub", "rsub", "mul", "div", "true_divide", "floor_divide", "remainder", "fmod", "pow",
    "maximum", "minimum", "fmax", "fmin", "atan2", "hypot", "logaddexp", "xlogy", "where", "masked_fill", "clamp", "clip", "clamp_min", "clamp_max", "lerp",
    "addcmul", "addcdiv",
)  # fmt: skip
#: results have no dim of those that are named, or 1 there
_WITHOUT = (
    "sum", "nansum", "mean", "nanmean", "amax", "amin", "argmax", "argmin", "max", "min", "prod", "all", "any", "var", "std", "var_mean", "std_mean", "norm",
    "logsumexp", "median", "count_nonzero", "select",
)  # fmt: skip


def certain(name: str, given: Mapping[str, Known], example: torch.Tensor) -> Sizes:
    """For each dim of a result, its size where that is known.

    >>> x = Known(torch.ones(2, 3))
    >>> certain("relu", {"self": x}, torch.ones(2, 3))
    [2, 3]
    """
    rule = _RULES.get(name)
    found = None if rule is None else rule(_Arguments(given), example)
    if found is None or len(found) != example.dim():
        return [None] * example.dim()
    return [
        size if isinstance(size, str) or size == real else None for size, real in zip(found, example.shape, strict=True)
    ]


class _Arguments:
    """The arguments of an operator: their sizes, and what does not change of the others."""

    def __init__(self, given: Mapping[str, Known]) -> None:
        self.given = given
        self.first = next(iter(given.values()))

    def sizes(self, name: str | None = None) -> Sizes:
        """Of the tensor of that name, or of the first argument."""
        return sizes_of(self.first if name is None else self.given[name])

    def tensors(self) -> list[Sizes]:
        return [sizes_of(leaf) for each in self.given.values() for leaf in leaves(each) if _is_tensor(leaf)]

    def plain(self, name: str, other=None):
        """A number, or a list of them; the name of a size, and None for another number that may change."""
        known = self.given.get(name, other)
        if not isinstance(known, Known):
            return known
        if isinstance(known.example, list):
            return [_number(each) for each in known.example]
        return _number(known)

    def is_fixed(self, *names: str) -> bool:
        """Whether these do not change."""
        return all(leaf.value is None for name in names if name in self.given for leaf in leaves(self.given[name]))

    def rest_is_fixed(self) -> bool:
        """Whether all but the first argument do not change."""
        return self.is_fixed(*list(self.given)[1:])


def _number(known):
    return known if not isinstance(known, Known) else known.example if known.value is None else known.size


def _is_tensor(known: Known) -> bool:
    return isinstance(known.example, torch.Tensor)


def sizes_of(known: Known) -> Sizes:
    """The sizes of a tensor, and the names of those that may change."""
    if not _is_tensor(known):
        return []
    return list(known.example.shape if known.value is None or known.value.shape is None else known.value.shape)


def _are_fixed(sizes: Sizes) -> bool:
    return all(isinstance(size, int) for size in sizes)


_RULES: dict[str, Callable[[_Arguments, torch.Tensor], Sizes | None]] = {}


def _rule(*names: str):
    def keep(function):
        _RULES.update(dict.fromkeys(names, function))
        return function

    return keep


@_rule(*_ALIKE)
def _alike(a, example):
    return a.sizes()


def _together(*shapes: Sizes) -> Sizes:
    """The sizes of tensors that are spread over each other: one that is not 1 is that of all."""
    rank = max(map(len, shapes), default=0)
    aligned = zip(*([1] * (rank - len(shape)) + list(shape) for shape in shapes))
    return [_widest(set(sizes) - {1}) for sizes in aligned]


def _widest(sizes: set) -> int | str | None:
    surely = next((size for size in sizes if isinstance(size, int)), None)
    return surely if surely is not None else 1 if not sizes else sizes.pop() if len(sizes) == 1 else None


@_rule(*_TOGETHER)
def _spread(a, example):
    return None if a.given.keys() == {"condition"} else _together(*a.tensors())


@_rule(*_WITHOUT)
def _reduced(a, example):
    sizes, dims, keep = a.sizes(), a.plain("dim"), a.plain("keepdim", False)
    if "other" in a.given:
        return _spread(a, example)
    if not a.is_fixed("dim", "keepdim"):
        return None
    if dims is None or dims == []:
        return [1] * len(sizes) if keep is True else []
    gone = {d % max(len(sizes), 1) for d in ([dims] if isinstance(dims, int) else dims)}
    return [1 if d in gone else size for d, size in enumerate(sizes) if keep or d not in gone]


# --- products ---


@_rule("linear")
def _linear(a, example):
    return [*a.sizes()[:-1], *a.sizes("weight")[:-1]]


@_rule("matmul", "mm", "bmm", "mv")
def _product(a, example):
    one, two = a.tensors()[:2]
    rows, columns = one[-2:-1], two[-1:] if len(two) > 1 else []
    return [*_together(one[:-2], two[:-2]), *rows, *columns]


@_rule("addmm", "baddbmm")
def _added_product(a, example):
    one, two = a.tensors()[1:3]
    return [*one[:-1], two[-1]]


@_rule("scaled_dot_product_attention")
def _attention(a, example):
    return [*a.sizes()[:-1], a.sizes("value")[-1]]


def _convolution(n, transposed, a, example):
    image, weight = a.sizes(), a.sizes("weight")
    channels = weight[0]
    if transposed:
        channels = weight[1] * a.plain("groups", 1) if isinstance(weight[1], int) else None
    batch = image[: -n - 1]
    return [*batch, channels, *([None] * n if not _are_fixed(weight[2:]) else _by_dim(image, example, n)[-n:])]


def _pooled(n, a, example):
    return _by_dim(a.sizes(), example, n)


def _adaptive(n, a, example):
    wanted, sizes = a.plain("output_size"), a.sizes()
    wanted = [wanted] * n if isinstance(wanted, int) else wanted
    if not a.is_fixed("output_size") or wanted is None:
        return None
    return [*sizes[:-n], *(size if new is None else new for size, new in zip(sizes[-n:], wanted, strict=True))]


for _n in (1, 2, 3):
    _rule(f"conv{_n}d")(functools.partial(_convolution, _n, False))
    _rule(f"conv_transpose{_n}d")(functools.partial(_convolution, _n, True))
    _rule(f"max_pool{_n}d", f"avg_pool{_n}d")(functools.partial(_pooled, _n))
    _rule(f"adaptive_avg_pool{_n}d", f"adaptive_max_pool{_n}d")(functools.partial(_adaptive, _n))


def _by_dim(sizes: Sizes, example: torch.Tensor, n: int) -> Sizes:
    """Sizes of a result, the last n of which follow each from that of the input in its place, and from constants."""
    kept = len(sizes) - n
    return [
        *sizes[:kept],
        *(real if isinstance(s, int) else None for s, real in zip(sizes[kept:], example.shape[kept:])),
    ]


@_rule("pad", "constant_pad_nd", "reflection_pad", "replication_pad")
def _padded(a, example):
    return _by_dim(a.sizes(), example, len(a.plain("pad")) // 2) if a.is_fixed("pad") else None


@_rule("repeat")
def _repeated(a, example):
    sizes = a.sizes()
    return _by_dim(sizes, example, len(sizes)) if a.rest_is_fixed() and example.dim() == len(sizes) else None


@_rule("glu", "slice", "split", "split_with_sizes", "chunk", "unsafe_chunk", "tensor_split")
def _along(a, example):
    sizes = a.sizes()
    dim = a.plain("dim") % len(sizes)
    sizes[dim] = example.shape[dim] if a.rest_is_fixed() and isinstance(sizes[dim], int) else None
    return sizes


@_rule("narrow", "topk")
def _cut(a, example):
    sizes = a.sizes()
    if sizes:
        sizes[a.plain("dim")] = a.plain("length" if "length" in a.given else "k")
    return sizes


@_rule("interpolate")
def _resized(a, example):
    wanted = a.plain("size")
    n = example.dim() - 2
    wanted = wanted if isinstance(wanted, (list, tuple)) else [wanted] * n
    return [*a.sizes()[:2], *wanted]


@_rule("recurrent")
def _recurrent(a, example):
    return [*[None] * (example.dim() - 1), example.shape[-1]]


@_rule("einsum")
def _einsum(a, example):
    inputs, arrow, result = a.plain("equation").replace(" ", "").partition("->")
    if not arrow or "." in inputs:
        return None
    known: dict[str, Any] = {}
    for letters, sizes in zip(inputs.split(","), a.tensors(), strict=True):
        for letter, size in zip(letters, sizes, strict=True):
            known[letter] = _widest({known.get(letter, 1), size} - {1})
    return [known[letter] for letter in result]


# --- moves ---


@_rule("transpose", "swapaxes", "swapdims", "permute", "t", "mT", "movedim", "moveaxis")
def _moved(a, example):
    sizes = a.sizes()
    told = torch.empty(tuple(range(len(sizes))))  # sizes that tell the dims apart
    given = [a.plain(name) for name in list(a.given)[1:]]
    if "dims" in a.given:
        told = told.permute(given[0])
    elif "source" in a.given:
        told = told.movedim(*given)
    elif len(sizes) > 1:
        told = told.transpose(*(given or (-1, -2)))
    return [sizes[d] for d in told.shape]


@_rule("unsqueeze")
def _unsqueezed(a, example):
    sizes, dim = a.sizes(), a.plain("dim") % example.dim()
    return [*sizes[:dim], 1, *sizes[dim:]]


@_rule("squeeze", "unbind")
def _squeezed(a, example):
    sizes, dims = a.sizes(), a.plain("dim")
    if dims is None:
        return None
    gone = {d % max(len(sizes), 1) for d in ([dims] if isinstance(dims, int) else dims)}
    return [size for d, size in enumerate(sizes) if d not in gone]


@_rule("expand", "broadcast_to")
def _expanded(a, example):
    wanted, sizes = a.plain("size"), a.sizes()
    sizes = [1] * (len(wanted) - len(sizes)) + sizes
    return [
        old if new == -1 or (isinstance(old, int) and old != 1) else new for old, new in zip(sizes, wanted, strict=True)
    ]


@_rule("view_as", "reshape_as", "expand_as")
def _as_another(a, example):
    return a.sizes("other")


@_rule("flatten")
def _flat(a, example):
    sizes = a.sizes()
    start, end = (a.plain(each) % max(len(sizes), 1) for each in ("start_dim", "end_dim"))
    return [*sizes[:start], _quotient(sizes[start : end + 1], []), *sizes[end + 1 :]]


@_rule("view", "reshape", "unflatten")
def _viewed(a, example):
    sizes, before, after = a.sizes(), [], []
    wanted = a.plain("sizes" if "sizes" in a.given else "shape" if "shape" in a.given else "size")
    if not isinstance(wanted, (list, tuple)):
        return None  # of another dtype
    if "sizes" in a.given:
        dim = a.plain("dim") % len(sizes)
        before, sizes, after = sizes[:dim], sizes[dim : dim + 1], sizes[dim + 1 :]
    rest = _quotient(sizes, [each for each in wanted if each != -1])
    return [*before, *(rest if each == -1 else each for each in wanted), *after]


def _quotient(sizes: Sizes, by: Sizes) -> int | str | None:
    """The product of sizes divided by that of others, where it is a number or one of them."""
    if None in sizes or None in by:
        return None
    number, divisor = (math.prod(size for size in each if isinstance(size, int)) for each in (sizes, by))
    names, others = (Counter(size for size in each if isinstance(size, str)) for each in (sizes, by))
    if others - names or not divisor:
        return None
    left = list((names - others).elements())
    return number // divisor if not left else left[0] if len(left) == 1 and number == divisor else None


@_rule("cat", "concat", "concatenate")
def _joined(a, example):
    dim = a.plain("dim", 0) % example.dim()
    shapes = [shape for shape in a.tensors() if len(shape) == example.dim()]
    along = [shape[dim] for shape in shapes]
    return [
        (sum(along) if _are_fixed(along) else None) if d == dim else _surest([shape[d] for shape in shapes])
        for d in range(example.dim())
    ]


@_rule("stack")
def _stacked(a, example):
    shapes, dim = a.tensors(), a.plain("dim", 0) % example.dim()
    one = [_surest(sizes) for sizes in zip(*shapes)]
    return [*one[:dim], len(shapes), *one[dim:]]


def _surest(sizes: Sizes) -> int | str | None:
    """What is known of a size that several have."""
    return min(sizes, key=lambda size: (size is None, isinstance(size, str)))


@_rule(
    *("zeros", "ones", "full", "empty", "rand", "randn", "randint"), *("new_zeros", "new_ones", "new_full", "new_empty")
)
def _made(a, example):
    return a.plain("size")


@_rule("embedding")
def _embedded(a, example):
    return [*a.sizes("indices"), a.sizes("weight")[-1]]


@_rule("gather")
def _gathered(a, example):
    return a.sizes("index")
