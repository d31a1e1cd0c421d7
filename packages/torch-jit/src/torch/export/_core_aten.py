"""The operators that tools take which turn exported programs into other forms ("core ATen"), and how others are made of them.

A rule takes a maker of nodes and the arguments of a call, which may be nodes, and gives the node that stands for it, or None
where the call stays as it is: `conv2d` becomes `convolution`, `batch_norm` that does not train the operator of inference.
"""

from __future__ import annotations

import math
import operator

import torch
from torch._decomp import get_decompositions
from torch.fx.node import Node, map_arg
from torch.nn import functional as F

from ._core_composed import FUNCTIONS
from ._leaves import recurrent
from ._tape import bare, describe, faked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

aten = torch.ops.aten

__all__ = ["COMPOSED", "Maker", "Rule", "table"]


#: operators that stay and are no rows of the core, so that they have no schema
COMPOSED = {
    "_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "_log_softmax", "_native_batch_norm_legit_no_training", "_softmax", "gru", "lstm",
    "max_pool2d_with_indices", "max_pool3d_with_indices", "native_group_norm", "native_layer_norm", "rnn_relu", "rnn_tanh", "scaled_dot_product_attention",
    "cauchy", "exponential", "geometric", "log_normal", "normal_functional", "random", "uniform",
    "einsum", "upsample_bicubic2d", "upsample_bilinear2d", "upsample_linear1d", "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d",
    "upsample_trilinear3d",
}  # fmt: skip


