"""The operators ``torch.ops._c10d_functional``: collectives that return new tensors, with the group by its name, which are
done when they return; ``torch.ops.c10d_functional`` are the older ones, with the group by its ranks. Tensor subclasses and
``__torch_dispatch__`` see them as operators.

>>> torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
>>> torch.ops._c10d_functional.all_gather_into_tensor(torch.ones(2), 1, torch.distributed.group.WORLD.group_name)
tensor([1., 1.])
>>> torch.distributed.destroy_process_group()
"""

import torch
from torch.library import Library

from . import _collectives as collectives
from . import _world as world
from ._reduce import ReduceOp
from .distributed_c10d import _resolve_process_group as _named


def _op(name):
    try:
        return ReduceOp(name.upper())
    except ValueError:
        raise RuntimeError(
            f"reduce_op must be one of sum, avg, product, min, max, band, bor, bxor, got {name!r}"
        ) from None


def _of_ranks(ranks):
    """The name of the group of these ranks."""
    return world.of_ranks(ranks).group_name


def _sized(name, group_size, group_name):
    group = _named(group_name)
    if group.size() != group_size:
        raise ValueError(f"{name}: group_size is {group_size}, and group {group_name!r} has {group.size()} ranks")
    return group


def all_reduce_(input, reduce_op, group_name):
    """Reduce the tensors of all ranks, in place."""
    if not input.is_meta:
        collectives.all_reduce(input, _op(reduce_op), _named(group_name))
    return input


def all_reduce(input, reduce_op, group_name):
    """The reduction of all ranks' tensors."""
    return all_reduce_(input.detach().clone(memory_format=torch.contiguous_format), reduce_op, group_name)


def broadcast_(input, src, group_name):
    """Fill the tensor of each rank with that of ``src``, a place in the group."""
    if not input.is_meta:
        group = _named(group_name)
        collectives.broadcast(input, group=group, group_src=src)
    return input


def broadcast(input, src, group_name):
    """The tensor of the rank at place ``src`` of the group."""
    return broadcast_(input.detach().clone(memory_format=torch.contiguous_format), src, group_name)


def all_gather_into_tensor_out(input, group_size, group_name, *, out):
    """The tensors of all ranks, joined along dim 0 in ``out``."""
    if not input.is_meta:
        group = _sized("all_gather_into_tensor", group_size, group_name)
        collectives.all_gather_into_tensor(out, input.detach().contiguous(), group)
    return out


def all_gather_into_tensor(input, group_size, group_name):
    """The tensors of all ranks, joined along dim 0; numbers become a line of them."""
    out = input.new_empty([group_size * (input.shape or (1,))[0], *input.shape[1:]])
    return all_gather_into_tensor_out(input, group_size, group_name, out=out)


def reduce_scatter_tensor_out(input, reduce_op, group_size, group_name, *, out):
    """Our piece of dim 0 of the reduction of all ranks' tensors, in ``out``."""
    if not input.is_meta:
        group = _sized("reduce_scatter_tensor", group_size, group_name)
        collectives.reduce_scatter_tensor(out, input.detach().contiguous(), _op(reduce_op), group)
    return out


