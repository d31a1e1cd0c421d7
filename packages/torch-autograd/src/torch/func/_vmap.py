"""``vmap``: a function of one example becomes a function of a batch.

The function runs once, on tensors that stand for one example and hold the values of all: each operator computes the
whole batch by a rule, or goes through the examples where it has none (csrc/func). Python cannot go two ways, so what asks
for the value of one example (``if x > 0``, ``x.item()``) is an error.
"""

from __future__ import annotations

import functools
from sys import modules
from typing import NamedTuple

import torch
from torch import Tensor, _seams
from torch._pytree import LeafSpec, _broadcast_to_and_flatten, tree_flatten, tree_unflatten

from ..autograd import _C
from . import _levels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

RANDOMNESS = ("error", "different", "same")


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that maps ``func`` over a dim of its inputs, and stacks the results.

    ``in_dims`` is the dim to map over of each positional input, or None for one that all examples share; it may be a
    tree of the inputs' structure. ``out_dims`` says where the dim of the batch is to stand in each output. Under
    ``randomness="same"`` all examples draw the same numbers, under ``"different"`` their own, under ``"error"`` drawing is
    a RuntimeError. ``chunk_size`` bounds how many examples are computed at once. ValueError for dims that do not fit the
    inputs and for outputs that are no tensors.

    >>> torch.func.vmap(lambda row, scale: (row * scale).sum(), in_dims=(0, None))(torch.eye(2), torch.tensor(3.0))
    tensor([3., 3.])
    """
    if randomness not in RANDOMNESS:
        raise RuntimeError(
            f"vmap: only allowed values for randomness are 'error', 'different' and 'same', got {randomness!r}"
        )
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        name = f"vmap({_levels.name_of(func)}"
        if (steps := _replaced()) is not None:
            size, dims, flat, spec = steps._process_batched_inputs(in_dims, args, func)
        else:
            dims, flat, spec, size = _mapped(name, in_dims, args)
        run = _Run(name, func, out_dims, randomness, steps)
        if chunk_size is None or size <= chunk_size:
            return run.once(flat, dims, spec, size, kwargs)
        begins = range(0, size, chunk_size)
        return run.joined([
            run.once(
                [
                    x if dim is None else x[(slice(None),) * dim + (slice(begin, begin + chunk_size),)]
                    for x, dim in zip(flat, dims, strict=True)
                ],
                dims, spec, min(chunk_size, size - begin), kwargs,
            )
            for begin in begins
        ])  # fmt: skip

    return wrapper


def _replaced():
    """The module of PyTorch's steps of vmap where a library has replaced some of them (torch._functorch.vmap); else None."""
    steps = modules.get("torch._functorch.vmap")
    asked = getattr(steps, "is_replaced", None)  # not there in torch-core 0.1.0
    return steps if asked is not None and asked() else None


