"""Functions of torch.nn whose Python a script cannot follow, as scripts see them."""

from __future__ import annotations

import importlib

from .library import handles
from .values import Static, TupleOf

__all__ = []


def _named(module, name):
    return getattr(importlib.import_module(module), name)


@handles(_named("torch.nn.functional.loss", "_paired"))
def paired(emitter, name, input, target):
    """Arithmetic broadcasts both; the warning about different shapes is Python's."""
    return TupleOf([input, target])


@handles(_named("torch.nn.functional._reduction", "code"))
def code(emitter, size_average, reduce, reduction):
    module = importlib.import_module("torch.nn.functional._reduction")
    args = [emitter.static(each, "reduction") for each in (size_average, reduce, reduction)]
    return Static(module.code(*args))
