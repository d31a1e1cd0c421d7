"""Names of tensors within a model, and the mask as a parametrization."""

from __future__ import annotations

from torch.nn import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch import Tensor

__all__ = ["FakeSparsity", "fqn_to_module", "get_arg_info_from_tensor_fqn", "module_to_fqn"]


class FakeSparsity(Module):
    """The weight times a mask of its shape, which the state of the model leaves out: the sparsifier keeps it.

    >>> FakeSparsity(torch.tensor([1.0, 0.0]))(torch.tensor([3.0, 4.0]))
    tensor([3., 0.])
    """

    def __init__(self, mask: Tensor) -> None:
        super().__init__()
        self.register_buffer("mask", mask)

    def forward(self, x: Tensor) -> Tensor:
        if self.mask.shape != x.shape:
            raise AssertionError(f"FakeSparsity: the mask is {tuple(self.mask.shape)}, the weight {tuple(x.shape)}")
        return self.mask * x

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Nothing."""
        return {}


def fqn_to_module(model: Module | None, path: str) -> Module | None:
    """The module of a name with dots; the model itself of an empty one, None where there is none.

    >>> fqn_to_module(torch.nn.Sequential(torch.nn.ReLU()), "0")
    ReLU()
    """
    for name in filter(None, path.split(".")):
        model = getattr(model, name, None)
    return model


def module_to_fqn(model: Module, module: Module, prefix: str = "") -> str | None:
    """The name of a module within a model, after ``prefix``; None where it is none of its modules.

    >>> layer = torch.nn.ReLU()
    >>> module_to_fqn(torch.nn.Sequential(torch.nn.Sequential(layer)), layer)
    '0.0'
    """
    for name, one in model.named_modules(remove_duplicate=False):
        if one is module:
            return prefix + ("." if prefix and name else "") + name
    return None


def get_arg_info_from_tensor_fqn(model: Module, tensor_fqn: str) -> dict[str, Any]:
    """The name of a tensor taken apart: its module, the module's name and its own.

    >>> model = torch.nn.Sequential(torch.nn.Linear(1, 1))
    >>> get_arg_info_from_tensor_fqn(model, "0.weight")["tensor_name"]
    'weight'
    """
    module_fqn, _, tensor_name = tensor_fqn.rpartition(".")
    return {
        "module_fqn": module_fqn,
        "module": fqn_to_module(model, module_fqn),
        "tensor_name": tensor_name,
        "tensor_fqn": tensor_fqn,
    }
