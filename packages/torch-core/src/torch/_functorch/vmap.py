"""The steps of ``vmap`` as the module has them in which PyTorch keeps it. Libraries that map over containers of their own put
other functions in the place of these (tensordict does), and :func:`torch.func.vmap` then takes those.
"""

from torch import Tensor
from torch.func import vmap
from torch.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_map_, tree_unflatten

from ._batches import _add_batch_dim, _remove_batch_dim

__all__ = ["Tensor", "tree_flatten", "tree_map_", "tree_unflatten", "vmap"]

in_dims_t = int | tuple
out_dims_t = int | tuple[int, ...]


def _get_name(func):
    return getattr(func, "__name__", None) or repr(func)


def _validate_and_get_batch_size(flat_in_dims, flat_args):
    """The number of examples; ValueError where the arguments disagree."""
    sizes = [arg.size(dim) for dim, arg in zip(flat_in_dims, flat_args, strict=True) if dim is not None]
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped dimension"
        )
    return sizes[0]


def _process_batched_inputs(in_dims, args, func):
    """The number of examples, and the arguments and their dims as flat lists; ValueError where they do not fit."""
    name = _get_name(func)
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}): in_dims must be an int or a tuple, got {type(in_dims).__name__}"
        )
    if not args:
        raise ValueError(f"vmap({name}): the function takes no inputs, so there is nothing to map over")
    flat_args, spec = tree_flatten(args)
    flat_in_dims = _broadcast_to_and_flatten(in_dims, spec)
    if flat_in_dims is None:
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}): in_dims is not laid out as the inputs are: {tree_flatten(args)[1]}"
        )
    for i, (arg, dim) in enumerate(zip(flat_args, flat_in_dims, strict=True)):
        if dim is None:
            continue
        if not isinstance(arg, Tensor):
            raise ValueError(
                f"vmap({name}, in_dims={in_dims}): in_dim {dim} is given for an input of type {type(arg).__name__}; use None"
            )
        if not -arg.dim() <= dim < arg.dim():
            raise ValueError(
                f"vmap({name}, in_dims={in_dims}): in_dim {dim} does not fit an input of shape {tuple(arg.shape)}"
            )
        flat_in_dims[i] = dim % arg.dim()
    return _validate_and_get_batch_size(flat_in_dims, flat_args), flat_in_dims, flat_args, spec


def _create_batched_inputs(flat_in_dims, flat_args, vmap_level, args_spec):
    """The arguments, each tensor with a dim to map over as one example of those that it holds."""
    made = [a if d is None else _add_batch_dim(a, d, vmap_level) for d, a in zip(flat_in_dims, flat_args, strict=True)]
    return tree_unflatten(made, args_spec)


def _maybe_remove_batch_dim(name, batched_output, vmap_level, batch_size, out_dim):
    """All examples of an output along ``out_dim``; the output as it is where that is None."""
    if out_dim is None:
        return batched_output
    if not isinstance(batched_output, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(batched_output)}. Did you mean to set "
            "out_dims= to None for output?"
        )
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)


def _unwrap_batched(batched_outputs, out_dims, vmap_level, batch_size, func):
    """The outputs of a mapped function with all examples in them."""
    flat, spec = tree_flatten(batched_outputs)
    dims, name = _broadcast_to_and_flatten(out_dims, spec), _get_name(func)
    if dims is None:
        raise ValueError(f"vmap({name}, ..., out_dims={out_dims}): out_dims is not laid out as the outputs are: {spec}")
    return tree_unflatten(
        [_maybe_remove_batch_dim(name, one, vmap_level, batch_size, dim) for one, dim in zip(flat, dims, strict=True)],
        spec,
    )


_OWN = {f.__name__: f for f in (_process_batched_inputs, _create_batched_inputs, _unwrap_batched)}


def is_replaced():
    """Whether a library has put a function of its own in the place of one of these steps."""
    return any(globals()[name] is not own for name, own in _OWN.items())
