"""``torch._C._functorch``: questions about tensors that stand for one example of many, which :func:`torch.func.vmap` makes."""

from sys import modules

from .. import _C


def is_batchedtensor(tensor):
    """Whether a tensor stands for one example of many.

    >>> torch._C._functorch.is_batchedtensor(torch.ones(2))
    False
    """
    return maybe_get_level(tensor) > 0


def is_seen(*tensors):
    """Whether someone sees the operators that are called: a trace, a mode, a class of tensors, or ``vmap`` of examples. Then
    one that stands for several is not called in their place.

    >>> is_seen(torch.ones(2))
    False
    """
    return _C._is_watched(*tensors) or any(map(is_batchedtensor, tensors))


def stands_for_others(tensor):
    """Whether a tensor stands for others: examples of many, or a dual number, whose tangent gradients do not tell of.

    >>> stands_for_others(torch.ones(2))
    False
    """
    part = modules.get("torch.autograd._C")
    return part is not None and part._level_among((tensor,))[0] > 0


is_functorch_wrapped_tensor = is_batchedtensor


def is_gradtrackingtensor(tensor):
    """Whether a tensor belongs to a call of torch.func.grad or jvp: never, they use the ordinary tape."""
    return False


is_legacy_batchedtensor = is_functionaltensor = is_gradtrackingtensor


def get_unwrapped(tensor):
    """All examples, of a tensor that stands for one; of another the tensor itself."""
    return modules["torch.autograd._C"]._vmap_unwrap(tensor, 0) if is_batchedtensor(tensor) else tensor


def maybe_get_bdim(tensor):
    """The dim along which :func:`get_unwrapped` holds examples: -1 for none."""
    return 0 if is_batchedtensor(tensor) else -1


def maybe_get_level(tensor):
    """The number of the vmap that a tensor belongs to, the outermost being 1: -1 for none."""
    part = modules.get("torch.autograd._C")  # without it there is no vmap
    return (part._vmap_level(tensor) or -1) if part is not None else -1


def _add_batch_dim(tensor, in_dim, level):
    """One example of all those that a tensor holds along a dim, within the vmap of that level."""
    return modules["torch.autograd._C"]._vmap_wrap(tensor, in_dim, level)


def _remove_batch_dim(tensor, level, batch_size, out_dim):
    """All examples along ``out_dim``, of a tensor that stands for one; of another as many times the tensor itself."""
    value = modules["torch.autograd._C"]._vmap_unwrap(tensor, level)
    if value is None:
        value = tensor.expand(batch_size, *tensor.shape)
    return value.movedim(0, out_dim)


def peek_interpreter_stack():
    """The innermost transformation that runs: None."""
