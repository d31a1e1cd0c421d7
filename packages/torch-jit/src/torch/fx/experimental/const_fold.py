"""What a graph computes of parameters and constants alone, taken out of it and computed once."""

import operator
import re
from collections.abc import Callable

import torch
from torch import nn
from torch.fx.graph import Graph, _at_path
from torch.fx.graph_module import GraphModule
from torch.fx.node import Node

__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]


class FoldedGraphModule(GraphModule):
    """A GraphModule that reads, as attribute ``fx_const_folded_attrs_name``, what ``const_subgraph_module`` gives.

    That runs once, at :meth:`run_folding` or before the first call.
    """

    def __init__(
        self,
        root: nn.Module,
        graph: Graph,
        const_subgraph: Graph | None = None,
        fx_const_folded_attrs_name: str | None = None,
        device_for_folded_attrs: str = "cuda",
    ):
        super().__init__(root, graph)
        self.const_subgraph_module = None if const_subgraph is None else GraphModule(root, const_subgraph)
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args, **kwargs):
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self):
        """Compute what the graph reads; TypeError for a value that is no tensor."""
        if self.const_subgraph_module is None or self.fx_const_folded_attrs_name is None:
            return
        if self.has_folding_been_run:
            raise AssertionError("run_folding: it has been run; its values are parameters of the module now")
        self.has_folding_been_run = True
        values = self.const_subgraph_module()
        made = [_parameter(v, i) for i, v in enumerate(values if isinstance(values, tuple) else (values,))]
        setattr(self, self.fx_const_folded_attrs_name, nn.ParameterList(made) if isinstance(values, tuple) else made[0])


def _parameter(value, i):
    if not isinstance(value, torch.Tensor):
        raise TypeError(
            f"run_folding: value {i} is a {type(value).__name__}, and no parameter; leave the node that makes it to the graph "
            "(skip_folding_node_fn)"
        )
    return nn.Parameter(value.detach().clone(), requires_grad=value.requires_grad)


def get_unique_attr_name_in_module(mod_traced: nn.Module, name: str) -> str:
    """The name, with letters that no attribute has made underscores, and a number where the module has it already.

    >>> get_unique_attr_name_in_module(torch.nn.ReLU(), "inplace"), get_unique_attr_name_in_module(torch.nn.ReLU(), "1.a")
    ('inplace_1', '_1_a')
    """
    name = re.sub("[^0-9a-zA-Z_]+", "_", name)
    if name[:1].isdigit():
        name = f"_{name}"
    while hasattr(mod_traced, name):
        base, _, number = name.rpartition("_")
        name = f"{base}_{int(number) + 1}" if base and number.isdigit() else f"{name}_1"
    return name


def split_const_subgraphs(
    module: nn.Module | GraphModule,
    skip_folding_node_fn: Callable[[Node], bool] | None = None,
    device_for_folded_attrs: str = "cpu",
) -> FoldedGraphModule:
    """The module with what depends on no argument in ``const_subgraph_module``, which gives one tensor or a tuple of them.

    Nodes that write or draw random numbers stay, and so do those of which ``skip_folding_node_fn`` says so, with what needs them.

    >>> class Scaled(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.w = torch.nn.Parameter(torch.ones(2))
    ...     def forward(self, x):
    ...         return x + (self.w * 2 + 1)
    >>> folded = split_const_subgraphs(Scaled())
    >>> [node.op for node in folded.graph.nodes], folded(torch.zeros(2)).tolist()
    (['placeholder', 'get_attr', 'call_function', 'output'], [3.0, 3.0])
    """
    gm = module if isinstance(module, GraphModule) else torch.fx.symbolic_trace(module)
    constant: dict[Node, None] = {}
    for node in gm.graph.nodes:
        if node.op in ("placeholder", "output") or not all(used in constant for used in node.all_input_nodes):
            continue
        if (skip_folding_node_fn is not None and skip_folding_node_fn(node)) or node.is_impure():
            continue
        if any(user.op != "output" and user.is_impure(impure_random=False) for user in node.users):
            continue  # each call writes to a new one
        constant[node] = None
    computed = [node for node in constant if node.op != "get_attr"]
    if not computed:
        return FoldedGraphModule(gm, gm.graph)
    given = [node for node in computed if any(user not in constant for user in node.users)]
    within, values = Graph(), {}
    for node in constant:
        values[node] = within.node_copy(node, values.__getitem__)
    results = tuple(values[node] for node in given)
    within.output(results[0] if len(results) == 1 else results)
    within.eliminate_dead_code()
    name = get_unique_attr_name_in_module(gm, "_FX_CONST_FOLDED_ATTRS")
    root: dict = {name: nn.Parameter(torch.empty(0))}
    for node in gm.graph.nodes:
        if node.op in ("call_module", "get_attr"):
            root[node.target] = _at_path(gm, node.target)
    graph = _without(gm.graph, constant, given, name)
    folded = FoldedGraphModule(root, graph, within, name, device_for_folded_attrs)
    folded.training = gm.training
    folded.meta.update(gm.meta)
    return folded


def _without(whole, constant, given, name):
    """The graph that reads what others give in the places of ``given``."""
    graph, values = Graph(), {}
    for node in whole.nodes:
        if node in constant and node.op != "get_attr":
            continue
        if node.op == "get_attr" and node in constant and all(user in constant for user in node.users):
            continue
        if node.op != "placeholder" and given and given[0] not in values:
            read = graph.get_attr(name)
            if len(given) == 1:
                values[given[0]] = read
                read.meta = dict(given[0].meta)
            else:
                for i, each in enumerate(given):
                    values[each] = graph.call_function(operator.getitem, (read, i))
                    values[each].meta = dict(each.meta)
        values[node] = graph.node_copy(node, values.__getitem__)
    graph._codegen = whole._codegen
    return graph
