"""Functions of torch.nn whose Python a script cannot follow, as scripts see them."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import string

import torch
import torch.nn.functional as F
import torch.overrides
from torch import _seams

from .. import _ir as ir
from . import literals, operators, types
from .library import handles
from .values import Static, TupleOf

__all__ = ["standing_for"]


def _named(module, name):
    return getattr(importlib.import_module(module), name)


@handles(_named("torch.nn.functional.loss", "_paired"))
def paired(emitter, name, input, target):
    """Arithmetic broadcasts both; the warning about different shapes is Python's."""
    return TupleOf([input, target])


@handles(_named("torch.nn.functional._reduction", "code"))
def code(emitter, size_average, reduce, reduction):
    items = (size_average, reduce, reduction)
    if not all(isinstance(each, Static) for each in items):
        return emitter.inline(_code, list(items), {})
    module = importlib.import_module("torch.nn.functional._reduction")
    return Static(module.code(*(each.value for each in items)))


def _code(size_average: bool | None, reduce: bool | None, reduction: str):
    """The number of a reduction that only the run tells."""
    if size_average is not None or reduce is not None:
        if reduce is not None and not reduce:
            return 0
        return 2 if size_average is not None and not size_average else 1
    if reduction == "none":
        return 0
    if reduction == "mean" or reduction == "elementwise_mean":
        return 1
    if reduction == "sum":
        return 2
    raise ValueError(f"'{reduction}' is not a valid value for reduction: use 'none', 'mean' or 'sum'")


@handles(
    torch.overrides.has_torch_function, torch.overrides.has_torch_function_unary, torch.overrides.has_torch_function_variadic,
    _seams.is_seen,
)  # fmt: skip
def plain(emitter, *items):
    """Tensors of a program are of no class of a user's, and no one looks on."""
    return Static(False)


# --- operators of PyTorch that are functions of Python here: a program calls Python for them, and an archive names them ---


def _bound(emitter, fn, args, kwargs):
    return emitter.bind(inspect.signature(fn), list(args), kwargs, fn.__name__)


def _operator(emitter, name, *items):
    return emitter.python_operator(name, operators.operator(name), list(items), {})


def _of_tape(name):
    """``torch.autograd.grad`` and ``backward``, with PyTorch's parameters of scripts: lists of tensors, or a single one."""
    fn = operators.operator(f"autograd.{name}")
    signature = inspect.signature(fn)
    wanted = [types.from_annotation(each.annotation, operators._SOURCE) for each in signature.parameters.values()]

    def handler(emitter, *args, **kwargs):
        items = emitter.bind(signature, list(args), kwargs, f"torch.autograd.{name}")
        values = []
        for item, type in zip(items.values(), wanted):
            inner = type.getElementType() if types.is_optional(type) else type
            if inner.kind() == "ListType" and emitter.type_of(item) == types.TENSOR:
                item = emitter.list_of([emitter.value(item)], inner)
            elif inner.kind() == "ListType" and emitter.type_of(item) == ir.ListType(types.TENSOR):
                type = None  # no tensor of it is None
            values.append(emitter.value(item, type))
        return emitter.python_operator(f"autograd.{name}", fn, values, {})

    return handler


if importlib.util.find_spec("torch.autograd") is not None:
    for _name in ("grad", "backward"):
        handles(_named("torch.autograd", _name))(_of_tape(_name))


def _activation(fn):
    """What ``torch.jit.script`` compiles for a function of torch.nn that is an operator here."""
    fn.__module__ = "torch.nn.functional"
    return fn


@_activation
def sigmoid(input: torch.Tensor):
    return torch.sigmoid(input)


@_activation
def tanh(input: torch.Tensor):
    return torch.tanh(input)


_COMPILED = {F.sigmoid: sigmoid, F.tanh: tanh}


def standing_for(obj):
    """The function that is compiled for an object; most are compiled themselves."""
    return _COMPILED.get(obj, obj) if isinstance(obj, type(F.sigmoid)) else obj


def _same(name, *parameters):
    fn = getattr(F, name)

    def handler(emitter, *args, **kwargs):
        items = _bound(emitter, fn, args, kwargs)
        return _operator(emitter, name, *(items[each] for each in parameters))

    handles(fn)(handler)


_same("pixel_shuffle", "input", "upscale_factor")
_same("pixel_unshuffle", "input", "downscale_factor")
_same("cosine_similarity", "x1", "x2", "dim", "eps")


@handles(F.rms_norm)
def rms_norm(emitter, *args, **kwargs):
    items = _bound(emitter, F.rms_norm, args, kwargs)
    shape = items["normalized_shape"]
    if isinstance(shape, Static) and isinstance(shape.value, int):
        shape = Static((shape.value,))
    return _operator(emitter, "rms_norm", items["input"], shape, items["weight"], items["eps"])