class Rule:
    """What an operator is made of: nodes that ``apply`` makes, or those of a function that is ``traced``. Called with tensors it is
    the operator.
    """

    def __init__(
        self, overload: Any, apply: Callable[..., Any] | None, traced: Callable[..., Any] | None = None
    ) -> None:
        self.overload, self.apply, self.traced = overload, apply, traced

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.overload(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<what {self.overload} is made of>"


class Maker:
    """Makes nodes before one that they will stand for."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.kept = {k: node.meta[k] for k in ("place", "stack_trace", "nn_module_stack") if k in node.meta}

    def __call__(self, target: Any, *args: Any, **kwargs: Any) -> Node:
        values = map_arg((args, kwargs), lambda each: bare(each.meta["val"]))
        with torch.no_grad():
            value = target(*values[0], **values[1])
        with self.node.graph.inserting_before(self.node):
            made = self.node.graph.call_function(target, args, kwargs)
        made.meta.update(self.kept)
        row = getattr(target, "overloadpacket", None)
        if row is not None:
            made.meta["operator"], made.meta["arguments"] = row.__name__, _names(target)
        if isinstance(value, torch.Tensor):
            describe(made, value, value.shape)
        else:
            made.meta["val"] = faked(value)
        return made

    def first(self, several: Node) -> Node:
        """The first of several results."""
        return self(operator.getitem, several, 0)

    def viewed(self, x: Node, shape: Any) -> Node:
        """A tensor in another shape: a view, of a copy where its strides allow none."""
        try:
            return self(aten.view.default, x, shape)
        except RuntimeError:
            return self(aten.view.default, self(aten.clone.default, x, memory_format=torch.contiguous_format), shape)


def _names(target):
    try:
        return tuple(a.name for a in target._schema.arguments)
    except RuntimeError:  # composed in Python
        import inspect

        return tuple(inspect.signature(target._op).parameters)


def _sizes(node):
    """The sizes of a tensor, None when one of them may change."""
    sizes = node.meta.get("sizes", tuple(bare(node.meta["val"]).shape))
    return None if any(isinstance(s, str) for s in sizes) else list(sizes)


def _shape(node):
    """The shape of a result as `view` takes it; None when two sizes may change."""
    sizes = node.meta.get("sizes", tuple(bare(node.meta["val"]).shape))
    moving = sum(isinstance(s, str) for s in sizes)
    return None if moving > 1 else [-1 if isinstance(s, str) else s for s in sizes]


def _listed(value, count):
    return [value] * count if isinstance(value, (int, float)) else list(value) * (count if len(value) == 1 else 1)


# --- convolutions ---


def _convolution(dims):
    def rule(make, input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        if input.meta["val"].dim() != dims + 2:
            return None
        stride, dilation = _listed(stride, dims), _listed(dilation, dims)
        if padding == "same":
            spans = [d * (k - 1) for d, k in zip(dilation, bare(weight.meta["val"]).shape[2:])]
            padding = [span // 2 for span in spans]
            if any(span % 2 for span in spans):
                more = [each for span in reversed(spans) for each in (0, span % 2)]
                input = make(aten.constant_pad_nd.default, input, more, 0.0)
        padding = [0] * dims if padding == "valid" else _listed(padding, dims)
        return make(aten.convolution.default, input, weight, bias, stride, padding, dilation, False, [0] * dims, groups)

    return rule


def _transposed(dims):
    def rule(make, input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        if input.meta["val"].dim() != dims + 2:
            return None
        stride, padding, dilation = (_listed(each, dims) for each in (stride, padding, dilation))
        return make(
            aten.convolution.default, input, weight, bias, stride, padding, dilation, True, _listed(output_padding, dims), groups
        )  # fmt: skip

    return rule


# --- norms ---


def _batch_norm(make, input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled=True):
    if training or running_mean is None:
        return None
    return make.first(
        make(
            aten._native_batch_norm_legit_no_training.default, input, weight, bias, running_mean, running_var, momentum, eps
        )
    )  # fmt: skip


def _layer_norm(make, input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    return make.first(make(aten.native_layer_norm.default, input, normalized_shape, weight, bias, eps))


def _group_norm(make, input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    if (sizes := _sizes(input)) is None:
        return None
    n, c, *rest = sizes
    return make.first(make(aten.native_group_norm.default, input, weight, bias, n, c, math.prod(rest), num_groups, eps))


def _softmax(target):
    def rule(make, self, dim, dtype=None):
        if dtype is not None:
            self = make(aten._to_copy.default, self, dtype=dtype)
        return make(target, self, dim, False)

    return rule


def _dropout(make, input, p=0.5, train=True):
    return None if train and p else input


# --- pooling ---


def _adaptive_mean(dims):
    def rule(make, input, output_size):
        size = _listed(output_size, dims)
        if all(s == 1 for s in size):
            return make(aten.mean.dim, input, list(range(-dims, 0)), True)
        return make(getattr(aten, f"_adaptive_avg_pool{dims}d").default, input, size) if dims > 1 else None

    return rule


def _maxima(dims):
    def rule(make, self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
        kernel_size, padding, dilation = (_listed(each, dims) for each in (kernel_size, padding, dilation))
        stride = _listed(stride, dims) if stride not in ((), [], None) else kernel_size
        pool = getattr(aten, f"max_pool{max(dims, 2)}d_with_indices").default
        if dims == 1:
            self = make(aten.unsqueeze.default, self, -2)
            kernel_size, stride, dilation, padding = [1, *kernel_size], [1, *stride], [1, *dilation], [0, *padding]
        found = make.first(make(pool, self, kernel_size, stride, padding, dilation, ceil_mode))
        return make(aten.squeeze.dims, found, [-2]) if dims == 1 else found

    return rule


# --- products ---


def _linear(make, input, weight, bias=None):
    (*rows, k), out = bare(input.meta["val"]).shape, bare(weight.meta["val"]).shape[0]
    shape = _shape(make.node)
    if not rows or shape is None:
        return None
    flat = input if len(rows) == 1 else make.viewed(input, [-1, k])
    turned = make(aten.permute.default, weight, [1, 0])
    product = make(aten.mm.default, flat, turned) if bias is None else make(aten.addmm.default, bias, flat, turned)
    return product if len(rows) == 1 else make(aten.view.default, product, [*shape[:-1], out])


def _matmul(make, self, other):
    a, b = self.meta["val"].dim(), other.meta["val"].dim()
    if a == b == 2:
        return make(aten.mm.default, self, other)
    if a == b == 1:
        return make(aten.dot.default, self, other)
    sizes = _sizes(self), _sizes(other), _sizes(make.node)
    if 1 in (a, b) or None in sizes:
        return None
    first, second, result = sizes
    if b == 2:
        product = make(aten.mm.default, make.viewed(self, [-1, first[-1]]), other)
    else:
        batch = result[:-2]
        both = []
        for x, own in ((self, first), (other, second)):
            if own[:-2] != batch:
                x = make(aten.expand.default, x, [*batch, *own[-2:]])
            both.append(x if len(batch) == 1 else make.viewed(x, [math.prod(batch), *own[-2:]]))
        product = make(aten.bmm.default, *both)
    return product if product.meta["val"].dim() == len(result) else make(aten.view.default, product, result)


# --- shapes ---


def _as_result(make, self, *shape, **named):
    """Views whose shape follows from other arguments."""
    wanted = _shape(make.node)
    return None if wanted is None else make.viewed(self, wanted)


def _reshape(make, self, shape):
    return make.viewed(self, shape) if not any(isinstance(s, Node) for s in shape) else None


def _turned(make, self, *others):
    """A view with its dims in another order, which is read from the strides of a tensor of small sizes."""
    dims = self.meta["val"].dim()
    probe = torch.empty([2] * dims, device="meta")
    moved = make.node.target(probe, *others)
    places = {stride: d for d, stride in enumerate(probe.stride())}
    return make(aten.permute.default, self, [places[stride] for stride in moved.stride()])


def _expand_as(make, self, other):
    sizes = _sizes(other)
    return None if sizes is None else make(aten.expand.default, self, sizes)


def _pieces(make, self, *how):
    """Views of pieces along a dim, all sizes of which are known."""
    pieces, whole = bare(make.node.meta["val"]), self.meta["val"]
    if _sizes(self) is None or not pieces:
        return None
    dim = (how[1] if len(how) > 1 else 0) % whole.dim()
    return make(aten.split_with_sizes.default, self, [piece.shape[dim] for piece in pieces], dim)


def _narrow(make, self, dim, start, length):
    known = isinstance(start, int) and isinstance(length, int)
    return make(aten.slice.Tensor, self, dim, start, start + length) if known else None


def _pad(make, input, pad, mode="constant", value=None):
    if mode == "constant":
        return make(aten.constant_pad_nd.default, input, pad, 0.0 if value is None else value)
    return None


def _attention(make, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    more = [attn_mask, dropout_p, is_causal]
    while more and not isinstance(more[-1], Node) and not more[-1]:
        more.pop()
    named = {"scale": scale, "enable_gqa": enable_gqa}
    named = {name: value for name, value in named.items() if value is not None and value is not False}
    return make(aten.scaled_dot_product_attention.default, query, key, value, *more, **named)


#: operators by how many dims an image has and how it is resized
RESIZES = {
    (1, "nearest"): "upsample_nearest1d", (2, "nearest"): "upsample_nearest2d", (3, "nearest"): "upsample_nearest3d",
    (1, "linear"): "upsample_linear1d", (2, "bilinear"): "upsample_bilinear2d", (2, "bicubic"): "upsample_bicubic2d",
    (3, "trilinear"): "upsample_trilinear3d",
}  # fmt: skip


def _resized(
    make,
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """Images of another size."""
    dims = input.meta["val"].dim() - 2
    name = RESIZES.get((dims, mode))
    if antialias or recompute_scale_factor or name is None or isinstance(size, Node):
        return None
    if any(isinstance(s, Node) for s in (size if isinstance(size, (list, tuple)) else ())):
        return None
    size = size if size is None else _listed(size, dims)
    scales = None if scale_factor is None else [float(s) for s in _listed(scale_factor, dims)]
    corners = [] if mode == "nearest" else [bool(align_corners)]
    made = make(getattr(aten, name).vec, input, size, *corners, scales)
    made.meta["arguments"] = ("input", "output_size", *["align_corners"] * len(corners), "scale_factors")
    return made


def _einsum(make, equation, operands, *path):
    made = make(aten.einsum.default, equation, operands)
    made.meta["arguments"] = ("equation", "operands")
    return made


def _selected(make, self, dim=0):
    if _sizes(self) is None:
        return None
    return [make(aten.select.int, self, dim, i) for i in range(len(make.node.meta["val"]))]


def _stacked(make, tensors, dim=0):
    dim = dim % (tensors[0].meta["val"].dim() + 1)
    return make(aten.cat.default, [make(aten.unsqueeze.default, x, dim) for x in tensors], dim)


# --- recurrent layers ---

LAYERS = {"LSTM": "lstm", "GRU": "gru", "RNN_TANH": "rnn_tanh", "RNN_RELU": "rnn_relu"}


#: arguments of these operators, which are functions that take a packed sequence as well
OF_LAYERS = ("input", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional", "batch_first")


def _recurrent(make, input, states, weights, mode, layers, bidirectional, bias):
    made = make(
        getattr(aten, LAYERS[mode]).input, input, states if mode == "LSTM" else states[0], weights, bias, layers, 0.0, False, bidirectional, False
    )  # fmt: skip
    made.meta["arguments"] = OF_LAYERS
    return made


#: what also an empty table does: operators that are others by definition, and functions that are operators elsewhere
BASIC = {
    "batch_norm": _batch_norm,
    "dropout": _dropout,
    "alpha_dropout": _dropout,
    "flatten": _as_result,
    "unflatten": _as_result,
    "reshape": _reshape,
    "reshape_as": _as_result,
    "view_as": _as_result,
    "true_divide": lambda make, self, other: make(aten.div.Tensor, self, other),
    "contiguous": lambda make, self, memory_format=torch.contiguous_format: make(
        aten.clone.default, self, memory_format=memory_format
    ),
    "expand_as": _expand_as,
    "chunk": _pieces,
    "narrow": _narrow,
    "square": lambda make, self: make(aten.pow.Tensor_Scalar, self, 2),
    "relu6": lambda make, self: make(aten.hardtanh.default, self, 0.0, 6.0),
    "_einsum": _einsum,
}
RULES = BASIC | {
    **{f"conv{d}d": _convolution(d) for d in (1, 2, 3)},
    **{f"conv_transpose{d}d": _transposed(d) for d in (1, 2, 3)},
    **{f"adaptive_avg_pool{d}d": _adaptive_mean(d) for d in (1, 2, 3)},
    **{f"max_pool{d}d": _maxima(d) for d in (1, 2, 3)},
    "layer_norm": _layer_norm,
    "group_norm": _group_norm,
    "softmax": _softmax(aten._softmax.default),
    "log_softmax": _softmax(aten._log_softmax.default),
    "linear": _linear,
    "matmul": _matmul,
    **dict.fromkeys(("transpose", "t", "mT", "T", "swapaxes", "swapdims", "movedim", "moveaxis"), _turned),
    "split": _pieces,
    "adaptive_avg_pool": lambda make, input, output_size: _adaptive_mean(len(output_size))(make, input, output_size),
    "unbind": _selected,
    "stack": _stacked,
    "pad": _pad,
}
#: overloads of those that have others than "default" in graphs
OVERLOADS = {
    "softmax": ("int",), "log_softmax": ("int",), "flatten": ("using_ints",), "unflatten": ("int",), "transpose": ("int",),
    "movedim": ("int", "intlist"), "moveaxis": ("int", "intlist"), "split": ("Tensor",), "unbind": ("int",), "true_divide": ("Tensor", "default"),
}  # fmt: skip


#: operators that core ATen has none of, and whose formula stands for them
BY_FORMULA = (
    "addcdiv", "addcmul", "baddbmm", "hardsigmoid", "hardswish", "lerp", "mish", "mse_loss", "silu", "softplus",
)  # fmt: skip


def table(rules: dict[str, Any] = RULES) -> dict[Any, Any]:
    """Rules by overload; of what is no operator yet in exported programs, by function."""
    found = {}
    for name, rule in rules.items():
        for overload in OVERLOADS.get(name, ("default",)):
            target = getattr(getattr(aten, name), overload)
            found[target] = Rule(target, rule)
    for function, rule in (
        (F.scaled_dot_product_attention, _attention),
        (F.interpolate, _resized),
        (recurrent, _recurrent),
    ):
        found[function] = Rule(function, rule)
    if rules is RULES:
        for target, function in FUNCTIONS.items():
            found[target] = Rule(target, found[target].apply, function)
        found.update(get_decompositions([getattr(aten, name) for name in BY_FORMULA]))
    return found
