"""All parameters as one vector, and back."""

from __future__ import annotations

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch import Tensor


__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of all parameters, in one dim.

    >>> torch.nn.utils.parameters_to_vector(torch.nn.Linear(3, 2).parameters()).shape
    torch.Size([8])
    """
    return torch.cat([parameter.reshape(-1) for parameter in _on_one_device(parameters)])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Let every parameter's data be its stretch of ``vec``.

    TypeError when ``vec`` is no tensor, RuntimeError when it is too short; nothing is changed then.

    >>> layer = torch.nn.Linear(2, 1)
    >>> torch.nn.utils.vector_to_parameters(torch.tensor([1.0, 2.0, 3.0]), layer.parameters())
    >>> layer.weight.detach(), layer.bias.detach()
    (tensor([[1., 2.]]), tensor([3.]))
    """
    if not isinstance(vec, torch.Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    parameters = list(_on_one_device(parameters))
    wanted = sum(parameter.numel() for parameter in parameters)
    if vec.numel() < wanted:
        raise RuntimeError(f"vector_to_parameters: vec has {vec.numel()} elements, the parameters have {wanted}")
    at = 0
    for parameter in parameters:
        size = parameter.numel()
        parameter.data = vec[at : at + size].view_as(parameter).data
        at += size


def _on_one_device(parameters):
    device = None
    for parameter in parameters:
        if device is not None and parameter.device != device:
            raise TypeError(
                f"Found two parameters on different devices ({device} and {parameter.device}), this is currently not supported."
            )
        device = parameter.device
        yield parameter
