"""Views as tensors of their own: ``torch.permute_copy`` and the other ``*_copy`` functions, and pieces that are views each
by itself (``unsafe_split``). All of them follow from the view that their name begins with.
"""

from __future__ import annotations

from .. import _C
from .._C import Tensor
from .out import into, of_tensors

#: views that have a ``*_copy`` form
VIEWS = (
    "alias", "as_strided", "detach", "diagonal", "expand", "indices", "narrow", "permute", "select", "slice", "split",
    "split_with_sizes", "squeeze", "t", "transpose", "unbind", "unfold", "unsqueeze", "values", "view", "view_as_complex",
    "view_as_real",
)  # fmt: skip
_SEVERAL = frozenset({"split", "split_with_sizes", "unbind"})  #: of these, what gives several tensors


def _copying(view):
    name = f"{view}_copy"
    operator = getattr(_C.Tensor, view) if view in ("indices", "values") else _C._operator(view)

    def copy(input, *args, out=None, **kwargs):
        result = operator(input, *args, **kwargs)
        if not isinstance(result, tuple):
            return into(name, _dense(result), out)
        if out is not None and len(out) != len(result):
            raise RuntimeError(f"{name}: there are {len(result)} results, but out= has {len(out)} tensors")
        places = [None] * len(result) if out is None else out
        return tuple(into(name, _dense(piece), place) for piece, place in zip(result, places, strict=True))

    copy.__name__ = copy.__qualname__ = name
    copy.__annotations__["return"] = "tuple[Tensor, ...]" if view in _SEVERAL else "Tensor"
    copy.__doc__ = f"As ``{view}``, with the result in memory of its own."
    return copy


def _dense(view):
    if view.layout != _C.strided:
        return view.clone()
    return _C._operator("clone")(view, memory_format=_C.contiguous_format)


globals().update((f"{view}_copy", _copying(view)) for view in VIEWS)


def _apart(split, input, sizes, dim):
    begin, result = 0, []
    for piece in _C._operator(split)(input.detach(), sizes, dim):
        result.append(_C._operator("slice")(input, dim, begin, begin + piece.shape[dim]))
        begin += piece.shape[dim]
    return tuple(result)


@of_tensors
def unsafe_chunk(input: Tensor, chunks, dim=0):
    """As ``chunk``, with pieces that may be changed in place while gradients are recorded."""
    return _apart("chunk", input, chunks, dim)


@of_tensors
def unsafe_split(input: Tensor, split_size, dim=0):
    """As ``split``, with pieces that may be changed in place while gradients are recorded."""
    return _apart("split", input, split_size, dim)


@of_tensors
def unsafe_split_with_sizes(input: Tensor, split_sizes, dim=0):
    """As ``split_with_sizes``, with pieces that may be changed in place while gradients are recorded."""
    return _apart("split_with_sizes", input, split_sizes, dim)


def _chunk_cat(tensors, dim, num_chunks, *, out=None):
    """Each tensor cut into ``num_chunks`` along a dim, zeros behind it where it is short, and the first chunks of all side by
    side, then the second ones: (..., num_chunks, elements of a chunk of each)."""
    if not tensors:
        raise RuntimeError("_chunk_cat: expected tensors, got none")
    if num_chunks < 1:
        raise RuntimeError(f"_chunk_cat: num_chunks must be positive, got {num_chunks}")
    ndim = tensors[0].dim()
    if dim < 0 and any(t.dim() != ndim for t in tensors):
        raise RuntimeError(
            f"_chunk_cat: dim {dim} is counted from the back, but the tensors have different numbers of dims"
        )
    dim = dim + ndim if dim < 0 else dim
    lead, rows = tensors[0].shape[:dim], []
    for t in tensors:
        if not t.numel():
            raise RuntimeError(f"_chunk_cat: expected tensors with elements, got shape {tuple(t.shape)}")
        if not 0 <= dim < t.dim():
            raise RuntimeError(f"_chunk_cat: dim {dim} is out of range for a tensor of shape {tuple(t.shape)}")
        if t.shape[:dim] != lead:
            raise RuntimeError(
                f"_chunk_cat: the sizes before dim {dim} must be equal, got shapes {tuple(tensors[0].shape)} and {tuple(t.shape)}"
            )
        missing = -t.shape[dim] % num_chunks
        padded = _C._operator("constant_pad_nd")(t, [0, 0] * (t.dim() - dim - 1) + [0, missing]) if missing else t
        rows.append(padded.reshape(*lead, num_chunks, -1))
    return into("_chunk_cat", _C._operator("cat")(rows, dim + 1), out)
