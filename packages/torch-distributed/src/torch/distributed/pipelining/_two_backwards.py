"""A backward pass in two: the gradients of what a stage was given, which others wait for, and later those of its weights.

The first pass catches what reaches the nodes that a parameter hangs on; the second begins there, and so computes nothing
twice (Qi 2023, "Zero bubble pipeline parallelism").
"""

import torch
from torch.autograd.graph import GradientEdge, get_gradient_edge


class TwoBackwards:
    """The backward pass of ``roots``, tensors with ``gradients`` (None for a loss), to ``inputs`` and to ``parameters``.

    >>> import torch
    >>> x, w = torch.ones(2, requires_grad=True), torch.tensor([2.0, 3.0], requires_grad=True)
    >>> two = TwoBackwards([(x * w).sum()], [None], [x], [w])
    >>> two.to_inputs(); x.grad, w.grad
    (tensor([2., 3.]), None)
    >>> two.to_parameters(); w.grad
    tensor([1., 1.])
    """

    def __init__(self, roots, gradients, inputs, parameters):
        self.roots, self.gradients, self.inputs, self.parameters = roots, gradients, inputs, list(parameters)
        self.caught: list = []  # pairs of a node's incoming gradients and what hangs on it

    def to_inputs(self):
        """Add to the ``.grad`` of the inputs; nothing where there are none, and all is left to the parameters."""
        if not self.inputs:
            return
        hanging, shared = _hanging([root.grad_fn for root in self.roots], self.inputs, self.parameters)
        handles = [node.register_prehook(self._catcher(node, found)) for node, found in hanging.items() if found]
        try:
            torch.autograd.backward(self.roots, self.gradients, retain_graph=True, inputs=[*self.inputs, *shared])
        finally:
            for handle in handles:
                handle.remove()

    def _catcher(self, node, parameters):
        def catch(gradients):
            self.caught.append((node, gradients, parameters))

        return catch

    def to_parameters(self):
        """Add to the ``.grad`` of the parameters, and let go of the graph."""
        if not self.inputs:
            if self.parameters:
                torch.autograd.backward(self.roots, self.gradients, inputs=self.parameters)
        for node, gradients, parameters in self.caught:
            there = [(GradientEdge(node, i), g) for i, g in enumerate(gradients) if g is not None]
            if there:
                edges, given = zip(*there, strict=True)
                torch.autograd.backward(edges, given, retain_graph=True, inputs=parameters)
        self.roots, self.gradients, self.caught = [], [], []


def _hanging(roots, inputs, parameters):
    """For each node on the way to an input, the parameters that hang only on it; and those that hang on several.

    The latter cannot wait: who begins at one of their nodes comes past the others.
    """
    goals = {get_gradient_edge(one).node for one in inputs}
    leaves = {get_gradient_edge(one).node: one for one in parameters}
    order, ways = [], {}
    todo = [(root, False) for root in roots if root is not None]
    while todo:  # children before parents, without recursion: graphs are deep
        node, done = todo.pop()
        if done:
            order.append(node)
        elif node not in ways:
            ways[node] = [child for child, _ in node.next_functions if child is not None]
            todo.append((node, True))
            todo += [(child, False) for child in ways[node]]
    leads, below = set(), {}
    for node in order:
        if node in goals or any(child in leads for child in ways[node]):
            leads.add(node)
        else:
            below[node] = {node} if node in leaves else set().union(*(below[child] for child in ways[node]))
    owner: dict = {}
    for node in order:
        if node in leads:
            for leaf in set().union(*(below[child] for child in ways[node] if child not in leads)):
                owner.setdefault(leaf, []).append(node)
    hanging: dict = {}
    for leaf, nodes in owner.items():
        if len(nodes) == 1:
            hanging.setdefault(nodes[0], []).append(leaves[leaf])
    return hanging, [leaves[leaf] for leaf, nodes in owner.items() if len(nodes) > 1]
