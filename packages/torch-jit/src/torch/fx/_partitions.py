"""What a backward graph keeps of the forward one: the values with the fewest bytes from which the rest is computed again."""

from __future__ import annotations

import functools
import itertools
from collections import deque

import torch
from torch import _seams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import Any

    from torch.fx.node import Node

__all__ = ["fewest_bytes"]

_WITHOUT_END = float("inf")


@functools.cache
def _cheap() -> frozenset:
    """Operators that cost no more than reading their arguments: element-wise ones and views, of which none is random."""
    rows = [row for row in _seams.rows() if (row["pointwise"] or row["view"]) and not row["random"]]
    return frozenset(row["schema"].partition("(")[0] for row in rows)


def _is_cheap(node):
    name = getattr(node.target, "__name__", "").partition(".")[0]
    return node.op == "call_function" and name in _cheap() and not node.is_impure()


def _bytes(node):
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor):
        return max(value.numel() * value.element_size(), 1)
    return _WITHOUT_END if isinstance(value, (list, tuple)) or value is None else 8


def fewest_bytes(
    nodes: Sequence[Node], late: Collection[Node], wanted: Iterable[Node]
) -> tuple[list[Node], list[Node]]:
    """(values to keep, calls to make again) of the ``nodes`` that are not ``late``, for late ones and for ``wanted`` results.

    It is a cut of the graph: what stands in front of it is computed in the forward pass only. A value is an edge with its bytes
    for capacity; what is not cheap is never computed again, so that the cut lies behind it.
    """
    early = [node for node in nodes if node not in late]
    needed = {n for node in late for n in node.all_input_nodes if n not in late} | {n for n in wanted if n not in late}
    flow = _Flow()
    for node in early:
        if node.op == "get_attr":
            continue
        flow.add((node, "in"), (node, "out"), _bytes(node))
        if not _is_cheap(node):
            flow.add("source", (node, "in"), _WITHOUT_END)
        for user in node.users:
            if user not in late and user.op != "output":
                flow.add((node, "out"), (user, "in"), _WITHOUT_END)
        if node in needed:
            flow.add((node, "out"), "sink", _WITHOUT_END)
    front = flow.front("source", "sink")
    kept = [n for n in early if (n, "in") in front and (n, "out") not in front and n.op != "get_attr"]
    again, waiting, known = set(), [n for n in needed if n not in kept], set(kept)
    while waiting:
        node = waiting.pop()
        if node not in again and node not in known and node.op != "get_attr":
            again.add(node)
            waiting += node.all_input_nodes
    return kept, [n for n in early if n in again]


class _Flow:
    """A network of capacities, and what its greatest flow cannot pass (Dinitz 1970)."""

    def __init__(self):
        self.capacity: dict[Any, dict[Any, float]] = {}

    def add(self, a, b, capacity):
        self.capacity.setdefault(a, {})[b] = self.capacity.get(a, {}).get(b, 0) + capacity
        self.capacity.setdefault(b, {}).setdefault(a, 0)

    def front(self, source, sink):
        """The places on the source's side of a least cut."""
        while sink in (level := self._levels(source)):
            left: dict = {}
            while self._augment(source, sink, level, left):
                pass
        return level

    def _levels(self, source):
        level, queue = {source: 0}, deque([source])
        while queue:
            place = queue.popleft()
            for other, capacity in self.capacity.get(place, {}).items():
                if capacity > 0 and other not in level:
                    level[other] = level[place] + 1
                    queue.append(other)
        return level

    def _augment(self, source, sink, level, left):
        """Send what one more way takes; False where there is none."""
        way = [source]
        while way[-1] != sink:
            place = way[-1]
            ways = left.get(place)
            if ways is None:
                ways = left[place] = iter(list(self.capacity[place]))
            for other in ways:
                if self.capacity[place][other] > 0 and level.get(other) == level[place] + 1:
                    way.append(other)
                    break
            else:
                way.pop()
                if not way:
                    return False
        pairs = list(itertools.pairwise(way))
        amount = min(self.capacity[a][b] for a, b in pairs)
        if amount == _WITHOUT_END:
            raise RuntimeError("partition: a value whose size is not known is needed by the backward graph")
        for a, b in pairs:
            self.capacity[a][b] -= amount
            self.capacity[b][a] += amount
        for place in way[:-1]:  # what was passed by may be open again from there
            left.pop(place, None)
        return True
