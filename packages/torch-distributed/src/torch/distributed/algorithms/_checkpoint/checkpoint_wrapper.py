"""Modules that compute their activations again in backward."""

import enum
from functools import partial

from torch import nn
from torch.autograd.graph import save_on_cpu

__all__ = [
    "CheckpointImpl", "CheckpointWrapper", "OffloadWrapper", "apply_activation_checkpointing", "checkpoint_wrapper",
    "offload_wrapper",
]  # fmt: skip

INNER = "_checkpoint_wrapped_module."


class CheckpointImpl(enum.Enum):
    """Which form of :func:`torch.utils.checkpoint.checkpoint`."""

    REENTRANT = enum.auto()
    NO_REENTRANT = enum.auto()


class ActivationWrapper(nn.Module):
    """Names of parameters in the state are those without the wrapper."""

    def __init__(self, mod):
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(_after)
        self.register_load_state_dict_pre_hook(_before)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_checkpoint_wrapped_module"), name)

    def __getitem__(self, key):
        return self._checkpoint_wrapped_module[key]

    def named_parameters(self, *args, **kwargs):
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(INNER, ""), parameter


def _after(module, state, prefix, metadata):
    for name in [name for name in state if name.startswith(prefix + INNER)]:
        state[prefix + name[len(prefix + INNER) :]] = state.pop(name)


def _before(module, state, prefix, *_):
    for name in [n for n in state if n.startswith(prefix) and not n.startswith(prefix + INNER)]:
        state[prefix + INNER + name[len(prefix) :]] = state.pop(name)


class CheckpointWrapper(ActivationWrapper):
    """A module whose forward is run again in backward, in place of keeping what it computed."""

    def __init__(self, mod, checkpoint_impl=CheckpointImpl.NO_REENTRANT, checkpoint_fn=None, **checkpoint_fn_kwargs):
        super().__init__(mod)
        from torch.utils.checkpoint import checkpoint  # of torch-utils, which this part does not need otherwise

        self.checkpoint_impl = checkpoint_impl
        again = checkpoint_impl is CheckpointImpl.REENTRANT
        self.checkpoint_fn = (
            partial(checkpoint, use_reentrant=again, **checkpoint_fn_kwargs)
            if checkpoint_fn is None
            else partial(checkpoint_fn, **checkpoint_fn_kwargs)
        )

    def forward(self, *args, **kwargs):
        if kwargs and self.checkpoint_impl is CheckpointImpl.REENTRANT:
            names = list(kwargs)

            def positional(*inputs):
                split = len(inputs) - len(names)
                return self._checkpoint_wrapped_module(*inputs[:split], **dict(zip(names, inputs[split:], strict=True)))

            return self.checkpoint_fn(positional, *args, *kwargs.values())
        return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)


class OffloadWrapper(ActivationWrapper):
    """A module that keeps what it computed in the CPU's memory."""

    def forward(self, *args, **kwargs):
        with save_on_cpu():
            return self._checkpoint_wrapped_module(*args, **kwargs)


def checkpoint_wrapper(module, checkpoint_impl=CheckpointImpl.NO_REENTRANT, checkpoint_fn=None, **checkpoint_fn_kwargs):
    """The module in a :class:`CheckpointWrapper`.

    >>> import torch
    >>> from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
    >>> layer = checkpoint_wrapper(torch.nn.Linear(2, 1))
    >>> layer(torch.ones(1, 2)).sum().backward()
    >>> list(layer.state_dict())
    ['weight', 'bias']
    """
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def offload_wrapper(module):
    """The module in an :class:`OffloadWrapper`."""
    return OffloadWrapper(module)


def apply_activation_checkpointing(
    model, checkpoint_wrapper_fn=checkpoint_wrapper, check_fn=lambda _: True, auto_wrap_policy=None
) -> None:
    """Wrap the submodules of which ``check_fn(module)`` holds, or which a policy picks; the innermost first."""
    from torch.distributed.fsdp.wrap import wrap_children

    if auto_wrap_policy is not None:
        wrap_children(model, auto_wrap_policy, _Wrapping(checkpoint_wrapper_fn), {})
        return
    for name, child in list(model.named_children()):
        if isinstance(child, ActivationWrapper):
            continue
        apply_activation_checkpointing(child, checkpoint_wrapper_fn, check_fn)
        if check_fn(child):
            setattr(model, name, checkpoint_wrapper_fn(child))


class _Wrapping:
    """A function in the place of a class of wrappers."""

    def __init__(self, function):
        self.function = function

    def __call__(self, module, **settings):
        return self.function(module, **settings)
