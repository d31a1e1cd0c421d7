"""The recorded graph, and hooks on it."""

from __future__ import annotations

from collections import namedtuple
from contextlib import contextmanager

from torch._seams import RemovableHandle

from . import _C
from ._C import Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence
    from typing import Any, Literal

    from torch import Tensor
    from typing_extensions import Self


__all__ = [
    "GradientEdge",
    "Node",
    "RemovableHandle",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]

GradientEdge = namedtuple("GradientEdge", ["node", "output_nr", "ownership_token"], defaults=[None])
GradientEdge.__doc__ = """An output of a node: what ``torch.autograd.grad`` may differentiate, and by what, in place of a tensor.

``node`` keeps the graph alive by itself; ``ownership_token`` is there for programs that name it, and always None.
"""


class _HookOfGraph(RemovableHandle):
    """The handle of a hook that lies in the graph, and in no dict."""

    def __init__(self, id: Any) -> None:
        self.id = id

    def remove(self) -> None:
        _C._remove_hook(self.id)


_C._set_handle_type(_HookOfGraph)


def get_gradient_edge(tensor: Tensor) -> Any:
    """The edge that the tensor's gradient takes; of a leaf, the node that collects its gradient."""
    return GradientEdge(*_C._gradient_edge(tensor))


def _get_grad_fn_or_grad_acc(tensor: Tensor | GradientEdge) -> Any:
    """The node that a tensor's gradient goes to, or that of an edge; RuntimeError where the tensor needs none."""
    return tensor.node if isinstance(tensor, GradientEdge) else get_gradient_edge(tensor).node


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Marks a tensor (or each of several) as changed in place, for code that changes memory behind autograd's back."""
    for t in (tensor,) if hasattr(tensor, "requires_grad") else tensor:
        _C._increment_version(t)


class saved_tensors_hooks:
    """Within it, ``pack_hook(tensor)`` is kept in place of each tensor saved for backward, and ``unpack_hook`` of that used.

    >>> import torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(force=True), torch.from_numpy):
    ...     y = x.exp()
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if _disabled:
            raise RuntimeError(_disabled[-1])
        _C._push_saved_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *error: Any) -> None:
        _C._pop_saved_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Within it, tensors saved for backward wait on the CPU."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda t: (t.device, t.cpu()), lambda kept: kept[1].to(kept[0]))


_disabled = []


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Generator[None, None, None]:
    """Within it, entering ``saved_tensors_hooks`` raises RuntimeError with this message."""
    _disabled.append(error_message)
    try:
        yield
    finally:
        _disabled.pop()


@contextmanager
def allow_mutation_on_saved_tensors() -> Any:
    """Within it, tensors saved for backward may be changed in place: each is kept as a copy."""
    with saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        yield


def register_multi_grad_hook(
    tensors: Sequence[Tensor],
    fn: Callable[[Sequence[Tensor | None]], None] | Callable[[Tensor], None],
    *,
    mode: Literal["all", "any"] = "all",
) -> RemovableHandle:
    """Calls ``fn`` once in each backward pass that reaches any of ``tensors``: with the gradients of all, None for those
    that it does not reach, when the last one is there; with mode "any", with the first gradient."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = tuple(tensors)
    passes = {}  # by number: how many gradients come in it, and those that have come

    def hook_of(i):
        def hook(grad):
            number = _C._current_pass()
            if number not in passes:
                passes[number] = sum(map(_C._pass_visits, tensors)), {}
                if mode == "any":
                    fn(grad)
            expected, arrived = passes[number]
            arrived[i] = grad if mode == "all" else None
            if len(arrived) == expected:
                del passes[number]
                if mode == "all":
                    fn([arrived.get(k) for k in range(len(tensors))])

        return hook

    handles = [t.register_hook(hook_of(i)) for i, t in enumerate(tensors)]
    return _Handles(handles)


class _Handles:
    def __init__(self, handles: Any) -> None:
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.remove()
