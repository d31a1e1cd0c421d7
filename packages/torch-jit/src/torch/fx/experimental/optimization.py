"""Making a trained module cheaper to run."""

import copy
from collections.abc import Iterable

from torch import fx, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

__all__ = ["matches_module_pattern", "replace_node_module", "fuse", "remove_dropout", "extract_subgraph"]


def _parent_name(target: str) -> tuple[str, str]:
    """
    >>> _parent_name("a.b.c")
    ('a.b', 'c')
    """
    parent, _, name = target.rpartition(".")
    return parent, name


def matches_module_pattern(pattern: Iterable[type], node: fx.Node, modules: dict) -> bool:
    """Whether a node and its first argument are calls of modules of these two classes."""
    if not node.args or not isinstance(node.args[0], fx.Node):
        return False
    for wanted, found in zip(pattern, (node.args[0], node), strict=True):
        if found.op != "call_module" or not isinstance(found.target, str) or found.target not in modules:
            return False
        if type(modules[found.target]) is not wanted:
            return False
    return True


def replace_node_module(node: fx.Node, modules: dict, new_module: nn.Module) -> None:
    """Let another module stand where a node's module stands."""
    parent, name = _parent_name(node.target)
    modules[node.target] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model: nn.Module, inplace=False, no_trace=False) -> nn.Module:
    """A GraphModule in which batch norms behind convolutions are part of their weights.

    For ``model.eval()``: a batch norm in training, without running statistics, or whose input has other users, stays.
    ``no_trace`` says that ``model`` is a GraphModule already.

    >>> net = nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2)).eval()
    >>> [type(m).__name__ for m in fuse(net).children()]
    ['Conv2d']
    """
    patterns = ((nn.Conv1d, nn.BatchNorm1d), (nn.Conv2d, nn.BatchNorm2d), (nn.Conv3d, nn.BatchNorm3d))
    if not inplace:
        model = copy.deepcopy(model)
    traced = model if no_trace else fx.symbolic_trace(model)
    modules, graph = dict(traced.named_modules()), copy.deepcopy(traced.graph)
    calls: dict = {}
    for node in graph.find_nodes(op="call_module"):
        calls[node.target] = calls.get(node.target, 0) + 1
    for pattern in patterns:
        for node in graph.nodes:
            if not matches_module_pattern(pattern, node, modules):
                continue
            before, norm = modules[node.args[0].target], modules[node.target]
            shared = calls[node.target] > 1 or calls[node.args[0].target] > 1
            if shared or len(node.args[0].users) > 1 or norm.training or norm.running_mean is None:
                continue
            replace_node_module(node.args[0], modules, fuse_conv_bn_eval(before, norm))
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    return fx.GraphModule(traced, graph, type(model).__name__)


def remove_dropout(model: nn.Module) -> nn.Module:
    """A GraphModule without dropout layers."""
    traced = fx.symbolic_trace(model)

    class Remover(fx.Transformer):
        def call_module(self, target, args, kwargs):
            kinds = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout)
            if isinstance(self.submodules[target], kinds):
                return args[0]
            return super().call_module(target, args, kwargs)

    return Remover(traced).transform()


def extract_subgraph(orig_module: nn.Module, nodes: list, inputs: list, outputs: list):
    """The GraphModule of some nodes; ``inputs`` become its arguments and ``outputs`` its results."""
    graph, values = fx.Graph(), {}
    for node in inputs:
        values[node] = graph.placeholder(node.name)
    for node in nodes:
        values[node] = graph.node_copy(node, values.__getitem__)
    graph.output([values[node] for node in outputs])
    graph.lint()
    return fx.GraphModule(orig_module, graph)


def __getattr__(name):
    if name in (
        "MklSubgraph",
        "UnionFind",
        "optimize_for_inference",
        "gen_mkl_autotuner",
        "use_mkl_length",
        "modules_to_mkldnn",
    ):
        raise NotImplementedError(
            f"torch.fx.experimental.optimization.{name} is about layouts of oneDNN, which this stack has not"
        )
    raise AttributeError(f"module 'torch.fx.experimental.optimization' has no attribute {name!r}")
