"""Products with the same matrix on the right, in a graph, as one product of all rows."""

import itertools
import operator
from collections.abc import Iterable

import torch
from torch.fx._symbolic_trace import symbolic_trace
from torch.fx.graph_module import GraphModule
from torch.fx.node import Node

__all__ = ["are_nodes_independent", "may_depend_on", "merge_matmul", "split_result_tensors"]


def split_result_tensors(result: torch.Tensor, inputs: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """The rows of a product that belong to each of the matrices that were put one under the other.

    >>> [tuple(t.shape) for t in split_result_tensors(torch.ones(5, 2), [torch.ones(2, 3), torch.ones(3, 3)])]
    [(2, 2), (3, 2)]
    """
    return torch.split(result, [x.shape[0] for x in inputs])


torch.fx.wrap("split_result_tensors")


def may_depend_on(a: Node, b: Node, search_depth: int = 6) -> bool:
    """Whether ``a`` uses what ``b`` gives; true as well where ``search_depth`` steps do not tell."""
    if a is b:
        return True
    if not a.all_input_nodes:
        return False
    return search_depth == 0 or any(may_depend_on(used, b, search_depth - 1) for used in a.all_input_nodes)


def are_nodes_independent(nodes: Iterable[Node]) -> bool:
    """Whether none of the nodes uses another."""
    return not any(may_depend_on(a, b) or may_depend_on(b, a) for a, b in itertools.combinations(list(nodes), 2))


def merge_matmul(in_mod: torch.nn.Module) -> GraphModule:
    """A graph of the module in which all ``torch.matmul`` of matrices by one matrix, that do not use each other, are one.

    >>> def f(x, y, w):
    ...     return torch.matmul(x, w) + 1, torch.matmul(y, w)
    >>> merged = merge_matmul(f)
    >>> sum(n.target is torch.matmul for n in merged.graph.nodes)
    1
    >>> x, y, w = torch.randn(2, 3), torch.randn(4, 3), torch.randn(3, 5)
    >>> all(torch.allclose(a, b) for a, b in zip(merged(x, y, w), f(x, y, w)))
    True
    """
    module = symbolic_trace(in_mod)
    groups: dict = {}
    for node in module.graph.nodes:
        if node.op == "call_function" and node.target is torch.matmul and len(node.args) == 2:
            right = node.args[1]
            key = (right.op, right.target) if right.op == "get_attr" else right
            groups.setdefault(key, []).append(node)
    for products in groups.values():
        if len(products) < 2 or not are_nodes_independent(products):
            continue
        lefts = [node.args[0] for node in products]
        order = {n: i for i, n in enumerate(module.graph.nodes)}
        needed = [*lefts, products[0].args[1]]
        last = max(needed, key=order.__getitem__)
        if any(order[user] <= order[last] for product in products for user in product.users):
            continue  # something between them uses a product already
        with module.graph.inserting_after(last):
            joined = module.graph.call_function(torch.cat, (lefts,), {})
        with module.graph.inserting_after(joined):
            product = module.graph.call_function(torch.matmul, (joined, products[0].args[1]))
        with module.graph.inserting_after(product):
            parts = module.graph.call_function(split_result_tensors, (product, lefts))
        for i in reversed(range(len(products))):
            with module.graph.inserting_after(parts):
                products[i].replace_all_uses_with(module.graph.call_function(operator.getitem, (parts, i)))
        for node in products:
            module.graph.erase_node(node)
    module.graph.lint()
    module.recompile()
    return module
