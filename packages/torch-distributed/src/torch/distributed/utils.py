"""Parameters and buffers of one rank for all."""

from ._data_parallel.module import _copy_from

__all__ = []


def _sync_module_states(
    module, process_group, broadcast_bucket_size, src, params_and_buffers_to_ignore, broadcast_buffers=True
):
    """Let all ranks take over the parameters and buffers of rank ``src``."""
    tensors = [p for n, p in module.named_parameters() if n not in params_and_buffers_to_ignore]
    if broadcast_buffers:
        tensors += [b for n, b in module.named_buffers() if n not in params_and_buffers_to_ignore]
    _copy_from(src, tensors, process_group)
