"""Functions of ``torch.autograd`` that say by ``symbolic`` how they are written: while a model is recorded each call of one is one
operator, whose rule is that method. What ``forward`` does is not looked at.
"""

from __future__ import annotations

import contextlib
import inspect
from types import SimpleNamespace
from typing import Any

import torch

_LIBRARY = "torch_onnx_functions"
_TENSOR = object()  #: stands for a tensor among arguments
_known: dict[Any, _Function] = {}
_library: Any = None


class _Function:
    """A class with the constants of a call, as an operator of lists of tensors."""

    def __init__(self, function: Any, pattern: list, plain: Any) -> None:
        global _library
        if _library is None:
            _library = torch.library.Library(_LIBRARY, "DEF")
        self.function, self.pattern, self.plain, self.single = function, pattern, plain, True
        self.name = f"{function.__name__}_{len(_known)}"
        _library.define(f"{self.name}(Tensor[] given) -> Tensor[]")
        _library.impl(self.name, self.run, "CPU")

    def arguments(self, given: list) -> list:
        """All arguments, in their order."""
        left = iter(given)
        return [next(left) if each is _TENSOR else each for each in self.pattern]

    def run(self, given: list[torch.Tensor]) -> list[torch.Tensor]:
        """What ``forward`` gives; tensors that it gives back are copied, as results of operators are their own."""
        found = self.plain(*self.arguments(given))
        self.single = isinstance(found, torch.Tensor)
        results = [found] if self.single else found
        if not isinstance(results, (tuple, list)) or not all(isinstance(each, torch.Tensor) for each in results):
            raise NotImplementedError(
                f"onnx.export: {self.function.__name__}.forward gives {type(found).__name__}: a function that is written by "
                "its symbolic method gives tensors"
            )
        return [each.clone() if any(each is x for x in given) else each for each in results]

    def write(self, g: Any, given: Any) -> Any:
        """The rule: the class's own method."""
        arguments = self.arguments(given.constant)
        first = next(iter(inspect.signature(self.function.symbolic).parameters), "g")
        if first == "ctx":
            arguments = [g, *arguments]
            return self.function.symbolic(SimpleNamespace(onnx_opset_version=g.opset), *arguments)
        return self.function.symbolic(g, *arguments)


def _key(value: Any) -> Any:
    """What tells constants apart: plain ones by value, all others by identity, as the operator keeps them."""
    if isinstance(value, (list, tuple)):
        return type(value), tuple(map(_key, value))
    return (type(value), repr(value)) if type(value) in (int, float, bool, str, type(None)) else id(value)


def _operator(function: Any, args: tuple, plain: Any) -> _Function:
    pattern = [_TENSOR if isinstance(each, torch.Tensor) else each for each in args]
    key = function, tuple(map(_key, pattern))
    if key not in _known:
        _known[key] = _Function(function, pattern, plain)
    return _known[key]


@contextlib.contextmanager
def as_operators(own: dict) -> Any:
    """A block in which calls of such functions are recorded as operators; their rules are added to ``own``."""
    from torch.autograd import Function

    before = Function.__dict__["apply"]

    def apply(cls, *args, **kwargs):
        plain = before.__get__(None, cls)
        if kwargs or not hasattr(cls, "symbolic") or not any(isinstance(each, torch.Tensor) for each in args):
            return plain(*args, **kwargs)
        found = _operator(cls, args, plain)
        own[f"{_LIBRARY}::{found.name}"] = found.write
        results = getattr(getattr(torch.ops, _LIBRARY), found.name)([x for x in args if isinstance(x, torch.Tensor)])
        return results[0] if found.single else tuple(results)

    Function.apply = classmethod(apply)
    try:
        yield
    finally:
        Function.apply = before
