"""Names of PyTorch's module of what the two faces of sharded training share."""

from ..algorithms._checkpoint.checkpoint_wrapper import INNER as CHECKPOINT_PREFIX
from ._states import INNER as FSDP_PREFIX
from .fully_sharded_data_parallel import FullyShardedDataParallel as _FSDPState  # noqa: F401, the wrapper is its state

FSDP_WRAPPED_MODULE = FSDP_PREFIX.rstrip(".")


def clean_tensor_name(tensor_name: str) -> str:
    """The name that a parameter has without wrappers.

    >>> from torch.distributed.fsdp._common_utils import clean_tensor_name
    >>> clean_tensor_name("_fsdp_wrapped_module.layer._checkpoint_wrapped_module.weight")
    'layer.weight'
    """
    return tensor_name.replace(FSDP_PREFIX, "").replace(CHECKPOINT_PREFIX, "")
