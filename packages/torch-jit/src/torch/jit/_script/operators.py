"""PyTorch's operators that are functions of Python here: archives name them, and programs read from archives call Python for
them, with PyTorch's parameters in PyTorch's order.  Written again, the call is the operator's.
"""

from __future__ import annotations

import builtins
import inspect
import re

import torch
import torch.nn.functional as F
from torch import Tensor, _seams

from . import types

__all__ = ["operator", "result_of"]

_REDUCTIONS = ("none", "mean", "sum")
_table = {}


def operator(name):
    """The Python function that stands for an operator, or None."""
    found = _table.get(name)
    if found is None and not name.startswith("__"):
        for space in (torch, F, torch.Tensor):
            found = getattr(space, name, None)
            if inspect.isfunction(found):
                return found if _computes(found) else None
        return None
    return found


def _computes(fn):
    """Whether a function takes a tensor first, unlike those that set up the process or read and write files."""
    first = next(iter(inspect.signature(fn).parameters.values()), None)
    return first is not None and (first.name in ("self", "input") or "Tensor" in str(first.annotation))


def result_of(fn):
    """The type that a call gives."""
    note = inspect.signature(fn).return_annotation
    several = re.fullmatch(r"tuple\[(\w+), \.\.\.\]", note) if isinstance(note, str) else None
    if several is not None:  # of a number that only the run tells
        note = f"list[{several[1]}]"
    return types.TENSOR if note in (inspect.Signature.empty, "Tensor") else types.from_annotation(note, _SOURCE)


class _Names:
    @staticmethod
    def lookup(name, default=None):
        return globals().get(name, getattr(builtins, name, default))


_SOURCE = _Names()


def _defines(fn):
    _table[fn.__name__] = fn
    return fn


@_defines
def smooth_l1_loss(input, target, reduction=1, beta=1.0):
    return F.smooth_l1_loss(input, target, reduction=_REDUCTIONS[reduction], beta=beta)


@_defines
def huber_loss(input, target, reduction=1, delta=1.0):
    return F.huber_loss(input, target, reduction=_REDUCTIONS[reduction], delta=delta)


@_defines
def kl_div(input, target, reduction=1, log_target=False):
    return F.kl_div(input, target, reduction=_REDUCTIONS[reduction], log_target=log_target)


@_defines
def soft_margin_loss(input, target, reduction=1):
    return F.soft_margin_loss(input, target, reduction=_REDUCTIONS[reduction])


@_defines
def multilabel_margin_loss(input, target, reduction=1):
    return F.multilabel_margin_loss(input, target, reduction=_REDUCTIONS[reduction])


@_defines
def hinge_embedding_loss(input, target, margin=1.0, reduction=1):
    return F.hinge_embedding_loss(input, target, margin, reduction=_REDUCTIONS[reduction])


@_defines
def binary_cross_entropy(input, target, weight=None, reduction=1):
    return F.binary_cross_entropy(input, target, weight, reduction=_REDUCTIONS[reduction])


@_defines
def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction=1):
    return F.binary_cross_entropy_with_logits(
        input, target, weight, reduction=_REDUCTIONS[reduction], pos_weight=pos_weight
    )


@_defines
def nll_loss_nd(input, target, weight=None, reduction=1, ignore_index=-100):
    return F.nll_loss(input, target, weight, ignore_index=ignore_index, reduction=_REDUCTIONS[reduction])


@_defines
def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=1):
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=_REDUCTIONS[reduction])


@_defines
def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=1):
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=_REDUCTIONS[reduction])


@_defines
def multi_margin_loss(input, target, p=1, margin=1, weight=None, reduction=1):
    return F.multi_margin_loss(input, target, p, margin, weight, reduction=_REDUCTIONS[reduction])


@_defines
def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    return F.poisson_nll_loss(input, target, log_input, full, None, eps, None, _REDUCTIONS[reduction])


@_defines
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction=1):
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=_REDUCTIONS[reduction])


@_defines
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=1, zero_infinity=False):
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _REDUCTIONS[reduction], zero_infinity)


# --- what takes no tensor, or does not say so ---

for _fn in (
    torch._chunk_cat, torch._convert_indices_from_csr_to_coo, torch._softmax_backward_data, torch.dequantize,
    torch.empty_permuted, torch.get_autocast_dtype, torch.sym_constrain_range, torch.sym_constrain_range_for_size,
):  # fmt: skip
    _defines(_fn)


@_defines
def is_autocast_cpu_enabled() -> bool:
    return torch.is_autocast_enabled("cpu")


