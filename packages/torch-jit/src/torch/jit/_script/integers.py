"""Rows that compute with the integers of quantized tensors, which traces of quantized models are made of, in the words of PyTorch's operators; and the way back.

A row takes and gives plain integers, so in an archive its call stands between ``_make_per_tensor_quantized_tensor``, which gives integers a scale, and ``int_repr``,
which takes them out again.  A weight, and the scales that the factors of a row were made of, are known where a layer has noted them (``quantized_from``); else the
factors themselves are the scales, beside scales of 1 of input and result.
"""

from __future__ import annotations

import torch

from .. import _ir as ir
from . import types
from .literals import constant, literal
from .values import TupleOf

__all__ = ["read", "spelled"]


def spelled(printer, node):
    """The text of a row of integers, or None."""
    rule = _SPELLED.get(node.kind())
    return None if rule is None else rule(printer, node, list(node.inputs()))


def _with_scale(printer, value, scale, zero):
    return f"torch._make_per_tensor_quantized_tensor({printer.expression(value)}, {scale}, {printer.expression(zero)})"


def _quantize(printer, node, inputs):
    is_signed = constant(inputs[3])
    if not isinstance(is_signed, bool):
        return None
    given = ", ".join(printer.expression(each) for each in inputs[:3])
    return f"torch.int_repr(torch.quantize_per_tensor({given}, {12 if is_signed else 13}))"


def _dequantize(printer, node, inputs):
    integers, scale, zero = inputs
    return f"torch.dequantize({_with_scale(printer, integers, printer.expression(scale), zero)})"


def _add(printer, node, inputs):
    a, b, a_scale, a_zero, b_scale, b_zero, scale, zero, relu = inputs
    if not isinstance(constant(relu), bool):
        return None
    first, second = (
        _with_scale(printer, *each)
        for each in ((a, printer.expression(a_scale), a_zero), (b, printer.expression(b_scale), b_zero))
    )
    name = "add_relu" if constant(relu) else "add"
    return f"torch.int_repr(ops.quantized.{name}({first}, {second}, {printer.expression(scale)}, {printer.expression(zero)}))"


def _integers(packed):
    """The weight that a value was packed of: a value or a tensor, or None."""
    node = packed.node()
    if node.kind() == "aten::_int8_pack":
        return node.input(0)
    return getattr(constant(packed), "unpacked", None)


class _Weight:
    """A weight and a bias as one argument of an operator, and the scales of input and result beside it."""

    def __init__(self, printer, weight, factors, bias, name, moves=()):
        known = getattr(constant(factors), "quantized_from", None)
        self.scales = "1.", "1."
        if known is not None:
            weight, steps, bias_of_floats, *scales = known
            held = bias_of_floats if scales else constant(bias)
            if held is None or isinstance(held, torch.Tensor):
                self.scales = tuple(literal(float(each)) for each in scales)
                prepack = getattr(torch.ops.quantized, f"{name.removesuffix('_dynamic')}_prepack")
                self.text = literal(prepack(_quantized(weight, steps), held, *moves), printer.tensors)
                return
        if weight is None:
            self.text = None
            return
        steps, held = constant(factors), constant(bias)
        are_known = all(isinstance(each, torch.Tensor) for each in (weight, steps, *([] if held is None else [held])))
        if are_known and name == "linear_dynamic":
            packed = torch.ops.quantized.linear_prepack(_quantized(weight, steps), held)
            self.text = literal(packed, printer.tensors)
            return
        integers = literal(weight, printer.tensors) if isinstance(weight, torch.Tensor) else printer.expression(weight)
        scales = printer.expression(factors)
        text = printer.expression(bias)
        if name != "linear_dynamic" and constant(bias) is not None:
            text = f"torch.mul({text}, {scales})"
        zeros = f"torch.zeros([torch.size({integers}, 0)], dtype=4)"
        whole = f"torch._make_per_channel_quantized_tensor({integers}, {scales}, {zeros}, 0)"
        more = "".join(f", {each}" for each in moves)
        self.text = f"ops.quantized.{name.removesuffix('_dynamic')}_prepack({whole}, {text}{more})"


def _quantized(weight, steps):
    if not steps.dim():
        return torch._make_per_tensor_quantized_tensor(weight, steps.item(), 0)
    zeros = torch.zeros(weight.shape[0], dtype=torch.int64)
    return torch._make_per_channel_quantized_tensor(weight, steps.expand(weight.shape[0]), zeros, 0)