def _mapped(name, in_dims, args):
    """The dims to map over, the inputs without their structure, that structure, and the size of the batch."""
    where = f"{name}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple, list)):
        raise ValueError(
            f"{where}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"{name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function "
            "with no inputs. The latter is unsupported."
        )
    flat, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(tuple(in_dims) if isinstance(in_dims, list) else in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{where}: in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{tree_flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    sizes = []
    for k, (x, dim) in enumerate(zip(flat, dims, strict=True)):
        if dim is None:
            continue
        if not isinstance(dim, int):
            raise ValueError(
                f"{where}: Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
            )
        if not isinstance(x, Tensor):
            raise ValueError(
                f"{where}: Got in_dim={dim} for an input but the input is of type {type(x)}. We cannot vmap over "
                "non-Tensor arguments, please use None as the respective in_dim"
            )
        if not -x.dim() <= dim < x.dim():
            raise ValueError(
                f"{where}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {x.dim()} so "
                f"expected in_dim to satisfy -{x.dim()} <= in_dim < {x.dim()}."
            )
        dims[k] = dim % x.dim()
        sizes.append(x.size(dims[k]))
    if not sizes:
        raise ValueError(f"{where}: at least one input must have a dim to map over, and all in_dims are None")
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return dims, flat, spec, sizes[0]


class _Run:
    """The calls of one mapped function, and where the batch stands in its outputs."""

    def __init__(self, name, func, out_dims, randomness, steps=None):
        self.name, self.func, self.out_dims, self.randomness = name, func, out_dims, randomness
        self.steps = steps
        self.begin = torch.get_rng_state() if randomness == "same" else None

    def once(self, flat, dims, spec, size, kwargs):
        """The outputs of the function for a batch of ``size`` examples."""
        if self.begin is not None:
            torch.set_rng_state(self.begin)  # chunks draw the same numbers too
        level = _C._vmap_enter(size, RANDOMNESS.index(self.randomness))
        try:
            if self.steps is not None:
                output = self.func(*self.steps._create_batched_inputs(dims, flat, level, spec), **kwargs)
                return self.steps._unwrap_batched(output, self.out_dims, level, size, self.func)
            examples = [x if dim is None else _C._vmap_wrap(x, dim, level) for x, dim in zip(flat, dims, strict=True)]
            output = self.func(*tree_unflatten(examples, spec), **kwargs)
            outputs, self.spec = tree_flatten(output)
            self.dims = self._out_dims()
            values = [self._batch(one, dim, level, size) for one, dim in zip(outputs, self.dims, strict=True)]
        finally:
            _C._vmap_leave()
        return self.spec.unflatten(
            [v if dim in (None, 0) else v.movedim(0, dim) for v, dim in zip(values, self.dims, strict=True)]
        )

    def _out_dims(self):
        wanted, is_one = self.out_dims, isinstance(self.spec, LeafSpec)
        if is_one and isinstance(wanted, tuple) and len(wanted) == 1:
            (wanted,) = wanted
        dims = _broadcast_to_and_flatten(wanted, self.spec)
        if dims is None:
            raise ValueError(
                f"{self.name}, ..., out_dims={self.out_dims})(<inputs>): out_dims is not compatible with the structure of "
                f"`outputs`. out_dims has structure {tree_flatten(self.out_dims)[1]} but outputs has structure {self.spec}."
            )
        return dims

    def _batch(self, one, dim, level, size):
        where, func = f"{self.name}, ...)", _levels.name_of(self.func)
        if not isinstance(one, Tensor):
            if dim is None:
                return one
            raise ValueError(
                f"{where}: `{func}` must only return Tensors, got type {type(one)}. Did you mean to set out_dims= to None "
                "for output?"
            )
        value = _C._vmap_unwrap(one, level)
        if dim is None:
            if value is not None:
                raise ValueError(f"{where}: `{func}` can not return a BatchedTensor when out_dim is None")
            return one
        if not isinstance(dim, int):
            raise ValueError(f"{where}: `out_dims` must be an int, None or a tree of these, got {dim!r}")
        if not -one.dim() - 1 <= dim <= one.dim():
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-one.dim() - 1}, {one.dim()}], but got {dim})"
            )
        return one.expand(size, *one.shape) if value is None else value

    def joined(self, chunks):
        """The outputs of all chunks as those of one batch."""
        columns = zip(*(tree_flatten(chunk)[0] for chunk in chunks), strict=True)
        if self.steps is not None:
            self.spec = tree_flatten(chunks[0])[1]
            self.dims = self._out_dims()
        return self.spec.unflatten(
            [
                column[0] if dim is None else torch.cat(column, dim)
                for column, dim in zip(columns, self.dims, strict=True)
            ]
        )


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """All examples of a batch, of one example of it: to be looked at. Of any other tensor, itself.

    With ``recurse`` those of the outermost batch, else of the innermost one.

    >>> def row(x):
    ...     print(x.shape, torch.func.debug_unwrap(x).shape)
    ...     return x
    >>> _ = torch.func.vmap(row)(torch.ones(2, 3))
    torch.Size([3]) torch.Size([2, 3])
    """
    if not isinstance(tensor, Tensor):
        raise ValueError(f"debug_unwrap: expected a Tensor, got {type(tensor).__name__}")
    while (inner := _C._vmap_unwrap(tensor, 0)) is not None:
        tensor = inner
        if not recurse:
            break
    return tensor


class _Info(NamedTuple):
    """What a rule for vmap is told of the batch."""

    batch_size: int
    randomness: str


def _registered_operator(operator, arguments):
    """The result of an operator of torch.library on examples of a batch: by its rule, else example by example."""
    flat, spec = tree_flatten((operator._schema.positional(arguments), operator._schema.named(arguments)))
    level = max((_C._vmap_level(x) for x in flat if isinstance(x, Tensor)), default=0)
    if not level:
        return NotImplemented
    values = [_C._vmap_unwrap(x, level) if isinstance(x, Tensor) else None for x in flat]
    size = next(len(v) for v in values if v is not None)
    full = [x if v is None else v for x, v in zip(flat, values, strict=True)]
    if operator.batch_rule is not None:
        args, kwargs = spec.unflatten(full)
        in_dims = spec.unflatten([None if v is None else 0 for v in values])[0]
        result, out_dims = operator.batch_rule(_Info(size, _C._vmap_randomness()), tuple(in_dims), *args, **kwargs)
        outputs, shape = tree_flatten(result)
        dims = _broadcast_to_and_flatten(out_dims, shape)
        if dims is None:
            raise ValueError(f"{operator.name()}: the rule for vmap gave out_dims {out_dims} for {shape}")
        return shape.unflatten(
            [x if d is None else _C._vmap_wrap(x, d, level) for x, d in zip(outputs, dims, strict=True)]
        )
    rows = []
    for i in range(size):
        args, kwargs = spec.unflatten([x if v is None else v[i] for x, v in zip(flat, values, strict=True)])
        rows.append(tree_flatten(operator(*args, **kwargs)))
    if not rows:
        raise NotImplementedError(
            f"{operator.name()}: an empty batch has no example that tells the shape of the result"
        )
    columns = zip(*(row for row, _ in rows), strict=True)
    return rows[0][1].unflatten(
        [
            _C._vmap_wrap(torch.stack(column), 0, level) if isinstance(column[0], Tensor) else column[0]
            for column in columns
        ]
    )


_seams.around_registered.append(_registered_operator)


def _text(tensor):
    """What ``repr`` says of a tensor that stands for the examples of a batch; None for any other."""
    level = _C._vmap_level(tensor)
    if not level:
        return None
    value = repr(_C._vmap_unwrap(tensor, level)).replace("\n", "\n    ")
    return f"BatchedTensor(lvl={level}, bdim=0, value=\n    {value}\n)"


_seams.print_wrappers.append(_text)