@handles(torch.einsum)
def einsum(emitter, equation, *operands):
    if isinstance(equation, ir.Value) and equation.type() == types.TENSOR:
        return _einsum_of_lists(emitter, [equation, *operands])
    known = emitter.unrolled(operands[0]) if len(operands) == 1 else None
    whole = operands[0]
    if known is not None or len(operands) > 1:
        whole = emitter.list_of([emitter.value(each) for each in known or operands])
    elif emitter.type_of(whole).kind() != "ListType":
        whole = emitter.list_of([emitter.value(whole)])
    return emitter.row("einsum", [equation, whole], {})


def _einsum_of_lists(emitter, items):
    """``einsum(x, [0, 1], y, [1, 2], [0, 2])``: the lists become an equation."""
    count = len(items) // 2
    sides = []
    for each in (*items[1::2], *items[2 * count :]):
        node = emitter.value(each).node()
        dims = [literals.constant(one) for one in node.inputs()]
        if node.kind() != "prim::ListConstruct" or not all(type(one) is int for one in dims):
            raise emitter.error("einsum: the lists of dims must be known while compiling")
        if any(not 0 <= one < len(string.ascii_letters) for one in dims):
            raise emitter.error(f"einsum: dims are numbers from 0 to {len(string.ascii_letters) - 1}, got {dims}")
        sides.append("".join(string.ascii_letters[one] for one in dims))
    equation = ",".join(sides[:count]) + "".join("->" + each for each in sides[count:])
    operands = emitter.list_of([emitter.value(each) for each in items[: 2 * count : 2]])
    return emitter.row("einsum", [Static(equation), operands], {})


@handles(F.scaled_dot_product_attention)
def attention(emitter, *args, **kwargs):
    items = _bound(emitter, F.scaled_dot_product_attention, args, kwargs)
    named = {name: items.pop(name) for name in ("scale", "enable_gqa")}
    return emitter.row("scaled_dot_product_attention", list(items.values()), named)


def _pair(emitter, item, n=2):
    """One number for each dim, as a list."""
    if isinstance(item, Static):
        return Static(list(item.value) if isinstance(item.value, (tuple, list)) else [item.value] * n)
    known = emitter.unrolled(item)
    if known is not None:  # a tuple
        return emitter.list_of([emitter.value(each) for each in known])
    value = emitter.value(item)
    return value if value.type().kind() == "ListType" else emitter.list_of([value] * n)


def _repeated(n):
    return lambda emitter, x: _pair(emitter, x, n)


for _n, _name in enumerate(("_single", "_pair", "_triple", "_quadruple"), 1):
    handles(_named("torch.nn.modules.utils", _name))(_repeated(_n))


@handles(F.fold)
def fold(emitter, *args, **kwargs):
    items = _bound(emitter, F.fold, args, kwargs)
    names = ("output_size", "kernel_size", "dilation", "padding", "stride")
    return _operator(emitter, "col2im", items["input"], *(_pair(emitter, items[each]) for each in names))


@handles(F.unfold)
def unfold(emitter, *args, **kwargs):
    items = _bound(emitter, F.unfold, args, kwargs)
    names = ("kernel_size", "dilation", "padding", "stride")
    return _operator(emitter, "im2col", items["input"], *(_pair(emitter, items[each]) for each in names))


def _channels(fn, dims):
    """Dropout of whole channels; for some dims, one image without a batch has them first."""

    def handler(emitter, *args, **kwargs):
        items = _bound(emitter, fn, args, kwargs)
        inplace = items["inplace"]
        if not isinstance(inplace, Static):
            return emitter.of_library(fn, list(args), kwargs)
        given = [items["input"], items["p"], items["training"]]
        if dims is not None:
            return emitter.call_python(_dropped, [*given, inplace, Static(dims), Static(fn.__name__)], {})
        return _operator(emitter, "feature_dropout_" if inplace.value else "feature_dropout", *given)

    handles(fn)(handler)


def _dropped(input, p: float, training: bool, inplace: bool, dims: int, name: str):
    if name == "dropout1d" and input.dim() != 2 and input.dim() != 3:
        raise RuntimeError(f"dropout1d: expected 2 or 3 dims, got shape {input.shape}")
    if input.dim() == dims - 1:
        return F.dropout2d(input.unsqueeze(0), p, training, inplace).squeeze(0)
    return F.dropout2d(input, p, training, inplace)


for _fn, _dims in ((F.dropout1d, 3), (F.dropout2d, None), (F.dropout3d, 5)):
    _channels(_fn, _dims)
