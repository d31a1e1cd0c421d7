"""Functions and modules whose forward and backward passes are graphs: ``torch.cuda.make_graphed_callables``."""

from __future__ import annotations

import torch

from .devices import synchronize
from .graphs import CUDAGraph, graph, graph_pool_handle
from .streams import Stream, current_stream, stream

__all__ = ["make_graphed_callables"]


def make_graphed_callables(callables, sample_args, num_warmup_iters=3, allow_unused_input=False, pool=None):
    """The callables (functions or modules, one or a tuple) as such that launch graphs: one for the forward pass and one for
    backward. ``sample_args`` is a tuple of tensors for each, of the shapes and the ``requires_grad`` of all later calls.
    Modules are changed in place; while they are not in the mode that they were captured in, they run as before.

    >>> layer = torch.cuda.make_graphed_callables(lambda x: x * 2 + 1, (torch.zeros(3, device="cuda"),))
    >>> layer(torch.ones(3, device="cuda"))
    tensor([3., 3., 3.], device='cuda:0')
    """
    if torch.is_autocast_enabled("cuda") and torch.is_autocast_cache_enabled():
        raise RuntimeError(
            "make_graphed_callables: conversions that autocast caches would be part of a graph; use "
            "torch.autocast('cuda', cache_enabled=False)"
        )
    single = not isinstance(callables, tuple)
    if single:
        callables, sample_args = (callables,), (sample_args,)
    if len(callables) != len(sample_args):
        raise ValueError(
            f"make_graphed_callables: got {len(callables)} callables and sample_args for {len(sample_args)} of them"
        )
    parts = [_Part(f, args, allow_unused_input) for f, args in zip(callables, sample_args)]
    pool = graph_pool_handle() if pool is None else pool
    synchronize()
    side = Stream()
    side.wait_stream(current_stream())
    with stream(side):
        for part in parts:
            for _ in range(num_warmup_iters):
                part.warm_up()
    current_stream().wait_stream(side)
    # In the order in which a step launches them, as graphs of one pool have to be captured.
    for part in parts:
        part.capture_forward(pool)
    for part in reversed(parts):
        part.capture_backward(pool)
    made = tuple(part.graphed() for part in parts)
    return made[0] if single else made


def _is_module(f) -> bool:
    return hasattr(f, "parameters") and hasattr(f, "forward")


class _Part:
    """One callable, with the tensors that its graphs read and write."""

    def __init__(self, function, args, allow_unused_input):
        self.function, self.allow_unused = function, allow_unused_input
        if _is_module(function):
            if any(
                len(getattr(function, hooks)) for hooks in ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks")
            ):
                raise RuntimeError(
                    "make_graphed_callables: modules must not have hooks registered at the time they are passed; "
                    "register them on what is returned"
                )
            if any(b.requires_grad for b in function.buffers()):
                raise RuntimeError("make_graphed_callables: a module with buffers that require grad cannot be captured")
        self.args = tuple(args)
        for i, x in enumerate(self.args):
            if not isinstance(x, torch.Tensor) or not x.is_cuda:
                raise TypeError(
                    f"make_graphed_callables: sample_args must be CUDA tensors, and number {i} is "
                    f"{f'on {x.device}' if isinstance(x, torch.Tensor) else type(x).__name__}"
                )
        self.parameters = tuple(function.parameters()) if _is_module(function) else ()
        self.sources = self.args + self.parameters  # what gradients go to
        self.wanted = [x for x in self.sources if x.requires_grad]

    def call(self):
        result = self.function(*self.args)
        self.is_tuple = not isinstance(result, torch.Tensor)
        outputs = tuple(result) if self.is_tuple else (result,)
        if not all(isinstance(x, torch.Tensor) for x in outputs):
            raise TypeError("make_graphed_callables: a callable must return a tensor or a tuple of tensors")
        return outputs

    def gradients(self, outputs, grads):
        return torch.autograd.grad(outputs, self.wanted, grads, only_inputs=True, allow_unused=self.allow_unused)

    def warm_up(self):
        outputs = [x for x in self.call() if x.requires_grad]
        if outputs and self.wanted:
            self.gradients(outputs, [torch.zeros_like(x) for x in outputs])

    def capture_forward(self, pool):
        self.forward = CUDAGraph()
        with graph(self.forward, pool=pool):
            self.outputs = self.call()

    def capture_backward(self, pool):
        self.backward = self.grads = None
        tracked = [x for x in self.outputs if x.requires_grad]
        if not tracked or not self.wanted:
            self.results = ()
            return
        self.grads = tuple(torch.empty_like(x) if x.requires_grad else None for x in self.outputs)
        self.backward = CUDAGraph()
        with graph(self.backward, pool=pool):
            found = self.gradients(tracked, [g for g in self.grads if g is not None])
        found = iter(found)
        self.results = tuple(next(found) if x.requires_grad else None for x in self.sources)

    def graphed(self):
        function, call = self.function, _launcher(self)
        if not _is_module(function):
            return call
        plain, was_training = function.forward, function.training

        def forward(*args, **kwargs):
            if function.training != was_training or kwargs:
                return plain(*args, **kwargs)
            return call(*args)

        function.forward = forward
        return function


def _launcher(part):
    class Graphed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *sources):
            for own, given in zip(part.args, sources):
                if own.shape != given.shape or own.dtype != given.dtype:
                    raise RuntimeError(
                        f"a graphed callable takes tensors of the shape and dtype that it was captured with, "
                        f"{tuple(own.shape)} of {own.dtype}, got {tuple(given.shape)} of {given.dtype}"
                    )
                if own.data_ptr() != given.data_ptr():
                    with torch.no_grad():
                        own.detach().copy_(given)
            part.forward.replay()
            outputs = tuple(x.detach() for x in part.outputs)
            ctx.mark_non_differentiable(*(o for o, x in zip(outputs, part.outputs) if not x.requires_grad))
            return outputs

        @staticmethod
        def backward(ctx, *grads):
            if part.backward is None:
                return (None,) * len(part.sources)
            for own, given in zip(part.grads, grads):
                if own is None:
                    continue
                if given is None:
                    own.zero_()
                elif own.data_ptr() != given.data_ptr():
                    own.copy_(given)
            part.backward.replay()
            return tuple(None if g is None else g.detach() for g in part.results)

    def call(*args):
        if len(args) != len(part.args):
            raise TypeError(f"a graphed callable of {len(part.args)} tensors was given {len(args)}")
        outputs = Graphed.apply(*args, *part.parameters)
        return outputs if part.is_tuple else outputs[0]

    return call