def _dense(printer, node, inputs):
    x, packed, factors, bias, x_zero, zero, relu = inputs
    weight = _Weight(printer, _integers(packed), factors, bias, "linear")
    return _layer(printer, "linear", x, weight, x_zero, zero, relu)


def _layer(printer, name, x, weight, x_zero, zero, relu):
    if weight.text is None or not isinstance(constant(relu), bool):
        return None
    name = f"{name}_relu" if constant(relu) else name
    x = _with_scale(printer, x, weight.scales[0], x_zero)
    return f"torch.int_repr(ops.quantized.{name}({x}, {weight.text}, {weight.scales[1]}, {printer.expression(zero)}))"


def _numbers(value):
    """The ints of a list that is known, or None."""
    held = constant(value)
    if isinstance(held, list):
        return held
    node = value.node()
    found = [constant(each) for each in node.inputs()] if node.kind() == "prim::ListConstruct" else [None]
    return found if all(type(each) is int for each in found) else None


def _convolution(printer, node, inputs):
    if node.kind() == "aten::_int8_packed_convolution":
        x, weight, _, factors, bias, *moves, x_zero, zero, relu = inputs
        groups = 1
    else:
        x, weight, factors, bias, *moves, groups, x_zero, zero, relu = inputs
        groups = constant(groups)
    moves = [_numbers(each) for each in moves]
    if None in moves or type(groups) is not int:
        return None
    name = f"conv{len(moves[0])}d"
    made = _Weight(printer, weight, factors, bias, name, (*moves, groups))
    return _layer(printer, name, x, made, x_zero, zero, relu)


def _dynamic(printer, node, inputs):
    x, packed, factors, bias, reduce_range = inputs
    weight = _Weight(printer, _integers(packed), factors, bias, "linear_dynamic")
    if weight.text is None:
        return None
    return f"ops.quantized.linear_dynamic({printer.expression(x)}, {weight.text}, {printer.expression(reduce_range)})"


def _pack(printer, node, inputs):
    return printer.expression(inputs[0])  # those who take it pack it


def _alias(printer, node, inputs):
    """The integers of a quantized tensor that a trace has met as a constant."""
    is_quantized = getattr(constant(inputs[0]), "is_quantized", False)
    return f"torch.int_repr({printer.expression(inputs[0])})" if is_quantized else None


_SPELLED = {"aten::alias": _alias} | {
    f"aten::_int8_{name}": rule
    for name, rule in {
        "quantize": _quantize, "dequantize": _dequantize, "add": _add, "dense": _dense, "convolution": _convolution,
        "packed_convolution": _convolution, "dynamic": _dynamic, "pack": _pack,
    }.items()
}  # fmt: skip


# -- the way back -----------------------------------------------------------------------------------------------------------


def read(emitter, kind, values, named):
    """The result of a row for a call that :func:`spelled` has written, which takes the place of the calls within it; None for
    others.

    Only what stands within the call is taken: a value with a name may be asked for again, and what it was made of may have been
    written to since.
    """
    rule = None if named or not emitter.reads_text else _READ.get(kind)
    if rule is None or any(_is_named(emitter, each) for each in values if _call_of(each)[0] is not None):
        return None
    return rule(emitter, values)


def _is_named(emitter, value):
    """Whether a value of a call, or one of those that it was made of by calls, has a name or is in a tuple with one."""
    named = list(map(emitter.frame.get, emitter.frame.known()))
    for each in named:
        if isinstance(each, TupleOf):
            named += emitter.elements(each)
    held, open_values = {each for each in named if isinstance(each, ir.Value)}, [value]
    while open_values:
        each = open_values.pop()
        if each in held or len(each.uses()) > (each is not value):
            return True
        open_values += [part for part in _call_of(each)[1] if _call_of(part)[0] is not None]
    return False


def _call_of(value):
    """The operator of Python that a value comes from, and its arguments; those by name are not looked at."""
    node = value.node()
    if node.kind() != "prim::PythonOp" or not node.hasAttribute("operator"):
        return None, []
    return node.s("operator"), list(node.inputs())


def _given_scale(value):
    """Integers, scale and zero point of a quantized tensor that was made of these here."""
    name, inputs = _call_of(value)
    return inputs if name == "_make_per_tensor_quantized_tensor" else None