def reduce_scatter_tensor(input, reduce_op, group_size, group_name):
    """Our piece of dim 0 of the reduction of all ranks' tensors."""
    if not input.dim() or input.shape[0] % group_size:
        raise ValueError(
            f"reduce_scatter_tensor: dim 0 of a tensor of shape {tuple(input.shape)} has no {group_size} equal pieces"
        )
    out = input.new_empty([input.shape[0] // group_size, *input.shape[1:]])
    return reduce_scatter_tensor_out(input, reduce_op, group_size, group_name, out=out)


def all_to_all_single(input, output_split_sizes, input_split_sizes, group_name):
    """What all ranks have for us, joined along dim 0: the sizes are those of the pieces that arrive and that go."""
    out = input.new_empty([sum(output_split_sizes), *input.shape[1:]])
    if not input.is_meta:
        source = input.detach().contiguous()
        collectives.all_to_all_single(
            out, source, list(output_split_sizes), list(input_split_sizes), _named(group_name)
        )
    return out


def wait_tensor(tensor):
    """The tensor, which is there already."""
    return tensor


def _each(function):
    return lambda inputs, *more: [function(input, *more) for input in inputs]


_ops = torch.ops._c10d_functional
_NAMES = Library("_c10d_functional", "DEF")
_RANKS = Library("c10d_functional", "DEF")
_GRADIENTS = Library("_c10d_functional_autograd", "DEF")

_SUM, _SIZED = "str reduce_op, str group_name", "int group_size, str group_name"
_SPLITS = "SymInt[] output_split_sizes, SymInt[] input_split_sizes, str group_name"
for _schema, _function in (
    (f"all_reduce(Tensor input, {_SUM}) -> Tensor", all_reduce),
    (f"all_reduce_(Tensor(a!) input, {_SUM}) -> Tensor(a!)", all_reduce_),
    (f"all_reduce_coalesced(Tensor[] inputs, {_SUM}) -> Tensor[]", _each(all_reduce)),
    (f"all_reduce_coalesced_(Tensor[](a!) inputs, {_SUM}) -> Tensor[](a!)", _each(all_reduce_)),
    ("broadcast(Tensor input, int src, str group_name) -> Tensor", broadcast),
    ("broadcast_(Tensor(a!) input, int src, str group_name) -> Tensor(a!)", broadcast_),
    (f"all_gather_into_tensor(Tensor input, {_SIZED}) -> Tensor", all_gather_into_tensor),
    (f"all_gather_into_tensor_out(Tensor input, {_SIZED}, *, Tensor(a!) out) -> Tensor(a!)", all_gather_into_tensor_out),
    (f"all_gather_into_tensor_coalesced(Tensor[] inputs, {_SIZED}) -> Tensor[]", _each(all_gather_into_tensor)),
    (f"reduce_scatter_tensor(Tensor input, str reduce_op, {_SIZED}) -> Tensor", reduce_scatter_tensor),
    (f"reduce_scatter_tensor_out(Tensor input, str reduce_op, {_SIZED}, *, Tensor(a!) out) -> Tensor(a!)", reduce_scatter_tensor_out),
    (f"reduce_scatter_tensor_coalesced(Tensor[] inputs, str reduce_op, {_SIZED}) -> Tensor[]", _each(reduce_scatter_tensor)),
    (f"all_to_all_single(Tensor input, {_SPLITS}) -> Tensor", all_to_all_single),
):  # fmt: skip
    _NAMES.define(_schema)
    _NAMES.impl(_schema.partition("(")[0], _function, "CompositeExplicitAutograd")
for _name in ("wait_tensor(Tensor tensor)", "_wrap_tensor_autograd(Tensor input)"):
    _NAMES.define(f"{_name} -> Tensor")
    _NAMES.impl(_name.partition("(")[0], wait_tensor, "CompositeImplicitAutograd")

_WHERE = "str tag, int[] ranks, int group_size"
for _schema, _function in (
    (f"all_reduce(Tensor self, str reduceOp, {_WHERE}) -> Tensor", lambda x, op, tag, ranks, n: _ops.all_reduce(x, op, _of_ranks(ranks))),
    (f"all_reduce_coalesced(Tensor[] self, str reduceOp, {_WHERE}) -> Tensor[]",
     lambda x, op, tag, ranks, n: _ops.all_reduce_coalesced(x, op, _of_ranks(ranks))),
    (f"broadcast(Tensor self, int src, {_WHERE}) -> Tensor", lambda x, src, tag, ranks, n: _ops.broadcast(x, src, _of_ranks(ranks))),
    (f"all_gather_into_tensor(Tensor shard, {_WHERE}) -> Tensor",
     lambda x, tag, ranks, n: _ops.all_gather_into_tensor(x, n, _of_ranks(ranks))),
    (f"all_gather_into_tensor_coalesced(Tensor[] input, {_WHERE}) -> Tensor[]",
     lambda x, tag, ranks, n: _ops.all_gather_into_tensor_coalesced(x, n, _of_ranks(ranks))),
    (f"reduce_scatter_tensor(Tensor input, str reduceOp, {_WHERE}) -> Tensor",
     lambda x, op, tag, ranks, n: _ops.reduce_scatter_tensor(x, op, n, _of_ranks(ranks))),
    (f"reduce_scatter_tensor_coalesced(Tensor[] inputs, str reduceOp, {_WHERE}) -> Tensor[]",
     lambda x, op, tag, ranks, n: _ops.reduce_scatter_tensor_coalesced(x, op, n, _of_ranks(ranks))),
    (f"all_to_all_single(Tensor input, SymInt[]? output_split_sizes, SymInt[]? input_split_sizes, {_WHERE}) -> Tensor",
     lambda x, taken, sent, tag, ranks, n: _ops.all_to_all_single(
         x, taken or [len(x) // n] * n, sent or [len(x) // n] * n, _of_ranks(ranks))),
):  # fmt: skip
    _RANKS.define(_schema)
    _RANKS.impl(_schema.partition("(")[0], _function, "CompositeImplicitAutograd")
_RANKS.define("wait_tensor(Tensor self) -> Tensor")
_RANKS.impl("wait_tensor", wait_tensor, "CompositeImplicitAutograd")


def _differentiable(name, arguments, backward):
    """Give an operator its derivative in both namespaces of groups by name: gradients travel the way back."""
    operator = getattr(torch.ops._c10d_functional, name)

    def remember(ctx, inputs, output):
        ctx.more = inputs[1:]

    def back(ctx, gradient):
        return backward(gradient, *ctx.more), *(None for _ in ctx.more)

    torch.library.register_autograd(f"_c10d_functional::{name}", back, setup_context=remember, lib=_NAMES)
    if name != "all_reduce":
        _GRADIENTS.define(f"{name}(Tensor input, {arguments}) -> Tensor")
        _GRADIENTS.impl(name, lambda *values: operator(*values), "CompositeImplicitAutograd")


def _of_sums(name, op, gradient, group_name):
    """The gradient of a sum over ranks, or of their mean."""
    if op not in ("sum", "avg"):
        raise NotImplementedError(f"{name}: only sums and means over ranks have a derivative, not {op!r}")
    return gradient / _named(group_name).size() if op == "avg" else gradient


_differentiable(
    "all_reduce", _SUM, lambda g, op, group: _of_sums("all_reduce", op, _ops.all_reduce(g, "sum", group), group)
)
_differentiable(
    "all_gather_into_tensor", _SIZED, lambda g, size, group: _ops.reduce_scatter_tensor(g, "sum", size, group)
)
_differentiable(
    "reduce_scatter_tensor",
    f"str reduce_op, {_SIZED}",
    lambda g, op, size, group: _of_sums(
        "reduce_scatter_tensor", op, _ops.all_gather_into_tensor(g, size, group), group
    ),
)
_differentiable(
    "all_to_all_single", _SPLITS, lambda g, taken, sent, group: _ops.all_to_all_single(g, sent, taken, group)
)
