"""Work that is recorded once and launched again as a whole.

>>> x, graph = torch.ones(3, device="cuda"), torch.cuda.CUDAGraph()
>>> with torch.cuda.graph(graph):
...     y = x * 2
>>> x.fill_(5)
tensor([5., 5., 5.], device='cuda:0')
>>> graph.replay()
>>> y
tensor([10., 10., 10.], device='cuda:0')
"""

from __future__ import annotations

import gc

import torch

from . import _native
from .devices import synchronize
from .memory import empty_cache
from .streams import Stream, stream

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing"]

_MODES = {"global": 0, "thread_local": 1, "relaxed": 2}


def graph_pool_handle() -> tuple[int, int]:
    """A new pool of memory, which several graphs may share that are launched one after the other."""
    return _native.new_pool(False)


def is_current_stream_capturing() -> bool:
    """Whether what the current stream is given is recorded for a graph."""
    return _native.is_capturing(_native.current_device())


class CUDAGraph:
    """Recorded work of streams; see :class:`torch.cuda.graph`. What it reads and writes stays where it was: new input
    is copied into the tensors of the capture, and draws of random numbers go on at each launch."""

    def __init__(self, keep_graph: bool = False):
        self._graph, self._kept = _native.Graph(), bool(keep_graph)
        if keep_graph:
            self._graph.keep()

    def capture_begin(self, pool=None, capture_error_mode: str = "global", check_input_liveness: bool = False) -> None:
        """Record what the current stream, which must not be the default one, is given from now on. ``pool`` is the memory
        pool of another graph, or ``graph_pool_handle()``."""
        if capture_error_mode not in _MODES:
            raise RuntimeError(
                f"CUDAGraph.capture_begin: expected capture_error_mode to be one of {', '.join(map(repr, _MODES))}, got "
                f"{capture_error_mode!r}"
            )
        if check_input_liveness:
            raise NotImplementedError("CUDAGraph.capture_begin: check_input_liveness does not exist in torch-core-cuda")
        self._graph.begin((0, 0) if pool is None else tuple(pool), _MODES[capture_error_mode])

    def capture_end(self) -> None:
        """Stop recording. RuntimeError says what could not be recorded."""
        self._graph.end()

    def instantiate(self) -> None:
        """Nothing is left to do: ``capture_end`` makes a graph ready to run."""
        if not self._graph.is_captured():
            raise RuntimeError("CUDAGraph.instantiate: nothing was captured")

    def replay(self) -> None:
        """Launch what was recorded, in the current stream."""
        self._graph.replay()

    def reset(self) -> None:
        """Forget what was recorded, and let its memory go."""
        self._graph.reset()

    def pool(self) -> tuple[int, int]:
        """The graph's memory pool."""
        return self._graph.pool()

    def enable_debug_mode(self) -> None:
        """Keep what ``debug_dump`` writes; to be called before the capture."""
        self._graph.keep()

    def debug_dump(self, debug_path: str) -> None:
        """Write the graph in the language of Graphviz."""
        self._graph.dump(str(debug_path))

    def register_generator_state(self, generator) -> None:
        """The device's own generator is always recorded; others are refused."""
        if generator not in torch.cuda.default_generators:
            raise NotImplementedError(
                "CUDAGraph.register_generator_state: only torch.cuda.default_generators take part in a capture"
            )

    def __reduce__(self):
        raise TypeError("a torch.cuda.CUDAGraph cannot be pickled: it is work on this process's memory")


class graph:
    """A block whose work on the device is recorded in ``cuda_graph`` and not run. It works in a stream of its own;
    reading values, waiting and copying from pageable memory within it are errors."""

    default_capture_stream = None

    def __init__(
        self,
        cuda_graph,
        pool=None,
        stream=None,
        capture_error_mode: str = "global",
        enable_annotations: bool = False,
        check_input_liveness: bool = False,
    ):
        if not isinstance(cuda_graph, CUDAGraph):
            raise TypeError(f"torch.cuda.graph: expected a torch.cuda.CUDAGraph, got {type(cuda_graph).__name__}")
        if stream is None:
            if graph.default_capture_stream is None:
                graph.default_capture_stream = Stream()
            stream = graph.default_capture_stream
        self.cuda_graph, self.capture_stream = cuda_graph, stream
        self._begin = (pool, capture_error_mode, check_input_liveness)
        self._block = None

    def __enter__(self):
        synchronize()
        gc.collect()
        empty_cache()
        self._block = stream(self.capture_stream)
        self._block.__enter__()
        try:
            self.cuda_graph.capture_begin(*self._begin)
        except BaseException:
            self._block.__exit__(None, None, None)
            raise

    def __exit__(self, kind, error, trace):
        try:
            if kind is None:
                self.cuda_graph.capture_end()
            else:  # the block's own error tells more than that of the end
                self.cuda_graph.reset()
        finally:
            self._block.__exit__(kind, error, trace)
