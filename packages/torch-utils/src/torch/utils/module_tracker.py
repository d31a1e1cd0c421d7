"""Which modules are at work: those whose forward or, nearly, whose backward is going on."""

from __future__ import annotations

import weakref
from typing import Any

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Self


class ModuleTracker:
    """Context in which `parents` holds the paths of the modules at work, ``"Global"`` among them.

    Forward is exact. In backward a module is at work from the first gradient of one of its outputs until a gradient
    of a module beside it comes, or backward ends: modules that run side by side are told apart only by that.

    Example:
        >>> net = torch.nn.Sequential(torch.nn.Linear(2, 2))
        >>> with ModuleTracker() as tracker:
        ...     handle = net[0].register_forward_pre_hook(lambda *_: print(sorted(tracker.parents)))
        ...     _ = net(torch.ones(1, 2))
        ['Global', 'Sequential', 'Sequential.0']
    """

    def __init__(self) -> None:
        self._names: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
        self._stack: list[str] = []
        self._backward: tuple[str, ...] = ()
        self._handles: list[Any] = []

    @property
    def parents(self) -> set[str]:
        return {"Global", *self._stack, *self._backward}

    @property
    def is_bw(self) -> bool:
        """Whether a backward is going on."""
        return bool(self._backward)

    def __enter__(self) -> Self:
        from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

        self._handles = [
            register_module_forward_pre_hook(self._before),
            register_module_forward_hook(self._after, always_call=True),
        ]
        return self

    def __exit__(self, *error: Any) -> None:
        for handle in self._handles:
            handle.remove()
        self._stack, self._backward = [], ()

    def _before(self, module, inputs) -> None:
        if not self._stack:  # a module that nothing tracked has called: its children are named by it
            self._leave_backward()
            root = type(module).__name__
            for name, child in module.named_modules():
                self._names[child] = f"{root}.{name}" if name else root
        self._stack.append(self._names.get(module, type(module).__name__))

    def _after(self, module, inputs, output) -> None:
        path = tuple(self._stack)
        self._stack.pop()
        for tensor in _tensors(output):
            if tensor.requires_grad and tensor.grad_fn is not None:
                tensor.register_hook(lambda grad, path=path: self._enter_backward(path))

    def _enter_backward(self, path: tuple[str, ...]) -> None:
        if not self._backward:
            torch.autograd.Variable._execution_engine.queue_callback(self._leave_backward)
        # A container's output is its last child's: the innermost says more.
        if self._backward[: len(path)] != path:
            self._backward = path

    def _leave_backward(self) -> None:
        self._backward = ()


def _tensors(x):
    if isinstance(x, torch.Tensor):
        yield x
    elif isinstance(x, dict):
        for value in x.values():
            yield from _tensors(value)
    elif isinstance(x, (list, tuple)):
        for value in x:
            yield from _tensors(value)
