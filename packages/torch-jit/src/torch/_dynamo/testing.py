"""Backends that count what they are given, for tests of programs."""

from torch._dynamo.utils import same

__all__ = ["CompileCounter", "CompileCounterWithBackend", "EagerAndRecordGraphs", "same"]


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
