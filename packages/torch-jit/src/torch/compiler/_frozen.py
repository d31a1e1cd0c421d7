"""Weights as constants of a program, where ``torch._inductor.config.freezing`` or ``options={"freezing": True}`` says that they
stay: kernels pack constants once and not at each call, and a batch norm becomes part of the convolution before it.

The program has copies. A call whose weights are others, or were written to, is captured again; writes that no version counter
sees (through ``.data`` or NumPy) are not noticed, which is why somebody has to say so.
"""

from __future__ import annotations

import torch
from torch import _seams
from torch.jit import _freeze
from torch.jit import _ir as ir

__all__ = ["freeze"]


def freeze(observer, graph, options):
    """Make constants of the parameters and buffers that a graph reads, if that is asked for and no gradients are recorded."""
    if not _seams.is_freezing(options) or observer.entry_grad or observer.sets_grad:
        return
    aliases, results = graph.alias_db(), list(graph.outputs())
    inputs = [(value, x) for value, x in zip(graph.inputs(), observer.examples) if isinstance(x, torch.Tensor)]
    written = {_memory(tensor) for value, tensor in inputs if aliases.has_writers(value)}
    for value, tensor in inputs:
        source = observer.known[id(tensor)][1] if id(tensor) in observer.known else ()
        if (
            not _is_registered(source)
            or tensor.is_inference()
            or _memory(tensor) in written
            or aliases.may_contain_alias([value], results)
        ):
            continue
        with graph.insert_point_guard(next(iter(graph.nodes()))):
            value.replaceAllUsesWith(graph.insertConstant(tensor.detach().clone()))
        observer.guards.check("is", source, tensor)
        observer.guards.check("memory", source, tensor._version, tensor.data_ptr())
    _freeze.fold_norms(graph)
    ir._native.fold_constants(graph)


def _memory(tensor):
    """What tells the memory of a tensor from that of others; tensors of no memory of their own are each for itself."""
    return tensor.untyped_storage().data_ptr() if tensor.layout is torch.strided else id(tensor)


def _is_registered(source):
    """Whether a value is read of the parameters or the buffers of a module."""
    return source[:1] == ("key",) and source[1][0] == "key" and source[1][2] in ("_parameters", "_buffers")
