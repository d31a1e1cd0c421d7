"""Constants as texts, and what schemas say of arguments."""

from __future__ import annotations

import math

import torch

__all__ = ["constant", "is_default", "literal", "schema_parameters"]


def _is_same(a, b):
    """Whether two tensors are one, or the same view of the same memory."""
    if a is b:
        return True
    if not all(isinstance(each, torch.Tensor) and not each.is_quantized for each in (a, b)):
        return False
    looks = [(t.layout, t.device, t.dtype, t.shape) for t in (a, b)]
    if looks[0] != looks[1] or a.layout != torch.strided or a.is_meta:
        return False
    return a.stride() == b.stride() and a.data_ptr() == b.data_ptr() != 0


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}


def _escaped(letter):
    """Three octal digits for what is no printable letter: PyTorch reads no hexadecimal ones."""
    return f"\\{ord(letter):03o}" if letter < " " or letter == "\x7f" else letter


def literal(value, tensors=None):
    """The text of a constant; tensors become ``CONSTANTS.c0``."""
    if isinstance(value, torch.Tensor) or hasattr(type(value), "script_class"):
        if tensors is None:
            return f"<tensor {list(value.shape)}>" if isinstance(value, torch.Tensor) else f"<{value.script_class}>"
        for i, each in enumerate(tensors):
            if _is_same(each, value):
                return f"CONSTANTS.c{i}"
        tensors.append(value)
        return f"CONSTANTS.c{len(tensors) - 1}"
    if isinstance(value, float):
        if math.isinf(value):
            return "inf" if value > 0 else "-inf"
        if math.isnan(value):
            return "nan"
        text = f"{value:.17g}"
        return text if any(each in text for each in ".en") else text + "."
    if isinstance(value, str):
        return '"' + "".join(_ESCAPES.get(each) or _escaped(each) for each in value) + '"'
    if isinstance(value, torch.device):
        return f'torch.device("{value}")'
    if isinstance(value, (list, tuple)):
        inner = ", ".join(literal(each, tensors) for each in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, complex):
        return f"torch.complex({literal(value.real)}, {literal(value.imag)})"
    return repr(value)


def constant(value):
    """The value of a constant, or an object that nothing equals."""
    node = value.node()
    if node.kind() != "prim::Constant":
        return _NOTHING
    return node.ival("value") if node.hasAttribute("value") else None


_NOTHING = object()


def schema_parameters(schema):
    """Name, whether by keyword only, and default (text or None) of each parameter of a schema."""
    inside, depth, parts, part = schema[schema.index("(") + 1 :], 0, [], ""
    for each in inside:
        if each == ")" and depth == 0:
            break
        depth += each in "([{"
        depth -= each in ")]}"
        if each == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += each
    parts += [part] if part.strip() else []
    found, keyword_only = [], False
    for each in parts:
        each = each.strip()
        if each == "*":
            keyword_only = True
            continue
        left, equals, default = each.partition("=")
        found.append((left.split()[-1], keyword_only, default if equals else None))
    return found


def is_default(value, default):
    held = constant(value)
    if held is _NOTHING:
        return False
    if default == "None":
        return held is None
    if default in ("True", "False"):
        return held is (default == "True")
    if isinstance(held, str):
        return default.strip("'\"") == held
    try:
        return type(held) in (int, float) and float(default) == held
    except ValueError:
        return False
