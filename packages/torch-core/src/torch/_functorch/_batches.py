"""``torch._C._functorch``: questions about tensors that stand for one example of many. There are none."""

NONE = "torch.func.vmap runs a function once for each example here: no tensor stands for several, wrap the function by torch.func.vmap"


def is_batchedtensor(tensor):
    """Whether a tensor stands for one example of many: never.

    >>> torch._C._functorch.is_batchedtensor(torch.ones(2))
    False
    """
    return False


is_legacy_batchedtensor = is_gradtrackingtensor = is_functorch_wrapped_tensor = is_functionaltensor = is_batchedtensor


def get_unwrapped(tensor):
    """The tensor within one that stands for an example: the tensor itself."""
    return tensor


def maybe_get_bdim(tensor):
    """The dim along which a tensor holds examples: -1 for none."""
    return -1


def maybe_get_level(tensor):
    """The call of vmap that a tensor belongs to: -1 for none."""
    return -1


def _add_batch_dim(tensor, in_dim, level):
    """Raises NotImplementedError: the function has to be given to torch.func.vmap."""
    raise NotImplementedError(f"_add_batch_dim: {NONE}")


def _remove_batch_dim(tensor, level, batch_size, out_dim):
    """Raises NotImplementedError: the function has to be given to torch.func.vmap."""
    raise NotImplementedError(f"_remove_batch_dim: {NONE}")


def peek_interpreter_stack():
    """The innermost transformation that runs: None."""
