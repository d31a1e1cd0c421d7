"""A graph cut into parts for an accelerator and parts for the CPU, by what the accelerator supports."""

from __future__ import annotations

import argparse
import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch.fx.graph_module import GraphModule
from torch.fx.node import Node

from .operator_support import OperatorSupportBase
from .shape_prop import ShapeProp
from .split_module import split_module
from .tools_common import CALLABLE_NODE_OPS, get_node_target, is_node_output_tensor

__all__ = ["SplitResult", "Subgraph", "generate_inputs_for_submodules"]


class _SplitterSettingBase:
    """``min_acc_module_size``: parts with fewer calls run on the CPU. ``allow_non_tensor``: results that are no tensors may go to
    the accelerator."""

    def __init__(
        self, min_acc_module_size: int = 1, skip_fusion: bool = False, allow_non_tensor: bool = False,
        max_acc_splits: int = -1, **options: Any,
    ) -> None:  # fmt: skip
        if options:
            raise NotImplementedError(f"splitter settings: {', '.join(options)}")
        parser = argparse.ArgumentParser(add_help=False)
        parser.add_argument("--min-acc-module-size", "--min_acc_module_size", type=int)
        parser.add_argument("--max-acc-splits", "--max_acc_splits", type=int)
        parser.add_argument("--allow-non-tensor", "--allow_non_tensor", action="store_true")
        args, _ = parser.parse_known_args()
        self.min_acc_module_size = args.min_acc_module_size or min_acc_module_size
        self.max_acc_splits = args.max_acc_splits or max_acc_splits
        self.skip_fusion, self.allow_non_tensor = skip_fusion, args.allow_non_tensor or allow_non_tensor


@dataclass
class Subgraph:
    """A part: whether it is the accelerator's, and its nodes."""

    is_acc: bool
    nodes: list[Node]
    device_ordinal: int | None = None


class SplitResult(NamedTuple):
    """The cut graph, arguments of each part by its name, and what names of the accelerator's parts begin with."""

    split_module: GraphModule
    submodule_inputs: dict[str, Any]
    non_acc_submodule_prefix: str


