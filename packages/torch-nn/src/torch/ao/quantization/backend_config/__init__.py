"""Which patterns a machine computes with integers, in the words of PyTorch: said, looked at and handed on.

``prepare_fx`` and ``convert_fx`` know what this machine does, whatever a ``BackendConfig`` says beyond that: one that leaves patterns out leaves
them in floats.
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
