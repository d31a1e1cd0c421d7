"""Meta that nodes get while they are made: what a pass says about the nodes that it makes."""

from __future__ import annotations

import threading
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from torch.fx import Node


__all__ = [
    "annotate", "preserve_node_meta", "has_preserved_node_meta", "set_stack_trace", "format_stack", "set_current_meta",
    "get_current_meta",
]  # fmt: skip

_thread = threading.local()


def _state():
    if not hasattr(_thread, "meta"):
        _thread.meta, _thread.preserving = {}, False
    return _thread


@contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[Any]:
    """Within it new nodes take over the meta that :func:`set_current_meta` and :func:`annotate` give."""
    state = _state()
    before, meta = state.preserving, dict(state.meta)
    state.preserving = enable
    try:
        yield
    finally:
        state.preserving, state.meta = before, meta


def has_preserved_node_meta() -> bool:
    """Whether new nodes take over meta just now."""
    return _state().preserving


def get_current_meta() -> dict:
    """The meta for new nodes."""
    return _state().meta


@contextmanager
def set_current_meta(node: Node, pass_name: str = "") -> Iterator[Any]:
    """Within it new nodes come from ``node`` and have its meta."""
    state = _state()
    if not (state.preserving and node.meta):
        yield
        return
    before = state.meta
    state.meta = dict(node.meta)
    try:
        yield
    finally:
        state.meta = before


@contextmanager
def annotate(annotation_dict: Any) -> Iterator[Any]:
    """Within it new nodes carry these entries in ``meta["custom"]``.

    >>> with preserve_node_meta(), annotate({"stage": 1}):
    ...     graph = __import__("torch").fx.symbolic_trace(lambda x: x + 1).graph
    >>> graph.find_nodes(op="placeholder")[0].meta["custom"]
    {'stage': 1}
    """
    state = _state()
    before = state.meta
    state.meta = {**before, "custom": {**before.get("custom", {}), **annotation_dict}}
    try:
        yield
    finally:
        state.meta = before


def set_stack_trace(stack: Any) -> None:
    """The stack trace for new nodes: a list of str."""
    state = _state()
    if state.preserving and stack:
        state.meta["stack_trace"] = "".join(stack)


def format_stack() -> Any:
    """The stack trace for new nodes, or the present stack, as a list of str."""
    import traceback

    state = _state()
    if state.preserving:
        return [state.meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


def __getattr__(name: str) -> Any:
    if name in ("NodeSource", "NodeSourceAction", "get_graph_provenance_json"):
        raise NotImplementedError(f"torch.fx.traceback.{name}: nodes do not note from which nodes passes made them")
    raise AttributeError(f"module 'torch.fx.traceback' has no attribute {name!r}")
