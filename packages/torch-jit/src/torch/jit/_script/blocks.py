"""``with``: modes of gradients, ranges of the profiler, and script classes that have ``__enter__`` and ``__exit__``.

What leaves a block runs after an error as well: programs find it by what entered (``Scope`` in program/src/code.h).
"""

from __future__ import annotations

import ast
import contextlib
import inspect

import torch

from .. import _ir as ir
from . import contexts
from .values import Static

__all__ = ["Blocks"]


def _device_of(cls):
    """The device of ``torch.cpu.amp.autocast`` and its like."""
    return cls.__module__.split(".")[1]


class Blocks:
    """Emits ``with`` statements."""

    def do_With(self, node):
        if not node.items:
            return self.body(node.body)
        first, rest = node.items[0], node.items[1:]
        leave = self._enter(first)
        inner = ast.copy_location(ast.With(rest, node.body), node) if rest else None
        status = self.do_With(inner) if rest else self.body(node.body)
        leave()  # also where control has left by return or break: those are flags
        return status

    def _enter(self, item):
        call = item.context_expr
        known = self.resolve(call.func) if isinstance(call, ast.Call) else None
        grad = {torch.no_grad: False, torch.enable_grad: True, torch.inference_mode: False}
        if known in grad and not call.keywords:
            if known is torch.inference_mode and call.args:
                grad[known] = not self.static(self.visit(call.args[0]), "the mode")
            return self._grad_mode(self.constant(grad[known]))
        if known is torch.set_grad_enabled:
            return self._grad_mode(self.value(self.truth(self.visit(call.args[0]))))
        name = getattr(known, "__name__", "")
        if name in ("autocast", "record_function"):
            return self._autocast(known, call) if name == "autocast" else self._profiled(known, call)
        if known is contextlib.nullcontext or name == "strict_fusion":
            return lambda: None
        owner = self.visit(call)
        if isinstance(owner, Static) and isinstance(owner.value, contexts.Context):
            return contexts.enter(self, owner.value)
        if isinstance(owner, ir.Value) and owner.type().kind() == "ClassType":
            entered = self.call_object(owner, "__enter__", [], {}, "enter")
            if item.optional_vars is not None:
                self.assign(item.optional_vars, entered)
            return lambda: self.call_object(owner, "__exit__", [Static(None)] * 3, {}, "exit")
        raise self.error(
            f"{ast.unparse(call)} is no context of the script language",
            "torch.no_grad() and script classes with __enter__ are",
        )

    def _autocast(self, cls, call):
        """Arguments that are not known while compiling may only say whether it is on."""
        bound = self._bound(cls, call)
        device = bound.get("device_type", Static(_device_of(cls)))
        self.static(device, "the device of autocast")
        dtype, cache = (bound.get(each, Static(None)) for each in ("dtype", "cache_enabled"))
        return contexts.enter_autocast(self, device, self.truth(bound.get("enabled", Static(True))), dtype, cache)

    def _profiled(self, cls, call):
        bound = self._bound(cls, call)
        return contexts.enter_range(self, bound["name"], bound.get("args", Static(None)))

    def _bound(self, cls, call):
        given = {key.arg: self.visit(key.value) for key in call.keywords}
        try:
            return inspect.signature(cls).bind(*map(self.visit, call.args), **given).arguments
        except TypeError as error:
            raise self.error(f"{cls.__name__}(): {error}") from None

    def _grad_mode(self, on):
        before = self.op("is_grad_enabled")
        self.op("set_grad_enabled", on)
        return lambda: self.op("set_grad_enabled", before)
