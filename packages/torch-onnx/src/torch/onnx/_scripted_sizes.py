"""Sizes of an operator's result that are the same whatever the sizes are that may change.

Where one size of a script's inputs may change, each size of each tensor might. A rule tells which do not: the columns of what
``linear`` gives are the rows of its weight. An operator without a rule has no such size.
"""

from __future__ import annotations

import functools
import math

import torch

from ._known import Known, leaves

__all__ = ["certain", "sizes_of"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Sizes = list[int | None]  # None is a size that may change

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
    """For each dim of a result, its size where that does not change.

    >>> x = Known(torch.ones(2, 3))
    >>> certain("relu", {"self": x}, torch.ones(2, 3))
    [2, 3]
    """
    rule = _RULES.get(name)
    found = None if rule is None else rule(_Arguments(given), example)
    if found is None or len(found) != example.dim():
        return [None] * example.dim()
    return [size if size == real else None for size, real in zip(found, example.shape, strict=True)]


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
        """A number, or a list of numbers and (for what may change) None."""
        known = self.given.get(name, other)
        if not isinstance(known, Known):
            return known
        if isinstance(known.example, list):
            return [
                each if not isinstance(each, Known) else each.example if each.value is None else None
                for each in known.example
            ]
        return known.example if known.value is None else None

    def is_fixed(self, *names: str) -> bool:
        """Whether these do not change."""
        return all(leaf.value is None for name in names if name in self.given for leaf in leaves(self.given[name]))

    def rest_is_fixed(self) -> bool:
        """Whether all but the first argument do not change."""
        return self.is_fixed(*list(self.given)[1:])


def _is_tensor(known: Known) -> bool:
    return isinstance(known.example, torch.Tensor)


def sizes_of(known: Known) -> Sizes:
    """The sizes of a tensor, None where one may change."""
    if not _is_tensor(known):
        return []
    shape = known.example.shape if known.value is None or known.value.shape is None else known.value.shape
    return [size if isinstance(size, int) else None for size in shape]


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
    aligned = zip(*([1] * (rank - len(shape)) + shape for shape in shapes))
    return [next((s for s in sizes if s not in (None, 1)), None if None in sizes else 1) for sizes in aligned]


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


@_rule("conv1d", "conv2d", "conv3d")
def _convolution(a, example):
    image, weight = a.sizes(), a.sizes("weight")
    n = len(weight) - 2
    whole = None not in weight[2:]
    return [*image[: -n - 1], weight[0], *_where_known(image[-n:] if whole else [None] * n, example)]


@_rule("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def _transposed_convolution(a, example):
    image, weight = a.sizes(), a.sizes("weight")
    n = len(weight) - 2
    channels = None if weight[1] is None else weight[1] * a.plain("groups", 1)
    whole = None not in weight[2:]
    return [*image[: -n - 1], channels, *_where_known(image[-n:] if whole else [None] * n, example)]


def _where_known(sizes: Sizes, example: torch.Tensor) -> Sizes:
    """The last sizes of the result, each of which follows from the one of the input in its place, and from constants."""
    last = example.shape[example.dim() - len(sizes) :]
    return [None if size is None else real for size, real in zip(sizes, last, strict=True)]


@_rule(
    *(f"{kind}_pool{n}d" for n in (1, 2, 3) for kind in ("max", "avg")), "pad", "constant_pad_nd", "reflection_pad", "replication_pad", "repeat", "glu", "slice",
)  # fmt: skip
def _dim_by_dim(a, example):
    sizes, dim = a.sizes(), a.plain("dim")
    if a.rest_is_fixed() and example.dim() == len(sizes):
        return _where_known(sizes, example)
    return [None if d == dim % len(sizes) else size for d, size in enumerate(sizes)] if isinstance(dim, int) else None


@_rule("narrow", "topk")
def _cut(a, example):
    sizes = a.sizes()
    if sizes:
        sizes[a.plain("dim")] = a.plain("length" if "length" in a.given else "k")
    return sizes


@_rule("split", "split_with_sizes", "chunk", "unsafe_chunk", "tensor_split")
def _parts(a, example):
    sizes = a.sizes()
    dim = a.plain("dim") % len(sizes)
    sizes[dim] = example.shape[dim] if a.rest_is_fixed() and sizes[dim] is not None else None
    return sizes


def _adaptive(n, a, example):
    wanted, sizes = a.plain("output_size"), a.sizes()
    wanted = [wanted] * n if isinstance(wanted, int) else wanted
    if not a.is_fixed("output_size") or wanted is None:
        return None
    return [*sizes[:-n], *(size if new is None else new for size, new in zip(sizes[-n:], wanted, strict=True))]


for _n in (1, 2, 3):
    _rule(f"adaptive_avg_pool{_n}d", f"adaptive_max_pool{_n}d")(functools.partial(_adaptive, _n))


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
    known = {}
    for letters, sizes in zip(inputs.split(","), a.tensors(), strict=True):
        known.update(
            {
                letter: size
                for letter, size in zip(letters, sizes, strict=True)
                if size not in (None, 1) or letter not in known
            }
        )
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
    sizes = [None] * (len(wanted) - len(sizes)) + sizes
    return [
        old if new == -1 or (new is None and old not in (None, 1)) else new
        for old, new in zip(sizes, wanted, strict=True)
    ]


@_rule("view", "reshape", "unflatten", "flatten")
def _viewed(a, example):
    sizes = a.sizes()
    if "end_dim" in a.given:
        start, end = (a.plain(each) % max(len(sizes), 1) for each in ("start_dim", "end_dim"))
        within = sizes[start : end + 1]
        return [*sizes[:start], None if None in within else math.prod(within), *sizes[end + 1 :]]
    wanted = a.plain("sizes" if "sizes" in a.given else "shape" if "shape" in a.given else "size")
    if not isinstance(wanted, (list, tuple)):
        return None  # of another dtype
    before, after = [], []
    if "sizes" in a.given:
        dim = a.plain("dim") % len(sizes)
        before, sizes, after = sizes[:dim], sizes[dim : dim + 1], sizes[dim + 1 :]
    if -1 in wanted and None not in wanted and None not in sizes:
        rest = math.prod(each for each in wanted if each != -1)
        wanted = [math.prod(sizes) // rest if each == -1 and rest else each for each in wanted]
    return [*before, *(None if each == -1 else each for each in wanted), *after]


@_rule("cat", "concat", "concatenate")
def _joined(a, example):
    shapes, dim = a.tensors(), a.plain("dim", 0) % example.dim()
    shapes = [shape for shape in shapes if len(shape) == example.dim()]
    along = [shape[dim] for shape in shapes]
    return [
        (None if None in along else sum(along)) if d == dim else next((s[d] for s in shapes if s[d] is not None), None)
        for d in range(example.dim())
    ]


@_rule("stack")
def _stacked(a, example):
    shapes, dim = a.tensors(), a.plain("dim", 0) % example.dim()
    one = [next((size for size in sizes if size is not None), None) for sizes in zip(*shapes)]
    return [*one[:dim], len(shapes), *one[dim:]]


@_rule(
    *("zeros", "ones", "full", "empty", "rand", "randn", "randint"), *("new_zeros", "new_ones", "new_full", "new_empty")
)  # fmt: skip
def _made(a, example):
    return a.plain("size")


@_rule("embedding")
def _embedded(a, example):
    return [*a.sizes("indices"), a.sizes("weight")[-1]]


@_rule("gather")
def _gathered(a, example):
    return a.sizes("index")
