"""What programs call Python for, as graphs: programs of functions that are operators in PyTorch and composed in Python here.

A script names such an operator (``torch.cdist(x, y)``), which is what its archive says, and calls Python at run time. The form
for the runtime without Python has in its place the graph of the function below; of one that is not here, of the operator itself,
where it compiles.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, _seams

from .. import _ir as ir
from . import literals, operators
from .clean import clean
from .compiler import Emitter, compiler
from .errors import ScriptError
from .recurrent import _gru_step, _relu_step, _tanh_step
from .scope import Function
from .source import source_of
from .values import Static

__all__ = ["graph_of"]

_programs = {}
_distances = _seams.operator("_cdist_forward")
_LITERALS = (bool, int, float, str, type(None), list)


def _stands_for(*names):
    def register(fn):
        _programs.update(dict.fromkeys(names, fn))
        return fn

    return register


def graph_of(node):
    """A graph that takes the inputs of a call of Python and gives its result, or None where that does not compile."""
    name, *named = node.s("operator").split(",")
    fn = _programs.get(name) or operators.operator(name)
    if fn is None:
        return None
    emitter = Emitter(ir.Graph(), compiler)
    items = []
    for each in node.inputs():
        value = emitter.graph.addInput("", each.type())
        known = literals.constant(each) if each.node().kind() == "prim::Constant" else value
        items.append(Static(known) if isinstance(known, _LITERALS) else value)
    split = len(items) - len(named)
    places, words = items[:split], dict(zip(named, items[split:]))
    if name == "chain_matmul" and not (places and emitter.type_of(places[0]).kind() == "ListType"):
        places = [emitter.list_of(places)]
    try:
        emitter.function = Function(source_of(fn), True)
        result = emitter.value(emitter.inline(fn, places, words), node.output().type())
    except (ScriptError, RecursionError):
        return None
    emitter.graph.registerOutput(result)
    clean(emitter.graph)
    again = emitter.graph.findAllNodes("prim::PythonOp")
    return None if any(not each.hasAttribute("operator") or _name(each) == name for each in again) else emitter.graph


def _name(node):
    return node.s("operator").partition(",")[0]


# --- distances ---


def _distance(differences, p: float):
    if p == 0:
        return differences.abs().ceil().clamp(max=1).sum(-1)
    return torch.norm(differences, p, -1)


@_stands_for("cdist")
def _cdist(x1, x2, p: float = 2.0, compute_mode=None):
    if x1.dim() < 2:
        raise RuntimeError(f"cdist only supports at least 2D tensors, X1 got: {x1.dim()}D")
    if x2.dim() < 2:
        raise RuntimeError(f"cdist only supports at least 2D tensors, X2 got: {x2.dim()}D")
    if not x1.is_floating_point() or not x2.is_floating_point():
        raise RuntimeError(f"cdist only supports floating-point dtypes, got {x1.dtype} and {x2.dtype}")
    if x1.size(-1) != x2.size(-1):
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.size(-1)} X2: {x2.size(-1)}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    is_plain = x1.dtype == x2.dtype and (x1.dtype == torch.float32 or x1.dtype == torch.float64)
    if (p == 1 or p == 2) and is_plain:
        batch = torch.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
        count = 1
        for n in batch:
            count = count * n
        rows = x1.expand(batch + x1.shape[-2:]).reshape([count] + x1.shape[-2:])
        columns = x2.expand(batch + x2.shape[-2:]).reshape([count] + x2.shape[-2:])
        found = _distances(rows, columns, float(p), None)
        return found.view(batch + found.shape[1:])
    return _distance(x1.unsqueeze(-2) - x2.unsqueeze(-3), p)


@_stands_for("pdist")
def _pdist(input, p: float = 2.0):
    if input.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.dim()}D")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    places = torch.triu_indices(input.size(0), input.size(0), 1)
    if (p == 1 or p == 2) and (input.dtype == torch.float32 or input.dtype == torch.float64):
        return _distances(input.unsqueeze(0), input.unsqueeze(0), float(p), None)[0][places[0], places[1]]
    return _distance(input[places[0]] - input[places[1]], p)


@_stands_for("renorm")
def _renorm(input, p: float, dim: int, maxnorm: float):
    if p <= 0 or maxnorm < 0:
        raise RuntimeError(f"renorm: expected p > 0 and maxnorm >= 0, got p={p} and maxnorm={maxnorm}")
    n = input.dim()
    if n < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {n} dimensions")
    if dim < -n or dim >= n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    kept = dim + n if dim < 0 else dim
    others: list[int] = []
    for d in range(n):
        if d != kept:
            others.append(d)
    wide = input.float() if input.dtype == torch.float16 or input.dtype == torch.bfloat16 else input
    norm = torch.norm(wide, p, others, True)
    factor = torch.where(norm > maxnorm, maxnorm / (norm + 1e-7), torch.ones_like(norm)).to(input.dtype)
    return (input * factor).contiguous()


@_stands_for("renorm_")
def _renorm_(input, p: float, dim: int, maxnorm: float):
    return input.copy_(_renorm(input, p, dim, maxnorm))


# --- images ---


def _images(input, name: str, factor: int):
    if input.dim() < 3:
        raise RuntimeError(f"{name}: input must have at least 3 dims (C, H, W), got {input.shape}")
    if factor <= 0:
        raise RuntimeError(f"{name}: the factor must be positive, got {factor}")
    return input.unsqueeze(0) if input.dim() == 3 else input.flatten(0, -4)


@_stands_for("pixel_shuffle")
def _pixel_shuffle(input, upscale_factor: int):
    r = upscale_factor
    images = _images(input, "pixel_shuffle", r)
    n, c, h, w = images.shape
    if c % (r * r) != 0:
        raise RuntimeError(f"pixel_shuffle: {c} channels are not divisible by upscale_factor^2 = {r * r}")
    c = c // (r * r)
    moved = images.reshape([n, c, r, r, h, w]).permute([0, 1, 4, 2, 5, 3])
    return moved.clone(memory_format=torch.contiguous_format).reshape(input.shape[:-3] + [c, h * r, w * r])


@_stands_for("pixel_unshuffle")
def _pixel_unshuffle(input, downscale_factor: int):
    r = downscale_factor
    images = _images(input, "pixel_unshuffle", r)
    n, c, h, w = images.shape
    if h % r != 0 or w % r != 0:
        raise RuntimeError(f"pixel_unshuffle: height {h} and width {w} must be divisible by downscale_factor {r}")
    h, w = h // r, w // r
    moved = images.reshape([n, c, h, r, w, r]).permute([0, 1, 3, 5, 2, 4])
    return moved.clone(memory_format=torch.contiguous_format).reshape(input.shape[:-3] + [c * r * r, h, w])


# --- matrices ---


@_stands_for("chain_matmul")
def _chain_matmul(matrices):
    for i in range(len(matrices)):
        if matrices[i].dim() != 2:
            raise RuntimeError(f"chain_matmul: tensor {i} must be a matrix (2-d), got shape {matrices[i].shape}")
    if len(matrices) == 1:
        return matrices[0].clone()
    return torch.linalg.multi_dot(matrices)


@_stands_for("fill_diagonal_")
def _fill_diagonal_(input, fill_value, wrap: bool = False):
    if input.dim() < 2:
        raise RuntimeError(f"fill_diagonal_: dimensions must be larger than 1, got shape {input.shape}")
    rows = input.size(0)
    columns = input.size(1)
    if input.dim() > 2:
        for n in input.shape:
            if n != rows:
                raise RuntimeError(f"fill_diagonal_: all dimensions must be of equal length, got shape {input.shape}")
        step = 0
        for n in input.stride():
            step = step + n
        input.as_strided([rows], [step], input.storage_offset()).fill_(fill_value)
        return input
    begin = 0
    last = rows if wrap else min(rows, 1)
    while begin < last:
        input[begin : begin + columns].diagonal().fill_(fill_value)
        begin = begin + columns + 1
    return input


@_stands_for("combinations")
def _combinations(input, r: int = 2, with_replacement: bool = False):
    if input.dim() != 1:
        raise RuntimeError(f"combinations: expected a 1-D tensor, got shape {input.shape}")
    if r < 0:
        raise RuntimeError(f"combinations: r must not be negative, got {r}")
    if r == 0:
        return input.new_empty([0])
    n = input.size(0)
    row: list[int] = []
    for i in range(r):
        row.append(0 if with_replacement else i)
    places: list[int] = []
    more = n > 0 if with_replacement else r <= n
    while more:
        places.extend(row)
        i = r - 1  # the last place that can still grow; those behind it begin anew
        while i >= 0 and row[i] == (n - 1 if with_replacement else n - r + i):
            i = i - 1
        more = i >= 0
        if more:
            first = row[i] + 1
            for j in range(i, r):
                row[j] = first if with_replacement else first + j - i
    return input[torch.tensor(places, dtype=torch.int64).reshape([-1, r])]


def _differences(x, dim: int, step: float, edge_order: int):
    n = x.size(dim)
    middle = (x.narrow(dim, 2, n - 2) - x.narrow(dim, 0, n - 2)) / 2 / step
    if edge_order == 1:
        first = (x.narrow(dim, 1, 1) - x.narrow(dim, 0, 1)) / step
        last = (x.narrow(dim, n - 1, 1) - x.narrow(dim, n - 2, 1)) / step
    else:
        first = (2 * x.narrow(dim, 1, 1) - 1.5 * x.narrow(dim, 0, 1) - 0.5 * x.narrow(dim, 2, 1)) / step
        last = (1.5 * x.narrow(dim, n - 1, 1) - 2 * x.narrow(dim, n - 2, 1) + 0.5 * x.narrow(dim, n - 3, 1)) / step
    return torch.cat([first, middle, last], dim)


def _slopes(x, dim: int, places, edge_order: int):
    """Of coordinates: the slopes of the parabolas through three neighbours each."""
    n = x.size(dim)
    if places.numel() != n:
        raise RuntimeError(f"gradient: dim {dim} has {n} elements, its coordinates are {places.numel()}")
    shape: list[int] = []
    for d in range(x.dim()):
        shape.append(n - 1 if d == dim else 1)
    at = places.to(x.dtype) if places.is_floating_point() else places
    h = (at[1:] - at[:-1]).to(x.dtype).reshape(shape)
    left, right = h.narrow(dim, 0, n - 2), h.narrow(dim, 1, n - 2)
    a, b = h.narrow(dim, 0, 1), h.narrow(dim, n - 2, 1)
    middle = (
        x.narrow(dim, 2, n - 2) * (left / (right * (left + right)))
        + x.narrow(dim, 1, n - 2) * ((right - left) / (left * right))
        - x.narrow(dim, 0, n - 2) * (right / (left * (left + right)))
    )
    if edge_order == 1:
        first = (x.narrow(dim, 1, 1) - x.narrow(dim, 0, 1)) / a
        last = (x.narrow(dim, n - 1, 1) - x.narrow(dim, n - 2, 1)) / b
    else:
        c, d = h.narrow(dim, 1, 1), h.narrow(dim, n - 3, 1)
        first = (
            -x.narrow(dim, 0, 1) * (2 * a + c) / (a * (a + c))
            + x.narrow(dim, 1, 1) * (a + c) / (a * c)
            - x.narrow(dim, 2, 1) * a / (c * (a + c))
        )
        last = (
            x.narrow(dim, n - 3, 1) * b / (d * (d + b))
            - x.narrow(dim, n - 2, 1) * (d + b) / (d * b)
            + x.narrow(dim, n - 1, 1) * (2 * b + d) / (b * (d + b))
        )
    return torch.cat([first, middle, last], dim)


@_stands_for("gradient")
def _gradient(input, spacing=1, dim=None, edge_order: int = 1):
    if edge_order != 1 and edge_order != 2:
        raise RuntimeError(f"gradient: edge_order must be 1 or 2, got {edge_order}")
    n = input.dim()
    dims: list[int] = []
    if dim is None:
        for d in range(n):
            dims.append(d)
    elif isinstance(dim, int):
        dims.append(dim)
    else:
        for d in dim:
            dims.append(d)
    if isinstance(spacing, (tuple, list)):
        if len(spacing) != len(dims):
            raise RuntimeError(f"gradient: {len(spacing)} spacings were given for {len(dims)} dims")
    x = input if input.is_floating_point() or input.is_complex() else input.to(torch.get_default_dtype())
    wide = x.float() if x.dtype == torch.float16 or x.dtype == torch.bfloat16 else x
    found: list[Tensor] = []
    for k in range(len(dims)):
        d = dims[k]
        if d < -n or d >= n:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
        d = d + n if d < 0 else d
        if wide.size(d) < edge_order + 1:
            raise RuntimeError(
                f"gradient: expected each dim to have at least edge_order + 1 = {edge_order + 1} elements, "
                f"dim {d} has {wide.size(d)}"
            )
        if spacing is None:
            slopes = _differences(wide, d, 1.0, edge_order)
        elif isinstance(spacing, (int, float)):
            slopes = _differences(wide, d, float(spacing), edge_order)
        elif isinstance(spacing, (tuple, list)):
            step = spacing[k]
            if isinstance(step, Tensor):
                slopes = _slopes(wide, d, step, edge_order)
            else:
                slopes = _differences(wide, d, float(step), edge_order)
        elif spacing.dim() == 0:
            slopes = _differences(wide, d, float(spacing), edge_order)
        else:
            slopes = _slopes(wide, d, spacing, edge_order)
        found.append(slopes if slopes.is_complex() else slopes.to(x.dtype))
    return found


@_stands_for("svd_lowrank")
def _svd_lowrank(A, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None):
    if A.dim() < 2:
        raise RuntimeError(f"svd_lowrank: expected matrices (2 or more dims), got shape {A.shape}")
    rank = 6 if q is None else q
    if rank < 0 or rank > min(A.size(-2), A.size(-1)):
        raise ValueError(
            f"svd_lowrank: q(={rank}) must be non-negative integer and not greater than "
            f"min(m, n)={min(A.size(-2), A.size(-1))}"
        )
    x = A if M is None else A - M
    is_wide = A.size(-2) < A.size(-1)
    if is_wide:
        x = x.transpose(-2, -1).conj()
    if x.is_complex():
        real = torch.real(x).dtype
        first = torch.randn([x.size(-1), rank], dtype=real)
        test = torch.complex(first, torch.randn([x.size(-1), rank], dtype=real))
    else:
        test = torch.randn([x.size(-1), rank], dtype=x.dtype)
    basis = torch.linalg.qr(x @ test)[0]
    for _ in range(2 if niter is None else niter):
        basis = torch.linalg.qr(x.transpose(-2, -1).conj() @ basis)[0]
        basis = torch.linalg.qr(x @ basis)[0]
    U, S, Vh = torch.linalg.svd(basis.transpose(-2, -1).conj() @ x, full_matrices=False)
    U, V = basis @ U, Vh.transpose(-2, -1).conj()
    if is_wide:
        return V, S, U
    return U, S, V


@_stands_for("pca_lowrank")
def _pca_lowrank(A, q: int | None = None, center: bool = True, niter: int = 2):
    if A.dim() < 2:
        raise RuntimeError(f"pca_lowrank: expected matrices (2 or more dims), got shape {A.shape}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if not A.is_floating_point() and not A.is_complex():
        raise ValueError(f"pca_lowrank: input must be floating point, got {A.dtype}; convert with A.float()")
    rank = min(6, min(A.size(-2), A.size(-1))) if q is None else q
    if center:
        return _svd_lowrank(A - A.mean(-2, keepdim=True), rank, niter)
    return _svd_lowrank(A, rank, niter)


# --- what a tape would know: there is none ---


@_stands_for("requires_grad_", "detach_")
def _unchanged(input, requires_grad: bool = True):
    return input


@_stands_for("is_leaf")
def _is_leaf(input):
    return True


# --- packed sequences ---


@_stands_for("_pack_padded_sequence")
def _pack(input, lengths, batch_first: bool):
    x = input.transpose(0, 1) if batch_first else input
    if lengths.numel() != x.size(1):
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {lengths.numel()} (batch_size={x.size(1)})"
        )
    if lengths.numel() == 0 or int(lengths[-1]) <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if bool((lengths[1:] > lengths[:-1]).any()):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not "
            "need ONNX exportability."
        )
    longest = int(lengths[0])
    if longest > x.size(0):
        raise RuntimeError(f"pack_padded_sequence: lengths has {longest}, the sequences have {x.size(0)} steps")
    runs = torch.arange(longest).unsqueeze(1) < lengths.unsqueeze(0)
    return x[:longest][runs], runs.sum(1)


@_stands_for("_pad_packed_sequence")
def _pad(data, batch_sizes, batch_first: bool, padding_value: float, total_length: int):
    steps = batch_sizes.numel()
    batch = int(batch_sizes[0])
    runs = torch.arange(batch).unsqueeze(0) < batch_sizes.unsqueeze(1)
    padded = data.new_full([max(steps, total_length), batch] + data.shape[1:], padding_value)
    padded[:steps][runs] = data
    return padded.transpose(0, 1) if batch_first else padded, runs.sum(0)


def _layer(mode: str, x, starts: list[int], h, c, weights: list[Tensor], has_biases: bool, is_reverse: bool):
    """One layer, in one direction, over all steps: a row takes part in the steps that its sequence has."""
    b_ih = weights[2] if has_biases else None
    b_hh = weights[3] if has_biases else None
    inputs = F.linear(x, weights[0], b_ih)
    is_projected = len(weights) == (5 if has_biases else 3)
    found: list[Tensor] = []
    steps = len(starts) - 1
    for i in range(steps):
        t = steps - 1 - i if is_reverse else i
        gates = inputs[starts[t] : starts[t + 1]]
        n = gates.size(0)
        before = h[:n]
        if mode == "lstm":
            i_gate, f_gate, g_gate, o_gate = (gates + F.linear(before, weights[1], b_hh)).chunk(4, 1)
            cell = torch.sigmoid(f_gate) * c[:n] + torch.sigmoid(i_gate) * torch.tanh(g_gate)
            after = torch.sigmoid(o_gate) * torch.tanh(cell)
            if is_projected:
                after = F.linear(after, weights[-1])
            c = torch.cat([cell, c[n:]])
        elif mode == "gru":
            after = _gru_step(gates, before, weights[1], b_hh)
        elif mode == "rnn_tanh":
            after = _tanh_step(gates, before, weights[1], b_hh)
        else:
            after = _relu_step(gates, before, weights[1], b_hh)
        h = torch.cat([after, h[n:]])
        found.append(after)
    if is_reverse:
        found.reverse()
    return torch.cat(found), h, c


def _layers(
    mode: str, data, batch_sizes, h0, c0, params: list[Tensor], has_biases: bool, num_layers: int, dropout: float,
    train: bool, bidirectional: bool,
):  # fmt: skip
    starts = [0]
    for t in range(batch_sizes.numel()):
        starts.append(starts[-1] + int(batch_sizes[t]))
    directions = 2 if bidirectional else 1
    each = len(params) // (num_layers * directions)
    h_n: list[Tensor] = []
    c_n: list[Tensor] = []
    x = data
    for layer in range(num_layers):
        outputs: list[Tensor] = []
        for direction in range(directions):
            k = layer * directions + direction
            weights = params[k * each : (k + 1) * each]
            y, h, c = _layer(mode, x, starts, h0[k], c0[k], weights, has_biases, direction == 1)
            outputs.append(y)
            h_n.append(h)
            c_n.append(c)
        x = torch.cat(outputs, 1) if bidirectional else outputs[0]
        if layer < num_layers - 1 and train and dropout > 0:
            x = F.dropout(x, dropout, True)
    return x, torch.stack(h_n), torch.stack(c_n)


@_stands_for("lstm")
def _lstm(
    data, batch_sizes, hx, params, has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool
):
    return _layers(
        "lstm", data, batch_sizes, hx[0], hx[1], params, has_biases, num_layers, dropout, train, bidirectional
    )


def _of_one_state(name):
    def run(
        data, batch_sizes, hx, params, has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool
    ):  # fmt: skip
        y, h, _ = _layers(
            name, data, batch_sizes, hx, hx, params, has_biases, num_layers, dropout, train, bidirectional
        )
        return y, h

    _programs[name] = run


for _each in ("gru", "rnn_tanh", "rnn_relu"):
    _of_one_state(_each)
