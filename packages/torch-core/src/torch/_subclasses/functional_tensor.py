"""Tensors that record what is done to them in place: no compiler asks for it, so none is ever made."""

import torch


class FunctionalTensor(torch.Tensor):
    """The class of tensors whose changes are recorded; it has no instances."""

    def __new__(cls, *args, **kwargs):
        raise NotImplementedError("FunctionalTensor: no compiler records changes of tensors here")


def mb_unwrap_functional_tensor(tensor):
    """The tensor within a recorded one: the tensor itself."""
    return tensor


def disable_functional_mode():
    """A block that records nothing."""
    import contextlib

    return contextlib.nullcontext()
