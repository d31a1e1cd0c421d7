"""Names the tensors inside a loaded object: ``model.layers.0.weight`` for what lies at ``obj["model"]["layers"][0]["weight"]``.

A container that is reached twice is listed twice, as the object has it; one inside itself is not. A file may describe
exponentially many paths in few bytes, and names of any length, so there is a bound to both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .._errors import FileFormatError, brief

_MAX_DEPTH = 500
_MAX_KEY = 256


def leaves(
    obj, is_leaf: Callable[[Any], bool], size: int, children: Callable | None = None
) -> Iterator[tuple[str, Any]]:
    """The leaves of nested dicts, lists and tuples with their names, in order.

    Args:
        obj: what was loaded
        is_leaf: tells a tensor
        size: bytes of the file; the names together may not be many times longer
        children: ``children(node)`` gives the (key, value) pairs of other objects, or None
    """
    budget = (1 << 20) + 64 * size
    above: set[int] = set()
    todo: list[tuple] = [("", 0, obj, False)]
    while todo:
        name, depth, node, done = todo.pop()
        if done:
            above.discard(id(node))
            continue
        budget -= len(name) + 8
        if budget < 0:
            raise FileFormatError(
                f"its containers hold one another in so many ways that their {size} bytes have no list"
            )
        if is_leaf(node):
            yield name, node
            continue
        pairs = _pairs(node) if children is None else children(node) or _pairs(node)
        if not pairs or id(node) in above:
            continue
        if depth == _MAX_DEPTH:
            raise FileFormatError(f"its containers are nested more than {_MAX_DEPTH} deep")
        above.add(id(node))
        todo.append((name, depth, node, True))
        todo += [(_join(name, key), depth + 1, value, False) for key, value in reversed(pairs)]


def _pairs(node) -> list[tuple]:
    if isinstance(node, dict):
        return list(node.items())
    if isinstance(node, (list, tuple)):
        return list(enumerate(node))
    return []


def _join(prefix: str, key) -> str:
    key = key if type(key) is str else brief(key)
    if len(key) > _MAX_KEY:
        key = key[:_MAX_KEY] + "..."
    return f"{prefix}.{key}" if prefix else key
