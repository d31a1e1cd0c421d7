"""Sparsifiers: masks over weights, chosen from the weights themselves, that training goes on with.

>>> model = torch.nn.Sequential(torch.nn.Linear(8, 4))
>>> sparsifier = WeightNormSparsifier(sparsity_level=0.5, sparse_block_shape=(1, 4), zeros_per_block=2)
>>> sparsifier.prepare(model, [{"tensor_fqn": "0.weight"}])
>>> sparsifier.step()
>>> int((model[0].weight == 0).sum())
8
>>> sparsifier.squash_mask()
>>> sorted(name for name, _ in model.named_parameters())
['0.bias', '0.weight']
"""

from .scheduler import BaseScheduler, CubicSL, LambdaSL
from .sparsifier import (
    BaseSparsifier,
    FakeSparsity,
    NearlyDiagonalSparsifier,
    WeightNormSparsifier,
    fqn_to_module,
    get_arg_info_from_tensor_fqn,
    module_to_fqn,
)

__all__ = [
    "BaseScheduler", "BaseSparsifier", "CubicSL", "FakeSparsity", "LambdaSL", "NearlyDiagonalSparsifier", "WeightNormSparsifier",
    "fqn_to_module", "get_arg_info_from_tensor_fqn", "module_to_fqn",
]  # fmt: skip
