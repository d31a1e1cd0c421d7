"""A graph of names with notes, in the order of their arrival."""

from __future__ import annotations

from typing import Any


class DiGraph:
    """Nodes with attributes and arrows between them.

    >>> graph = DiGraph()
    >>> graph.add_edge("a", "b")
    >>> graph.add_edge("b", "c")
    >>> list(graph.predecessors("c")), graph.first_path("c")
    (['b'], ['a', 'b', 'c'])
    """

    def __init__(self) -> None:
        self.nodes: dict[str, dict[str, Any]] = {}
        self._next: dict[str, dict[str, None]] = {}
        self._before: dict[str, dict[str, None]] = {}

    def add_node(self, node: str, **notes: Any) -> None:
        self.nodes.setdefault(node, {}).update(notes)
        self._next.setdefault(node, {})
        self._before.setdefault(node, {})

    def add_edge(self, start: str, end: str) -> None:
        self.add_node(start)
        self.add_node(end)
        self._next[start][end] = None
        self._before[end][start] = None

    def __contains__(self, node: str) -> bool:
        return node in self.nodes

    def __iter__(self):
        return iter(self.nodes)

    @property
    def edges(self) -> list[tuple[str, str]]:
        return [(start, end) for start, ends in self._next.items() for end in ends]

    def successors(self, node: str):
        return iter(self._of(self._next, node))

    def predecessors(self, node: str):
        return iter(self._of(self._before, node))

    def _of(self, table, node: str):
        if node not in table:
            raise ValueError(f"The node {node} is not in the digraph.")
        return table[node]

    def first_path(self, node: str) -> list[str]:
        """A shortest way to a node from one that nothing leads to."""
        return self._walk(node, self._before, lambda n: not self._before[n])[::-1]

    def all_paths(self, start: str, end: str) -> str:
        """The arrows of all ways from one node to another, as dot."""
        ahead, behind = self._reach(start, self._next), self._reach(end, self._before)
        both = ahead & behind
        lines = [f'"{a}" -> "{b}";' for a, b in self.edges if a in both and b in both]
        return _dot(lines)

    def _reach(self, node: str, table) -> set[str]:
        self._of(table, node)
        seen, todo = {node}, [node]
        while todo:
            for other in table[todo.pop()]:
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        return seen

    def _walk(self, node: str, table, done) -> list[str]:
        paths, seen = [[node]], {node}
        for path in paths:
            if done(path[-1]):
                return path
            for other in table[path[-1]]:
                if other not in seen:
                    seen.add(other)
                    paths.append([*path, other])
        return [node]

    def to_dot(self) -> str:
        """The graph in the language of Graphviz."""
        return _dot([f'"{a}" -> "{b}";' for a, b in self.edges])


def _dot(lines: list[str]) -> str:
    return "\n".join(["digraph G {", "rankdir = LR;", "node [shape=box];", *lines, "}", ""])
