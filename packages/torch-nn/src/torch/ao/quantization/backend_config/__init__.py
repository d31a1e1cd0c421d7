"""Which patterns a machine computes with integers, in the words of PyTorch.

``prepare_fx`` puts observers where a ``BackendConfig`` says so. What this machine computes with integers ``convert_fx`` makes such; all else that a
config names stays in floats, between results that are rounded: what ``convert_to_reference_fx`` gives for everything.
"""

from .backend_config import BackendConfig, BackendPatternConfig, DTypeConfig, DTypeWithConstraints, ObservationType
from .native import (
    get_fbgemm_backend_config,
    get_native_backend_config,
    get_native_backend_config_dict,
    get_onednn_backend_config,
    get_qnnpack_backend_config,
    get_x86_backend_config,
)

__all__ = [
    "BackendConfig", "BackendPatternConfig", "DTypeConfig", "DTypeWithConstraints", "ObservationType", "get_fbgemm_backend_config",
    "get_native_backend_config", "get_native_backend_config_dict", "get_onednn_backend_config", "get_qnnpack_backend_config", "get_x86_backend_config",
]  # fmt: skip
