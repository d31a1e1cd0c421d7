"""Backends that count what they are given, for tests of programs."""

import torch
from torch._dynamo.utils import same

__all__ = ["CompileCounter", "CompileCounterWithBackend", "EagerAndRecordGraphs", "rand_strided", "same"]


def rand_strided(size, stride, dtype=torch.float32, device="cpu", extra_size=0):
    """A tensor of random numbers (of zeros, for integers) with a size and strides.

    >>> rand_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    needed = 1 + sum((n - 1) * step for n, step in zip(size, stride)) + extra_size if all(size) else extra_size
    floats = dtype.is_floating_point or dtype.is_complex
    whole = (
        torch.randn(needed, dtype=dtype, device=device) if floats else torch.zeros(needed, dtype=dtype, device=device)
    )
    return torch.as_strided(whole, size, stride)


class CompileCounter:
    """A backend that runs graphs by torch.fx and counts them: ``frame_count``, and calls within: ``op_count``."""

    def __init__(self):
        self.clear()

    def __call__(self, gm, example_inputs):
        self.frame_count += 1
        self.op_count += sum(node.op in ("call_function", "call_method", "call_module") for node in gm.graph.nodes)
        return gm.forward

    def clear(self):
        """Begin to count anew."""
        self.frame_count = self.op_count = 0


class CompileCounterWithBackend(CompileCounter):
    """The same, for any backend's name; keeps the graphs."""

    def __init__(self, backend):
        super().__init__()
        self.backend, self.graphs = backend, []

    def __call__(self, gm, example_inputs):
        self.graphs.append(gm)
        return super().__call__(gm, example_inputs)


class EagerAndRecordGraphs:
    """A backend that keeps the graphs."""

    def __init__(self):
        self.graphs = []

    def __call__(self, gm, example_inputs):
        self.graphs.append(gm)
        return gm.forward
