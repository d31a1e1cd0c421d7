"""Packed weights of quantized layers as archives have them: a class of PyTorch's by name, and what its ``__getstate__`` gives.

========================================= =====================================================================================
``quantized.LinearPackedParamsBase``      (weight, bias): the weight quantized, or in float32 where it serves as half precision
``quantized.Conv2dPackedParamsBase``      ("2", [configuration, weight], [bias]); those of one dim have a first dim of one, too
``quantized.Conv3dPackedParamsBase``      likewise
``quantized.EmbeddingPackedParamsBase``   (1, [weight], [], [bits of an integer])
``rnn.CellParamsBase``                    (kind, tensors, floats, ints, packed weights): of a layer and direction
========================================= =====================================================================================

A configuration is a tensor of int16: the dims, then stride, padding, dilation and output padding for each, groups, and 1 for a
transposed convolution.
"""

from __future__ import annotations

import torch

from . import quantized

__all__ = ["PARTS", "from_state", "is_packed", "state_of"]

_KINDS = {"quantized_dynamic": "make_quantized_cell_params_dynamic", "quantized_fp16": "make_quantized_cell_params_fp16", "quantized": "make_quantized_cell_params"}  # fmt: skip
_OF_CONVOLUTION = ("str", "List[Tensor]", "List[Optional[Tensor]]")
#: of what types the parts of a state are
PARTS = {
    f"{quantized.CLASSES}{name}": parts
    for name, parts in {
        "quantized.LinearPackedParamsBase": ("Tensor", "Optional[Tensor]"),
        "quantized.Conv2dPackedParamsBase": _OF_CONVOLUTION,
        "quantized.Conv3dPackedParamsBase": _OF_CONVOLUTION,
        "quantized.EmbeddingPackedParamsBase": ("int", "List[Tensor]", "List[float]", "List[int]"),
        "rnn.CellParamsBase": (
            "str", "List[Tensor]", "List[float]", "List[int]", f"List[{quantized.CLASSES}quantized.LinearPackedParamsBase]",
        ),
    }.items()
}  # fmt: skip
_MOST = 1 << 15  #: what int16 holds
_GATES = (1, 3, 4)  #: of RNN, GRU and LSTM


def is_packed(type_name):
    """Whether a class of an archive is one of packed weights."""
    return type_name.startswith(quantized.CLASSES) and quantized.packed_type(type_name) is not None


class _Refusal(Exception):
    """What is wrong with a state."""


def from_state(type_name, state, made):
    """The packed weights of a state; ``made`` turns packed weights within it to such, and all else to None.

    RuntimeError says what is wrong with it.
    """
    name = type_name.removeprefix(quantized.CLASSES)
    try:
        if not isinstance(state, tuple):
            raise _Refusal("a state is a tuple")
        if name == "quantized.LinearPackedParamsBase":
            return _linear(*_of_length(state, 2))
        if name == "quantized.EmbeddingPackedParamsBase":
            return _table(*_of_length(state, 4))
        if name == "rnn.CellParamsBase":
            return _cell(*_of_length(state, 5), made)
        return _convolution(int(name[len("quantized.Conv")]), *_of_length(state, 3))
    except _Refusal as error:
        raise RuntimeError(f"the archive has a {name} that cannot be used: {error}") from None


def _of_length(state, length):
    if len(state) != length:
        raise _Refusal(f"its state has {len(state)} parts, expected {length}")
    return state


def _floats(what, tensor, size):
    """A tensor of float32 of one dim, or None."""
    if tensor is None:
        return None
    if not isinstance(tensor, torch.Tensor) or tensor.dtype is not torch.float32 or tensor.shape != (size,):
        raise _Refusal(f"{what} must be {size} floats, got {_described(tensor)}")
    return tensor.detach()


def _described(value):
    return f"{value.dtype} of shape {tuple(value.shape)}" if isinstance(value, torch.Tensor) else type(value).__name__


