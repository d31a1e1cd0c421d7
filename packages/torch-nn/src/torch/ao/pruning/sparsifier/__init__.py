"""What chooses the masks of weights."""

from .base_sparsifier import BaseSparsifier
from .nearly_diagonal_sparsifier import NearlyDiagonalSparsifier
from .utils import FakeSparsity, fqn_to_module, get_arg_info_from_tensor_fqn, module_to_fqn
from .weight_norm_sparsifier import WeightNormSparsifier

__all__ = [
    "BaseSparsifier", "FakeSparsity", "NearlyDiagonalSparsifier", "WeightNormSparsifier", "fqn_to_module",
    "get_arg_info_from_tensor_fqn", "module_to_fqn",
]  # fmt: skip
