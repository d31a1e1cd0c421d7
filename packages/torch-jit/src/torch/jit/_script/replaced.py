"""Functions of torch.nn whose Python a script cannot follow, as scripts see them."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import string

import torch
import torch.nn.functional as F

from .. import _ir as ir
from . import literals, operators, types
from .library import handles
from .values import Static, TupleOf

__all__ = []


def _named(module, name):
    return getattr(importlib.import_module(module), name)


@handles(_named("torch.nn.functional.loss", "_paired"))
def paired(emitter, name, input, target):
    """Arithmetic broadcasts both; the warning about different shapes is Python's."""
    return TupleOf([input, target])


@handles(_named("torch.nn.functional._reduction", "code"))
def code(emitter, size_average, reduce, reduction):
    module = importlib.import_module("torch.nn.functional._reduction")
    args = [emitter.static(each, "reduction") for each in (size_average, reduce, reduction)]
    return Static(module.code(*args))


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


_RESIZES = {
    "linear": ("linear1d", 1),
    "bilinear": ("bilinear2d", 2),
    "bicubic": ("bicubic2d", 2),
    "trilinear": ("trilinear3d", 3),
}


@handles(F.interpolate)
def interpolate(emitter, *args, **kwargs):
    """The modes that weigh neighbours are operators; the others are compiled as they are written."""
    items = _bound(emitter, F.interpolate, args, kwargs)
    for each in ("size", "scale_factor"):  # of a tuple, one number for all dims would be of another type than several
        item = items[each]
        if isinstance(item, Static) and isinstance(item.value, tuple) and len(item.value) == 1:
            items[each] = emitter.value(Static(list(item.value)))
    mode, antialias, again = (items[each] for each in ("mode", "antialias", "recompute_scale_factor"))
    fits = (
        all(isinstance(each, Static) for each in (mode, antialias, again)) and not again.value and not antialias.value
    )
    if not fits or mode.value not in _RESIZES:
        return emitter.of_library(F.interpolate, [], items)
    name, dims = _RESIZES[mode.value]
    absent = [emitter.is_none(items[each]) for each in ("size", "scale_factor")]
    if not all(isinstance(each, Static) for each in absent):
        raise emitter.error("interpolate: whether size or scale_factor is None must be known while compiling")
    size, scale = (
        Static(None) if none.value else _pair(emitter, items[each], dims)
        for each, none in zip(("size", "scale_factor"), absent)
    )
    if isinstance(scale, Static) and scale.value is not None:
        scale = Static([float(each) for each in scale.value])
    corners = items["align_corners"]
    corners = Static(False) if isinstance(corners, Static) and corners.value is None else corners
    return emitter.row(f"upsample_{name}", [items["input"], size, corners, scale], {})


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
