# ruff: noqa: F401
"""Ways to send the gradients of a ``DistributedDataParallel`` (``register_comm_hook``)."""

from . import default_hooks
from .default_hooks import allreduce_hook, bf16_compress_hook, fp16_compress_hook
