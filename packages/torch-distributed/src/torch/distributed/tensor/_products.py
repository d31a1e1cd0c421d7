"""Products: matrices, batches of them, linear layers, ``einsum``, attention, convolutions."""

import torch

from ._plans import Plan, carry_out

__all__ = ["PRODUCTS"]


def _aligned(shapes):
    """Labels of dims that are broadcast against each other, counted from the last, and the shape of the result."""
    shape = torch.broadcast_shapes(*shapes)
    labels = []
    for one in shapes:
        first = len(shape) - len(one)
        labels.append(tuple(first + i if n == shape[first + i] and n != 1 else None for i, n in enumerate(one)))
    return labels, shape, tuple(range(len(shape)))


def matmul(a, b, run=torch.matmul):
    """``a @ b`` with the shapes that ``torch.matmul`` takes."""
    left, right = a._spec.shape, b._spec.shape
    if not left or not right:
        raise RuntimeError("matmul: both arguments need to be at least 1-D")
    if left[-1] != right[-2 if len(right) > 1 else 0]:
        raise RuntimeError(f"matmul: last dim of self {tuple(left)} does not fit other {tuple(right)}")
    (before, behind), batch, labels = _aligned([left[:-2], right[:-2]])
    rows = ((left[-2], "i"),) if len(left) > 1 else ()
    columns = ((right[-1], "j"),) if len(right) > 1 else ()
    return carry_out(
        Plan(
            [a, b],
            [(*before, *(label for _, label in rows), "k"), (*behind, "k", *(label for _, label in columns))],
            [((*batch, *(n for n, _ in rows + columns)), (*labels, *(label for _, label in rows + columns)))],
            run,
            sums=frozenset("k"),
            linear=True,
        )
    )


def linear(x, weight, bias=None):
    """``x @ weight.t() + bias``."""
    if x._spec.shape[-1:] != weight._spec.shape[-1:]:
        raise RuntimeError(
            f"linear: input of shape {tuple(x._spec.shape)} does not fit a weight of shape {tuple(weight._spec.shape)}"
        )
    labels = tuple(range(len(x._spec.shape) - 1))
    out = ("j",) if len(weight._spec.shape) > 1 else ()
    product = carry_out(
        Plan(
            [x, weight],
            [(*labels, "k"), (*out, "k")],
            [((*x._spec.shape[:-1], *weight._spec.shape[:-1]), (*labels, *out))],
            torch.nn.functional.linear,
            sums=frozenset("k"),
            linear=True,
        )
    )
    return product if bias is None else torch.add(product, bias)


def _plus(product):
    def function(input, *factors, beta=1, alpha=1):
        result = product(*factors)
        result = result if alpha == 1 else result * alpha
        return result if beta == 0 else torch.add(result, input if beta == 1 else input * beta)

    return function


def einsum(equation, *operands):
    """By the letters of the equation; None where a letter stands twice for one tensor, or dots for dims."""
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    text = equation.replace(" ", "")
    if "." in text:
        return None
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    if not arrow:
        output = "".join(sorted(c for c in set(inputs) - {","} if inputs.count(c) == 1))
    if any(len(set(term)) != len(term) for term in [*terms, output]) or len(terms) != len(operands):
        return None
    if any(len(term) != len(x._spec.shape) for term, x in zip(terms, operands, strict=True)):
        return None
    lengths = {}
    for term, x in zip(terms, operands, strict=True):
        for letter, n in zip(term, x._spec.shape, strict=True):
            if lengths.setdefault(letter, n) != n:
                return None
    return carry_out(
        Plan(
            list(operands),
            [tuple(term) for term in terms],
            [([lengths[letter] for letter in output], tuple(output))],
            lambda *pieces: torch.einsum(text, *pieces),
            sums=frozenset(lengths) - set(output),
            linear=True,
        )
    )


def outer(a, b):
    shape = (*a._spec.shape, *b._spec.shape)
    return carry_out(Plan([a, b], [("i",), ("j",)], [(shape, ("i", "j"))], torch.outer, linear=True))


def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """Batches and heads lie on the ranks; the positions of a sequence are together."""
    if dropout_p or enable_gqa:
        return None
    operands = [query, key, value] + ([] if attn_mask is None else [attn_mask])
    labels, shape, batch = _aligned([x._spec.shape[:-2] for x in operands])
    if len(shape) != len(query._spec.shape) - 2:
        return None

    def run(q, k, v, mask=None):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, mask, 0.0, is_causal, scale)

    size = (*shape, query._spec.shape[-2], value._spec.shape[-1])
    return carry_out(Plan(operands, [(*one, None, None) for one in labels], [(size, (*batch, None, None))], run))


def _by_samples(function, dims):
    """A layer that treats the first dim's entries each for itself, if there is one beside the ``dims`` of a sample."""

    def plan(x, *parameters, **options):
        tensors = [p for p in parameters if isinstance(p, torch.Tensor)]
        if len(x._spec.shape) != dims + 1 or any(isinstance(v, torch.Tensor) for v in options.values()):
            return None
        probe = function(
            torch.empty(tuple(x._spec.shape), dtype=x.dtype, device="meta"),
            *(
                torch.empty(tuple(p._spec.shape), dtype=p.dtype, device="meta") if isinstance(p, torch.Tensor) else p
                for p in parameters
            ),
            **options,
        )
        if not isinstance(probe, torch.Tensor):
            return None

        def run(piece, *others):
            others = iter(others)
            return function(piece, *(next(others) if isinstance(p, torch.Tensor) else p for p in parameters), **options)

        rest = (None,) * dims
        labels = [("n", *rest)] + [(None,) * len(p._spec.shape) for p in tensors]
        return carry_out(Plan([x, *tensors], labels, [(probe.shape, ("n", *(None,) * (probe.dim() - 1)))], run))

    return plan


PRODUCTS = {
    "matmul": matmul,
    "__matmul__": matmul,
    "__rmatmul__": lambda a, b: matmul(b, a),
    "mm": matmul,
    "bmm": matmul,
    "mv": matmul,
    "dot": matmul,
    "inner": lambda a, b: linear(a, b) if len(b._spec.shape) < 2 else None,
    "outer": outer,
    "ger": outer,
    "linear": linear,
    "addmm": _plus(matmul),
    "addmv": _plus(matmul),
    "baddbmm": _plus(matmul),
    "_einsum": einsum,
    "einsum": einsum,
    "scaled_dot_product_attention": attention,
    "conv1d": _by_samples(torch.nn.functional.conv1d, 2),
    "conv2d": _by_samples(torch.nn.functional.conv2d, 3),
    "conv3d": _by_samples(torch.nn.functional.conv3d, 4),
    "max_pool1d": _by_samples(torch.nn.functional.max_pool1d, 2),
    "max_pool2d": _by_samples(torch.nn.functional.max_pool2d, 3),
    "avg_pool1d": _by_samples(torch.nn.functional.avg_pool1d, 2),
    "avg_pool2d": _by_samples(torch.nn.functional.avg_pool2d, 3),
    "adaptive_avg_pool2d": _by_samples(torch.nn.functional.adaptive_avg_pool2d, 3),
}