def _drop(*values):
    """Calls that nothing asks for any longer, the outer ones first."""
    for value in values:
        if not value.uses():
            value.node().destroy()


def _read_dequantize(emitter, values):
    made = _given_scale(values[0])
    if made is None:
        return None
    result = emitter.op("_int8_dequantize", *made)
    _drop(values[0])
    return result


def _read_integers(emitter, values):
    name, inputs = _call_of(values[0])
    rule = _READ_INTEGERS.get(name)
    result = None if rule is None else rule(emitter, name, inputs)
    if result is not None:
        _drop(values[0], *(each for each in inputs if _given_scale(each) is not None))
    return result


def _read_quantize(emitter, name, inputs):
    x, scale, zero, dtype = inputs
    if constant(dtype) not in (12, 13) or scale.type() != types.FLOAT or zero.type() != types.INT:
        return None
    return emitter.op("_int8_quantize", x, scale, zero, constant(dtype) == 12)


def _read_add(emitter, name, inputs):
    if len(inputs) != 4 or None in (made := [_given_scale(each) for each in inputs[:2]]):
        return None
    (a, *of_a), (b, *of_b) = made
    return emitter.op("_int8_add", a, b, *of_a, *of_b, *inputs[2:], name == "quantized::add_relu")


def _read_layer(emitter, name, inputs):
    made = _given_scale(inputs[0]) if len(inputs) == 4 else None
    packed, scale = (constant(each) for each in inputs[1:3]) if made is not None else (None, None)
    if not hasattr(packed, "factors") or not isinstance(scale, float) or not isinstance(constant(made[1]), float):
        return None
    name = name.removeprefix("quantized::")
    relu, name = name.endswith("_relu"), name.removesuffix("_relu")
    if name != "linear":
        packed = packed.of_dims(int(name[-2]))
    found = packed.factors(constant(made[1]), scale)
    if found is None:
        return None
    weight, factors, bias, form = found
    x, _, x_zero = made
    zero = inputs[3]
    if name == "linear":
        return emitter.op(
            "_int8_dense",
            x,
            *map(emitter.constant, (weight if form is None else form, factors, bias)),
            x_zero,
            zero,
            relu,
        )
    moves = [packed.moves[each] for each in ("stride", "padding", "dilation")]
    if form is None:
        held = map(emitter.constant, (weight, factors, bias, *moves, packed.moves["groups"]))
        return emitter.op("_int8_convolution", x, *held, x_zero, zero, relu)
    held = map(emitter.constant, (weight, form, factors, bias, *moves))
    return emitter.op("_int8_packed_convolution", x, *held, x_zero, zero, relu)


def _read_dynamic(emitter, values):
    if len(values) != 3:
        return None
    packed = constant(values[1])
    if hasattr(packed, "rows"):
        factors, form, _ = packed.rows()
        if factors is None:
            return None
        held = map(emitter.constant, (form, factors, packed.bias()))
        return emitter.op("_int8_dynamic", values[0], *held, values[2])
    name, inputs = _call_of(values[1])
    inner, parts = _call_of(inputs[0]) if name == "quantized::linear_prepack" and len(inputs) == 2 else (None, [])
    if inner != "_make_per_channel_quantized_tensor" or not _is_zeros(parts[2]) or constant(parts[3]) != 0:
        return None
    weight, factors = parts[:2]
    result = emitter.op("_int8_dynamic", values[0], emitter.op("_int8_pack", weight), factors, inputs[1], values[2])
    _drop(values[1], inputs[0])
    return result


def _is_zeros(value):
    node = value.node()
    return node.kind() == "aten::zeros" or (node.kind() == "aten::full" and constant(node.input(1)) == 0)


_READ = {
    "aten::int_repr": _read_integers,
    "aten::dequantize": _read_dequantize,
    "quantized::linear_dynamic": _read_dynamic,
}
_READ_INTEGERS = {
    "quantize_per_tensor": _read_quantize,
    **dict.fromkeys(("quantized::add", "quantized::add_relu"), _read_add),
    **dict.fromkeys(
        (f"quantized::{name}{end}" for name in ("linear", "conv1d", "conv2d", "conv3d") for end in ("", "_relu")), _read_layer
    ),
}  # fmt: skip
