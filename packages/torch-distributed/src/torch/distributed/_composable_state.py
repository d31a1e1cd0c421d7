"""What :func:`torch.distributed.fsdp.fully_shard` notes of a module, for who asks whether it was put on one."""


class _State:
    """The notes of a way to train about a module."""


def _get_module_state(module):
    """The notes about a module; the module itself where it holds them, None where there are none.

    >>> import torch
    >>> from torch.distributed._composable_state import _get_module_state
    >>> _get_module_state(torch.nn.Linear(2, 1)) is None
    True
    """
    return module if isinstance(module, _State) else getattr(module, "_fsdp", None)