def _weight(value, dims, axis=0):
    if (
        not isinstance(value, torch.Tensor)
        or value.dtype is not torch.qint8
        or value.dim() != dims
        or not value.numel()
    ):
        raise _Refusal(f"its weight must be of torch.qint8 and {dims} dims, got {_described(value)}")
    return _scaled(value, axis)


def _scaled(weight, axis=0):
    """A quantized tensor whose scales, where there are several, belong to a dim; its scales and zero points are numbers."""
    if weight.qscheme() is torch.per_tensor_affine:
        return weight
    if weight.q_per_channel_axis() != axis:
        raise _Refusal(f"the scales of its weight belong to dim {weight.q_per_channel_axis()}, expected {axis}")
    for what, given in (("scales", weight.q_per_channel_scales()), ("zero points", weight.q_per_channel_zero_points())):
        if not given.isfinite().all():
            at = int(given.isfinite().logical_not().nonzero()[0])
            raise _Refusal(f"the {what} of its weight must be finite, got {given[at].item()} at {at}")
    return weight


def _linear(weight, bias):
    if isinstance(weight, torch.Tensor) and weight.dtype is torch.float32:
        if weight.dim() != 2:
            raise _Refusal(f"its weight must have two dims, got {_described(weight)}")
        return torch.ops.quantized.linear_prepack_fp16(weight, _floats("its bias", bias, weight.shape[0]))
    weight = _weight(weight, 2)
    return torch.ops.quantized.linear_prepack(weight, _floats("its bias", bias, weight.shape[0]))


def _convolution(dims, version, tensors, optional):
    if version != "2" or not isinstance(tensors, list) or not isinstance(optional, list):
        raise _Refusal(f"its form is {version!r}, expected '2' with two lists")
    if len(tensors) != 2 or len(optional) != 1:
        raise _Refusal(f"it has {len(tensors)} and {len(optional)} tensors, expected 2 and 1")
    configuration, weight = tensors
    wanted = 3 + 4 * dims
    if (
        not isinstance(configuration, torch.Tensor)
        or configuration.dtype is not torch.int16
        or configuration.shape != (wanted,)
    ):
        raise _Refusal(f"its configuration must be {wanted} numbers of int16, got {_described(configuration)}")
    said, *moves, groups, flags = configuration.tolist()
    stride, padding, dilation, output_padding = (moves[i * dims : (i + 1) * dims] for i in range(4))
    if said != dims or flags not in (0, 1):
        raise _Refusal(f"its configuration is of {said} dims with flags {flags}, expected {dims} with 0 or 1")
    if (
        min(stride) < 1
        or min(dilation) < 1
        or min(*padding, *output_padding) < 0
        or groups < 1
        or (any(output_padding) and not flags)
    ):
        raise _Refusal(
            f"stride {stride}, padding {padding}, dilation {dilation}, output padding {output_padding}, groups {groups} fit no convolution"
        )
    weight = _weight(weight, dims + 2, flags)
    channels = weight.shape[1] * groups if flags else weight.shape[0]
    if weight.shape[0] % groups:
        raise _Refusal(f"its weight of shape {tuple(weight.shape)} has no {groups} groups")
    bias = _floats("its bias", optional[0], channels)
    if flags:
        return getattr(torch.ops.quantized, f"conv_transpose{dims}d_prepack")(
            weight, bias, stride, padding, output_padding, dilation, groups
        )
    return getattr(torch.ops.quantized, f"conv{dims}d_prepack")(weight, bias, stride, padding, dilation, groups)


