"""Models of ONNX as graphs of torch.fx: one small function per operator, as for writing.

A reader is a function of tensors that the graph calls; it gets the inputs of the node in their order (None where one is
left out), then its attributes by name.
"""

from __future__ import annotations

import functools
from importlib import import_module

from torch.fx import Proxy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

READERS: dict[str, Callable[..., Any]] = {}
#: domains of operators beside the standard's own
OF_DOMAINS = dict.fromkeys(("Momentum", "Adagrad", "Adam"), "ai.onnx.preview.training")


@functools.cache
def table() -> dict[str, Callable[..., Any]]:
    """All readers by the operator's name in ONNX.

    >>> "Relu" in table(), "Gemm" in table()
    (True, True)
    """
    for name in (
        "attention",
        "elements",
        "layers",
        "optional",
        "quantized",
        "recurrent",
        "regions",
        "resizing",
        "sequences",
        "shapes",
        "signals",
        "training",
    ):
        import_module(f"{__name__}.{name}")
    return READERS


def reader(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that puts a function into the table; torch.fx, which traces a module anew when it is unpickled, keeps
    its calls whole."""

    def decorate(function):
        @functools.wraps(function)
        def leaf(*args, **kwargs):
            proxy = next((x for x in args if isinstance(x, Proxy)), None)
            if proxy is not None:
                return proxy.tracer.create_proxy("call_function", leaf, args, kwargs)
            return function(*args, **kwargs)

        for name in names:
            READERS[name] = leaf
        return leaf

    return decorate