def generate_inputs_for_submodules(
    model: torch.nn.Module, inputs: Sequence[Any], target_submodules: Any, deepcopy: bool = False
) -> dict[str, Any]:
    """What each submodule of these names is called with when the model runs.

    >>> net = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh())
    >>> generate_inputs_for_submodules(net, (torch.tensor([-1.0, 1.0]),), {"1"})
    {'1': (tensor([0., 1.]),)}
    """
    found: dict[str, Any] = {}
    handles = [
        module.register_forward_pre_hook(
            lambda module, args, name=name: found.update({name: copy.deepcopy(args) if deepcopy else args})
        )
        for name, module in model.named_modules()
        if name in target_submodules
    ]
    try:
        with torch.no_grad():
            model(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return found


class _SplitterBase:
    """Cuts a traced module: calling it gives a GraphModule of parts ``_run_on_acc_<i>`` and ``_run_on_cpu_<i>``.

    >>> from torch.fx.passes.operator_support import create_op_support
    >>> traced = torch.fx.symbolic_trace(lambda x: torch.sin(torch.relu(x + 1)))
    >>> support = create_op_support(lambda submodules, node: node.name != "relu")
    >>> cut = _SplitterBase(traced, (torch.ones(2),), support, _SplitterSettingBase())()
    >>> [name for name, _ in cut.named_children()]
    ['_run_on_acc_0', '_run_on_cpu_1', '_run_on_acc_2']
    """

    PCIe_BW = 100 * 2**30

    def __init__(
        self, module: GraphModule, sample_input: Sequence[Any], operator_support: OperatorSupportBase,
        settings: _SplitterSettingBase, non_acc_submodule_name: str = "_run_on_cpu_", return_tuple: bool = False,
    ) -> None:  # fmt: skip
        if not isinstance(module, GraphModule):
            raise AssertionError(f"Expected GraphModule, got {type(module)}")
        self.module, self.sample_input, self.settings = module, sample_input, settings
        self.operator_support, self._return_tuple = operator_support, return_tuple
        self.non_acc_submodule_name, self._acc_name = non_acc_submodule_name, "_run_on_acc_"
        ShapeProp(module).propagate(*sample_input)
        self.acc_nodes = self._supported()
        self.tags: list[str] = []

    def _supported(self):
        submodules = dict(self.module.named_modules())
        calls = [n for n in self.module.graph.nodes if n.op in CALLABLE_NODE_OPS]
        found = {n for n in calls if self.operator_support.is_node_supported(submodules, n)}
        if self.settings.allow_non_tensor:
            return found
        waiting = [n for n in calls if not is_node_output_tensor(n)]
        found.difference_update(waiting)
        while waiting:  # a number goes where it is made, and so do those who use it
            for user in waiting.pop().users:
                if user in found:
                    found.discard(user)
                    if not is_node_output_tensor(user):
                        waiting.append(user)
        return found

    def find_nodes_to_tag(self) -> list[Node]:
        """The calls that are put into parts."""
        return [n for n in self.module.graph.nodes if n.op in CALLABLE_NODE_OPS]

    def put_nodes_into_subgraphs(self) -> list[Subgraph]:
        """Parts in the order in which they run: each takes all calls of its kind that have what they need."""
        left = self.find_nodes_to_tag()
        calls, done, parts = set(left), set(), []

        def ready(is_acc):
            return [
                n
                for n in left
                if (n in self.acc_nodes) is is_acc and all(a in done or a not in calls for a in n.all_input_nodes)
            ]

        is_acc = not ready(False)
        while left:
            part = Subgraph(is_acc, [])
            while nodes := ready(is_acc):
                part.nodes += nodes
                done.update(nodes)
                left = [n for n in left if n not in done]
            if part.nodes:
                parts.append(part)
            is_acc = not is_acc
        return parts

    def remove_small_acc_subgraphs(self, subgraphs: list[Subgraph]) -> list[Subgraph]:
        """The same with small parts of the accelerator on the CPU, and neighbours there as one."""
        found: list[Subgraph] = []
        for part in subgraphs:
            is_acc = part.is_acc and len(part.nodes) >= self.settings.min_acc_module_size
            if found and not is_acc and not found[-1].is_acc:
                found[-1].nodes += part.nodes
            else:
                found.append(Subgraph(is_acc, list(part.nodes)))
        return found

    def tag(self, subgraphs: list[Subgraph]) -> None:
        """Give each call the name of its part, as ``node.tag``."""
        self.tags = []
        for i, part in enumerate(subgraphs):
            name = f"{self._acc_name if part.is_acc else self.non_acc_submodule_name}{i}"
            self.tags.append(name)
            for node in part.nodes:
                node.tag = name

    def split(self, remove_tag: bool = False) -> GraphModule:
        """Cut the graph by its tags."""
        cut = split_module(
            self.module, self.module, lambda node: self.tags.index(node.tag), tuple_return=self._return_tuple
        )
        for node in cut.graph.nodes:
            if node.op == "call_module" and node.target.startswith("submod_"):
                name = self.tags[int(node.target.removeprefix("submod_"))]
                cut.add_module(name, cut._modules.pop(node.target))
                node.target = name
        cut.recompile()
        if remove_tag:
            for node in self.find_nodes_to_tag():
                del node.tag
        return cut

    def __call__(self) -> GraphModule:
        """The cut graph. ValueError where it has more parts for the accelerator than ``max_acc_splits``."""
        parts = self.remove_small_acc_subgraphs(self.put_nodes_into_subgraphs())
        count, most = sum(part.is_acc for part in parts), self.settings.max_acc_splits
        if 0 < most < count:
            raise ValueError(f"splitter: {count} parts for the accelerator, and max_acc_splits is {most}")
        self.tag(parts)
        return self.split()

    def generate_split_results(self) -> SplitResult:
        """The cut graph with arguments of its parts."""
        cut = self()
        names = [name for name, _ in cut.named_children()]
        return SplitResult(
            cut, generate_inputs_for_submodules(cut, self.sample_input, names), self.non_acc_submodule_name
        )

    def node_support_preview(self, dump_graph: bool = False) -> str:
        """Which calls the accelerator supports, as text."""
        submodules = dict(self.module.named_modules())
        lines: dict[bool, list[str]] = {True: [], False: []}
        for node in self.find_nodes_to_tag():
            target = get_node_target(submodules, node)
            lines[node in self.acc_nodes].append(f"  {node.op} {target} ({node.name})")
        text = "\n".join(
            [
                "Supported node types in the model:",
                *lines[True],
                "",
                "Unsupported node types in the model:",
                *lines[False],
            ]
        )
        print(text)
        return text