def _table(version, tensors, floats, ints):
    if version != 1 or not all(isinstance(each, list) for each in (tensors, floats, ints)) or len(tensors) != 1:
        raise _Refusal(f"its form is {version!r}, expected 1 with one tensor")
    weight = tensors[0]
    bits = torch.quint8 if ints == [8] else torch.quint4x2 if ints == [4] else None
    if bits is None or not isinstance(weight, torch.Tensor) or weight.dtype is not bits or weight.dim() != 2:
        raise _Refusal(f"its rows must be of 8 or 4 bits as it says, got {ints} and {_described(weight)}")
    if weight.qscheme() is torch.per_tensor_affine or weight.q_per_channel_axis() != 0:
        raise _Refusal("its rows must have a scale each")
    return torch.ops.quantized.embedding_bag_prepack(_scaled(weight))


def _cell(kind, tensors, floats, ints, packed, made):
    if (
        not isinstance(kind, str)
        or kind not in _KINDS
        or not all(isinstance(each, list) for each in (tensors, floats, ints, packed))
    ):
        raise _Refusal(f"its kind is {kind!r}, expected one of {', '.join(_KINDS)}")
    if len(packed) != 2:
        raise _Refusal(f"it has {len(packed)} packed weights, expected 2")
    is_half = kind == "quantized_fp16"
    linear = [made(each) for each in packed]
    if not all(_is_linear(each, is_half) for each in linear):
        raise _Refusal(
            f"its packed weights are not those of two linear layers {'in half precision' if is_half else 'of integers'}"
        )
    shapes = [tuple(each.unpack()[0].shape) for each in linear]
    (rows, _), (own_rows, hidden) = shapes
    if rows != own_rows or rows not in [gates * hidden for gates in _GATES]:
        raise _Refusal(
            f"its weights of shapes {shapes[0]} and {shapes[1]} are of no layer: expected (gates * hidden, input) and "
            f"(gates * hidden, hidden) of {', '.join(map(str, _GATES))} gates"
        )
    if is_half:
        return torch.ops.quantized.make_quantized_cell_params_fp16(*linear)
    if len(tensors) != 2:
        raise _Refusal(f"it has {len(tensors)} biases, expected 2")
    biases = [_floats("a bias", each, rows) for each in tensors]
    if kind == "quantized_dynamic":
        if ints not in ([], [0], [1]):
            raise _Refusal(f"whether a bit is left free is {ints}, expected [0] or [1]")
        return torch.ops.quantized.make_quantized_cell_params_dynamic(*linear, *biases, ints == [1])
    raise _Refusal("cells of static quantization are not part of this stack")


def _is_linear(packed, is_half):
    return type(packed).__name__ == ("PackedHalf" if is_half else "Packed") and not getattr(packed, "moves", None)


# -- writing ----------------------------------------------------------------------------------------------------------------


def state_of(value):
    """The name of the class and the state of packed weights; those within it are as they are."""
    name = quantized.type_of_packed(value).qualified_name()
    short = name.removeprefix(quantized.CLASSES)
    if short == "rnn.CellParamsBase":
        return name, value.state()
    if short == "quantized.EmbeddingPackedParamsBase":
        weight = value.unpack()
        return name, (1, [weight], [], [4 if weight.dtype is torch.quint4x2 else 8])
    weight, bias = value.unpack()
    if short == "quantized.LinearPackedParamsBase":
        return name, (weight.float() if weight.dtype is torch.float16 else weight, bias)
    dims = int(short[len("quantized.Conv")])
    none = [0] * (weight.dim() - 2)
    moves = [value.moves.get(each, none) for each in ("stride", "padding", "dilation", "output_padding")]
    if weight.dim() == 3:  # of one dim
        weight, moves = weight.unsqueeze(2), [[fill, *move] for fill, move in zip((1, 0, 1, 0), moves)]
    numbers = [
        dims,
        *(each for move in moves for each in move),
        value.moves["groups"],
        int("output_padding" in value.moves),
    ]
    if max(numbers) >= _MOST:
        raise NotImplementedError(
            f"torch.jit.save: a quantized convolution with {max(numbers)} among its numbers; archives hold them up to {_MOST - 1}"
        )
    return name, ("2", [torch.tensor(numbers, dtype=torch.int16), weight], [bias])