# --- counting ---

_unique_values, _unique_slices, _unique_neighbours = (
    _seams.operator(f"_unique{each}") for each in ("", "_dim", "_consecutive")
)


@_defines
def _unique2(self, sorted=True, return_inverse=False, return_counts=False) -> tuple[Tensor, Tensor, Tensor]:
    return _unique_values(self, return_inverse, return_counts)


@_defines
def unique_dim(self, dim, sorted=True, return_inverse=False, return_counts=False) -> tuple[Tensor, Tensor, Tensor]:
    return _unique_slices(self, dim, return_inverse, return_counts)


@_defines
def unique_consecutive(
    self, return_inverse=False, return_counts=False, dim: int | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    return _unique_neighbours(self, dim, return_inverse, return_counts)


# --- pieces ---


@_defines
def unsafe_chunk(self, chunks, dim=0) -> list[Tensor]:
    return torch.chunk(self, chunks, dim)


@_defines
def unsafe_split(self, split_size, dim=0) -> list[Tensor]:
    return torch.split(self, split_size, dim)


@_defines
def unsafe_split_with_sizes(self, split_sizes, dim=0) -> list[Tensor]:
    return torch.split(self, split_sizes, dim)


# --- tensors as objects ---


@_defines
def detach_(self):
    return self.detach_()


@_defines
def is_set_to(self, tensor) -> bool:
    return self.is_set_to(tensor)


@_defines
def is_same_size(self, other) -> bool:
    return self.is_same_size(other)


@_defines
def is_inference(self) -> bool:
    return self.is_inference()


# --- what only the tape knows ---


@_defines
def retain_grad(self) -> None:
    self.retain_grad()


@_defines
def output_nr(self) -> int:
    return self.output_nr


@_defines
def is_leaf(self) -> bool:
    return self.is_leaf


@_defines
def is_sparse_csr(self) -> bool:
    return self.is_sparse_csr


@_defines
def grad(self) -> Tensor | None:
    return self.grad


@_defines
def backward(self, gradient=None, retain_graph=None, create_graph=False) -> None:
    self.backward(gradient, retain_graph, create_graph)


@_defines
def requires_grad_(self, requires_grad=True):
    return self.requires_grad_(requires_grad)


def _autograd_grad(
    outputs: list[Tensor],
    inputs: list[Tensor],
    grad_outputs: list[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> list[Tensor | None]:
    return list(
        torch.autograd.grad(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused=allow_unused)
    )


def _autograd_backward(
    tensors: list[Tensor],
    grad_tensors: list[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> None:
    torch.autograd.backward(tensors, grad_tensors, retain_graph, create_graph)


_table["autograd.grad"], _table["autograd.backward"] = _autograd_grad, _autograd_backward


# --- recurrent layers over packed sequences ---


def _packed_lstm(
    data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional
) -> tuple[Tensor, Tensor, Tensor]:
    return torch.lstm(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)


_table["packed_lstm"] = _packed_lstm


def _packed(name):
    fn = getattr(torch, name)

    def packed(
        data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional
    ) -> tuple[Tensor, Tensor]:
        return fn(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)

    _table[f"packed_{name}"] = packed


for _name in ("gru", "rnn_tanh", "rnn_relu"):
    _packed(_name)


@_defines
def _pack_padded_sequence(input, lengths, batch_first) -> tuple[Tensor, Tensor]:
    packed = torch.nn.utils.rnn.pack_padded_sequence(input, lengths, batch_first)
    return packed.data, packed.batch_sizes


@_defines
def _pad_packed_sequence(data, batch_sizes, batch_first, padding_value, total_length) -> tuple[Tensor, Tensor]:
    packed = torch.nn.utils.rnn.PackedSequence(data, batch_sizes)
    return torch.nn.utils.rnn.pad_packed_sequence(packed, batch_first, padding_value, total_length)


# --- generators of random numbers ---


@_defines
def Generator(device: torch.device | None = None) -> torch.Generator:
    return torch.Generator("cpu" if device is None else device)


@_defines
def seed(generator: torch.Generator) -> int:
    return generator.seed()


@_defines
def initial_seed(generator: torch.Generator) -> int:
    return generator.initial_seed()


@_defines
def manual_seed(generator: torch.Generator, seed: int) -> torch.Generator:
    return generator.manual_seed(seed)


# --- dropout ---


def _dropped(name):
    fn = getattr(F, {"feature_dropout": "dropout2d"}.get(name, name))

    def dropout(input, p, train):
        return fn(input, p, train)

    def dropout_(input, p, train):
        return input.copy_(fn(input, p, train)) if train else input

    _table[name], _table[name + "_"] = dropout, dropout_


for _name in ("alpha_dropout", "feature_dropout", "feature_alpha_dropout"):
    _dropped(_name)


@_defines
def rrelu_(input, lower=1 / 8, upper=1 / 3, training=False, generator=None):
    return F.rrelu(input, lower, upper, training, inplace=True)


# --- images ---


@_defines
def col2im(input, output_size, kernel_size, dilation, padding, stride):
    return F.fold(input, output_size, kernel_size, dilation, padding, stride)


@_defines
def im2col(input, kernel_size, dilation, padding, stride):
    return F.unfold(input, kernel_size, dilation, padding, stride)


@_defines
def _convolution(
    input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, benchmark=False,
    deterministic=False, cudnn_enabled=True, allow_tf32=True,
):  # fmt: skip
    dims = len(stride)
    if transposed:
        fn = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[dims - 1]
        return fn(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return (F.conv1d, F.conv2d, F.conv3d)[dims - 1](input, weight, bias, stride, padding, dilation, groups)


@_defines
def _convolution_mode(input, weight, bias, stride, padding, dilation, groups):
    fn = (F.conv1d, F.conv2d, F.conv3d)[len(stride) - 1]
    return fn(input, weight, bias, stride, padding, dilation, groups)


@_defines
def broadcast_shapes(a, b) -> list[int]:
    return list(torch.broadcast_shapes(tuple(a), tuple(b)))


@_defines
def embedding_bag(
    weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
    include_last_offset=False, padding_idx=None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    result = F.embedding_bag(
        indices, weight, offsets, None, 2.0, scale_grad_by_freq, ("sum", "mean", "max")[mode], sparse, per_sample_weights,
        include_last_offset, padding_idx,
    )  # fmt: skip
    nothing = torch.zeros(0, dtype=torch.int64)
    return result, nothing, nothing, nothing


@_defines
def _nested_tensor_from_mask_left_aligned(t, mask) -> bool:
    return False  # there is no way through nested tensors here: layers take the other one


# --- cells and attention ---


@_defines
def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None) -> tuple[Tensor, Tensor]:
    i, f, g, o = (F.linear(input, w_ih, b_ih) + F.linear(hx[0], w_hh, b_hh)).chunk(4, 1)
    c = torch.sigmoid(f) * hx[1] + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


@_defines
def gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    r_x, z_x, n_x = F.linear(input, w_ih, b_ih).chunk(3, 1)
    r_h, z_h, n_h = F.linear(hx, w_hh, b_hh).chunk(3, 1)
    z = torch.sigmoid(z_x + z_h)
    n = torch.tanh(n_x + torch.sigmoid(r_x + r_h) * n_h)
    return n + z * (hx - n)


@_defines
def rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    return torch.tanh(F.linear(input, w_ih, b_ih) + F.linear(hx, w_hh, b_hh))


@_defines
def rnn_relu_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    return torch.relu(F.linear(input, w_ih, b_ih) + F.linear(hx, w_hh, b_hh))


@_defines
def _native_multi_head_attention(
    query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask=None, need_weights=True,
    average_attn_weights=True, mask_type=None,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    padding, attention = (mask, None) if mask_type == 1 else (None, mask)
    if mask_type == 2:
        raise NotImplementedError("_native_multi_head_attention: masks of both kinds in one")
    q, k, v = (each.transpose(0, 1) for each in (query, key, value))
    output, weights = F.multi_head_attention_forward(
        q, k, v, embed_dim, num_head, qkv_weight, qkv_bias, None, None, False, 0.0, proj_weight, proj_bias, False, padding,
        need_weights, attention, average_attn_weights=average_attn_weights,
    )  # fmt: skip
    return output.transpose(0, 1), weights


@_defines
def _transformer_encoder_layer_fwd(
    src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first, eps, norm_weight_1,
    norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2, mask=None, mask_type=None,
):  # fmt: skip
    def attend(x):
        return _native_multi_head_attention(
            x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, False, True, mask_type
        )[0]

    def feed(x):
        hidden = F.linear(x, ffn_weight_1, ffn_bias_1)
        return F.linear(F.gelu(hidden) if use_gelu else F.relu(hidden), ffn_weight_2, ffn_bias_2)

    def norm1(x):
        return F.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def norm2(x):
        return F.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    if norm_first:
        x = src + attend(norm1(src))
        return x + feed(norm2(x))
    x = norm1(src + attend(src))
    return norm2(x + feed(x))
