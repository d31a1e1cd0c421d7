"""Small names of ``torch.jit`` that exporters and tests use."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["_flatten", "_hide_source_ranges", "_unique_state_dict"]


def _flatten(*args: Any) -> tuple[list[Any], Any]:
    """The tensors of arguments in nested tuples and lists, and their nesting.

    >>> tensors, nesting = torch.jit._flatten(torch.ones(1), (torch.zeros(1),))
    >>> len(tensors)
    2
    """
    from ._passes import flatten

    return flatten(args)


def _unique_state_dict(module: Any, keep_vars: bool = False) -> OrderedDict[str, Any]:
    """The state of a module with each tensor once, by the first of its names.

    >>> layer = torch.nn.Linear(2, 2, bias=False)
    >>> list(torch.jit._unique_state_dict(torch.nn.Sequential(layer, layer)))
    ['0.weight']
    """
    found: OrderedDict[str, Any] = OrderedDict()
    seen = set()
    for name, tensor in module.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            found[name] = tensor if keep_vars else tensor.detach()
    return found


@contextlib.contextmanager
def _hide_source_ranges() -> Iterator[None]:
    """A block in which PyTorch prints graphs without the lines of their sources; here ``graph.str(False)`` does."""
    yield
