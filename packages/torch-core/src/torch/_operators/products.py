"""Products whose arguments come in several forms: tensordot, einsum, chain_matmul."""

from __future__ import annotations

from .. import _C
from .._C import Tensor
from ..overrides import handle_torch_function, has_torch_function
from .out import check_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _row(name):
    return _C._operator(name)


def _written(result, out, name):
    if out is None:
        return result
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if out.shape != result.shape:
        out.resize_(result.shape)
    return out.copy_(result)


def tensordot(
    a: Tensor, b: Tensor, dims: int | Sequence[int] | Sequence[Sequence[int]] | Tensor = 2, out: Tensor | None = None
) -> Tensor:
    """Sum of products over pairs of dimensions: the last ``dims`` of a with the first of b, or two lists of dims.

    >>> torch.tensordot(torch.ones(2, 3, 4), torch.ones(3, 4, 5)).shape
    torch.Size([2, 5])
    >>> torch.tensordot(torch.ones(2, 3), torch.ones(4, 3), dims=([1], [1])).shape
    torch.Size([2, 4])
    """
    if has_torch_function((a, b)):
        return handle_torch_function(tensordot, (a, b), a, b, dims=dims, out=out)
    return _contracted(a, b, dims, out)


def _contracted(a, b, dims=2, out=None):
    if isinstance(dims, Tensor):
        dims = int(dims) if dims.numel() == 1 else dims.tolist()
    if isinstance(dims, (list, tuple)):
        if len(dims) != 2:
            raise RuntimeError(f"tensordot: dims must be a number or two lists of dims, got {dims!r}")
        left, right = ([d] if isinstance(d, int) else list(d) for d in dims)
    elif not hasattr(dims, "__index__"):
        raise RuntimeError(f"tensordot: dims must be a number or two lists of dims, got {dims!r}")
    else:
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(
                f"tensordot: expected dims <= the tensors' dimensions, got {dims} for shapes {tuple(a.shape)} and {tuple(b.shape)}"
            )
        left, right = list(range(a.dim() - dims, a.dim())), list(range(dims))
    return _written(_row("_tensordot")(a, b, left, right), out, "tensordot")


def einsum(*args: Any) -> Tensor:
    """Sum of products by Einstein's notation: ``einsum("bij,bjk->bik", x, y)``, or labels as lists of numbers.

    >>> torch.einsum("ij,j->i", torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    >>> torch.einsum("...ii", torch.eye(3).expand(2, 3, 3))
    tensor([3., 3.])
    """
    if len(args) < 2:
        raise ValueError("einsum: expected an equation and at least one operand")
    if isinstance(args[0], Tensor):  # operand, labels, operand, labels, ..., [labels of the output]
        named = args if len(args) % 2 == 0 else args[:-1]
        equation = ",".join(_letters(labels) for labels in named[1::2])
        if len(args) % 2:
            equation += "->" + _letters(args[-1])
        operands = named[::2]
    else:
        equation, *operands = args
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    if has_torch_function(operands):
        return handle_torch_function(einsum, operands, equation, *operands)
    return _summed(equation, *operands)


def _summed(equation, *operands):
    return _row("_einsum")(equation, list(operands))


#: for who records: what a function calls that has asked the classes of its arguments
tensordot._composed, einsum._composed = _contracted, _summed


def _letters(labels):
    for label in labels:
        if label is not Ellipsis and not (isinstance(label, int) and 0 <= label < len(_LETTERS)):
            raise ValueError(f"einsum: labels are numbers from 0 to {len(_LETTERS) - 1} or ..., got {label!r}")
    return "".join("..." if label is Ellipsis else _LETTERS[label] for label in labels)


def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """Product of several matrices in the order of least work.

    >>> torch.chain_matmul(torch.ones(2, 3), torch.ones(3, 4), torch.ones(4, 5)).shape
    torch.Size([2, 5])
    """
    if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)):
        matrices = matrices[0]
    if not matrices:
        raise RuntimeError("chain_matmul: expected at least one matrix")
    for i, m in enumerate(matrices):
        check_tensor("chain_matmul", **{f"matrices[{i}]": m})
        if m.dim() != 2:
            raise RuntimeError(f"chain_matmul: tensor {i} must be a matrix (2-d), got shape {tuple(m.shape)}")
    product = matrices[0].clone() if len(matrices) == 1 else _C._functions()["linalg"]["multi_dot"](list(matrices))
    return _written(product, out, "chain_matmul")
